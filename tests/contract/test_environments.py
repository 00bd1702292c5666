"""One suite over every kind of environment on every kind of machine: the same submit, the same record, the same failure."""

import json
import os
import re
from contextlib import ExitStack

import pytest

from jig import environments, machines
from jig.environments import Environment
from jig.project import Project
from jig.runner import events, image_store
from jig.runner.env_build import WAITING
from jig.runner.folder import Home
from tests.conda_channel import serve_channel
from tests.conftest import call, spawn, until
from tests.runner.wheels import make_wheel, serve
from tests.ssh.conftest import attach_words

AT_ONCE = 10


class World:
    """A project whose target `here` is a machine of one kind with an environment of one kind."""

    def __init__(self, kind: str, project, home, folder: str, engine, index) -> None:
        self.kind, self.project, self.home, self.folder, self.index = kind, project, home, folder, index
        self.engine = engine  # None where scripts are plain processes
        project.runconfig("here")
        project.write(
            "a.py",
            "import sys; print(sys.prefix)"
            if kind == "user"
            else "import alpha, delta; print(alpha.VERSION, delta.VERSION)",
        )

    def manage(self, managed: bool) -> None:
        place = self.project.path / "aml_config/here.compute"
        text = re.sub(r"userManagedEnvironment: \w+\n", "", place.read_text())
        place.write_text(f"{text}userManagedEnvironment: {str(managed).lower()}\n")

    def conda(self, *lines: str) -> None:
        text = "dependencies:\n" + "".join(f"  {line}\n" for line in lines)
        own = make_wheel(self.project.path / "aml_config/own wheels", "delta", "3.0")
        text += f"  - pip:\n    - --index-url {self.index.url}/simple\n    - alpha\n    - own wheels/{own.name}\n"
        self.project.write("aml_config/conda_dependencies.yml", text)

    def call(self, *words: str):
        return call(*words, cwd=self.project.path, timeout=60)

    def spawn(self, *words: str):
        return spawn(*words, cwd=self.project.path)

    def environments(self) -> "set[str]":
        """What is built there, or half built: folders, and images."""
        place = self.home / "envs"
        found = {name for name in os.listdir(place) if not name.endswith(".lock")} if place.exists() else set()
        if self.engine is not None:
            words = ("image", "ls", "--quiet", "--no-trunc", "--filter", "label=jig.environment")
            found |= set(self.engine.docker(*words).split())
        return found

    def notes(self, run_id: str) -> "list[str]":
        past = events.read(Home(str(self.home)).run(run_id).events)
        return [event["text"] for event in past if event["event"] == "note"]

    def ended(self, run_id: str) -> bool:
        past = events.read(Home(str(self.home)).run(run_id).events)
        return bool(past) and past[-1]["event"] in events.FINAL


def _user(world: World, channel) -> None:
    world.manage(True)


def _uv(world: World, channel) -> None:
    world.manage(False)
    world.conda("- python>=3.8")


def _conda(world: World, channel) -> None:
    world.manage(False)
    world.conda("- python", "- hello")
    place = world.project.path / "aml_config/conda_dependencies.yml"
    place.write_text(f"channels: ['{channel}']\n{place.read_text()}")


KINDS = {"conda": _conda, "user": _user, "uv": _uv}
MACHINES = ("cluster", "local", "localdocker", "remote", "remotedocker")
BASE = "jig-test/python:1"


def test_every_kind_is_here():
    assert sorted(KINDS) == sorted(environments.KINDS) and sorted(MACHINES) == sorted(machines.KINDS)


def _here(machine: str, project, request):
    """This machine as the target; returns what `World` is to know of it."""
    home = request.getfixturevalue("jig_home")
    image = f"baseDockerImage: {BASE}\n" if machine == "localdocker" else ""
    project.write("aml_config/here.compute", f"type: {machine}\n{image}")
    engine = request.getfixturevalue("docker_host") if image else None
    return "127.0.0.1", home, str(home), engine


def _there(machine: str, project, request):
    """The same with a machine over SSH."""
    cli, client, key = map(request.getfixturevalue, ("cli", "client", "key_pair"))
    request.getfixturevalue("archive_at_hand")
    box = request.getfixturevalue("lasting_box") if machine == "remotedocker" else None
    host = box.host if box else request.getfixturevalue("lasting_host")
    client.give_key(key)
    host.authorize(key.with_suffix(".pub").read_text())
    image = ("--image", BASE) if box else ()
    said = cli(*attach_words(host, *image, name="here", kind=machine))
    assert said.code == 0, said.err
    return host.near_address, host.home / ".jig", "/home/ada/.jig", box and box.engine


@pytest.fixture(params=[(kind, machine) for machine in MACHINES for kind in sorted(KINDS)], ids="-".join)
def world(request, project, tmp_path, channel, monkeypatch):
    kind, machine = request.param
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    find = _here if machine.startswith("local") else _there
    address, home, folder, engine = find(machine, project, request)
    make_wheel(tmp_path / "wheels", "alpha", "1.0")
    with ExitStack() as ends:
        index = ends.enter_context(serve(tmp_path / "wheels", address))
        served = ends.enter_context(serve_channel(channel.folder, address))
        world = World(kind, project, home, folder, engine, index)
        world.channel = served
        KINDS[kind](world, served.url)
        yield world
    if engine is not None and machine.startswith("local"):
        image_store.clean(Home(folder), 0.0)


built = pytest.mark.parametrize(
    "world",
    [(kind, machine) for machine in MACHINES for kind in sorted(KINDS) if kind != "user"],
    indirect=True,
    ids="-".join,
)


def test_the_same_submit_and_the_same_record(world, cli):
    """And it is found again."""
    before = world.environments()
    said = world.call("submit", "-c", "here", "a.py")
    assert said.code == 0, said.out + said.err
    assert world.kind == "user" or "\n1.0 3.0\n" in said.out
    assert len(world.environments() - before) == (world.kind != "user")
    (record,) = cli("history", "list", "-o", "json").json()
    shown = {name: record[name] for name in ("run_id", "status", "target", "script_name")}
    assert shown == {"run_id": said.run_id, "status": "Completed", "target": "here", "script_name": "a.py"}
    target = Project.find(str(world.project.path)).compute_target("here")
    conda = Project.find(str(world.project.path)).conda("aml_config/conda_dependencies.yml", False)
    wanted = environments.decide(target, conda, True, str(world.project.path))
    assert wanted.kind == world.kind
    plan = json.loads((world.home / "runs" / said.run_id / "plan.json").read_text())
    nowhere = tuple((digest, "") for digest, _ in wanted.files)
    assert Environment.from_json(plan["environment"]) == wanted.shown()._replace(files=nowhere)
    asked = list(world.index.asked)
    again = world.call("submit", "-c", "here", "a.py")
    assert again.code == 0 and world.notes(again.run_id) == [] and world.index.asked == asked


def test_prepare(world):
    said = world.call("experiment", "prepare", "-c", "here")
    assert said.code == 0, said.err
    place = "/azureml-envs/" if world.engine else f"{world.folder}/envs/"
    expected = "nothing to prepare: scripts run with your own " if world.kind == "user" else f"prepared: {place}"
    assert said.out.startswith(expected)
    run = world.call("submit", "-c", "here", "a.py")
    assert run.code == 0 and world.notes(run.run_id) == []


@built
def test_a_failure_says_why_first_and_leaves_nothing(world):
    world.index.folder.joinpath("alpha-1.0-py3-none-any.whl").write_bytes(b"torn")
    before = world.environments()
    said = world.call("submit", "-c", "here", "a.py")
    assert said.code == 125
    found = world.call("status", "-o", "json").json()
    assert (found["state"], found["reason"]) == ("Failed", "environment-failed")
    sentence = "Status: Failed: the environment could not be built: uv could not install the packages: "
    (status,) = [line for line in said.out.splitlines() if line.startswith("Status: ")]
    assert status.startswith(sentence) and "alpha" in status
    full = f"{world.folder}/runs/{said.run_id}/prepare.log"
    assert status.endswith(f"(the full log is {full})")
    logs = [line.removeprefix("Log: ") for line in said.out.splitlines() if line.startswith("Log: ")]
    assert full not in logs, "it is named once"
    with open(logs[0] if logs else full) as file:  # the copy here of a log there
        assert "alpha" in file.read()
    assert world.environments() == before
    make_wheel(world.index.folder, "alpha", "1.0")
    assert world.call("submit", "-c", "here", "a.py").code == 0, "and nothing of it is in the way"


@built
def test_ten_at_once_build_once(world):
    world.index.stall = "alpha"
    before = world.environments()
    clients = [world.spawn("submit", "-a", "-c", "here", "a.py") for _ in range(AT_ONCE)]
    ids = []
    for client in clients:
        out, err = client.communicate(timeout=60)
        assert client.returncode == 0, err
        ids.append(out.decode().split()[1])
    until(lambda: sum(WAITING in world.notes(run_id) for run_id in ids) == AT_ONCE - 1, what="that nine wait")
    world.index.release.set()
    until(lambda: all(world.ended(run_id) for run_id in ids), what="the end of all")
    assert sum("resolving" in world.notes(run_id) for run_id in ids) == 1
    assert len(world.environments() - before) == 1
    for run_id in ids:
        assert (world.home / "runs" / run_id / "output.log").read_text() == "1.0 3.0\n"
