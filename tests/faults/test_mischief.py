"""Scripts and callers that do what nobody expects: the record stays right, and nothing outside it is touched."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jig.runner import events
from jig.runner.blobs import BlobStore
from jig.runner.folder import RunFolder
from tests.conftest import SOURCE, alive, call, environ, spawn, until
from tests.runner.test_supervise import folder_of, last_event, wait_ready


def test_cleaning_follows_no_link_out_of_a_run(project, cli, tmp_path):
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "thesis.tex").write_text("years")
    project.write("a.py", f"import os; os.rename('../work', '../gone'); os.symlink({str(precious)!r}, '../work')")
    assert cli("submit", "-c", "local", "a.py").code == 0
    assert cli("experiment", "clean").code == 0
    assert (precious / "thesis.tex").read_text() == "years"


def test_outputs_that_are_a_link_are_no_outputs(project, cli):
    project.write("a.py", "import os; os.rmdir('outputs'); os.symlink('/etc', 'outputs')")
    assert cli("submit", "-c", "local", "a.py").code == 0
    assert cli("history", "info", "-a", "outputs/hostname").code == 125
    assert cli("history", "last").json()["attachments"] == "driver_log,control_log"


def test_dangling_links_and_pipes_among_the_outputs(project, cli, tmp_path):
    project.write(
        "a.py", "import os; os.symlink('nowhere', 'outputs/latest'); os.mkfifo('outputs/pipe'); open('outputs/x', 'w')"
    )
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 0 and "Outputs: outputs/x (0 B)" in said.out
    assert cli("history", "download", "-d", str(tmp_path / "d")).code == 0
    assert sorted(path.name for path in (tmp_path / "d/outputs").iterdir()) == ["x"]


def test_diagnostics_take_no_file_from_behind_a_link(project, cli):
    import zipfile

    project.write("a.py", "import os; os.symlink('/etc/hostname', 'outputs/key')")
    said = cli("submit", "-c", "local", "a.py")
    assert cli("experiment", "diagnostics").code == 0
    with zipfile.ZipFile("diagnostics.zip") as archive:
        assert f"{said.run_id}/work/outputs/key" not in archive.namelist()


@pytest.mark.parametrize("how", ["empty", "torn", "zeros"])
def test_a_torn_blob_is_read_again_from_the_project(project, cli, jig_home, how):
    project.write("a.py", "print('whole')")
    assert cli("submit", "-c", "local", "a.py").code == 0
    store = BlobStore(str(jig_home / "blobs"))
    for name in list(store.names()):
        size = os.path.getsize(store.place(name))
        with open(store.place(name), "wb") as file:
            file.write({"empty": b"", "torn": b"x", "zeros": b"\0" * size}[how])
    codes = [cli("submit", "-c", "local", "a.py").code for _ in range(4)]
    assert codes[-1] == 0, codes  # a file of the right size is found out when it is laid out, and mended by the next
    assert cli("logs").raw == b"whole\n"
    assert cli("experiment", "clean").code == 0
    assert cli("submit", "-c", "local", "a.py").code == 0


@pytest.mark.parametrize("shell", ["trap '' CHLD; exec", "exec 9>lock; flock 9; exec"])
def test_what_the_calling_shell_left_does_not_reach_the_run(project, cli, shell, tmp_path):
    project.write(
        "a.py",
        "import os; print(sorted(int(n) for n in os.listdir('/dev/fd'))[:4]); import subprocess; subprocess.check_call(['true'])",
    )
    command = f"{shell} '{sys.executable}' -m jig submit -c local a.py"
    done = subprocess.run(["bash", "-c", command], env=environ(), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert b"[0, 1, 2, 3]" in done.stdout  # 3 is the listing itself


def test_blocked_signals_do_not_reach_the_run(project):
    project.write("a.py", "import subprocess; subprocess.check_call(['true'])")
    everything = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))  # noqa: E731
    assert call("submit", "-c", "local", "a.py", preexec_fn=everything, timeout=30).code == 0


def test_a_terminal_that_is_shut_down_gives_the_script_its_time(project, cli, jig_home):
    """A shutdown sends TERM to every process at once; the script may save its work before it is killed."""
    project.write(
        "save.py",
        "import signal, sys, time\n"
        "def save(*_):\n    time.sleep(1); open('outputs/saved', 'w').write('yes'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, save); print('ready', flush=True); time.sleep(600)\n",
    )
    said = call("submit", "-a", "-c", "local", "save.py")
    folder = folder_of(jig_home, said)
    wait_ready(folder)
    from tests.faults.test_run_killed import processes

    script = [
        int(n)
        for n in os.listdir("/proc")
        if n.isdigit() and b"save.py\0" in _read(f"/proc/{n}/cmdline") and b"jig" not in _read(f"/proc/{n}/cmdline")
    ]
    for pid in (*processes(said.run_id), *script):
        os.kill(pid, signal.SIGTERM)
    until(lambda: last_event(folder)["event"] in events.FINAL)
    assert (last_event(folder)["event"], last_event(folder)["reason"]) == ("canceled", "machine-shutdown")
    assert Path(folder.outputs, "saved").read_text() == "yes"


def _read(path):
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def test_a_run_submitted_from_within_a_run_outlives_it(project, cli):
    project.write("inner.py", "import time; time.sleep(1.5); print('inner done')")
    project.write(
        "outer.py",
        f"import os, subprocess, sys\nos.chdir({str(project.path)!r})\n"
        f"env = dict(os.environ, PYTHONPATH={str(SOURCE)!r})\n"
        "subprocess.check_call([sys.executable, '-m', 'jig', 'submit', '-a', '-c', 'local', 'inner.py'], env=env)\n",
    )
    assert cli("submit", "-c", "local", "outer.py").code == 0
    records = {record["script_name"]: record for record in cli("history", "list").json()}
    assert records["inner.py"]["status"] in ("Running", "Preparing", "Queued")
    assert cli("logs", "-f", records["inner.py"]["run_id"]).raw == b"inner done\n"


def test_an_installed_jig_works_inside_a_run(project, cli, tmp_path):
    """The part of jig that a script is given does not hide the rest of one that is installed beside it."""
    site = tmp_path / "site"
    site.mkdir()
    os.symlink(SOURCE / "jig", site / "jig")
    project.write(
        "a.py",
        f"import sys; sys.path.append({str(site)!r})\nimport jig; jig.log(x=1)\nfrom jig.cli import main; main(['--version'])",
    )
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 0 and "jig 0." in said.out, said.out


def test_a_lock_that_the_script_removed_does_not_end_it(project, cli, jig_home):
    project.write("a.py", "import os, time\nos.unlink('../lock')\nprint('ready', flush=True)\ntime.sleep(600)")
    said = call("submit", "-a", "-c", "local", "a.py")
    folder = folder_of(jig_home, said)
    wait_ready(folder)
    assert cli("status", "-o", "json").json()["state"] == "Running"
    assert cli("cancel").out == f"{said.run_id}: Canceled\n"


def test_a_script_that_removes_its_run_folder(project, cli):
    project.write("a.py", "import os, shutil; shutil.rmtree(os.environ['JIG_RUN_DIR'], ignore_errors=True)")
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 125 and "is gone" in said.err
    assert cli("history", "list").json() == []


def test_folders_that_the_script_made_unwritable_are_removed(project, cli, jig_home):
    project.write("a.py", "import os; os.mkdir('outputs/d'); open('outputs/d/f', 'w'); os.chmod('outputs/d', 0o555)")
    said = cli("submit", "-c", "local", "a.py")
    assert cli("history", "delete", said.run_id).code == 0
    assert os.listdir(jig_home / "runs") == []


ODD = {
    "no time": lambda folder: (folder / "events.jsonl").write_text('{"event": "running"}\n'),
    "not an object": lambda folder: (folder / "plan.json").write_text("[]"),
    "half a plan": lambda folder: (folder / "plan.json").write_text('{"run_id": "x"}'),
    "no JSON": lambda folder: (folder / "plan.json").write_text("{"),
    "deep metrics": lambda folder: (folder / "metrics.jsonl").write_text('{"values": ' + "[" * 100_000 + "\n"),
    "a folder for a file": lambda folder: (os.unlink(folder / "plan.json"), os.mkdir(folder / "plan.json")),
    "an empty file for all": lambda folder: [path.write_bytes(b"") for path in folder.glob("*.json*")],
}


@pytest.mark.parametrize("how", ODD)
def test_one_odd_folder_does_not_hide_the_others(project, cli, jig_home, how):
    project.write("a.py", "import jig; jig.log(x=1)")
    good, odd = (cli("submit", "-c", "local", "a.py").run_id for _ in range(2))
    ODD[how](jig_home / "runs" / odd)
    for _ in range(2):
        listed = cli("history", "list")
        assert listed.code == 0 and good in listed.out
    assert cli("history", "rebuild").code == 0
    assert good in cli("history", "list").out


def test_a_machine_that_changed_its_name_still_judges_its_own_disk(project, cli, jig_home):
    project.write("a.py", "import time; print('ready', flush=True); time.sleep(600)")
    said = call("submit", "-a", "-c", "local", "a.py")
    folder = folder_of(jig_home, said)
    wait_ready(folder)
    past = Path(folder.events).read_text().splitlines()
    first = {**json.loads(past[0]), "host": "another-name"}
    Path(folder.events).write_text("\n".join([json.dumps(first), *past[1:]]) + "\n")
    assert cli("status", "-o", "json").json()["state"] == "Running"
    assert cli("cancel", "--grace", "0").code == 0


# It was not even at jig's first line.
PYTHON_SAYS = (b"Fatal Python error: init_import_site", b"Could not import runpy module")


def interrupted_submits(project, cli, jig_home, config, delays):
    """Ctrl-C so long after each start: nothing was started, or the person is told its id and how to come back to it."""
    project.write("nap.py", "import time; time.sleep(600)")
    for delay in delays:
        client = spawn("submit", "-c", config, "nap.py", start_new_session=True)
        time.sleep(delay)
        os.killpg(client.pid, signal.SIGINT)
        out, err = client.communicate(timeout=30)
        python_says = err.startswith(PYTHON_SAYS)
        assert python_says or b"Traceback" not in err, err
        runs = os.listdir(jig_home / "runs") if (jig_home / "runs").exists() else []
        if runs:
            assert client.returncode == 130, err
            assert f"RunId: {runs[0]}" in out.decode() and "the run goes on" in out.decode(), (delay, out, err)
            assert cli("cancel", runs[0], "--grace", "0").code == 0
            assert cli("history", "delete", runs[0]).code == 0
        yield


def test_ctrl_c_at_any_moment_of_a_submit_is_told(project, cli, jig_home):
    delays = (0.0, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.15, 0.3)
    assert len(list(interrupted_submits(project, cli, jig_home, "local", delays))) == len(delays)
    assert alive("nap.py") == []


def test_a_second_cancel_may_be_less_patient(project, cli, jig_home):
    project.write(
        "deaf.py", "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint('ready', flush=True)\ntime.sleep(600)"
    )
    said = call("submit", "-a", "-c", "local", "deaf.py")
    wait_ready(folder_of(jig_home, said))
    first = spawn("cancel", said.run_id, "--grace", "600")
    until(lambda: os.path.exists(folder_of(jig_home, said).stop))
    started = time.monotonic()
    assert cli("cancel", said.run_id, "--grace", "0.1").out == f"{said.run_id}: Canceled\n"
    assert time.monotonic() - started < 10
    first.communicate(timeout=30)


@pytest.mark.parametrize("grace", ["nan", "inf", "-1", "soon", "1e9"])
def test_a_grace_that_is_none(project, cli, grace):
    project.write("nap.py", "import time; time.sleep(600)")
    cli("submit", "-a", "-c", "local", "nap.py")
    assert cli("cancel", "--grace", grace).code == 2


def test_a_password_in_an_index_url_stays_out_of_plan_and_record(project, cli, jig_home):
    project.write("aml_config/local.compute", "type: local\nuserManagedEnvironment: false\n")
    lines = "--index-url http://bob:s3cret@127.0.0.1:9/simple", "http://127.0.0.1:9/x-1-py3-none-any.whl?sig=s3cret"
    project.write(
        "aml_config/conda_dependencies.yml", "dependencies:\n  - pip:\n" + "".join(f"    - {line}\n" for line in lines)
    )
    project.write("a.py", "")
    said = cli("submit", "-c", "local", "--dry-run", "a.py")
    assert "s3cret" not in said.out and "http://***@127.0.0.1:9/simple" in said.out and ".whl?***" in said.out
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 125
    folder = RunFolder(str(jig_home / "runs" / said.run_id))
    for path in (folder.plan, folder.events):
        assert "s3cret" not in Path(path).read_text()
    assert os.stat(jig_home).st_mode & 0o777 == 0o700


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_closed_standard_streams(project, cli, closed):
    project.write("a.py", "print('fine')")
    command = f"'{sys.executable}' -m jig submit -c local a.py {closed}"
    done = subprocess.run(["bash", "-c", command], env=environ(), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert cli("logs").raw == b"fine\n"


def test_a_home_inside_the_project_is_not_part_of_it(project, monkeypatch, cli):
    monkeypatch.setenv("JIG_HOME", str(project.path / "mine"))
    project.write("a.py", "")
    counts = set()
    for _ in range(3):
        assert cli("submit", "-c", "local", "a.py").code == 0
        with open(project.path / "mine/runs" / cli("history", "last").json()["run_id"] / "plan.json") as file:
            counts.add(json.load(file)["snapshot"]["files"])
    assert counts == {3}


@pytest.mark.parametrize("name", [b"sp ace", b"new\nline", b"\xff\xfe"])
def test_a_home_by_any_name(project, cli, monkeypatch, tmp_path, name):
    monkeypatch.setenv("JIG_HOME", os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    project.write("a.py", "import jig; jig.log(x=1)")
    assert cli("submit", "-c", "local", "a.py").code == 0
    assert [record["x"] for record in cli("history", "list").json()] == [1]
    assert cli("history", "delete", cli("history", "last").json()["run_id"]).code == 0


def test_a_home_that_search_paths_cannot_hold(project, cli, monkeypatch, tmp_path):
    monkeypatch.setenv("JIG_HOME", f"{tmp_path}/a:b")
    project.write("a.py", "")
    assert cli("submit", "-c", "local", "a.py").code == 125


def test_a_link_to_a_file_that_is_left_out_is_told(project, cli):
    project.write("data/big.bin", "x")
    project.write(".amlignore", "data/\n")
    os.symlink("data/big.bin", project.path / "big")
    project.write("a.py", "")
    assert "the link big points to data/big.bin, which is left out" in cli("submit", "-c", "local", "a.py").err


def test_a_dry_run_writes_no_code_anywhere(project, cli, jig_home):
    project.write("a.py", "print('only looked at')")
    assert cli("submit", "-c", "local", "--dry-run", "a.py").code == 0
    kept = [path for path in jig_home.rglob("*") if path.is_file() and "yaml" not in str(path)]
    assert kept == []
    first = cli("submit", "-c", "local", "--dry-run", "a.py").out
    assert cli("submit", "-c", "local", "a.py").code == 0
    assert cli("submit", "-c", "local", "--dry-run", "a.py").out == first


def test_a_million_metric_lines_are_no_burden(project, cli):
    project.write("a.py", "import jig\njig.log(first=1)\nfor n in range(300_000): jig.log(n=n)")
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 0 and "n 299999" in said.out
    assert (cli("history", "last").json()["n"], cli("history", "last").json()["first"]) == (299_999, 1)
