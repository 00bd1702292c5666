"""Handing a run over to a runner: the files it misses, the programs it may ask for, and Ctrl-C in the last instant."""

from __future__ import annotations

import os
import sys

from jig.digest import name_of
from jig.errors import MachineError, SnapshotError
from jig.machines import Nonsense
from jig.runner import wire
from jig.runner.folder import default_home, make_private
from jig.runner.quick_json import dumps_lines
from jig.store.reserve import ON_ITS_WAY
from jig.system import lock
from jig.system import quick_signal as signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from jig import environments
    from jig.machines import Machine, Pipe
    from jig.plan import Plan
    from jig.runner.blobs import BlobStore

OFFERED_BYTES = 8 << 20
PACKED_BYTES = 4 << 20
PACKED_BYTES_PER_S = 30e6


def on_machine(environment: environments.Environment, machine: Machine, store: BlobStore | None) -> dict[str, Any]:
    """The environment as the runner gets it: with the uv program that this installation of jig brought along.

    Another machine that has none may ask for ours, as a blob, if it is of the same kind as this one.
    """
    request = environment.to_json()
    if environment.kind == "user":
        return request
    from jig.environments.uv import find_uv

    program = find_uv()
    if not machine.remote:
        request["uv_path"] = program
        if environment.kind == "conda":
            request["rattler_python"] = sys.executable
    elif store is not None and machine.fits_programs():
        if program:
            request["uv_blob"] = _blob_of(program, store)
        if environment.kind == "conda":
            from jig.environments.solve import rattler_archive

            request["rattler_blob"] = _blob_of(rattler_archive(), store)
    if store is not None:
        for _, path in environment.files:
            _blob_of(path, store)
        request["fetches"] = machine.remote  # we can download what it does not reach
    return request


def _blob_of(path: str, store: BlobStore) -> str:
    """The blob of a program's file, hashed once for as long as the file is the same."""
    status = os.stat(path)
    note = os.path.join(default_home(), "cache", f"program-{status.st_ino}-{status.st_mtime_ns}-{status.st_size}")
    try:
        with open(note) as file:
            name = file.read()
        if store.has(name, status.st_size):
            return name
    except (OSError, ValueError):
        name = ""
    with open(path, "rb") as program:
        name, _ = store.add(iter(lambda: program.read(1 << 20), b""))
    make_private(os.path.dirname(note))
    with open(note, "w") as file:
        file.write(name)
    return name


class Leaving:
    """A run on its way to another machine: this computer knows of it whatever happens next.

    The copy of its plan lies beside a locked file. Whoever finds that one locked knows that the run is on its way;
    whoever finds it free, that the submit died, so that only the machine can say whether there is such a run.
    """

    def __init__(self, machine: Machine, folder: str, root: str, plan: Plan) -> None:
        self._folder = folder
        self._snapshot = plan.snapshot.id
        key = name_of(os.fsencode(f"{machine.runs_folder()} {root}"), 6)
        self._sent_before = os.path.join(default_home(), "cache", f"sent-{key}")
        self._lock = os.open(os.path.join(folder, ON_ITS_WAY), os.O_RDWR | os.O_CREAT, 0o644)
        lock(self._lock)
        with open(os.path.join(folder, "plan.json.new"), "w") as file:
            file.write(dumps_lines(plan.to_json()))
        os.replace(file.name, os.path.join(folder, "plan.json"))

    def known_here(self) -> dict[str, int]:
        """How many bytes of the run's files are here already."""
        return {"plan.json": os.path.getsize(os.path.join(self._folder, "plan.json"))}

    def offered(self, store: BlobStore, entries: list[list[Any]]) -> list[str]:
        """The blobs that go with the request, unasked: those that the snapshot before did not have."""
        from jig.runner import manifest

        try:
            with open(self._sent_before) as file:
                before = file.read()
            had = {entry[4] for entry in manifest.decode(store.read(before)) if entry[0] == "f"}
        except (OSError, ValueError):  # nothing is known of that machine: it is to ask
            return []
        if before == self._snapshot:
            return []
        sizes = {entry[4]: entry[3] for entry in entries if entry[0] == "f" and entry[4] not in had}
        return [self._snapshot, *sizes] if sum(sizes.values()) < OFFERED_BYTES else [self._snapshot]

    def arrived(self) -> None:
        """The machine answered: it has the run."""
        self.close()  # first: an open file cannot be removed everywhere
        os.unlink(os.path.join(self._folder, ON_ITS_WAY))
        make_private(os.path.dirname(self._sent_before))
        with open(self._sent_before, "w") as file:
            file.write(self._snapshot)

    def close(self) -> None:
        """Let the copy go; without `arrived` it may be that of no run."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


class HeldCtrlC:
    """From the last byte of the request on the run may begin: then Ctrl-C waits until the person can be told its id."""

    def __init__(self) -> None:
        self._pressed = False
        try:
            self._before = signal.signal(signal.SIGINT, self._note)
        except ValueError:  # not the main thread, where alone signals arrive
            self._before = None

    def _note(self, *_: object) -> None:
        self._pressed = True

    def drop(self) -> None:
        """Hold it no longer."""
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def release(self) -> None:
        """Hold it no longer, and act on one that came."""
        self.drop()
        if self._pressed:
            raise KeyboardInterrupt


class Sender:
    """The client's side of a conversation in which the runner asks for what it misses.

    Blobs; which conda packages fit together there; and the packages' files, where it cannot get them itself.
    """

    def __init__(
        self,
        pipe: Pipe,
        store: BlobStore,
        entries: list[list[Any]],
        root: str,
        far: bool,
        solve: Callable[[str, dict[str, str]], list[dict[str, Any]]],
        fetch: Callable[[list[dict[str, Any]], dict[str, Any]], list[tuple[str, str]]],
        tell: Callable[[str], None],
    ) -> None:
        self._tell = tell
        self._pipe = pipe
        self._store = store
        self._entries = entries
        self._root = root
        self._far = far
        self._solve = solve
        self._fetch = fetch
        self._records: list[dict[str, Any]] = []
        self._fetched: set[str] = set()
        self._named: set[str] = set()

    def begin(self, request: dict[str, Any]) -> None:
        """Send the request; the blobs that it names, and the files of the run, may be asked for."""
        environment, plan = request["environment"], request.get("plan")
        programs = [environment[name] for name in ("uv_blob", "rattler_blob") if name in environment]
        self._named = {*programs, *environment["files"]}
        if plan is not None:
            self._named |= {plan["snapshot"]["id"], *plan["attachments"].values()}
        self._pipe.send(request)

    def deliver(self, request: dict[str, Any], offered: Sequence[str] = ()) -> HeldCtrlC:
        """Send the request and what the runner asks for, until it has taken the run in."""
        held = HeldCtrlC()
        try:
            self.begin({**request, "offered": bool(offered)})
            if offered:
                self.send(offered)
            while self.asked(answer := self._pipe.answer()):
                held.release()  # something is still to be sent: nothing has begun, and all can be dropped
                self.give(answer)
                held = HeldCtrlC()
            if "handle" not in answer:
                raise Nonsense
        except BaseException:
            held.drop()
            raise
        return held

    def asked(self, answer: dict[str, Any]) -> bool:
        """Whether the answer is a question, or something to tell before the next one."""
        return any(word in answer for word in ("missing", "solve", "fetch", "note"))

    def give(self, answer: dict[str, Any]) -> None:
        """Send what it asks for."""
        if "note" in answer:
            self._tell(answer["note"])
        elif "missing" in answer:
            self.send(answer["missing"])
        elif "solve" in answer:
            self._records = self._solve(answer["solve"]["platform"], answer["solve"]["virtual"])
            self._pipe.send({"solved": self._records})
        else:
            files = self._fetch(self._records, answer["fetch"])
            self._fetched |= {blob for _, blob in files}
            self._pipe.send({"fetched": files})

    def send(self, names: Sequence[str]) -> None:
        """Send blobs; when the runner has given up meanwhile, its next answer says why."""
        import time

        by_name = {entry[4]: entry for entry in self._entries if entry[0] == "f"}
        sent, writing_s, write = 0, 0.001, self._pipe.write
        try:
            for name in names:
                if not isinstance(name, str) or not (name in by_name or name in self._named or name in self._fetched):
                    raise MachineError(f"the machine asked for a file that is not part of the run: {name!r}")
                place = self._place(name, by_name.get(name))
                size = os.path.getsize(place)
                # The first megabytes go packed; where they go faster than packing pays for, the rest goes plain.
                packed = self._far and (sent < PACKED_BYTES or sent / writing_s < PACKED_BYTES_PER_S)
                started = time.monotonic()
                with open(place, "rb") as file:
                    wire.write_blob(write, name, size, iter(lambda: file.read(1 << 20), b""), packed)  # noqa: B023
                sent, writing_s = sent + size, writing_s + time.monotonic() - started
            wire.write_blobs_end(write)
        except BrokenPipeError:
            return

    def _place(self, name: str, entry: list[Any] | None) -> str:
        """Where the bytes of a blob lie."""
        if name in self._fetched:
            from jig.environments import download

            return download.place(name)
        self._restore(name, entry)
        return self._store.place(name)

    def _restore(self, name: str, entry: list[Any] | None) -> None:
        """A blob that was collected since its file was last hashed is read again, if the file is still the same."""
        if entry is not None:
            if self._store.has(name, entry[3]):
                return
            with open(os.path.join(self._root, entry[1]), "rb") as file:
                if self._store.put(file.read()) != name:
                    raise SnapshotError(f"{entry[1]} changed while it was being submitted", "submit again")
        elif not self._store.has(name):
            from jig.runner import manifest

            self._store.put(manifest.encode(self._entries))
