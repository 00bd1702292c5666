"""A jig home of its own for every test, projects made in a line, and the command line in this process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jig.cli
from tests.conda_channel import channel, channel_server, choose  # noqa: F401
from tests.engines.fixtures import (  # noqa: F401
    bridge_engine,
    cdi_engine,
    docker_box,
    docker_host,
    driver,
    driver_here,
    engine,
    engine_folder,
    make_docker_box,
    make_engine,
)
from tests.hosts.fixtures import host_folder, make_host  # noqa: F401
from tests.mounts import mounted, small_disk  # noqa: F401
from tests.package_settings import no_settings  # noqa: F401

SOURCE = Path(jig.cli.__file__).parents[2]
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts the tests in the background ignores Ctrl-C for them, and for every program they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the same, by nohup


@pytest.fixture(autouse=True)
def jig_home(tmp_path_factory, monkeypatch):
    """No test sees the runs, or the share folder, of the person who runs it."""
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("JIG_HOME", str(folder / ".jig"))
    for name in ("JIG_RUN_ID", "JIG_RUN_DIR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return folder / ".jig"


class Said:
    """What a command printed and how it ended."""

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code, self.raw = code, out
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")

    @property
    def run_id(self) -> str:
        first = self.out.splitlines()[0]
        assert first.startswith("RunId: "), self.out + self.err
        return first.removeprefix("RunId: ")

    def json(self):
        return json.loads(self.out)


@pytest.fixture
def cli(capfdbinary):
    """`jig` in this process: cli("history", "list") → Said."""

    def call(*words: str) -> Said:
        capfdbinary.readouterr()
        code = jig.cli.main(list(words))
        out, err = capfdbinary.readouterr()
        return Said(code, out, err)

    return call


def environ(**more: str) -> "dict[str, str]":
    return {**os.environ, "PYTHONPATH": str(SOURCE), **more}


def spawn(*words: str, **options) -> "subprocess.Popen[bytes]":
    """`jig` as a process of its own."""
    options.setdefault("env", environ())
    return subprocess.Popen(
        [sys.executable, "-m", "jig", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


def call(*words: str, timeout: float = 120, **options) -> Said:
    """`jig` as a process of its own, to its end."""
    process = spawn(*words, **options)
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
    return Said(process.returncode, out, err)


class ProjectFolder:
    """A project to submit from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("aml_config/local.compute", "type: local\npythonLocation: python\n")
        self.runconfig()

    def write(self, name: str, text: "str | bytes") -> Path:
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return place

    def runconfig(self, name: str = "local", **keys) -> None:
        lines = {"Target": name, "Framework": "Python", **keys}
        text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in lines.items())
        self.write(f"aml_config/{name}.runconfig", text)


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = ProjectFolder(tmp_path / "proj")
    monkeypatch.chdir(folder.path)
    return folder


@pytest.fixture(autouse=True)
def no_leftovers(jig_home):
    """No test leaves a run going."""
    yield
    from jig.runner.folder import Home
    from jig.runner.status import ALIVE, status, stop

    home = Home(str(jig_home))
    for run_id in os.listdir(home.runs) if os.path.isdir(home.runs) else []:
        if not run_id.startswith(".") and status(home, run_id) == ALIVE:
            stop(home, run_id, 0.0, 30.0)


def until(condition, timeout: float = 20.0, what: str = "the condition"):
    """Wait for something to become true."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError(f"{what} did not become true within {timeout} s")


def alive(marker: str) -> "list[str]":
    """Command lines of living processes that hold the marker."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                state = Path(f"/proc/{name}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            except OSError:
                continue
            if marker in words and state not in "ZX":
                found.append(words)
    return found
