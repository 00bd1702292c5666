"""Runs that want devices, each a process of its own, of any user; and a folder that they all can write in."""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jig
from jig.runner.gpu import lease_files

SOURCE = str(Path(jig.__file__).parents[1])
RUN = """
import json, os, pwd, signal, sys
source, parent, run, want, shared, user, mask = sys.argv[1:]
sys.path.insert(0, source)
from jig.runner.gpu import lease, lease_files
lease_files.PARENTS = (parent,)
os.setgroups([]), os.setgid(int(user)), os.setuid(int(user)), os.umask(int(mask))
mine = lease.Lease(run, int(want), shared == "True")
for line in sys.stdin:
    verb, given = json.loads(line)
    if verb == "ask":
        try:
            said = mine.ask(given)
            said = said if isinstance(said, list) else [said.reason, said.position, said.of]
        except lease.LeaseRefused as error:
            said = {"reason": error.reason, "hint": error.hint}
    elif verb == "guard":
        said = os.fork()
        if not said:
            os.close(0), os.close(1)
            signal.pause()
    elif verb == "script":
        said = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "60")
    elif verb == "holders":
        said = lease.holders()
    else:
        said = mine.release()
    print(json.dumps(said), flush=True)
"""


def device(index: int = 0, uuid: str = "", **facts: Any) -> dict[str, Any]:
    """What a look tells of a device that nobody is on."""
    told = {"index": index, "uuid": uuid or f"GPU-{index}", "name": "NVIDIA H200", "parent": None, "processes": []}
    return {**told, "memory_bytes": 140 << 30, "free_bytes": 139 << 30, **facts}


def process(user: str, command: str = "python", gib: float | None = None, run: str = "") -> dict[str, Any]:
    memory_bytes = None if gib is None else int(gib * (1 << 30))
    return {"pid": 4711, "memory_bytes": memory_bytes, "user": user, "command": command, "run": run}


def look(*devices: dict[str, Any] | int, error: str = "", hint: str = "") -> dict[str, Any]:
    found = [device(one) if isinstance(one, int) else one for one in devices]
    return {"driver": "570.1", "cuda": "12.8", "devices": found, "error": error, "hint": hint}


class Run:
    """A supervisor that does nothing but ask for devices."""

    def __init__(self, parent: Path, run: str, want: int, shared: bool, user: int, umask: int, visible: str | None):
        environ = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, SOURCE, str(parent), run, str(want), str(shared), str(user), str(umask)],
            env=environ if visible is None else {**environ, "CUDA_VISIBLE_DEVICES": visible},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self.process.pid

    def _do(self, verb: str, given: object = None) -> Any:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([verb, given]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ask(self, *devices: dict[str, Any] | int) -> Any:
        """The uuids; or reason, position, of; or the refusal."""
        return self._do("ask", look(*devices))

    def release(self) -> None:
        self._do("release")

    def holders(self) -> Any:
        return self._do("holders")

    def start_guard(self) -> int:
        """A forked child, as the guard is."""
        return int(self._do("guard"))

    def start_script(self) -> int:
        """A program that is started, as the script is."""
        return int(self._do("script"))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            stream.close()


Start = Callable[..., Run]


@pytest.fixture
def lease_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that stands for /var/tmp; the one of pytest is closed to other users."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o1777)
        monkeypatch.setattr(lease_files, "PARENTS", (str(folder),))
        yield folder


@pytest.fixture
def start_run(lease_place: Path) -> Iterator[Start]:
    """start_run("a", want=2, user=…) → that run."""
    runs = []

    def begin(
        run: str, want: int = 1, shared: bool = False, user: int = 0, umask: int = 0o022, visible: str | None = None
    ) -> Run:
        runs.append(Run(lease_place, run, want, shared, user, umask, visible))
        return runs[-1]

    yield begin
    for run in runs:
        run.close()


def held(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor that keeps the file or folder locked."""
    descriptor = os.open(path, flags, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor
