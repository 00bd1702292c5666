"""The client's copy of a run that lives elsewhere: brought by byte offset, resumed after any gap, never guessed at."""

from __future__ import annotations

import os
import time

from jig.errors import MachineError
from jig.machines import Nonsense, RunnerMissing
from jig.machines.ssh_errors import HostKeyChanged
from jig.runner import events, tail, wire
from jig.runner.folder import RunFolder, make_private
from jig.runner.quick_json import dumps, loads
from jig.system import has_news, lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jig.machines import Pipe
    from jig.machines.ssh import SshMachine

SILENCE_S = 20.0  # the other side speaks every five seconds: a connection that is quiet this long is dead
FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 30.0
WISH = "stop-wanted"  # a cancel that could not be delivered yet; holds the grace


class Frames:
    """Takes a stream apart as it comes: answers, and the bytes that follow some of them."""

    def __init__(self, mark: bytes) -> None:
        self._mark = mark
        self._held = b""
        self._head: dict[str, Any] | None = None
        self._left = 0

    def feed(self, data: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Heads with the bytes that belong to them, in as many pieces as they came in."""
        self._held += data
        while True:
            if self._head is not None and self._left:
                if not self._held:
                    return
                piece, self._held = self._held[: self._left], self._held[self._left :]
                self._left -= len(piece)
                yield self._head, piece
                self._head = {**self._head, "offset": self._head["offset"] + len(piece)}
                continue
            line, found, rest = self._held.partition(b"\n")
            if not found:
                return
            self._held = rest
            if line.startswith(self._mark):
                self._head = _head(line[len(self._mark) :])
                self._left = self._head.get("size", 0)
                if not self._left:
                    yield self._head, b""


def _head(text: bytes) -> dict[str, Any]:
    try:
        head = loads(text)
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or not isinstance(head.get("size", 0), int) or head.get("size", 0) < 0:
        raise Nonsense
    return head


def write_at(path: str, offset: int, data: bytes) -> None:
    """Put bytes where they belong: two readers of one run write the same, so neither can harm the other."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)
    try:
        if not isinstance(offset, int) or not 0 <= offset <= os.fstat(file).st_size:
            raise MachineError(f"{path} has a gap before byte {offset}", "remove it, and it is brought again")
        os.lseek(file, offset, os.SEEK_SET)
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)


def offsets(folder: RunFolder) -> dict[str, int]:
    """How much of each file is here."""
    names = [name for name in os.listdir(folder.path) if tail.is_kept(name)]
    return {name: os.path.getsize(os.path.join(folder.path, name)) for name in names}


def _open_tail(machine: SshMachine, folder: RunFolder, follow: bool) -> Pipe:
    make_private(folder.path)
    pipe = machine.open("tail")
    pipe.send({"home": machine.home, "run": folder.id, "offsets": offsets(folder), "follow": follow})
    return pipe


def _keep(folder: RunFolder, head: dict[str, Any], data: bytes) -> None:
    if "error" in head:
        raise MachineError(head["error"], head.get("hint", ""))
    if data:
        name = head.get("file")
        if not isinstance(name, str) or not tail.is_kept(name) or not isinstance(head.get("offset"), int):
            raise MachineError(f"the machine sent a file that no run has: {name!r}")
        write_at(os.path.join(folder.path, head["file"]), head["offset"], data)


def bring(machine: SshMachine, folder: RunFolder) -> str:
    """Bring what is new, once; returns `ended`, `going` or `absent`. MachineError when it cannot be reached."""
    deliver_wish(machine, folder)
    while True:
        pipe = _open_tail(machine, folder, follow=False)
        frames = Frames(pipe.mark)
        try:
            while data := os.read(pipe.read.fileno(), 1 << 16):
                for head, piece in frames.feed(data):
                    _keep(folder, head, piece)
                    if "end" in head:
                        return str(head["end"])
            raise pipe.failure()  # type: ignore[attr-defined]
        except RunnerMissing:
            if not machine.forget_runner():
                raise
        finally:
            pipe.close()


def wish(folder: RunFolder, grace_s: float) -> None:
    """Write down that the run is to end, to be delivered with the next contact."""
    with open(os.path.join(folder.path, WISH), "w") as file:
        file.write(str(grace_s))


def deliver_wish(machine: SshMachine, folder: RunFolder) -> None:
    """A cancel that could not be delivered before is delivered now."""
    path = os.path.join(folder.path, WISH)
    if not os.path.exists(path):
        return
    with open(path) as file:
        grace_s = float(file.read() or "0")
    answer = machine.ask("stop", run=folder.id, grace_s=grace_s, timeout_s=grace_s + 60.0)
    if answer["status"] != "alive":
        os.unlink(path)


class Feed:
    """Brings a run's bytes while it is followed; reconnects by itself, and says so in one line."""

    def __init__(self, machine: SshMachine, folder: RunFolder, pipe: Pipe | None = None) -> None:
        self._machine = machine
        self._folder = folder
        self._pipe = pipe
        self._frames = Frames(pipe.mark if pipe else wire.MARK)
        self._at_once = pipe is not None  # something follows the answer at once, and may be taken in with it already
        self._heard_at = time.monotonic()
        self._retry_at = 0.0
        self._retry_s = FIRST_RETRY_S
        self._lost = False
        self._ended = False
        self.gone = False

    def wait(self, seconds: float) -> list[str]:
        """Take in what arrives within a moment; connect, or connect again, when there is no connection."""
        if self._ended:
            time.sleep(seconds)
            return []
        if self._pipe is None:
            return self._connect(seconds)
        descriptor = self._pipe.read.fileno()
        if not self._at_once and not has_news(descriptor, max(seconds, 0.05)):
            return self._cut("it stopped answering") if time.monotonic() - self._heard_at > SILENCE_S else []
        data, self._at_once = self._pipe.read.read1(1 << 18), False  # type: ignore[attr-defined]
        if not data:
            failure = self._pipe.failure()  # type: ignore[attr-defined]
            if isinstance(failure, HostKeyChanged):
                raise failure
            if isinstance(failure, RunnerMissing):
                self._machine.forget_runner()
            return self._cut(failure.message)
        self._heard_at = time.monotonic()
        for head, piece in self._frames.feed(data):
            _keep(self._folder, head, piece)
            if "end" in head:
                self._ended = True
                self.gone = head["end"] == "absent"
        if self._lost:
            self._lost, self._retry_s = False, FIRST_RETRY_S
            return [f"connected to {self._machine.name} again"]
        return []

    def _connect(self, seconds: float) -> list[str]:
        if time.monotonic() < self._retry_at:
            time.sleep(min(max(seconds, 0.05), max(0.0, self._retry_at - time.monotonic())))
            return []
        try:
            deliver_wish(self._machine, self._folder)
            self._pipe = _open_tail(self._machine, self._folder, follow=True)
            self._frames = Frames(self._pipe.mark)
        except HostKeyChanged:
            raise
        except MachineError as error:
            return self._cut(error.message)
        self._heard_at = time.monotonic()
        return []

    def _cut(self, why: str) -> list[str]:
        """The connection is gone: hang up, and try again a little later each time."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe, self._at_once = None, False
        self._machine.hang_up()
        self._retry_at = time.monotonic() + self._retry_s
        self._retry_s = min(LONGEST_RETRY_S, self._retry_s * 2)
        if self._lost:
            return []
        self._lost = True
        return [f"the connection to {self._machine.name} is lost ({why}); the run goes on there, trying again …"]

    def close(self) -> None:
        """Hang up; the control connection stays for the next command."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None


def bring_outputs(machine: SshMachine, folder: RunFolder) -> int:
    """Bring what an ended run left in outputs/, each file verified by its hash; returns how many files came.

    A file that was partly fetched goes on where it stopped; names that would leave the folder are refused.
    """
    done = os.path.join(folder.path, "outputs.json")
    if os.path.exists(done):
        return 0
    # One command at a time: a part that another one had just put in its place would be missing half-way.
    held = os.open(os.path.join(_arriving(folder), "lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        lock(held)
        while not os.path.exists(done):
            try:
                return _bring_outputs(machine, folder)
            except RunnerMissing:
                if not machine.forget_runner():
                    raise
        return 0  # another one brought them
    finally:
        os.close(held)


def _bring_outputs(machine: SshMachine, folder: RunFolder) -> int:
    pipe = machine.open("outputs")
    try:
        pipe.send({"home": machine.home, "run": folder.id})
        listed = _checked_list(pipe.answer().get("outputs"))
        wanted = {path: (size, digest) for path, size, digest in listed if not _is_here(folder, path, size, digest)}
        parts = {path: _part(folder, path) for path in wanted}
        have = {path: os.path.getsize(part) if os.path.exists(part) else 0 for path, part in parts.items()}
        pipe.send({"wanted": [[path, have[path]] for path in wanted]})
        frames, ended = Frames(pipe.mark), False
        while not ended and (data := pipe.read.read1(1 << 18)):  # type: ignore[attr-defined]
            for head, piece in frames.feed(data):
                ended = ended or "end" in head
                if piece:
                    name = head.get("file")
                    if not isinstance(name, str) or name not in parts:
                        raise MachineError(f"the machine sent an output that was not asked for: {name!r}")
                    write_at(parts[name], head.get("offset", -1), piece)
        if not ended:
            raise pipe.failure()  # type: ignore[attr-defined]
    finally:
        pipe.close()
    for path, (_, digest) in wanted.items():
        _settle(folder, path, parts[path], digest)
    with open(os.path.join(folder.path, "outputs.json"), "w") as file:
        file.write(dumps(listed))
    return len(wanted)


def _checked_list(listed: object) -> list[tuple[str, int, str]]:
    """The list of outputs, if it is one."""
    shape = [str, int, str]
    if not isinstance(listed, list) or any(
        not isinstance(entry, list) or [type(part) for part in entry] != shape for entry in listed
    ):
        raise MachineError("the machine's list of outputs makes no sense", "is jig there of another kind?")
    return [(path, size, digest) for path, size, digest in listed]


def _place(folder: RunFolder, path: str) -> str:
    parts = path.split("/")
    if os.path.isabs(path) or any(part in ("", ".", "..") for part in parts) or "\0" in path:
        raise MachineError(f"the machine sent an output named {path!r}, which would leave the run's folder")
    return os.path.join(folder.outputs, *parts)


def _part(folder: RunFolder, path: str) -> str:
    """Where an output grows until it is whole."""
    from hashlib import sha256

    _place(folder, path)
    return os.path.join(_arriving(folder), sha256(path.encode(errors="surrogateescape")).hexdigest()[:32])


def _arriving(folder: RunFolder) -> str:
    aside = os.path.join(folder.path, "arriving")
    make_private(aside)
    return aside


def _digest(path: str) -> str:
    import hashlib

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_here(folder: RunFolder, path: str, size: int, digest: str) -> bool:
    place = _place(folder, path)
    return os.path.isfile(place) and os.path.getsize(place) == size and _digest(place) == digest


def _settle(folder: RunFolder, path: str, part: str, digest: str) -> None:
    if not os.path.exists(part):
        open(part, "wb").close()  # an empty file sends no bytes
    if _digest(part) != digest:
        os.unlink(part)
        raise MachineError(f"the output {path} did not arrive whole", "it is fetched again with the next command")
    place = _place(folder, path)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    os.replace(part, place)


def is_final(folder: RunFolder) -> bool:
    """Whether the copy here says that the run has ended."""
    past = events.read(folder.events)
    return bool(past) and past[-1]["event"] in events.FINAL
