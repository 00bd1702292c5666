"""What a script finds in its container, and what it leaves."""

import json
import os
from pathlib import Path

import pytest

from jig.runner.folder import Home
from tests.conftest import until

LOOK = """
import getpass, json, os, pwd, grp, sys
print(json.dumps({
    "cwd": os.getcwd(), "argv": sys.argv[1:], "pid1": open("/proc/1/cmdline").read().split("\\0")[5:7],
    "user": [os.getuid(), os.getgid(), getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir, grp.getgrgid(os.getgid()).gr_gid],
    "home": os.environ["HOME"], "share": os.environ["AZUREML_NATIVE_SHARE_DIRECTORY"],
    "shm": os.statvfs("/dev/shm").f_blocks * os.statvfs("/dev/shm").f_frsize,
    "privileged": os.path.exists("/dev/mem"), "socket": os.path.exists("/var/run/docker.sock"),
    "variable": os.environ.get("COLOR"), "host": "JIG_TEST_OF_HOST" in os.environ,
}))
open(os.path.expanduser("~/mine"), "w").write("kept while it runs")
open(os.environ["AZUREML_NATIVE_SHARE_DIRECTORY"] + "shared.txt", "w").write("for all runs")
open("outputs/model.txt", "w").write("the model")
"""


def test_what_a_script_finds_and_leaves(docker, cli, jig_home, monkeypatch):
    monkeypatch.setenv("JIG_TEST_OF_HOST", "1")
    docker.runconfig("docker", EnvironmentVariables={"COLOR": "blue"})
    docker.write("look.py", LOOK)
    said = cli("submit", "-c", "docker", "look.py", "--rate", "0.1", "a b")
    assert said.code == 0, said.out + said.err
    found = json.loads(next(line for line in said.out.splitlines() if line.startswith("{")))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert found.pop("shm") >= memory // 2 - 4096
    assert found == {
        "cwd": "/azureml-run",
        "argv": ["--rate", "0.1", "a b"],
        "pid1": ["/jig/pack/script/jig_init.py", "/jig/run"],
        "user": [os.getuid(), os.getgid(), found["user"][2], "/jig/home", os.getgid()],
        "home": "/jig/home",
        "share": "/azureml-share/",
        "privileged": False,
        "socket": False,
        "variable": "blue",
        "host": False,
    }
    folder = Home(str(jig_home)).run(said.run_id)
    with open(os.path.join(folder.outputs, "model.txt")) as file:
        assert file.read() == "the model"
    assert os.stat(os.path.join(folder.outputs, "model.txt")).st_uid == os.getuid()
    assert (jig_home.parent / ".azureml/share/proj/shared.txt").read_text() == "for all runs"
    assert docker.containers() == []


def test_the_log_is_kept_byte_by_byte(docker, cli, jig_home):
    docker.write(
        "say.py",
        "import os\n"
        "os.write(1, bytes(range(256)) * 300)\n"
        "os.write(2, b'to stderr\\n')\n"
        "os.write(1, b'no newline at the end')\n",
    )
    said = cli("submit", "-c", "docker", "say.py")
    with open(Home(str(jig_home)).run(said.run_id).log, "rb") as file:
        assert file.read() == bytes(range(256)) * 300 + b"to stderr\nno newline at the end"


@pytest.mark.parametrize(
    ("code", "ending"),
    [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137), ("import os; os.abort()", 134)],
)
def test_how_a_script_ends_is_how_submit_ends(docker, cli, code, ending):
    docker.write("end.py", code)
    said = cli("submit", "-c", "docker", "end.py")
    assert said.code == ending, said.out
    status = cli("status", said.run_id, "-o", "json").json()
    assert (status["state"], status["reason"]) == ("Failed", "exited" if ending == 7 else "killed")
    assert docker.containers() == []


def test_secrets_are_in_nothing_that_the_engine_keeps(docker, cli, monkeypatch, tmp_path):
    monkeypatch.setenv("TOKEN", "hunter2-from-client")
    docker.runconfig("docker", EnvironmentVariables={"TOKEN": {"fromClient": True}})
    docker.write("nap.py", "import os, time\nprint(len(os.environ['TOKEN']), flush=True)\ntime.sleep(600)\n")
    run = cli("submit", "-a", "-c", "docker", "nap.py").run_id
    until(lambda: cli("logs", run).out == "19\n", what="the script's first line")
    assert docker.containers() == [f"jig-{run}"]
    assert "hunter2" not in docker.engine.docker("inspect", f"jig-{run}")
    assert cli("cancel", run, "--grace", "0").out == f"{run}: Canceled\n"
    assert docker.containers() == []


def test_metrics_are_logged_in_the_container(docker, cli):
    docker.write("train.py", "import jig\nfor step in range(3):\n    jig.log('loss', 1 / (step + 1))\n")
    said = cli("submit", "-c", "docker", "train.py")
    assert said.code == 0, said.out + said.err
    assert cli("history", "info", "-r", said.run_id, "-o", "json").json()["loss"] == pytest.approx(1 / 3)


def test_what_a_script_leaves_running_ends_with_it(docker, cli):
    docker.write(
        "fork.py",
        "import os, subprocess\n"
        "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "print('left', flush=True)\n",
    )
    said = cli("submit", "-c", "docker", "fork.py")
    assert said.code == 0 and "left" in said.out
    assert docker.containers() == []


def test_what_other_ranks_logged_is_in_the_record(docker, cli, jig_home):
    docker.write(
        "ranks.py",
        "import os, subprocess, sys\n"
        "code = 'import jig; jig.log(loss=2)'\n"
        "subprocess.run([sys.executable, '-c', code], env=dict(os.environ, RANK='1'), check=True)\n"
        "os.symlink('/etc/passwd', os.environ['JIG_RUN_DIR'] + '/metrics.2.jsonl')\n",
    )
    said = cli("submit", "-c", "docker", "ranks.py")
    assert said.code == 0, said.out
    folder = Home(str(jig_home)).run(said.run_id)
    assert '"loss": 2' in (Path(folder.path) / "metrics.1.jsonl").read_text()
    assert not os.path.lexists(os.path.join(folder.path, "metrics.2.jsonl"))
