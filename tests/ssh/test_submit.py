"""Submitting to a machine over SSH: what runs there, what travels, what comes home, on hosts of every make."""

import contextlib
import json
import os
import resource

import pytest

from tests.conftest import call, until
from tests.ssh.conftest import Box, attach_words, carriers, every_file, mirror

WHERE = "import os, socket; print(socket.gethostname(), os.getcwd())"


def test_a_script_runs_there(box, project, cli, jig_home):
    project.write("a.py", f"{WHERE}\nimport sys; print(sys.argv[1:]); sys.exit(3)")
    said = box.submit("a.py", "a b", "'q\"", "é\n", "-x", "$HOME", "")
    assert said.code == 3, said.err
    words = ["a b", "'q\"", "é\n", "-x", "$HOME", ""]
    log = f"box1 /home/ada/.jig/runs/{said.run_id}/work\n{words!r}\n"
    assert log in said.out
    here = mirror(jig_home, said.run_id)
    assert (here / "output.log").read_text() == (box.runs / said.run_id / "output.log").read_text() == log
    for name in ("plan.json", "events.jsonl"):
        assert (here / name).read_bytes() == (box.runs / said.run_id / name).read_bytes()
    assert not (jig_home / "runs" / said.run_id).exists()


def test_from_a_program_that_has_many_files_open(box, project):
    project.write("a.py", "print('done')")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(hard, 4096)))
    with contextlib.ExitStack() as opened:
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, max(hard, 4096)))
        while opened.enter_context(open(os.devnull)).fileno() < 1100:  # select() goes up to 1,023
            pass
        said = box.submit("a.py")
    assert said.code == 0 and "done\n" in said.out, said.err


def test_the_record(box, project, cli):
    project.write("a.py", "from azureml.logging import get_azureml_logger\nlog = get_azureml_logger()\n"
                          "log.log('Accuracy', 0.5)\nopen('outputs/model.json', 'w').write('{}')\nprint('done')")  # fmt: skip
    run_id = box.submit("a.py").run_id
    (record,) = cli("history", "list", "-o", "json").json()
    assert (record["run_id"], record["status"], record["Accuracy"]) == (run_id, "Completed", 0.5)
    assert cli("logs", run_id).out == "done\n"
    state = cli("status", run_id, "-o", "json").json()
    assert (state["state"], state["exit_code"], state["target"]) == ("Completed", 0, "box")
    assert cli("history", "info", run_id, "-a", "outputs/model.json").out == "{}"
    assert cli("history", "rebuild").out == "the index holds 1 runs\n"
    assert cli("history", "list", "-o", "json").json() == [record]


def test_a_detached_run_is_asked_about_later(box, project, cli, jig_home):
    project.write("a.py", "import time; print('begun', flush=True); time.sleep(60)")
    run_id = box.start("a.py")
    until(lambda: cli("status", run_id, "-o", "json").json()["state"] == "Running")
    until(lambda: (box.runs / run_id / "output.log").read_text() == "begun\n")
    assert cli("logs", run_id).out == "begun\n", "logs without -f brings what is new"
    said = cli("cancel", run_id)
    assert (said.code, said.out) == (0, f"{run_id}: Canceled\n")
    assert cli("status", run_id, "-o", "json").json()["state"] == "Canceled"
    assert carriers(box.host, run_id) == []


def test_frozen_code(box, project, cli):
    project.write("part.py", "text = 'as submitted'")
    project.write(
        "a.py", "import time, os\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\nimport part; print(part.text)"
    )
    run_id = box.start("a.py")
    project.write("part.py", "text = 'edited'")
    box.host.run("touch /tmp/go")
    assert cli("logs", "-f", run_id).out == "as submitted\n"


def test_a_secret_is_in_no_file(box, project, cli, jig_home, monkeypatch):
    monkeypatch.setenv("TOKEN", "t0p-s3cret")
    project.runconfig("box", EnvironmentVariables={"TOKEN": {"fromClient": True}, "PLAIN": "p"})
    project.write(
        "a.py", "import os, time; print(len(os.environ['TOKEN']), os.environ['PLAIN'], flush=True); time.sleep(60)"
    )
    run_id = box.start("a.py")
    until(lambda: cli("logs", run_id).out == "10 p\n")
    everything = every_file(box.host.home, jig_home.parent, project.path, box.host.root / "tmp", box.host.root / "run")
    assert everything and [place for place, data in everything.items() if b"t0p-s3cret" in data] == []
    assert not any("t0p-s3cret" in words for words in box.host.processes())
    assert cli("cancel", run_id).code == 0


# What travels


def test_only_missing_blobs_travel(box, project, cli):
    project.write("a.py", "print(len(open('big').read()))")
    project.write("big", os.urandom(1 << 20).hex())
    for number in range(50):
        project.write(f"many/{number}", str(number))
    assert box.submit("a.py").code == 0
    blobs = box.host.home / ".jig/blobs"
    before = {place: place.stat().st_ino for place in blobs.rglob("*") if place.is_file()}
    received = eth0_received(box.host)
    project.write("many/7", "changed")
    assert "2097152\n" in box.submit("a.py").out
    after = {place: place.stat().st_ino for place in blobs.rglob("*") if place.is_file()}
    assert len(after) - len(before) == 2, "the changed file and the list"
    assert {place: after[place] for place in before} == before
    assert eth0_received(box.host) - received < 100_000


def eth0_received(host) -> int:
    (line,) = [line for line in host.run("cat /proc/net/dev").stdout.splitlines() if "eth0:" in line]
    return int(line.split()[1])


def test_compressed(box, project, cli):
    project.write("a.py", "print(len(open('zeros').read()))")
    project.write("zeros", "0" * (8 << 20))
    received = eth0_received(box.host)
    assert "8388608\n" in box.submit("a.py").out
    assert eth0_received(box.host) - received < 2_000_000


def test_few_round_trips(box, project, cli, client):
    """A warm submit: one command there; followed, another one for its outputs. No new connection, no ssh program here."""
    project.write("a.py", "print(1)")
    assert box.submit("a.py").code == 0
    calls, commands, logins = len(client.calls()), box.host.commands(), box.host.sshd_log().count("Accepted publickey")
    assert cli("submit", "-a", "-c", "box", "a.py").code == 0
    assert box.host.commands() - commands == 1
    assert "1\n" in box.submit("a.py").out
    assert box.host.commands() - commands == 3
    assert len(client.calls()) == calls
    assert box.host.sshd_log().count("Accepted publickey") == logins


def test_a_command_substitution_ends(box, project, client):
    """The control connection that stays does not hold our pipes."""
    import subprocess

    from tests.conftest import environ

    client.hang_up()
    project.write("a.py", "print(1)")
    done = subprocess.run(
        ["sh", "-c", 'x=$(python -m jig submit -a -c box a.py 2>&1); echo "$x" | grep -c RunId'],
        env=environ(), cwd=project.path, capture_output=True, timeout=30,
    )  # fmt: skip
    assert done.stdout == b"1\n", done.stderr
    assert list(client.sockets.glob("jig-*/*")), "and it does stay"


def test_the_runner_there_is_gone(box, project, cli):
    """Somebody cleaned up: it is brought again, by whatever command comes first."""
    project.write("a.py", "open('outputs/x', 'w').write('x'); print('ran')")
    assert box.submit("a.py").code == 0

    def gone() -> None:
        box.host.run("rm -rf ~/.jig/runner")

    gone()
    assert "ran\n" in box.submit("a.py").out
    run_id = box.start("a.py")
    until(lambda: "completed" in (box.runs / run_id / "events.jsonl").read_text())
    gone()
    assert "ran\n" in call("logs", "-f", run_id, cwd=project.path, timeout=30).out
    gone()
    assert cli("computetarget", "check", "box").code == 0
    gone()
    assert cli("history", "sync", "-c", "box").code == 0


# What comes home


def test_outputs(box, project, cli, jig_home):
    project.write("a.py", """
import os
os.makedirs('outputs/a folder/b')
names = ['plain', 'a folder/b/é "q" \\n.bin', '-rf', 'plumless', 'buckeroo', 'empty']
for name in names:
    with open('outputs/' + name, 'wb') as file:
        file.write(b'' if name == 'empty' else name.encode() * 1000)
with open(b'outputs/\\xff\\xfe', 'wb') as file:
    file.write(b'no text')
os.symlink('/etc/passwd', 'outputs/link')
os.mkfifo('outputs/pipe')
os.symlink('/etc', 'outputs/linked folder')
""")  # fmt: skip
    said = box.submit("a.py")
    assert said.code == 0 and "warning" not in said.err, said.err
    there, here = box.runs / said.run_id / "work/outputs", mirror(jig_home, said.run_id) / "work/outputs"
    names = sorted(place.relative_to(here) for place in here.rglob("*") if place.is_file())
    assert len(names) == 7
    for name in names:
        assert (here / name).read_bytes() == (there / name).read_bytes()
    assert not (here / "link").is_symlink() and not (here / "pipe").exists() and not (here / "linked folder").exists()


def test_a_part_of_an_output_is_not_fetched_again(box, project, cli, jig_home):
    from jig.machines import mirror as copies
    from jig.runner.folder import RunFolder

    project.write("a.py", "import random; open('outputs/big', 'wb').write(random.Random(1).randbytes(4_000_000))")
    run_id = box.start("a.py")
    until(lambda: "completed" in (box.runs / run_id / "events.jsonl").read_text())
    data = (box.runs / run_id / "work/outputs/big").read_bytes()
    (folder,) = jig_home.glob(f"mirror/*/{run_id}")
    copies.write_at(copies._part(RunFolder(str(folder)), "big"), 0, data[:3_900_000])
    sent = box.host.run("cat /proc/net/dev").stdout
    assert cli("status", run_id).code == 0
    assert (folder / "work/outputs/big").read_bytes() == data
    first, second = (
        int(next(line for line in text.splitlines() if "eth0:" in line).split()[9])
        for text in (sent, box.host.run("cat /proc/net/dev").stdout)
    )
    assert second - first < 1_000_000


def test_a_spoilt_part_is_found_out_and_fetched_anew(box, project, cli, jig_home):
    from jig.machines import mirror as copies
    from jig.runner.folder import RunFolder

    project.write("a.py", "open('outputs/x', 'w').write('right' * 1000)")
    run_id = box.start("a.py")
    until(lambda: "completed" in (box.runs / run_id / "events.jsonl").read_text())
    (folder,) = jig_home.glob(f"mirror/*/{run_id}")
    copies.write_at(copies._part(RunFolder(str(folder)), "x"), 0, b"wrong")
    said = cli("logs", "-f", run_id)
    assert "did not arrive whole" in said.err
    assert not (folder / "work/outputs/x").exists()
    assert cli("logs", "-f", run_id).code == 0
    assert (folder / "work/outputs/x").read_text() == "right" * 1000


def test_outputs_that_were_left_behind_are_fetched_by_any_command(box, project, cli, jig_home, tmp_path):
    """The follower died between the last byte of the log and the outputs."""
    import shutil

    project.write("a.py", "open('outputs/x', 'w').write('late')")
    run_id = box.submit("a.py").run_id
    folder = mirror(jig_home, run_id)
    for words in (
        ("history", "download", run_id, "-d", str(tmp_path / "d")),
        ("history", "info", run_id, "-a", "outputs/x"),
        ("status", run_id),
    ):
        (folder / "outputs.json").unlink()
        shutil.rmtree(folder / "work")
        assert cli(*words).code == 0, words
        assert (folder / "work/outputs/x").read_text() == "late", words


def test_a_run_that_leaves_no_record(box, project, cli, jig_home):
    project.runconfig("box", TrackedRun=False)
    project.write("a.py", "print('once')")
    said = box.submit("a.py")
    assert said.code == 0 and "once\n" in said.out
    assert cli("history", "list", "-o", "json").json() == []
    until(lambda: os.listdir(box.runs) == [])
    assert list(jig_home.glob("mirror/*/*")) == []


def test_delete(box, project, cli, jig_home):
    project.write("a.py", "print(1)")
    run_id = box.submit("a.py").run_id
    assert cli("history", "delete", "-r", run_id).code == 0
    assert os.listdir(box.runs) == [] and list(jig_home.glob("mirror/*/*")) == []
    assert cli("history", "rebuild").out == "the index holds 0 runs\n"


def test_a_run_that_was_deleted_there(box, project, cli, jig_home):
    project.write("a.py", "import time; time.sleep(60)")
    run_id = box.start("a.py")
    until(lambda: cli("status", run_id, "-o", "json").json()["state"] == "Running")
    box.host.run(f"pkill -KILL -f {run_id}; rm -rf ~/.jig/runs/{run_id}")
    for words in (("status", run_id), ("logs", "-f", run_id), ("cancel", run_id)):
        said = call(*words, cwd=project.path, timeout=30)
        assert "Running" not in said.out and said.out + said.err, words
        assert "Traceback" not in said.err


def test_clean_and_dry_run(box, project, cli, client):
    project.write("a.py", "print(1)")
    assert box.submit("a.py").code == 0
    assert cli("experiment", "clean").code == 0
    client.hang_up()
    before = len(client.calls())
    assert cli("submit", "--dry-run", "-c", "box", "a.py").code == 0
    assert len(client.calls()) == before, "a plan contacts nobody"


# Machines of every make


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/tcsh", "/usr/bin/fish"])
def test_login_shells(host, project, cli, shell):
    host.shell(shell)
    said = cli(*attach_words(host, "--password", host.password))
    assert said.code == 0, said.err
    project.write("a.py", WHERE)
    assert "box1 /home/ada/.jig/runs/" in cli("submit", "-c", "box", "a.py").out


CHATTER = {
    "a banner": "*** Authorized use only ***\n" * 3,
    "no newline at its end": "Welcome to box1! ",
    "a terminal's title": "\033]0;ada@box1\007",
    "something like an answer": "jig: is great\njig:\n",
    "bytes": "\x01\xff é \r\r\n",
    "long": "x" * 30_000 + "\n" + "y\n" * 30_000,
}


@pytest.mark.parametrize("kind", CHATTER)
def test_chatty_profiles(host, project, cli, kind):
    (host.banner if kind == "a banner" else host.chatter)(CHATTER[kind])
    said = cli(*attach_words(host, "--password", host.password))
    assert said.code == 0, said.err
    project.write("a.py", "print('clean'); open('outputs/x', 'w').write('x')")
    said = cli("submit", "-c", "box", "a.py")
    assert said.code == 0, said.err
    assert said.out.splitlines()[1:4] == ["Executing user inputs .....", "===========================", "clean"]
    assert said.err == ""


def test_a_home_with_spaces(host, project, cli, monkeypatch):
    host.add_user("bob", "secret", home="/home/bob the  'builder' é")
    monkeypatch.setattr(host, "user", "bob")
    said = cli(*attach_words(host, "--password", "secret", "--jig-home", "~/my jig"))
    assert said.code == 0, said.err
    project.write("a.py", "import os; print(os.getcwd()); open('outputs/x', 'w').write('x')")
    said = cli("submit", "-c", "box", "a.py")
    assert f"/home/bob the  'builder' é/my jig/runs/{said.run_id}/work\n" in said.out
    assert cli("history", "info", said.run_id, "-a", "outputs/x").out == "x"
    assert cli("logs", said.run_id).code == 0


def test_another_jig_home_written_into_the_file(box, project, cli):
    """The file says how; later commands find the run where it is, and those of before where they are."""
    project.write("a.py", "print('here'); import time; time.sleep(0.5)")
    before = box.start("a.py")
    place = project.path / "aml_config/box.compute"
    place.write_text(place.read_text().replace('# jigHome: "/scratch/me/jig"', 'jigHome: "/tmp/scratch"'))
    run_id = box.start("a.py")
    assert (box.host.root / "tmp/scratch/runs" / run_id).is_dir()
    for one in (run_id, before):
        said = call("logs", "-f", one, cwd=project.path, timeout=30)
        assert (said.code, said.out) == (0, "here\n"), said.err


@pytest.mark.parametrize("name", ["with space é", "per%hcent", 'q"uote'])
def test_a_client_whose_home_is_awkward(host, project, cli, monkeypatch, tmp_path, name):
    monkeypatch.setenv("JIG_HOME", str(tmp_path / name))
    said = cli(*attach_words(host, "--password", host.password))
    assert said.code == 0, said.err
    project.write("a.py", WHERE)
    assert "box1 " in cli("submit", "-c", "box", "a.py").out


def test_no_python_there_later(box, project, cli):
    project.write("a.py", "print(1)")
    box.host.without("python3*")
    said = box.submit("a.py")
    assert said.code == 125 and "there is no python3 on box" in said.err
    assert cli("history", "list", "-o", "json").json() == []


def test_max_sessions(host, project, cli, client, key_pair):
    """One session per connection: a second command goes its own way."""
    host.configure(MaxSessions=1)
    client.give_key(key_pair)
    host.authorize(key_pair.with_suffix(".pub").read_text())
    assert cli(*attach_words(host)).code == 0
    box = Box(host, cli)
    project.write("a.py", "import time; print('begun', flush=True); time.sleep(60)")
    run_id = box.start("a.py")
    from tests.conftest import spawn

    following = spawn("logs", "-f", run_id, cwd=project.path)
    assert following.stdout.readline() == b"begun\n"
    assert cli("status", run_id, "-o", "json").json()["state"] == "Running"
    assert cli("cancel", run_id).out == f"{run_id}: Canceled\n"
    out, err = following.communicate(timeout=30)
    assert out == b"" and err.decode() == f"{run_id}: Canceled\n"


# Several people and computers


def test_sync_adopts_runs_from_another_computer(box, project, cli, jig_home, monkeypatch, client, key_pair, tmp_path):
    project.write("a.py", "open('outputs/x', 'w').write('x'); print('from the other one')")
    done = box.submit("a.py").run_id
    project.write("b.py", "import time; print('going', flush=True); time.sleep(60)")
    going = box.start("b.py")
    monkeypatch.setenv("JIG_HOME", str(tmp_path / "second"))
    assert cli(*attach_words(box.host)).code == 0
    assert cli("history", "list", "-o", "json").json() == []
    assert cli("history", "sync", "-c", "box").out == "box: 2 runs adopted, 0 brought up to date\n"
    assert {record["run_id"]: record["status"] for record in cli("history", "list", "-o", "json").json()} == {
        done: "Completed",
        going: "Running",
    }
    assert cli("history", "info", done, "-a", "outputs/x").out == "x"
    assert cli("logs", done).out == "from the other one\n"
    assert cli("cancel", going).out == f"{going}: Canceled\n"
    assert cli("history", "sync", "-c", "box").out == "box: 0 runs adopted, 0 brought up to date\n"
    monkeypatch.setenv("JIG_HOME", str(jig_home))
    assert cli("status", going, "-o", "json").json()["state"] == "Canceled"


def test_two_users(host, project, cli, monkeypatch):
    host.add_user("bob", "secret")
    assert cli(*attach_words(host, "--password", host.password, name="box")).code == 0
    monkeypatch.setattr(host, "user", "bob")
    assert cli(*attach_words(host, "--password", "secret", name="bobs")).code == 0
    project.write(
        "a.py",
        "import os; print(os.environ['HOME'], oct(os.stat(os.environ['JIG_RUN_DIR'] + '/../..').st_mode & 0o77))",
    )
    assert "/home/ada 0o0\n" in cli("submit", "-c", "box", "a.py").out
    assert "/home/bob 0o0\n" in cli("submit", "-c", "bobs", "a.py").out
    assert host.run("ls ~bob/.jig", user="ada").returncode != 0


def test_client_and_machine_share_a_home(host, project, cli, monkeypatch, client, key_pair):
    """As labs have it: the same ~/.jig is seen from both."""
    client.give_key(key_pair)
    host.configure(PermitRootLogin="yes")
    host.authorize(key_pair.with_suffix(".pub").read_text(), user="root")
    monkeypatch.setattr(host, "user", "root")
    shared = host.home_of("root") / ".jig"
    monkeypatch.setenv("JIG_HOME", str(shared))
    assert cli(*attach_words(host)).code == 0
    project.write("a.py", "import socket; print(socket.gethostname()); open('outputs/x', 'w').write('x')")
    local = cli("submit", "-c", "local", "a.py").run_id
    there = cli("submit", "-c", "box", "a.py")
    assert there.code == 0 and "box1\n" in there.out, there.err
    going = cli("submit", "-a", "-c", "box", project.write("b.py", "import time; time.sleep(60)").name).run_id

    def listed() -> "dict[str, str]":
        records = cli("history", "list", "-o", "json").json()
        assert len(records) == len({record["run_id"] for record in records})
        return {record["run_id"]: record["target"] for record in records}

    expected = {local: "local", there.run_id: "box", going: "box"}
    assert listed() == expected
    assert cli("history", "sync", "-c", "box").code == 0
    assert listed() == expected, "a run of this computer is no run of the machine"
    assert cli("history", "rebuild").code == 0
    assert listed() == expected
    assert cli("status", going, "-o", "json").json()["state"] == "Running"
    assert cli("cancel", going).out == f"{going}: Canceled\n"
    assert carriers(host, going) == []
    assert cli("logs", there.run_id).out == "box1\n"
    assert not list(shared.glob(f"mirror/*/{local}"))
    assert (mirror(shared, there.run_id) / "work/outputs/x").read_text() == "x"


def test_plan_on_the_machine_is_the_plan_here(box, project, cli, jig_home):
    project.write("a.py", "print(1)")
    run_id = box.submit("a.py").run_id
    plan = json.loads((mirror(jig_home, run_id) / "plan.json").read_text())
    assert (plan["target"], plan["target_kind"], plan["run_id"]) == ("box", "remote", run_id)
