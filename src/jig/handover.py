"""Handing a run over to a runner: the files it misses, the programs it may ask for, and Ctrl-C in the last instant."""

from __future__ import annotations

import os

from jig.errors import SnapshotError
from jig.runner import wire
from jig.runner.folder import default_home, make_private
from jig.store.reserve import ON_ITS_WAY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig import environments
    from jig.machines import Machine, Pipe
    from jig.plan import Plan
    from jig.runner.blobs import BlobStore

PACKED_BYTES = 4 << 20
PACKED_BYTES_PER_S = 30e6


def on_machine(environment: environments.Environment, machine: Machine, store: BlobStore | None) -> dict[str, Any]:
    """The environment as the runner gets it: with the uv program that this installation of jig brought along.

    Another machine that has none may ask for ours, as a blob, if it is of the same kind as this one.
    """
    request = environment.to_json()
    if environment.kind != "uv":
        return request
    from jig.environments.uv import find_uv

    program = find_uv()
    if not machine.remote:
        request["uv_path"] = program
    elif program and store is not None and machine.fits_programs():
        request["uv_blob"] = _blob_of(program, store)
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


def write_plan(folder: str, plan: Plan) -> int:
    """Keep the plan in the copy of a run that will live elsewhere, whole or not at all.

    Returns a locked descriptor: whoever finds it locked knows that the run is on its way (`arrived` ends that), and
    whoever finds it free that the submit died, so that only the machine can say whether there is such a run.
    """
    import json

    from jig.system import lock

    on_its_way = os.open(os.path.join(folder, ON_ITS_WAY), os.O_RDWR | os.O_CREAT, 0o644)
    lock(on_its_way)
    with open(os.path.join(folder, "plan.json.new"), "w") as file:
        json.dump(plan.to_json(), file, indent=1)
    os.replace(file.name, os.path.join(folder, "plan.json"))
    return on_its_way


def arrived(folder: str, on_its_way: int) -> None:
    """The machine answered: it has the run."""
    os.close(on_its_way)  # first: an open file cannot be removed everywhere
    os.unlink(os.path.join(folder, ON_ITS_WAY))


class HeldCtrlC:
    """From the last byte of the request on the run may begin: then Ctrl-C waits until the person can be told its id."""

    def __init__(self) -> None:
        import signal

        self._pressed = False
        try:
            self._before = signal.signal(signal.SIGINT, self._note)
        except ValueError:  # not the main thread, where alone signals arrive
            self._before = None

    def _note(self, *_: object) -> None:
        self._pressed = True

    def drop(self) -> None:
        """Hold it no longer."""
        import signal

        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def release(self) -> None:
        """Hold it no longer, and act on one that came."""
        self.drop()
        if self._pressed:
            raise KeyboardInterrupt


def send_blobs(pipe: Pipe, names: list[str], store: BlobStore, entries: list[list[Any]], root: str, far: bool) -> None:
    """Send the blobs that the runner misses; when it has given up meanwhile, its next answer says why."""
    import time

    by_name = {entry[4]: entry for entry in entries if entry[0] == "f"}
    sent, writing_s = 0, 0.001
    try:
        for name in names:
            _restore_blob(store, name, by_name.get(name), entries, root)
            size = os.path.getsize(store.place(name))
            # The first megabytes go packed; where they go faster than packing pays for, the rest goes plain.
            packed = far and (sent < PACKED_BYTES or sent / writing_s < PACKED_BYTES_PER_S)
            started = time.monotonic()
            with open(store.place(name), "rb") as file:
                wire.write_blob(pipe.write, name, size, iter(lambda: file.read(1 << 20), b""), packed)  # noqa: B023
            sent, writing_s = sent + size, writing_s + time.monotonic() - started
        wire.write_blobs_end(pipe.write)
    except BrokenPipeError:
        return


def _restore_blob(store: BlobStore, name: str, entry: list[Any] | None, entries: list[list[Any]], root: str) -> None:
    """A blob that was collected since its file was last hashed is read again, if the file is still the same."""
    if entry is not None:
        if store.has(name, entry[3]):
            return
        with open(os.path.join(root, entry[1]), "rb") as file:
            if store.put(file.read()) != name:
                raise SnapshotError(f"{entry[1]} changed while it was being submitted", "submit again")
    elif not store.has(name):
        from jig.runner import manifest

        store.put(manifest.encode(entries))
