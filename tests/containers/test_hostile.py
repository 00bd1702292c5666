"""Names, variables and scripts that a container trips over: the record stays right, and nothing is left."""

import os
import time

import pytest

from tests.conftest import ProjectFolder, alive, until
from tests.containers.conftest import DockerProject
from tests.faults.test_mischief import interrupted_submits

NAMES = ["with space, com,ma", "quo\"te's $HOME `id`", "日本語 проект a=b;c %s {id}", "-rf", "new\nline"]


@pytest.mark.parametrize(("name", "shared"), [*((name, True) for name in NAMES), (NAMES[1], False)])
def test_by_any_name(docker_host, tmp_path, monkeypatch, cli, name, shared):
    """Project, jig home, share, script and arguments."""
    monkeypatch.setenv("JIG_HOME", str(tmp_path / name / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / name))
    docker = DockerProject(tmp_path / name / name, docker_host)
    docker.target(sharedVolumes=shared)
    script = docker.write(f"{name}.py", "import sys; print(sys.argv[1:]); open('outputs/' + sys.argv[1], 'w').close()")
    monkeypatch.chdir(docker.path)
    said = cli("submit", "-c", "docker", "--", script.name, name, "", "--", "-c")
    assert said.code == 0, said.out + said.err
    assert repr([name, "", "--", "-c"]) in said.out
    assert os.listdir(tmp_path / name / "home/runs" / said.run_id / "work/outputs") == [name]
    assert not shared or (tmp_path / name / ".azureml/share").is_dir()
    assert docker.containers() == []


@pytest.mark.parametrize("shared", [True, False], ids=["mounted", "copied"])
def test_many_variables(docker, cli, shared):
    values = {f"V{number}": f"{number} = \"'$\\ é\n" + "x" * 1000 for number in range(200)}
    docker.target(sharedVolumes=shared)
    docker.runconfig("docker", EnvironmentVariables=values)
    docker.write("a.py", "import os; print([len(os.environ['V%d' % n]) for n in (0, 199)], os.environ['V7'][:12])")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 0, said.out + said.err
    assert f"[{len(values['V0'])}, {len(values['V199'])}] 7 = \"'$\\ é\nx" in said.out


def test_a_variable_that_no_program_can_have(docker, cli):
    docker.runconfig("docker", EnvironmentVariables={"BIG": "x" * 200_000})
    docker.write("a.py", "print('begun')")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 125 and "Argument list too long" in said.out
    assert docker.containers() == []


def test_a_file_name_that_is_not_text(docker, cli):
    for shared in (True, False):
        docker.target(sharedVolumes=shared)
        with open(os.fsencode(str(docker.path)) + b"/bad\xff.txt", "wb") as file:
            file.write(b"data")
        docker.write(
            "a.py",
            "import os; print([n for n in os.listdir(b'.') if n.startswith(b'bad')]); open(b'outputs/\\xfe', 'w').close()",
        )
        said = cli("submit", "-c", "docker", "a.py")
        assert said.code == 0 and r"b'bad\xff.txt'" in said.out, said.out


def test_ten_thousand_files_are_copied(docker, cli, jig_home):
    docker.target(sharedVolumes=False)
    for number in range(10_000):
        docker.write(f"data/{number % 100}/{number}", "1")
    docker.write("a.py", "import os; print(sum(len(names) for _, _, names in os.walk('data')))")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 0 and "\n10000\n" in said.out, said.out


# Scripts that destroy what they stand on


def test_a_script_that_removes_its_run_folder(docker, cli):
    """It has only its own part of it: the record is out of its reach."""
    docker.write("a.py", "import shutil; print('kept'); shutil.rmtree('/jig/run', ignore_errors=True)")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 0 and "\nkept\n" in said.out, said.out + said.err
    assert docker.containers() == []
    docker.write("a.py", "print('again')")
    assert "\nagain\n" in cli("submit", "-c", "docker", "a.py").out


@pytest.mark.parametrize(("code", "ending"), [("", 0), ("raise SystemExit(3)", 3), ("os.kill(os.getpid(), 9)", 137)])
def test_a_script_that_removes_what_init_writes(docker, cli, code, ending):
    """Its end is still known: the container's own exit code tells."""
    docker.write("a.py", f"import os, shutil; shutil.rmtree('/jig/run', ignore_errors=True); {code}")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == ending, said.out
    assert cli("status", "-o", "json").json()["state"] == ("Failed" if ending else "Completed")
    assert docker.containers() == []


def test_a_script_that_takes_away_its_own_rights(docker, cli, jig_home):
    docker.write("a.py", "import os\nfor name in ('/azureml-run', '/jig/home', '/jig/run'): os.chmod(name, 0)")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 0, said.out + said.err
    assert cli("history", "delete", "-r", said.run_id).code == 0
    assert os.listdir(jig_home / "runs") == []


def test_a_script_that_pretends_an_outcome(docker, cli):
    """What it writes where init does is not taken for its end while it goes on."""
    lie = "open('/jig/run/outcome.json', 'w').write('{\"exit\": 0}')"
    docker.write("a.py", f"import time; {lie}; print('lied', flush=True); time.sleep(1); raise SystemExit(4)")
    assert cli("submit", "-c", "docker", "a.py").code == 4
    docker.target(sharedVolumes=False)
    assert cli("submit", "-c", "docker", "a.py").code == 4


@pytest.mark.parametrize("nonsense", ["[]", "no JSON", '{"exit": "0"}'])
def test_an_outcome_that_is_nonsense(docker, cli, nonsense):
    """And init is kept from writing its own."""
    docker.write(
        "a.py",
        "import os\nos.chdir('/jig/run')\nos.mkdir('outcome.json.new')\n"
        f"open('outcome.json', 'w').write({nonsense!r})\nraise SystemExit(5)\n",
    )
    assert cli("submit", "-c", "docker", "a.py").code == 5
    status = cli("status", "-o", "json").json()
    assert (status["state"], status["reason"]) == ("Failed", "exited")


def test_a_script_that_forks_without_end(docker, cli):
    docker.write(
        "a.py",
        "import os, time\nfor _ in range(200):\n    if not os.fork():\n        os.setsid()\n        time.sleep(600)\nprint('forked', flush=True)\n",
    )
    began = time.monotonic()
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 0 and "\nforked\n" in said.out and time.monotonic() - began < 20
    assert docker.containers() == []


# Ctrl-C


def test_ctrl_c_at_any_moment_of_a_submit(docker, cli, jig_home):
    for _ in interrupted_submits(docker, cli, jig_home, "docker", (0.1, 0.2, 0.3, 0.5)):
        assert docker.containers() == []
    until(lambda: alive("nap.py") == [], what="the end of every process")


def test_what_the_project_of_a_process_has_is_the_same(docker, cli):
    """One project, two targets: what a script sees of its files does not depend on where it runs."""
    assert isinstance(docker, ProjectFolder)
    docker.write("deep/er/data.txt", "1")
    os.symlink("data.txt", docker.path / "deep/er/link")
    docker.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    docker.write(
        "a.py",
        "import os\nfor folder, _, names in sorted(os.walk('.')):\n"
        "    for name in sorted(names):\n"
        "        path = os.path.join(folder, name)\n"
        "        print(path, oct(os.lstat(path).st_mode), os.path.islink(path) and os.readlink(path))\n",
    )
    local = cli("submit", "-c", "local", "a.py").run_id
    mounted = cli("submit", "-c", "docker", "a.py").run_id
    docker.target(sharedVolumes=False)
    copied = cli("submit", "-c", "docker", "a.py").run_id
    logs = {cli("logs", run).out for run in (mounted, copied)}
    assert len(logs) == 1 and "deep/er/link 0o120777 data.txt" in logs.pop()
    assert cli("logs", local).out == cli("logs", mounted).out
