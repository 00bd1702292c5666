"""Engines for tests: one for the whole session, and others that are made for a test and gone after it."""

import contextlib
import itertools
import os
import shutil
import time
from collections.abc import Callable

import pytest

from tests.engines.base_images import NAMES
from tests.engines.box import DockerBox
from tests.engines.engine import Engine
from tests.engines.gpu import Driver
from tests.engines.newer import newer_programs
from tests.engines.prepared import furnish
from tests.hosts.folders import own_folder
from tests.system_packages import need

PACKAGES = ("docker.io", "iptables", "iproute2", "python3")


@pytest.fixture(scope="session")
def engine_folder():
    if os.geteuid() != 0:
        raise RuntimeError("engines for tests are started by root only: run these tests as root")
    need(*PACKAGES)
    if shutil.which("docker") is None:  # a package of its own since Debian 13
        need("docker-cli")
    with own_folder() as folder:
        folder.chmod(0o711)  # to the socket of an engine that is for others too
        yield folder


@pytest.fixture(scope="session")
def engine(engine_folder):
    """An engine with the base images, for all tests: it stays up, and no test leaves anything in it."""
    furnish(engine_folder / "engine/data")
    with contextlib.closing(Engine(engine_folder / "engine")) as engine:
        yield engine


@pytest.fixture
def docker_host(engine, monkeypatch):
    """The engine of the session, which `docker` means in this test; afterwards it is as it was."""
    point_docker_at(engine, monkeypatch)
    yield engine
    tidy(engine)


def tidy(engine: Engine) -> None:
    """Remove all containers, and all images but the base images."""
    deadline = time.monotonic() + 60
    while containers := engine.docker("ps", "-aq").split():
        try:
            engine.docker("rm", "-f", *containers)
        except RuntimeError as error:  # jig, or the engine itself, is at it: wait for that
            if "already in progress" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
    kept = {f"jig-test/{name}:1" for name in NAMES}
    listed = [
        line.split() for line in engine.docker("images", "--format={{.Repository}}:{{.Tag}} {{.ID}}").splitlines()
    ]
    if made := [number if "<none>" in name else name for name, number in listed if name not in kept]:
        engine.docker("rmi", "-f", *made)


def point_docker_at(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `docker` mean an engine, as a person who sets DOCKER_HOST does."""
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)


@pytest.fixture
def make_engine(engine_folder):
    """make_engine(own_network=True, …) → an Engine of this test's own, with the base images."""
    with contextlib.ExitStack() as ends:
        numbers = itertools.count(1)

        def make(**options) -> Engine:
            folder = engine_folder / f"e{next(numbers)}"
            ends.callback(shutil.rmtree, folder)
            furnish(folder / "data")
            engine = Engine(folder, **options)
            ends.callback(engine.close)
            return engine

        yield make


@pytest.fixture
def bridge_engine(make_engine):
    """An engine with a bridge, in a network of its own that leads nowhere."""
    return make_engine(own_network=True)


@pytest.fixture
def driver(engine_folder):
    """A GPU driver with two devices, which an engine has when it is told: see `Driver`."""
    folder = engine_folder / "gpu"
    yield Driver(folder)
    shutil.rmtree(folder)


@pytest.fixture
def driver_here(driver):
    """The same, and this machine has it: nvidia-smi works, and /dev and /proc show it, for this test and what it starts."""
    with driver.here():
        yield driver


@pytest.fixture
def cdi_engine(make_engine, driver, monkeypatch):
    """An engine new enough to give the driver to containers by CDI, and a `docker` that is too."""
    monkeypatch.setenv("PATH", os.pathsep.join(filter(None, (newer_programs(), os.environ["PATH"]))))
    return make_engine(**driver.by_cdi())


@pytest.fixture
def make_docker_box(engine_folder, make_host):
    """make_docker_box(live_restore=True, …) → a host with an engine, which has the base images.

    With `gpu=Driver.by_gpus` or `gpu=Driver.by_runtime` the host has the driver too, as `box.driver`.
    """
    with contextlib.ExitStack() as ends:

        def make(gpu: "Callable[[Driver], dict[str, object]] | None" = None, **options) -> DockerBox:
            host = make_host()
            box = DockerBox(host)
            if gpu is not None:
                options |= gpu(box.install_driver())
            furnish(box.folder / "data")
            box.start(**options)
            ends.callback(box.engine.close)
            return box

        yield make


@pytest.fixture
def docker_box(make_docker_box):
    """A host whose user, ada, is in group docker."""
    return make_docker_box()
