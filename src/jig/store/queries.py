"""Finding and reading runs: what the command line and the workbench ask of the record."""

from __future__ import annotations

import os

from jig.errors import StoreError, UsageError
from jig.machines import Machine
from jig.machines.local import LocalMachine
from jig.machines.ssh import SshMachine, attached
from jig.runner import events
from jig.runner.folder import Home, RunFolder, default_home, is_run_id
from jig.runner.quick_json import loads
from jig.store import runs
from jig.store.index import Index
from jig.store.reserve import ON_ITS_WAY, abandoned, adopt
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from jig.store import keys
    from jig.store.where import Expression

NAMED = 12  # names in a message


LAST = "last"


class Found(Value):
    """A run that was asked for, and the machine that can be asked about it."""

    id: str
    folder: RunFolder
    machine: Machine

    @property
    def nested(self) -> str:
        """The number of a nested run, which shares the folder of the run that it is in; else empty."""
        return self.id[len(self.folder.id) + 1 :]

    def plan(self) -> dict[str, Any]:
        """What was decided; StoreError when the folder is gone."""
        try:
            return runs.read_plan(self.folder)
        except (OSError, ValueError) as error:
            raise StoreError(f"the run {self.id} cannot be read: {error}") from error

    def run(self) -> runs.Run:
        """What happened so far, as the machine tells it; a run whose supervisor died is found out here."""
        if self.machine.remote:
            if not self.is_whole() and not self.bring():
                raise StoreError(f"the run {self.id} never began: its submit was killed before", "submit it again")
            return runs.fold(events.read(self.folder.events))
        run = runs.fold(events.read(self.folder.events))
        if not run.final and self.machine.ask("status", run=self.folder.id)["status"] == "ended":
            run = runs.fold(events.read(self.folder.events))
        return run

    def is_whole(self) -> bool:
        """Whether nothing more will come: it has ended, and what it left is on this computer."""
        is_here = not self.machine.remote or os.path.exists(os.path.join(self.folder.path, "outputs.json"))
        return is_here and runs.fold(events.read(self.folder.events)).final

    @property
    def doubtful(self) -> bool:
        """Whether its submit was killed, so that only the machine knows if there is such a run."""
        return self.machine.remote and abandoned(self.folder.path)

    def bring(self) -> bool:
        """Bring home what is new of a run that lives elsewhere, its outputs too once it has ended.

        False for a run that the machine never got, because its submit was killed: its copy here is removed.
        """
        if isinstance(self.machine, SshMachine):
            from jig.machines import mirror

            doubtful = self.doubtful  # asked before the machine: a submit may end in between
            if not mirror.is_final(self.folder) and mirror.bring(self.machine, self.folder) == "absent" and doubtful:
                import shutil

                shutil.rmtree(self.folder.path)
                return False
            if doubtful:
                os.unlink(os.path.join(self.folder.path, ON_ITS_WAY))
            if mirror.is_final(self.folder):
                mirror.bring_outputs(self.machine, self.folder)
        return True


def _jig_home(folder: RunFolder) -> str:
    try:
        return str(runs.read_plan(folder).get("jig_home", ""))
    except (OSError, ValueError):
        return ""


class Store:
    """The record under this computer's jig home."""

    def __init__(self, tell: Callable[[str], None] = lambda text: None) -> None:
        self.home = Home(default_home())
        self._tell = tell
        self._index: Index | None = None

    @property
    def index(self) -> Index:
        """The index, opened and brought up to date once."""
        if self._index is None:
            self._index = Index(self.home, self._tell)
        return self._index

    def find(self, wanted: str | None, project: str | None) -> Found:
        """The run with this id or unique beginning of one, or `last`, `last~1` …; the latest when none is named."""
        if wanted is not None:
            wanted = self._meant(wanted, project)
        if wanted is None:
            latest = self.index.latest(project)
            if latest is None:
                raise StoreError("there are no runs yet", "submit one:  jig experiment submit -c local train.py")
            return self._found(*latest)
        if not is_run_id(wanted):
            raise UsageError(f"{wanted!r} is not a run id", "jig history list shows them")
        matches = self.index.matching(wanted)
        folder = self.home.run(wanted)
        if not any(run_id == wanted for run_id, _ in matches) and os.path.exists(folder.plan):
            return self._found(wanted, folder.path)  # one that is not kept in the record
        for run_id, place in matches:
            if run_id == wanted or len(matches) == 1:
                return self._found(run_id, place)
        if not matches:
            raise StoreError(f"there is no run {wanted}", "jig history list --all shows every run")
        raise UsageError(f"{wanted} could be {', '.join(run_id for run_id, _ in matches)}", "write more of the id")

    def _meant(self, word: str, project: str | None) -> str | None:
        """The id behind `last~N`, None for the latest; other words as they are."""
        if word == LAST:
            return None
        name, mark, back = word.partition("~")
        if name != LAST or not mark or not back.isdecimal() or len(back) > 6:
            return word
        found = self.list(project, int(back) + 1)
        if len(found) <= int(back):
            there = f"there are only {len(found)} runs" if found else "there are no runs yet"
            raise StoreError(f"{word}: {there}", "jig history list shows them")
        return str(found[int(back)]["run_id"])

    def _found(self, run_id: str, place: str) -> Found:
        folder, machine = RunFolder(place), self._machine(os.path.dirname(place))
        if isinstance(machine, SshMachine):
            machine.home = _jig_home(folder) or None  # where it was when the run was submitted
        return Found(run_id, folder, machine)

    def _machine(self, runs_folder: str) -> Machine:
        """The machine whose runs, or copies of runs, lie in this folder."""
        if os.path.dirname(runs_folder) == self.home.mirror:
            return attached(os.path.basename(runs_folder))
        return LocalMachine(os.path.dirname(runs_folder))

    def machines(self) -> tuple[Machine, ...]:
        """Every machine that keeps runs of this record."""
        folders = {os.path.dirname(place) for place in self.index.folders()}
        return tuple(self._machine(folder) for folder in sorted({self.home.runs, *folders}))

    def sync(self, machine: SshMachine) -> tuple[int, int]:
        """Adopt the runs that are on the machine and not here, and bring the rest up to date; returns both counts."""
        from jig.machines import mirror

        adopted = brought = 0
        copies = machine.runs_folder()
        for run_id in os.listdir(copies) if os.path.isdir(copies) else []:
            if abandoned(os.path.join(copies, run_id)):
                self._found(run_id, os.path.join(copies, run_id)).bring()
        for run_id in machine.ask("runs")["runs"]:
            if not is_run_id(run_id):
                continue
            folder = RunFolder(os.path.join(copies, run_id))
            known = os.path.exists(folder.plan)
            if not known and os.path.exists(self.home.run(run_id).plan):
                continue  # this computer and that machine share a home: the run is here already
            if known and mirror.is_final(folder) and os.path.exists(os.path.join(folder.path, "outputs.json")):
                continue
            Found(run_id, folder, machine).bring()
            if not known:
                adopt(self.home, folder.path)
            adopted, brought = adopted + (not known), brought + known
        return adopted, brought

    def list(
        self,
        project: str | None,
        limit: int | None,
        where: str | Expression | None = None,
        sort: str | None = None,
        nested: bool = False,
        archived: bool = False,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """The records that `where` is true of, in the order of `sort` (`-accuracy,duration`), else newest first.

        A name that no run has is false of all of them, and no order; `check` finds those.
        """
        if isinstance(where, str):
            from jig.store.where import parse

            where = parse(where)
        in_order: tuple[tuple[keys.Key, bool], ...] = ()
        if sort:
            from jig.store.keys import sorting

            in_order = sorting(sort)
        found = self.index.records(project, limit, where, in_order, nested, archived, offset)
        return [loads(text) for text in found]

    def count(
        self, project: str | None, where: Expression | None = None, nested: bool = False, archived: bool = False
    ) -> int:
        """How many records `list` would find without a limit."""
        return self.index.count(project, where, nested, archived)

    def check(self, wanted: Iterable[keys.Key]) -> None:
        """UsageError for a name that no run has, with the nearest one that some have."""
        for key in wanted:
            if not self.index.is_empty() and not self._is_known(key):
                raise self._unknown(key)

    def _is_known(self, key: keys.Key) -> bool:
        from jig.store import keys

        if key.kind != keys.LOGGED or (key.name in keys.ONLY_SHOWN and len(key.spaces) > 1):
            return True
        return any(self.index.known(space, key.name) is not None for space in key.spaces)

    def _unknown(self, key: keys.Key) -> UsageError:
        from jig.errors import nearest
        from jig.store import keys

        logged = self.index.names()
        plain = [name for space, name in logged if space != "tags"]
        known = [*keys.OWN, *keys.ALIASES, *plain, *(f"{space}.{name}" for space, name in logged)]
        close = nearest(key.written, known)
        has = ", ".join(dict.fromkeys(plain[:NAMED])) or "nothing yet"
        return UsageError(
            f"no run has {key.written}",
            f"did you mean {close}?" if close else f"logged were {has}; jig history info shows all keys of a run",
        )

    def remark(self, found: Found, **said: Any) -> None:
        """Keep what a person says of a run afterwards: `tags={name: text or None}`, `note=text`, `archived=bool`."""
        from jig.store import logged

        self.record(found.id)  # a run that is not kept has nothing to add to
        line = {**({"run": found.nested} if found.nested else {}), **said}
        try:
            self.index.say(found.folder.id, lambda: logged.remark(found.folder.path, line))
        except OSError as error:
            raise StoreError(f"what was said of {found.id} could not be kept: {error.strerror or error}") from error

    def going(self, project: str | None) -> tuple[str, ...]:
        """The ids of runs that have not ended, newest first."""
        return self.index.unfinished(project)

    def record(self, run_id: str) -> dict[str, Any]:
        """One run's record; StoreError for a run that is not kept (TrackedRun: false)."""
        text = self.index.record(run_id)
        if text is None:
            raise StoreError(f"the run {run_id} has no record", "runs with TrackedRun: false leave none")
        found: dict[str, Any] = loads(text)
        return found

    def delete(self, found: Found) -> None:
        """Remove a run and its record; refuses while it is alive."""
        if found.nested:
            raise StoreError(
                f"{found.id} is a part of the run {found.folder.id}", f"jig history delete -r {found.folder.id}"
            )
        # Of a machine that was detached only the copy here is left to remove.
        if found.machine.is_attached and found.machine.ask("remove", run=found.id)["status"] != "removed":
            raise StoreError(f"the run {found.id} is still going", f"cancel it first:  jig cancel {found.id}")
        if found.machine.remote:
            import shutil

            shutil.rmtree(found.folder.path, ignore_errors=True)
        self._index = None  # on a disk that was full until now it was only in memory
        self.index.forget(found.id)
