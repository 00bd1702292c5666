"""The index: SQLite, derived from the run folders. Delete it and it is built again."""

from __future__ import annotations

import os
import sqlite3

from jig.runner import events
from jig.runner.folder import Home, RunFolder, make_private
from jig.runner.quick_json import dumps, loads
from jig.runner.status import status
from jig.store import runs
from jig.store.record import record
from jig.store.reserve import UNBORN, parse_line
from jig.system import lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

VERSION = 2  # of what a record holds, too
SCHEMA = """
CREATE TABLE meta (order_offset INTEGER NOT NULL);
INSERT INTO meta VALUES (0);
CREATE TABLE runs (
    id TEXT PRIMARY KEY, number INTEGER NOT NULL, project TEXT, folder BLOB NOT NULL,
    state TEXT, final INTEGER NOT NULL, offsets TEXT NOT NULL, record TEXT
) WITHOUT ROWID;
CREATE INDEX by_number ON runs (number);
CREATE INDEX by_project ON runs (project, number);
CREATE INDEX unfinished ON runs (number) WHERE final = 0;
"""


class Index:
    """Open the index of a home and bring it up to date; a broken one is rebuilt, and `tell` says so."""

    def __init__(self, home: Home, tell: Callable[[str], None] = lambda text: None) -> None:
        self._home = home
        self._path = os.path.join(home.local_state(), "index.db")
        self._tell = tell
        make_private(home.path)
        try:
            self._open()
            self.refresh()
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise
            if "full" in str(error) or "readonly" in str(error) or "unable to open" in str(error):
                self._do_without(error)
            else:
                self._start_over(error)
        except sqlite3.DatabaseError as error:
            self._start_over(error)

    def __del__(self) -> None:
        if hasattr(self, "db"):
            self.db.close()

    def _open(self) -> None:
        if self._path == ":memory:":
            self.db = sqlite3.connect(self._path, isolation_level=None)
            self._make()
        elif not self._connect():
            self._put_in_place()

    def _connect(self) -> bool:
        """Open the file; False when it is missing, emptied, or of another version."""
        if not (os.path.exists(self._path) and os.path.getsize(self._path)):
            return False
        self.db = sqlite3.connect(self._path, timeout=60, isolation_level=None)
        if self.db.execute("PRAGMA user_version").fetchone()[0] == VERSION:
            return True
        self.db.close()
        return False

    def _put_in_place(self, always: bool = False) -> None:
        """Make it aside, so that nobody sees half of one; one process at a time, and the others find it made.

        (An index that is taken away while another process opens it is a damaged one there.)
        """
        try:
            held = os.open(self._path + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise sqlite3.OperationalError(f"unable to open {self._path}: {error.strerror}") from error
        try:
            lock(held)
            if not always and self._connect():
                return
            aside = self._path + ".new"
            for path in (aside, self._path):
                _unlink(path)
            self.db = sqlite3.connect(aside, isolation_level=None)
            self.db.execute("PRAGMA journal_mode=WAL")
            self._make()
            self.db.close()
            os.rename(aside, self._path)
            self.db = sqlite3.connect(self._path, timeout=60, isolation_level=None)
        finally:
            os.close(held)

    def _make(self) -> None:
        with _Transaction(self.db):
            for statement in SCHEMA.split(";"):
                self.db.execute(statement)
            self.db.execute(f"PRAGMA user_version={VERSION}")
            self._fill()

    def _do_without(self, error: sqlite3.Error) -> None:
        """Where nothing can be written the index is made in memory: slow with many runs, but right."""
        self._tell(f"the index cannot be written ({error}); the runs are read one by one")
        self.db.close()
        self._path = ":memory:"
        self._open()
        self.refresh()

    def _start_over(self, error: sqlite3.Error) -> None:
        self._tell(f"the index was damaged ({error}) and is built again from the run folders")
        try:
            self._build_again()
        except sqlite3.OperationalError as again:
            self._do_without(again)

    def _build_again(self) -> None:
        if hasattr(self, "db"):
            self.db.close()
        self._put_in_place(always=True)
        self.refresh()

    def rebuild(self) -> int:
        """Build it again from the folders; returns how many runs it holds."""
        self._build_again()
        count: int = self.db.execute("SELECT count(*) FROM runs WHERE state IS NOT NULL").fetchone()[0]
        return count

    def _fill(self) -> None:
        """Every run folder there is, and those elsewhere that the order file knows."""
        found = {}
        for name in os.listdir(self._home.runs) if os.path.isdir(self._home.runs) else []:
            if not name.startswith("."):
                found[name] = os.path.join(self._home.runs, name)
        for machine in os.listdir(self._home.mirror) if os.path.isdir(self._home.mirror) else []:
            copies = os.path.join(self._home.mirror, machine)
            found.update({name: os.path.join(copies, name) for name in os.listdir(copies)})
        lines, offset = self._new_order(0)
        found.update({run_id: folder for _, run_id, folder in lines})
        rows = (self._row(run_id, 0, folder, {}) for run_id, folder in found.items())
        self.db.executemany(
            "INSERT OR REPLACE INTO runs VALUES (?,?,?,?,?,?,?,?)", (row for row in rows if row is not None)
        )
        self.db.execute("UPDATE meta SET order_offset=?", (offset,))

    def refresh(self) -> None:
        """Take in runs that were submitted since, and look again at those that had not ended."""
        known = self.db.execute("SELECT order_offset FROM meta").fetchone()
        if known is None or not isinstance(known[0], int):
            raise sqlite3.DatabaseError("a table lost its row")
        lines, offset = self._new_order(known[0])
        unfinished = self.db.execute("SELECT id, number, folder, offsets, record FROM runs WHERE final=0").fetchall()
        if not lines and not unfinished:
            return
        replace, delete = [], []
        known_ids = {row[0] for row in unfinished}
        looks = [(run_id, number, folder, "{}", None) for number, run_id, folder in lines if run_id not in known_ids]
        for run_id, number, folder, offsets, before in unfinished + looks:
            row = self._row(run_id, number, os.fsdecode(folder), loads(offsets), before)
            if row is None:
                delete.append((run_id,))
            else:
                replace.append(row)
        with _Transaction(self.db):
            # A run that somebody deleted while we looked at it must not come back.
            still = [row for row in replace if os.path.exists(os.fsdecode(row[3]))]
            self.db.executemany("INSERT OR REPLACE INTO runs VALUES (?,?,?,?,?,?,?,?)", still)
            self.db.executemany("DELETE FROM runs WHERE id=?", delete)
            self.db.execute("UPDATE meta SET order_offset=max(order_offset, ?)", (offset,))

    def _new_order(self, offset: int) -> tuple[list[tuple[int, str, str]], int]:
        try:
            with open(self._home.order, "rb") as file:
                if file.seek(0, os.SEEK_END) < offset:
                    offset = 0  # the file is not the one we knew: look at all of it
                file.seek(offset)
                data = file.read()
        except FileNotFoundError:
            return [], 0
        whole = data[: data.rfind(b"\n") + 1]
        entries = (parse_line(line) for line in whole.splitlines())
        return [entry for entry in entries if entry is not None], offset + len(whole)

    def _row(
        self, run_id: str, number: int, place: str, offsets: dict[str, int], before: str | None = None
    ) -> tuple[Any, ...] | None:
        """What the index says of a run now; None when there is nothing to say."""
        if not os.path.isdir(place):
            return None
        try:
            # Without a plan: a run that is being submitted, or a client that died doing so.
            if UNBORN.difference(("plan.json",)).issuperset(os.listdir(place)):
                return (run_id, number, None, os.fsencode(place), None, 0, "{}", None)
            return self._look(run_id, RunFolder(place), offsets, before)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            # One folder that is not as jig left it must not keep all others from being seen.
            self._tell(f"{place} cannot be read as a run ({error!r}); it is left out")
            return None

    def _look(
        self, run_id: str, folder: RunFolder, offsets: dict[str, int], before: str | None
    ) -> tuple[Any, ...] | None:
        plan = runs.read_plan(folder)
        if not plan.get("tracked", True):
            return None
        place = folder.path
        run = runs.fold(events.read(folder.events))
        home = os.path.dirname(os.path.dirname(place))
        # A copy of a run elsewhere says what was seen last; only the machine itself can say more.
        is_copy = os.path.basename(home) == "mirror"
        if not run.final and not is_copy and status(Home(home), run_id) == "ended":
            run = runs.fold(events.read(folder.events))
        metrics: dict[str, Any] = loads(before)["metrics"] if before else {}
        # Rank 0 speaks for a run of several; what the others logged stays in files of their own.
        for entry, offset in runs.read_metrics(folder.metrics, offsets.get("metrics", 0)):
            metrics.update(entry["values"])
            offsets["metrics"] = offset
        text = dumps(record(plan, run, metrics, runs.attachments(folder)))
        where = os.fsencode(place)  # a path need not be text
        return (run_id, plan["number"], plan["project"], where, run.state, int(run.final), dumps(offsets), text)

    def records(self, project: str | None, limit: int | None) -> Iterator[str]:
        """The latest runs' records as JSON text, newest first."""
        where, values = ("project=? AND state IS NOT NULL", [project]) if project else ("state IS NOT NULL", [])
        cut = f" LIMIT {int(limit)}" if limit is not None else ""
        query = f"SELECT record FROM runs WHERE {where} ORDER BY number DESC{cut}"
        return (row[0] for row in self.db.execute(query, values))

    def matching(self, prefix: str, limit: int = 6) -> list[tuple[str, str]]:
        """Id and folder of runs whose id starts so."""
        query = "SELECT id, folder FROM runs WHERE id >= ? AND id < ? ORDER BY number DESC LIMIT ?"
        found = self.db.execute(query, (prefix, prefix + "\U0010ffff", limit))
        return [(run_id, os.fsdecode(folder)) for run_id, folder in found]

    def latest(self, project: str | None) -> tuple[str, str] | None:
        """Id and folder of the newest run."""
        where, values = ("project=? AND", [project]) if project else ("", [])
        query = f"SELECT id, folder FROM runs WHERE {where} state IS NOT NULL ORDER BY number DESC LIMIT 1"
        found = self.db.execute(query, values).fetchone()
        return (found[0], os.fsdecode(found[1])) if found else None

    def unfinished(self, project: str | None) -> tuple[str, ...]:
        """The ids of runs that have not ended, newest first."""
        query = "SELECT id, project FROM runs WHERE final=0 AND state IS NOT NULL ORDER BY number DESC"
        return tuple(run_id for run_id, found in self.db.execute(query) if project in (None, found))

    def folders(self) -> Iterator[str]:
        """The folder of every run."""
        return (os.fsdecode(row[0]) for row in self.db.execute("SELECT folder FROM runs"))

    def record(self, run_id: str) -> str | None:
        """One run's record as JSON text."""
        row = self.db.execute("SELECT record FROM runs WHERE id=?", (run_id,)).fetchone()
        return row[0] if row else None

    def forget(self, run_id: str) -> None:
        """Drop a run whose folder was removed."""
        self.db.execute("DELETE FROM runs WHERE id=?", (run_id,))


class _Transaction:
    """Everything or nothing; waits for other writers."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")


def _unlink(path: str) -> None:
    """Delete a database with its log."""
    for suffix in ("", "-wal", "-shm"):
        try:
            os.unlink(path + suffix)
        except FileNotFoundError:
            continue
