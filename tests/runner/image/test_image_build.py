"""Environments as layers on a base image, built for real by the session's engine."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jig.runner import image, image_build
from jig.runner.environment import EnvironmentFailed
from tests.conftest import SOURCE, until
from tests.runner.image.machine import CONDA, PYTHON, ImageMachine, wanted
from tests.runner.wheels import Index, serve

MAKING = ["making an environment", "resolving", "installing 1 package", "environment ready"]
WAITING = "waiting for another run that builds this environment"


def test_packages_are_put_on_the_base(machine: ImageMachine) -> None:
    made = machine.ensure(wanted("alpha"))
    assert machine.python(made, "import alpha, sys; print(alpha.VERSION, sys.prefix)") == f"1.0 {made.prefix}\n"
    assert made.prefix == f"/azureml-envs/{made.tag.removeprefix('jig-env:')}"
    assert made.python == f"{made.prefix}/bin/python"
    assert machine.run(made, f"{made.prefix}/bin/alpha") == "1.0\n"
    assert machine.steps() == MAKING
    total, *steps = [float(number) for number in re.findall(r" (\d+\.\d)", machine.told[-1])]
    assert "container" in machine.told[-1] and sum(steps) < total + 0.3, "no step is counted within another"
    assert "Installed 1 package" in machine.log.read_text()
    assert machine.images() == [made.id] and machine.staged() == []


def test_what_the_image_is_like(machine: ImageMachine) -> None:
    made = machine.ensure(wanted("alpha"))
    (about,) = json.loads(machine.engine.docker("inspect", made.id))
    base = machine.look(wanted("alpha"))
    assert about["Config"]["Labels"] == {
        "jig.base": base.base_id,
        "jig.build": "",
        "jig.environment": "ab12",
        "jig.home": machine.engine.docker(
            "inspect", "--format", '{{index .Config.Labels "jig.home"}}', made.id
        ).strip(),
        "jig.packages": "1",
        "jig.python": made.python,
        "jig.python.version": machine.python(made, "import platform; print(platform.python_version())").strip(),
    }
    assert about["Config"]["Cmd"] == [made.python]
    assert not about["Config"].get("Entrypoint") and about["Config"]["User"] == "root"
    assert not about["Config"].get("Env") or all(pair.startswith("PATH=") for pair in about["Config"]["Env"])
    # Nothing of this machine is left in it: neither its folders nor what was mounted.
    assert machine.run(made, "ls", "-A", "/jig", "/opt", "/home", "/tmp", "/azureml-envs") == (
        f"/azureml-envs:\n{made.prefix.rpartition('/')[2]}\n\n/home:\n\n/jig:\n\n/opt:\n\n/tmp:\n"
    )


def test_an_image_that_is_there_is_used_again(machine: ImageMachine) -> None:
    made = machine.ensure(wanted("alpha"))
    machine.told.clear()
    again = machine.ensure(wanted("alpha"))
    assert (again.id, again.tag, again.python, again.facts) == (made.id, made.tag, made.python, made.facts)
    assert machine.told == []


def test_other_packages_make_another_image(machine: ImageMachine) -> None:
    first = machine.ensure(wanted("alpha"))
    second = machine.ensure(wanted(fingerprint="cd34"))
    third = machine.ensure(wanted("alpha"), CONDA)
    assert len({first.tag, second.tag, third.tag}) == 3
    assert machine.steps()[4:6] == ["making an environment", "environment ready"]
    assert machine.python(third, "import sys; print(sys.base_prefix)") == "/opt/conda\n"


def test_a_base_that_is_another_one_now(machine: ImageMachine) -> None:
    base = "jig-test/moves:1"
    machine.engine.docker("tag", PYTHON, base)
    try:
        first = machine.ensure(wanted("alpha"), base)
        machine.engine.docker("tag", CONDA, base)
        machine.told.clear()
        second = machine.ensure(wanted("alpha"), base)
        assert machine.told[0] == (
            f"the base image {base} is another one than the environment was built on: it is built again"
        )
        assert second.tag == first.tag and machine.images() == [second.id], "the old one is not left"
        assert machine.python(second, "import sys; print(sys.base_prefix)") == "/opt/conda\n"
        machine.engine.docker("rmi", base)
        assert machine.ensure(wanted("alpha"), base).id == second.id, "it does without its base"
    finally:
        subprocess.run(["docker", "rmi", base], capture_output=True)


def test_a_package_that_is_not_there(machine: ImageMachine) -> None:
    reason = machine.fails(wanted("nosuch"))
    assert reason.startswith("uv could not install the packages: ") and "nosuch" in reason
    assert reason.endswith(f"(the full log is {machine.log})")


@pytest.fixture
def index(machine: ImageMachine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """`alpha` from a server."""
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.delenv("PIP_NO_INDEX")
    with serve(machine.wheels) as served:
        monkeypatch.setenv("PIP_INDEX_URL", f"{served.url}/simple")
        yield served


def test_a_build_that_is_canceled(machine: ImageMachine, index: Index) -> None:
    index.stall = "/files/"
    assert machine.fails(wanted("alpha"), stopping=index.arrived.is_set) == "canceled"


def test_a_builder_that_is_killed(machine: ImageMachine, index: Index) -> None:
    index.stall = "/files/"
    builder = machine.start(wanted("alpha"))
    assert index.arrived.wait(30)
    (container,) = machine.containers()
    builder.kill()
    builder.communicate()

    def state() -> str:
        return machine.engine.docker("inspect", "--format", "{{.State.Status}}", container).strip()

    until(lambda: state() == "exited", what="the end of the container, which met the end of its stdin")
    assert len(machine.staged()) == 1
    index.stall = ""
    index.release.set()
    made = machine.ensure(wanted("alpha"))
    assert machine.images() == [made.id] and machine.containers() == [] and machine.staged() == []


def test_two_builders_at_once(machine: ImageMachine, index: Index) -> None:
    index.stall = "/files/"
    first = machine.start(wanted("alpha"))
    assert index.arrived.wait(30)
    second = machine.start(wanted("alpha"))
    assert second.stdout and second.stdout.readline() == WAITING + "\n"
    index.release.set()
    ids = {process.communicate(timeout=30)[0].splitlines()[-1] for process in (first, second)}
    assert ids == set(machine.images()) and len(ids) == 1
    until(lambda: machine.containers() == [])


def test_two_homes_at_once(machine: ImageMachine, index: Index, tmp_path: Path) -> None:
    """Each builds its own: what one has going is not a leftover to the other."""
    index.stall = "/files/"
    first = machine.start(wanted("alpha"))
    assert index.arrived.wait(30)
    index.stall = ""
    mine, machine.home = machine.home, tmp_path / "another home"
    machine.home.mkdir()
    second = machine.start(wanted("alpha")).communicate(timeout=60)[0].splitlines()[-1]
    assert machine.images() == [second]
    index.release.set()
    machine.home = mine
    ours = first.communicate(timeout=60)[0].splitlines()[-1]
    assert machine.images() == [ours] != [second]
    until(lambda: machine.containers() == [])
    machine.engine.docker("rmi", second)


def test_a_build_that_is_canceled_while_the_engine_hangs(
    machine: ImageMachine, make_engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_build, "REMOVE_S", 0.5)
    frozen = make_engine()
    monkeypatch.setenv("DOCKER_HOST", frozen.address)
    asked: list[float] = []

    def stopping() -> bool:
        if not asked:
            frozen.pause()
        asked.append(time.monotonic())
        return len(asked) > 5

    with pytest.raises(EnvironmentFailed, match="^canceled$"):
        machine.ensure(wanted("alpha"), stopping=lambda: "resolving" in machine.told and stopping())
    assert time.monotonic() - asked[0] < 10
    frozen.resume()
    assert machine.staged() == []


def test_an_engine_that_hangs(machine: ImageMachine, make_engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_build, "REMOVE_S", 0.5)
    monkeypatch.setattr(image_build, "ENGINE_S", 1.0)
    frozen = make_engine()
    monkeypatch.setenv("DOCKER_HOST", frozen.address)
    look = machine.look(wanted("alpha"))
    look.engine.facts(str(machine.home))  # which are asked before

    def tell(text: str) -> None:
        frozen.pause()

    with pytest.raises(EnvironmentFailed) as failed:
        image.ensure(look, look.environment, str(machine.log), tell, lambda: False)
    assert str(failed.value) == (
        "the Docker engine has not answered for minutes while the environment was built: when `docker info` does not "
        "answer either, `sudo systemctl restart docker`"
    )
    frozen.resume()


def test_a_container_that_is_killed(machine: ImageMachine, index: Index) -> None:
    index.stall = "/files/"

    def kill() -> bool:
        if index.arrived.is_set():
            machine.engine.docker("kill", *machine.containers())
            index.arrived.clear()
        return False

    assert machine.fails(wanted("alpha"), stopping=kill) == (
        "the container in which the environment was built was killed, for want of memory or by somebody"
    )


def test_an_engine_that_goes_away(machine: ImageMachine, make_engine, monkeypatch: pytest.MonkeyPatch) -> None:
    mortal = make_engine()
    monkeypatch.setenv("DOCKER_HOST", mortal.address)
    with serve(machine.wheels) as served:
        served.stall = "/files/"
        monkeypatch.delenv("PIP_FIND_LINKS")
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_INDEX_URL", f"{served.url}/simple")
        builder = machine.start(wanted("alpha"), stderr=subprocess.PIPE)
        assert served.arrived.wait(30)
        mortal.stop(signal.SIGKILL)
        said = builder.communicate(timeout=30)[1]
    assert "EnvironmentFailed" in said and "Docker engine" in said.splitlines()[-1]
    assert machine.staged() == []


def test_a_person_who_is_not_root(machine: ImageMachine, make_engine, tmp_path: Path) -> None:
    """The image is built as that person: nothing of root's is in the caches, and anybody can use what is in it."""
    engine = make_engine(group=4321)
    for folder in (tmp_path, *tmp_path.parents):
        if not os.stat(folder).st_mode & 0o001:
            os.chmod(folder, 0o755)
    subprocess.run(["chown", "-R", "1234:1235", tmp_path], check=True)
    who = ["setpriv", "--reuid=1234", "--regid=1235", "--groups=4321"]
    env = {"DOCKER_HOST": engine.address, "HOME": str(tmp_path)}
    builder = machine.start(wanted("alpha"), who, env={**os.environ, "PYTHONPATH": str(SOURCE), **env})
    out = builder.communicate(timeout=60)[0].splitlines()
    assert out[-2].startswith("environment ready in ")
    tag = engine.docker("images", "jig-env", "--format", "{{.Tag}}").strip()
    for user in ("0:0", "1234:1235", "77:77"):
        words = ("run", "--rm", "--network", "none", "--user", user, out[-1], f"/azureml-envs/{tag}/bin/alpha")
        assert engine.docker(*words) == "1.0\n"
    assert (
        engine.docker("run", "--rm", "--network", "none", out[-1], "stat", "-c", "%u", f"/azureml-envs/{tag}")
        == "1234\n"
    )
    owners = {os.stat(path).st_uid for path in tmp_path.rglob("*")}
    assert owners == {1234}
