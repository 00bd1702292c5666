"""The frozen code of a run: which files, and their bytes, brought from its machine where they are not here."""

from __future__ import annotations

import os

from jig.errors import MachineError, StoreError
from jig.machines import RunnerMissing
from jig.runner import manifest, wire
from jig.runner.blobs import BlobStore
from jig.runner.folder import Home, default_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from jig.machines import Machine, Pipe
    from jig.store.queries import Found


class Frozen:
    """The code of one run as it was frozen, by path."""

    def __init__(self, found: Found) -> None:
        """StoreError when the list of its files is nowhere to be had."""
        self.run_id = found.id
        self.machine = found.machine
        self.store = BlobStore(Home(default_home()).blobs)
        self.id = str(found.plan()["snapshot"]["id"])
        self.entries = self._listed()

    def _listed(self) -> list[list[Any]]:
        try:
            return manifest.decode(self.read(self.id))
        except ValueError as error:
            raise StoreError(f"the list of files of {self.run_id} makes no sense: {error}") from error

    @property
    def by_path(self) -> dict[str, list[Any]]:
        """The entries by their path."""
        return {entry[1]: entry for entry in self.entries}

    def read(self, blob: str) -> bytes:
        """The bytes of a file; brought first where they are not here, or damaged."""
        try:
            return self.store.read(blob)
        except FileNotFoundError:  # never here, collected, or torn by a power cut
            self.bring([blob])
        except ValueError:
            raise StoreError(f"the plan of {self.run_id} names its code by {blob!r}, which is no hash") from None
        try:
            return self.store.read(blob)
        except FileNotFoundError:
            raise self._lost([blob]) from None

    def bring(self, blobs: Iterable[str] | None = None) -> None:
        """Have these blobs here, all of the run's when none are named; StoreError when some are nowhere."""
        wanted = dict.fromkeys(entry[4] for entry in self.entries if entry[0] == "f") if blobs is None else blobs
        absent = [name for name in wanted if not self.store.has(name)]
        if absent:
            lost = fetch(self.machine, self.store, absent)
            if lost:
                raise self._lost(lost)

    def _lost(self, blobs: list[str]) -> StoreError:
        named = {entry[4]: entry[1] for entry in getattr(self, "entries", ()) if entry[0] == "f"}
        what = ", ".join(sorted(named.get(name, "the list of files") for name in blobs)[:5])
        more = f" and {len(blobs) - 5} more" if len(blobs) > 5 else ""
        return StoreError(
            f"the frozen code of {self.run_id} is not whole any more: {what}{more} cannot be found",
            "a run that was submitted with the same files brings them back",
        )


def fetch(machine: Machine, store: BlobStore, names: list[str]) -> list[str]:
    """Bring blobs from the machine that has a run; returns those that it does not have, or not whole."""
    if not machine.remote and (machine.home or default_home()) == default_home():
        return names
    while True:
        pipe = machine.open("blobs")
        try:
            pipe.send({"home": machine.home, "wanted": names})
            return _take(pipe, machine.name, store, names)
        except RunnerMissing:
            if not machine.forget_runner():
                raise
        finally:
            pipe.close()


def _take(pipe: Pipe, sender: str, store: BlobStore, names: list[str]) -> list[str]:
    lost = [name for name in pipe.answer().get("absent", ()) if name in names]
    try:
        while True:
            name, pieces = wire.read_blob(pipe.read)
            if not name:
                return lost
            if name not in names:
                raise MachineError(f"{sender} sent a file that was not asked for: {name!r}")
            try:
                store.add(pieces, name)
            except ValueError:  # damaged there
                lost.append(name)
    except EOFError as error:
        raise MachineError(f"{sender} hung up while it sent the frozen code", "try again") from error


class Folder:
    """The project's folder as it is now, with the same names as frozen code; nothing is stored."""

    def __init__(self, root: str) -> None:
        from jig import snapshot

        self.root = root
        self.entries = snapshot.take(root, snapshot.Hasher(), snapshot.cache_path(default_home(), root), True).entries
        self._places = {entry[4]: entry[1] for entry in self.entries if entry[0] == "f"}

    def bring(self, blobs: Iterable[str] | None = None) -> None:
        """All is here."""

    def read(self, blob: str) -> bytes:
        """The bytes of a file."""
        with open(os.path.join(self.root, self._places[blob]), "rb") as file:
            return file.read()
