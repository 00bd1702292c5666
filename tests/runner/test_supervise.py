"""Runs as real processes: what the script sees, how it ends, and that nothing of it is left."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from jig.runner import events
from jig.runner.folder import RunFolder
from tests.conftest import alive, call, spawn, until


def folder_of(jig_home, said) -> RunFolder:
    return RunFolder(str(jig_home / "runs" / said.run_id))


def last_event(folder):
    return events.read(folder.events)[-1]


SEES = """
import json, os, sys
print(json.dumps({
    "argv": sys.argv[1:], "cwd": os.getcwd(), "outputs": os.path.isdir("outputs"),
    "share": os.environ["AZUREML_NATIVE_SHARE_DIRECTORY"], "run": os.environ["JIG_RUN_ID"],
    "unbuffered": os.environ["PYTHONUNBUFFERED"], "LR": os.environ.get("LR"), "TOKEN": os.environ.get("HF_TOKEN"),
    "stdin": sys.stdin.read(), "sid": os.getsid(0) == os.getpid(),
}))
"""


def test_what_a_script_sees(project, cli, jig_home, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "s3cret-token")
    project.write("sees.py", SEES)
    project.runconfig(EnvironmentVariables={"LR": 0.1, "HF_TOKEN": {"fromClient": True}})
    said = cli("submit", "-c", "local", "sees.py", "-c", "--x", "a b", "'\"\n", "-", "--", "é")
    assert said.code == 0, said.err
    folder = folder_of(jig_home, said)
    with open(folder.log, encoding="utf-8") as file:
        seen = json.load(file)
    share = f"{os.environ['HOME']}/.azureml/share/proj/"
    assert seen == {
        "argv": ["-c", "--x", "a b", "'\"\n", "-", "--", "é"],
        "cwd": folder.work,
        "outputs": True,
        "share": share,
        "run": said.run_id,
        "unbuffered": "1",
        "LR": "0.1",
        "TOKEN": "s3cret-token",
        "stdin": "",
        "sid": True,
    }
    assert os.path.isdir(share)
    os.unlink(folder.log)  # the script printed it itself; nothing else may hold the secret
    for parent, _, names in os.walk(jig_home):
        for name in names:
            assert b"s3cret-token" not in Path(parent, name).read_bytes(), (parent, name)


def test_a_variable_that_is_not_set_here_is_named(project, cli, monkeypatch):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    project.write("a.py", "")
    project.runconfig(EnvironmentVariables={"HF_TOKEN": {"fromClient": True}})
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 2 and "takes the variable HF_TOKEN from this computer, where it is not set" in said.err


@pytest.mark.parametrize(
    ("body", "code", "state", "reason"),
    [
        ("", 0, "completed", "exited"),
        ("raise SystemExit(7)", 7, "failed", "exited"),
        ("1/0", 1, "failed", "exited"),
        ("import os; os.kill(os.getpid(), 9)", 137, "failed", "killed"),
        ("import os; os.kill(os.getpid(), 11)", 139, "failed", "killed"),
        ("import os; os._exit(255)", 255, "failed", "exited"),
    ],
)
def test_how_a_script_ends_is_told(project, cli, jig_home, body, code, state, reason):
    project.write("a.py", body)
    said = cli("submit", "-c", "local", "a.py")
    event = last_event(folder_of(jig_home, said))
    assert (said.code, event["event"], event["reason"], event["exit_code"]) == (code, state, reason, code)


def test_no_such_interpreter(project, cli, jig_home):
    project.write("aml_config/local.compute", "type: local\npythonLocation: /no/such/python\n")
    project.write("a.py", "")
    said = cli("submit", "-c", "local", "a.py")
    event = last_event(folder_of(jig_home, said))
    assert (said.code, event["event"], event["reason"]) == (125, "failed", "not-started")
    assert "/no/such/python" in event["detail"] and "/no/such/python" in said.out


def test_an_interpreter_that_cannot_run(project, cli, jig_home, tmp_path):
    broken = tmp_path / "python"
    broken.write_text("not a program")
    broken.chmod(0o755)
    project.write("aml_config/local.compute", f"type: local\npythonLocation: {broken}\n")
    project.write("a.py", "")
    said = cli("submit", "-c", "local", "a.py")
    event = last_event(folder_of(jig_home, said))
    assert (said.code, event["reason"], event["detail"]) == (125, "not-started", f"{broken}: Exec format error")


TREE = """
import os, subprocess, sys, time
mark = sys.argv[1]
sleeper = [sys.executable, "-c", "import time; time.sleep(600)", mark]
subprocess.Popen(sleeper)                                              # a child
subprocess.Popen(sleeper, start_new_session=True)                      # left the session
subprocess.Popen(["sh", "-c", '"$@" & exit', "sh", *sleeper])          # orphaned
if os.fork() == 0:                                                     # a real daemon, double fork
    os.setsid()
    if os.fork() == 0:
        os.environ.clear()
        os.execve(sleeper[0], sleeper, {})
    os._exit(0)
subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)", mark])
print("ready", flush=True)
if sys.argv[2] == "stay":
    time.sleep(600)
"""


def start_tree(project, mark, what="stay"):
    project.write("tree.py", TREE)
    said = call("submit", "-a", "-c", "local", "tree.py", mark, what)
    assert said.code == 0, said.err
    return said


def wait_ready(folder):
    until(lambda: os.path.exists(folder.log) and b"ready" in Path(folder.log).read_bytes(), what="the tree")


def test_cancel_ends_the_whole_tree(project, cli, jig_home):
    said = start_tree(project, "mark-cancel")
    folder = folder_of(jig_home, said)
    wait_ready(folder)
    until(lambda: len(alive("mark-cancel")) >= 6, what="the whole tree")
    answer = cli("cancel", said.run_id, "--grace", "0.5")
    assert (answer.code, answer.out) == (0, f"{said.run_id}: Canceled\n")
    assert alive("mark-cancel") == [] and alive(said.run_id) == []
    assert last_event(folder)["reason"] == "canceled"
    assert cli("cancel", said.run_id).out == f"{said.run_id} had already ended: Canceled\n"


def test_what_a_script_leaves_running_ends_with_it(project, cli, jig_home):
    project.write("tree.py", TREE)
    said = cli("submit", "-c", "local", "tree.py", "mark-leave", "go")
    assert said.code == 0
    assert alive("mark-leave") == []


TIDIES = """
import signal, subprocess, sys
code = '''
import signal, subprocess, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(subprocess.call(["sh", "-c", sys.argv[1]])))
print("ready", flush=True)
signal.pause()
'''
words = [sys.executable, "-c", code, "sleep 0.1; echo tidied"]
subprocess.Popen(words, stdout=subprocess.PIPE).stdout.readline()
"""


def test_what_is_left_running_may_tidy_up(project, cli, tmp_path):
    """The programs that it starts for that, as Java does, are not told to end as well."""
    place = tmp_path / "told"
    project.write("a.py", TIDIES.replace("echo tidied", f"echo tidied > {place}"))
    assert cli("submit", "-c", "local", "a.py").code == 0
    assert place.read_text() == "tidied\n"


def test_a_script_may_save_its_work_when_asked_to_end(project, cli, jig_home):
    project.write(
        "polite.py",
        "import signal, sys, time\n"
        "def save(*_):\n    open('outputs/saved', 'w').write('yes'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, save); print('ready', flush=True); time.sleep(600)\n",
    )
    said = call("submit", "-a", "-c", "local", "polite.py")
    folder = folder_of(jig_home, said)
    wait_ready(folder)
    assert cli("cancel", said.run_id).code == 0
    assert Path(folder.outputs, "saved").read_text() == "yes"
    event = last_event(folder)
    assert (event["event"], event["exit_code"]) == ("canceled", 0)


def test_a_stopped_script_can_be_canceled(project, cli, jig_home):
    project.write("stop.py", "import os, signal\nprint('ready', flush=True)\nos.kill(os.getpid(), signal.SIGSTOP)\n")
    said = call("submit", "-a", "-c", "local", "stop.py")
    wait_ready(folder_of(jig_home, said))
    started = time.monotonic()
    assert cli("cancel", said.run_id).code == 0
    assert time.monotonic() - started < 5


def test_the_supervisor_explains_itself_in_ps(project, cli, jig_home):
    said = start_tree(project, "mark-ps")
    wait_ready(folder_of(jig_home, said))
    assert [words for words in alive(f"supervise {said.run_id}") if "__main__.py" in words]


def test_ctrl_c_leaves_the_run_and_a_second_one_cancels_it(project, cli, jig_home):
    project.write("nap.py", "import time\nprint('ready', flush=True)\ntime.sleep(600)\n")
    client = spawn("submit", "-c", "local", "nap.py", start_new_session=True)
    run_id = client.stdout.readline().decode().split()[1]
    folder = RunFolder(str(jig_home / "runs" / run_id))
    wait_ready(folder)
    os.killpg(client.pid, signal.SIGINT)
    out, _ = client.communicate(timeout=30)
    assert client.returncode == 130
    assert f"  follow: jig logs -f {run_id}\n  cancel: jig cancel {run_id}\n" in out.decode()
    assert cli("status", "-r", run_id, "-o", "json").json()["state"] == "Running"

    client = spawn("logs", "-f", run_id, start_new_session=True)
    assert client.stdout.readline() == b"ready\n"
    time.sleep(0.2)
    os.killpg(client.pid, signal.SIGINT)
    while b"again within 2 s" not in client.stdout.readline():
        pass
    os.killpg(client.pid, signal.SIGINT)
    client.communicate(timeout=30)
    assert client.returncode == 143
    assert cli("status", "-r", run_id, "-o", "json").json()["state"] == "Canceled"


def test_an_untracked_run_leaves_nothing(project, cli, jig_home):
    project.runconfig(TrackedRun=False)
    project.write("a.py", "print('seen')")
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 0 and "seen" in said.out
    until(lambda: os.listdir(jig_home / "runs") == [], what="the folder's end")
    assert cli("history", "list", "--all").json() == []
    said = call("submit", "-a", "-c", "local", "a.py")
    until(lambda: os.listdir(jig_home / "runs") == [], what="the folder's end")


def test_editing_right_after_submit_changes_nothing(project, jig_home):
    project.write("late.py", "import time; time.sleep(0.5); import other; print(other.WHICH)")
    place = project.write("other.py", "WHICH = 'before'")
    said = call("submit", "-a", "-c", "local", "late.py")
    place.write_text("WHICH = 'after'")
    folder = folder_of(jig_home, said)
    until(lambda: last_event(folder)["event"] == "completed")
    assert Path(folder.log).read_text() == "before\n"


def test_out_of_memory_is_told_apart(project, jig_home, memory_group):
    project.write("hog.py", "hold = []\nwhile True:\n    hold.append(bytearray(b'x' * (1 << 20)))\n")
    said = call("submit", "-c", "local", "hog.py", preexec_fn=memory_group)
    event = last_event(folder_of(jig_home, said))
    assert (event["event"], event["reason"], said.code) == ("failed", "out-of-memory", 137)
    assert "the kernel killed the script for memory" in said.out


@pytest.fixture
def memory_group():
    """A control group of 200 MB that a child can enter: the kernel's own out-of-memory kill, on a small scale."""
    from tests.control_group import limited

    with limited(200 << 20) as enter:
        yield enter


def test_python_36_can_run_the_runner():
    """Every older interpreter that is here takes the runner's own tests of itself."""
    import subprocess

    import jig

    source = str(Path(jig.__file__).parents[1])
    code = "import jig.runner.verbs, jig.runner.supervise, jig.runner.taking_in, jig.runner.collect; print('ok')"
    for python in older_pythons():
        done = subprocess.run([python, "-I", "-S", "-c", f"import sys; sys.path.append({source!r}); {code}"], capture_output=True)  # fmt: skip
        assert done.stdout == b"ok\n", (python, done.stderr.decode())


def older_pythons():
    found = {sys.executable}
    for version in range(6, 15):
        for place in (f"/usr/bin/python3.{version}", *Path.home().glob(f".pyenv/versions/3.{version}.*/bin/python")):
            if os.path.exists(place):
                found.add(str(place))
    return sorted(found)
