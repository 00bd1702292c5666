"""`jig experiment` and its short forms, in this process, with exact output."""

import json
import os
import re
import threading
import zipfile

import pytest

from tests.conftest import call, until
from tests.listener import Listener


@pytest.fixture
def hello(project):
    project.write("hello.py", "print('hello')")
    return project


def test_submit_in_a_pipe(hello, cli):
    said = cli("experiment", "submit", "-c", "local", "hello.py")
    assert (said.code, said.err) == (0, "")
    duration = re.search(r"Duration: (\d\.\d) s", said.out)[1]
    assert said.out == (
        f"RunId: {said.run_id}\n"
        "Executing user inputs .....\n"
        "===========================\n"
        "hello\n"
        "\n"
        "Execution Details\n"
        "=================\n"
        f"RunId: {said.run_id}\n"
        "Status: Completed\n"
        f"Duration: {duration} s\n"
    )


def test_submit_at_a_terminal(hello):
    import pty
    import select
    import subprocess
    import sys

    from tests.conftest import environ

    hello.write("slow.py", "import time; time.sleep(1.2); print('hello'); import jig; jig.log(loss=0.25, tag='x')")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "jig", "submit", "-c", "local", "slow.py"]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environ(TERM="xterm", LC_ALL="C.UTF-8"))
    os.close(theirs)
    seen = b""
    while select.select([ours], [], [], 30)[0]:
        try:
            seen += os.read(ours, 65536)
        except OSError:  # the terminal's other end is closed
            break
    os.close(ours)
    assert process.wait() == 0
    text = seen.decode()
    assert "… running for 0." in text and "\r\x1b[K" in text
    assert "╭─ Execution Details " in text and "│ Metrics   loss 0.25, tag x" in text
    assert text.index("hello") < text.index("Execution Details")


def test_a_summary_stays_readable(project, cli):
    project.write("a.py", "import jig; jig.log({f'm{n}': 'x' * 500 for n in range(30)}); jig.log('m0', 10 ** 400)")
    (line,) = [line for line in cli("submit", "-c", "local", "a.py").out.splitlines() if line.startswith("Metrics: ")]
    assert line.startswith(f"Metrics: m0 1{'0' * 38}…, m1 {'x' * 39}…, ") and line.endswith("… and 10 more")


def test_the_script_may_be_named_from_a_subfolder(project, cli, monkeypatch):
    project.write("sub/deep.py", "print('deep')")
    project.write("top.py", "print('top')")
    monkeypatch.chdir(project.path / "sub")
    assert "deep" in cli("submit", "-c", "local", "deep.py").out
    assert "top" in cli("submit", "-c", "local", "top.py").out


def test_project_elsewhere_and_full_path(hello, cli, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    said = cli("submit", "--project", str(hello.path), "-c", "local", str(hello.path / "hello.py"))
    assert said.code == 0 and "\nhello\n" in said.out


def test_a_runconfig_as_the_script(hello, cli):
    hello.runconfig("nightly", Target="local", ArgumentVector=["hello.py", 1, "two"])
    hello.write("hello.py", "import sys; print(sys.argv[1:])")
    assert "['1', 'two']" in cli("submit", "nightly.runconfig").out
    assert "['1', 'two']" in cli("submit", "-c", "nightly").out
    said = cli("submit", "-c", "local", "nightly.runconfig")
    assert said.code == 2 and "both -c local and nightly.runconfig name a run configuration" in said.err


def test_target_beats_file(hello, cli):
    hello.runconfig("gpu", Target="nowhere")
    assert cli("submit", "-c", "gpu", "hello.py").code == 2
    assert cli("submit", "-c", "gpu", "-t", "local", "hello.py").code == 0


def test_dry_run_does_nothing(hello, cli, jig_home):
    said = cli("submit", "-c", "local", "--dry-run", "hello.py", "--x")
    assert said.code == 0 and "command            python hello.py --x\n" in said.out
    assert not os.path.exists(jig_home / "runs")


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("submit", "hello.py"), 2, "no run configuration was named"),
        (("submit", "-c", "lokale", "hello.py"), 2, "did you mean `local`?"),
        (("submit", "-c", "local", "helo.py"), 2, "did you mean hello.py?"),
        (("submit", "-c", "local"), 2, "no script was named"),
        (("submit", "-c", "local", "/etc/hostname"), 2, "is outside the project"),
        (("submit", "-c", "../x", "hello.py"), 2, "../x"),
        (("submit", "-c", "local", "-d", "no.yml", "hello.py"), 2, "there is no file no.yml"),
        (("status", "-r", "../../etc"), 2, "is not a run id"),
        (("status",), 125, "there are no runs yet"),
        (("logs", "proj_1"), 125, "there is no run proj_1"),
        (("cancel", "--grace", "soon"), 125, "no run is going"),
        (("submit", "hello.py", "-c", "local"), 2, "write  jig submit -c local hello.py"),
    ],
)
def test_mistakes(hello, cli, words, code, text):
    said = cli(*words)
    assert (said.code, said.out) == (code, "")
    assert said.err.startswith("error: ") and text in said.err


def test_a_script_that_is_ignored(hello, cli, jig_home):
    hello.write(".amlignore", "hello.py\n")
    said = cli("submit", "-c", "local", "hello.py")
    assert said.code == 125 and "hello.py is left out by the ignore rules" in said.err
    assert os.listdir(jig_home / "runs") == []


def test_outside_a_project(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = cli("submit", "-c", "local", "x.py")
    assert said.code == 2 and "jig project create" in said.err


def test_submit_and_return(hello, cli):
    said = cli("submit", "-a", "-c", "local", "hello.py")
    assert said.out == f"RunId: {said.run_id}\n" and f"jig logs -f {said.run_id}" in said.err
    assert cli("logs", "-f").raw == b"hello\n"
    assert cli("logs").raw == b"hello\n"
    assert cli("logs", said.run_id[:-3]).raw == b"hello\n"
    assert cli("logs", "-r", said.run_id).raw == b"hello\n"


def test_a_closed_pipe_behind_submit_does_not_hang(hello):
    import subprocess
    import sys

    from tests.conftest import environ

    command = f"'{sys.executable}' -m jig submit -c local hello.py | head -1"
    done = subprocess.run(["bash", "-c", command], env=environ(), capture_output=True, timeout=60)
    assert done.stdout.startswith(b"RunId: ") and b"Traceback" not in done.stderr


def test_status(hello, cli):
    said = cli("submit", "-c", "local", "hello.py")
    lines = dict(re.split(r"\s+: ", line, maxsplit=1) for line in cli("status").out.splitlines())
    assert (lines["run_id"], lines["state"], lines["script_name"]) == (said.run_id, "Completed", "hello.py")
    assert cli("status", "-r", said.run_id, "-t", "local", "-o", "json").json()["exit_code"] == 0
    assert cli("status", "--query", "state", "-o", "tsv").out == "Completed\n"


def test_diagnostics(hello, cli):
    said = cli("submit", "-c", "local", "hello.py")
    assert cli("experiment", "diagnostics", "-r", said.run_id, "-t", "local").code == 0
    with zipfile.ZipFile("diagnostics.zip") as archive:
        names = set(archive.namelist())
    expected = ("plan.json", "events.jsonl", "output.log", "work/hello.py", "work/aml_config/local.compute")
    assert {f"{said.run_id}/{name}" for name in expected} <= names


def test_clean_gives_back_code_but_no_record(hello, cli, jig_home):
    hello.write("ballast.bin", "x" * 100_000)
    said = cli("submit", "-c", "local", "hello.py")
    hello.write("hello.py", "open('outputs/kept', 'w').write('k'); print('again')")
    again = cli("submit", "-c", "local", "hello.py")
    assert cli("history", "delete", "-r", said.run_id).code == 0
    out = cli("experiment", "clean").out
    assert re.search(r"code copies of ended runs: 100\.\d kB", out)
    assert cli("logs", again.run_id).raw == b"again\n"
    assert cli("history", "info", "-r", again.run_id, "-a", "outputs/kept").raw == b"k"
    assert os.listdir(jig_home / "runs" / again.run_id / "work") == ["outputs"]
    assert cli("submit", "-c", "local", "hello.py").code == 0


def test_a_run_inside_a_run_knows_its_parent(hello, cli):
    inner = "import subprocess, sys; subprocess.check_call([sys.executable, '-m', 'jig', 'submit', '-c', 'local', 'hello.py'])"
    hello.write(
        "outer.py",
        f"import os; os.chdir({str(hello.path)!r}); os.environ['PYTHONPATH'] = os.environ['JIG_SOURCE']; {inner}",
    )
    from tests.conftest import SOURCE

    os.environ["JIG_SOURCE"] = str(SOURCE)
    try:
        said = cli("submit", "-c", "local", "outer.py")
    finally:
        del os.environ["JIG_SOURCE"]
    assert said.code == 0, said.out
    records = {record["script_name"]: record for record in cli("history", "list").json()}
    assert records["hello.py"]["parent_run_id"] == said.run_id and records["outer.py"]["parent_run_id"] is None


def test_git_commit_and_uncommitted_changes_are_recorded(hello, cli, jig_home):
    import subprocess

    def git(*words):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        return subprocess.run(["git", *identity, *words], check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q", "-b", "main")
    cli("submit", "-c", "local", "hello.py")  # a repository without a commit
    git("add", "-A")
    git("commit", "-qm", "one")
    assert cli("submit", "-c", "local", "hello.py").code == 0
    record = cli("history", "last").json()
    assert record["properties"]["CommitId"] == git("rev-parse", "HEAD")
    hello.write("hello.py", "print('changed')")
    said = cli("submit", "-c", "local", "hello.py")
    with open(jig_home / "runs" / said.run_id / "plan.json") as file:
        plan = json.load(file)
    assert plan["origin"] == {"commit": git("rev-parse", "HEAD"), "branch": "main", "dirty": True}
    from jig.runner.blobs import BlobStore

    diff = BlobStore(str(jig_home / "blobs")).read(plan["attachments"]["uncommitted.diff"]).decode()
    assert "-print('hello')" in diff and "+print('changed')" in diff


def test_a_home_of_its_own_for_a_target(hello, cli, tmp_path):
    """`jigHome` moves where runs live: then every file crosses the pipe, as it will to another machine."""
    other = tmp_path / "other home"
    hello.write("aml_config/local.compute", f"type: local\npythonLocation: python\njigHome: '{other}'\n")
    hello.write("data.bin", os.urandom(300_000))
    hello.write("hello.py", "import hashlib; print(hashlib.sha256(open('data.bin', 'rb').read()).hexdigest())")
    import hashlib

    digest = hashlib.sha256((hello.path / "data.bin").read_bytes()).hexdigest()
    said = cli("submit", "-c", "local", "hello.py")
    assert said.code == 0 and digest in said.out
    assert os.path.isdir(other / "runs" / said.run_id)
    assert [record["run_id"] for record in cli("history", "list").json()] == [said.run_id]
    assert cli("history", "rebuild").out == "the index holds 1 runs\n"
    assert cli("logs").raw.decode().strip() == digest


def test_prepare_and_not_prepared(project, cli, jig_home, tmp_path):
    project.write("aml_config/local.compute", "type: local\nuserManagedEnvironment: false\n")
    project.write("aml_config/conda_dependencies.yml", "dependencies:\n  - python\n  - pip:\n    - six\n")
    project.runconfig(PrepareEnvironment=False)
    project.write("a.py", "import six, sys; print(six.__name__, sys.prefix)")
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 125 and "jig experiment prepare -c local" in said.err
    assert cli("history", "list").json() == []
    said = cli("experiment", "prepare", "-c", "local")
    assert said.code == 0 and said.out.startswith(f"prepared: {jig_home}/envs/"), said.err
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 0 and f"six {jig_home}/envs/" in said.out


def test_an_environment_is_built_by_the_run_without_the_client(project, cli, jig_home):
    project.write("aml_config/local.compute", "type: local\nuserManagedEnvironment: false\n")
    project.write("aml_config/conda_dependencies.yml", "dependencies:\n  - python\n  - pip:\n    - six\n")
    project.write("a.py", "import six; print(six.__name__)")
    said = call("submit", "-a", "-c", "local", "a.py")
    until(lambda: cli("status", "-r", said.run_id, "-o", "json").json()["state"] == "Completed", timeout=60)
    assert cli("logs").raw == b"six\n"


def test_an_environment_that_cannot_be_built(project, cli, jig_home):
    project.write("aml_config/local.compute", "type: local\nuserManagedEnvironment: false\n")
    project.write("aml_config/conda_dependencies.yml", "dependencies:\n  - pip:\n    - no-such-package-zzz==9.9\n")
    project.write("a.py", "")
    said = cli("submit", "-c", "local", "a.py")
    assert (
        said.code == 125
        and "Failed: the environment could not be built" in said.out
        and "no-such-package-zzz" in said.out
    )
    assert cli("history", "last").json()["reason"] == "environment-failed"
    assert [name for name in os.listdir(jig_home / "envs") if not name.endswith(".lock")] == []


def test_cancel_while_the_environment_is_being_built(project, cli, tmp_path):
    silence = threading.Event()
    server = Listener(lambda request: silence.wait(60))
    project.write("aml_config/local.compute", "type: local\nuserManagedEnvironment: false\n")
    index = f"--index-url {server.url}/simple"
    project.write("aml_config/conda_dependencies.yml", f"dependencies:\n  - pip:\n    - {index}\n    - slow-package\n")
    project.write("a.py", "")
    said = call("submit", "-a", "-c", "local", "a.py")
    until(lambda: cli("status", "-r", said.run_id, "-o", "json").json()["state"] == "Preparing")
    assert cli("cancel", said.run_id).out == f"{said.run_id}: Canceled\n"
    silence.set()
    server.close()


def test_cancel_without_an_id_ends_the_only_run_that_is_going(hello, cli, monkeypatch, tmp_path):
    hello.write("nap.py", "import time; time.sleep(600)")
    going = cli("submit", "-a", "-c", "local", "nap.py").run_id
    assert cli("submit", "-c", "local", "hello.py").code == 0  # newer, but ended
    monkeypatch.chdir(tmp_path)
    refused = cli("cancel")
    assert refused.code == 2 and f"which run? going are {going}" in refused.err
    monkeypatch.chdir(hello.path)
    other = cli("submit", "-a", "-c", "local", "nap.py").run_id
    assert cli("cancel").code == 2
    assert cli("cancel", other, "--grace", "0").out == f"{other}: Canceled\n"
    assert cli("cancel", "--grace", "0").out == f"{going}: Canceled\n"
    assert cli("cancel").code == 125


def test_logs_of_a_run_that_never_started_say_why(hello, cli):
    hello.write("aml_config/local.compute", "type: local\npythonLocation: /no/python\n")
    cli("submit", "-c", "local", "hello.py")
    assert "Failed: the script could not be started" in cli("logs").err


def test_a_dry_run_tells_of_a_python_that_is_not_there(hello, cli):
    hello.write("aml_config/local.compute", "type: local\npythonLocation: python9\n")
    said = cli("submit", "-c", "local", "--dry-run", "hello.py")
    assert said.code == 0 and "this would not start: there is no python9" in said.err


def test_the_uncommitted_diff_is_an_artifact(hello, cli):
    import subprocess

    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *words], check=True)
    hello.write("hello.py", "print('changed')")
    cli("submit", "-c", "local", "hello.py")
    assert "+print('changed')" in cli("history", "info", "-a", "uncommitted.diff").out
    assert "uncommitted.diff" in cli("history", "last").json()["attachments"]


def test_several_ranks_do_not_disturb_the_record(hello, cli):
    hello.write(
        "ranks.py",
        "import jig, os\njig.log(x=0)\nif os.fork() == 0:\n    os.environ['RANK'] = '1'; jig.log(x=1, y=2); os._exit(0)\nos.wait()",
    )
    cli("submit", "-c", "local", "ranks.py")
    assert cli("history", "last").json()["metrics"] == {"x": 0, "y": 2}
    cli("history", "rebuild")
    assert cli("history", "last").json()["metrics"] == {"x": 0, "y": 2}
