"""Who is not root: the script is that person, and everything that is left belongs to them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jig.runner.engine import home_key
from tests.conftest import SOURCE, Said, until
from tests.containers.conftest import BASE, DockerProject
from tests.runner.wheels import make_wheel
from tests.ssh.conftest import attach_words, carriers, client, host_folder, key_pair, make_host  # noqa: F401

UID, GID, GROUP = 1234, 1235, 4321
LOOK = """
import getpass, grp, json, os, pwd, subprocess
import alpha
say = lambda *words: subprocess.run(words, stdout=subprocess.PIPE).stdout.decode().strip()
print(json.dumps({
    "ids": [os.getuid(), os.getgid(), os.geteuid()], "whoami": say("whoami"), "getpass": getpass.getuser(),
    "home": [os.environ["HOME"], os.path.expanduser("~"), pwd.getpwuid(os.getuid()).pw_dir],
    "user": [os.environ["USER"], os.environ["LOGNAME"]], "group": grp.getgrgid(os.getgid()).gr_name,
    "root": pwd.getpwnam("root").pw_uid, "groups": sorted(os.getgroups()),
}))
for folder in (os.path.expanduser("~"), os.environ["AZUREML_NATIVE_SHARE_DIRECTORY"], "outputs", ".", "/tmp", "/dev/shm"):
    os.makedirs(os.path.join(folder, "deep"))
    open(os.path.join(folder, "deep", "file"), "w").close()
open("beside.py", "w").write("x = 1")
import beside
"""


class Person:
    """Somebody of this machine with a project, who may use an engine by a group."""

    def __init__(self, folder: Path, engine) -> None:
        self.home = folder / "person"
        self.project = DockerProject(self.home / "proj", engine)
        (self.home / ".jig").mkdir()
        self._own(self.home)
        for parent in self.home.parents:
            parent.chmod(parent.stat().st_mode | 0o011)

    def _own(self, folder: Path) -> None:
        subprocess.run(["chown", "-R", f"{UID}:{GID}", folder], check=True)

    def jig(self, *words: str, group: int = GROUP) -> Said:
        """A command of theirs, as a member of the group."""
        self._own(self.project.path)
        # This interpreter may stand where only root can read it.
        read = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
        person = ["setpriv", f"--reuid={UID}", f"--regid={GID}", f"--groups={group}", *read]
        env = {**os.environ, "PYTHONPATH": str(SOURCE), "HOME": str(self.home), "JIG_HOME": str(self.home / ".jig")}
        command = [*person, sys.executable, "-m", "jig", *words]
        done = subprocess.run(command, cwd=self.project.path, env=env, capture_output=True, timeout=60)
        return Said(done.returncode, done.stdout, done.stderr)

    def of_others(self) -> "list[str]":
        """The files below their home that belong to somebody else."""
        owned = {path: (path.lstat().st_uid, path.lstat().st_gid) for path in [self.home, *self.home.rglob("*")]}
        return [str(path) for path, owner in owned.items() if owner != (UID, GID)]


@pytest.fixture
def person(make_engine, tmp_path, monkeypatch, no_settings):
    engine = make_engine(group=GROUP)
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    monkeypatch.delenv("UV_CACHE_DIR")
    make_wheel(tmp_path / "wheels", "alpha", "1.0")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return Person(tmp_path, engine)


def found_by(said: Said) -> dict:
    assert said.code == 0, said.out + said.err
    return json.loads(next(line for line in said.out.splitlines() if line.startswith("{")))


@pytest.mark.parametrize("shared", [True, False], ids=["mounted", "copied"])
def test_everything_belongs_to_the_person(person, shared):
    person.project.target(userManagedEnvironment=False, sharedVolumes=shared)
    person.project.write("aml_config/conda_dependencies.yml", "dependencies:\n- python\n- pip:\n  - alpha\n")
    look = LOOK if shared else LOOK.replace('os.environ["AZUREML_NATIVE_SHARE_DIRECTORY"], ', "")
    person.project.write("look.py", look)
    said = person.jig("submit", "-c", "docker", "look.py")
    assert found_by(said) == {
        "ids": [UID, GID, UID],
        "whoami": f"user{UID}",
        "getpass": f"user{UID}",
        "home": ["/jig/home"] * 3,
        "user": [f"user{UID}"] * 2,
        "group": f"user{UID}",
        "root": 0,
        "groups": sorted({GID, GROUP}),
    }
    run = person.home / ".jig/runs" / said.run_id
    assert (run / "work/outputs/deep/file").exists()
    assert (person.home / ".azureml/share/proj/deep/file").exists() == shared
    assert person.of_others() == []
    assert person.jig("experiment", "clean").code == 0
    assert person.jig("history", "delete", "-r", said.run_id).code == 0 and not run.exists()
    assert person.project.engine.docker("image", "ls", "-q", "--filter", "label=jig.environment") == ""
    assert person.of_others() == []


def test_who_may_not_use_the_engine(person):
    person.project.write("a.py", "print(1)")
    said = person.jig("submit", "-c", "docker", "a.py", group=GROUP + 1)
    assert said.code == 125 and said.out == ""
    socket = person.project.engine.address.removeprefix("unix://")
    reason, _, hint = said.err.partition("\n\nhint: ")
    assert reason.startswith(f"error: this user may not use the Docker engine ({socket}: permission denied)")
    assert hint.startswith("let the user into the engine's group: `sudo usermod -aG docker $USER`, then log in anew")
    assert person.jig("history", "list", "-o", "json").json() == []


def test_two_people_clean_up_after_themselves_only(person, docker_in, cli, jig_home):
    """One engine, two jig homes: root's cleaning leaves the other's image."""
    person.project.target(userManagedEnvironment=False)
    person.project.write("a.py", "print(1)")
    assert person.jig("submit", "-c", "docker", "a.py").code == 0
    mine = docker_in(person.project.engine)
    mine.write("a.py", "print(1)")
    assert cli("submit", "-c", "docker", "a.py").code == 0
    assert cli("experiment", "clean").code == 0
    labels = person.project.engine.docker(
        "image", "ls", "-q", "--filter", f"label=jig.home={home_key(str(person.home / '.jig'))}"
    )
    assert len(labels.split()) == 1
    assert person.jig("submit", "-c", "docker", "a.py").code == 0


# Over SSH: an account that has a name


@pytest.fixture
def attached(docker_box, project, cli, client, key_pair):  # noqa: F811
    """attached() → the box, as the target `box` of a project whose scripts need the package alpha."""

    def attach():
        client.give_key(key_pair)
        docker_box.host.authorize(key_pair.with_suffix(".pub").read_text())
        said = cli(*attach_words(docker_box.host, "--image", BASE, kind="remotedocker"))
        assert said.code == 0, said.err
        project.runconfig("box")
        wheel = make_wheel(project.path / "wheels", "alpha", "1.0")
        text = f"dependencies:\n- python\n- pip:\n  - ../wheels/{wheel.name}\n"
        project.write("aml_config/conda_dependencies.yml", text)
        project.write("look.py", LOOK)
        return docker_box

    return attach


def of_others(host) -> str:
    return host.run("find /home/ada ! -user ada -o ! -group ada", user="root").stdout


@pytest.mark.parametrize("way", ["group", "sudo"])
def test_over_ssh(attached, docker_box, project, cli, jig_home, way):
    if way == "sudo":
        docker_box.only_by_sudo()
    host = attached().host
    said = cli("submit", "-c", "box", "look.py")
    found = found_by(said)
    assert (found["whoami"], found["getpass"], found["user"]) == ("ada", "ada", ["ada", "ada"])
    assert found["home"] == ["/jig/home"] * 3 and found["ids"][0] == host.home.stat().st_uid
    assert (host.home / ".azureml/share/proj/deep/file").exists()
    assert of_others(host) == ""
    (outputs,) = jig_home.glob(f"mirror/*/{said.run_id}/work/outputs")
    assert (outputs / "deep/file").exists()


@pytest.mark.parametrize("way", ["cancel", "supervisor"])
def test_nothing_is_left_where_docker_is_started_by_sudo(attached, docker_box, project, cli, way):
    """A person cannot kill what sudo started: it must end by itself."""
    docker_box.only_by_sudo()
    box = attached()
    project.write("nap.py", "import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    with open(project.path / "aml_config/box.compute", "a") as file:
        file.write("userManagedEnvironment: true\n")
    run = cli("submit", "-a", "-c", "box", "nap.py").run_id
    until(lambda: cli("logs", run).out == "here\n", what="the first line")
    assert box.engine.docker("ps", "--format", "{{.Names}}") == f"jig-{run}\n"
    if way == "cancel":
        assert cli("cancel", run, "--grace", "1").out == f"{run}: Canceled\n"
    else:
        pid = next(json.loads(line)["pid"] for line in events(box.host, run) if '"preparing"' in line)
        box.host.run(f"kill -KILL {pid}")
        until(lambda: cli("status", run, "-o", "json").json()["state"] == "Lost", what="that it is lost")
    until(lambda: box.engine.docker("ps", "-aq") == "", what="the end of the container")
    until(lambda: carriers(box.host, run) == [], what="the end of every process")
    assert of_others(box.host) == ""


def events(host, run: str) -> "list[str]":
    return (host.home / ".jig/runs" / run / "events.jsonl").read_text().splitlines()


def test_over_ssh_who_may_not(attached, docker_box, project, cli, client):  # noqa: F811
    attached()
    docker_box.for_nobody()
    client.hang_up()  # who is logged in keeps the groups that they had
    said = cli("submit", "-c", "box", "look.py")
    assert said.code == 125 and said.out == ""
    assert "this user may not use the Docker engine (/var/run/docker.sock: permission denied)" in said.err
    assert "`sudo usermod -aG docker $USER`" in said.err
    assert cli("history", "list", "-o", "json").json() == []
