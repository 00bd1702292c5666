"""The index: SQLite, derived from the run folders. Delete it and it is built again."""

from __future__ import annotations

import os

from jig.runner.folder import Home, make_private
from jig.store.listing import listing
from jig.store.reserve import parse_line
from jig.store.runs import FINAL
from jig.system import lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence

    from jig.store.keys import Key
    from jig.store.looking import Look
    from jig.store.rows import Writer
    from jig.store.where import Expression
else:
    try:
        import _sqlite3 as sqlite3  # what is around it loads `datetime` and others: longer than a listing takes
    except ImportError:  # not CPython
        import sqlite3

VERSION = 5  # of what a record holds, too
FROM_BOTH = "FROM runs JOIN texts ON texts.key = runs.key"


class Index:
    """Open the index of a home and bring it up to date; a broken one is rebuilt, and `tell` says so."""

    def __init__(self, home: Home, tell: Callable[[str], None] = lambda text: None) -> None:
        self._home = home
        self._path = os.path.join(home.local_state(), "index.db")
        self._tell = tell
        self._is_fresh = False
        try:
            self._make_home()
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

    def _make_home(self) -> None:
        try:
            make_private(self._home.path)
        except OSError as error:
            raise sqlite3.OperationalError(f"unable to open {self._home.path}: {error.strerror}") from error

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
        held = self._lock()
        try:
            if not always and self._connect():
                return
            aside = self._path + ".new"
            for path in (aside, self._path):
                _unlink(path)
            self.db = sqlite3.connect(aside, isolation_level=None)
            self.db.execute("PRAGMA journal_mode=OFF")  # nobody knows it yet: what fails is thrown away
            self.db.execute("PRAGMA synchronous=OFF")
            self._make()
            self.db.execute("PRAGMA journal_mode=WAL")
            self.db.close()
            _to_disk(aside)
            os.rename(aside, self._path)
            self.db = sqlite3.connect(self._path, timeout=60, isolation_level=None)
        finally:
            os.close(held)

    def _lock(self) -> int:
        """Wait until nobody builds it; returns what to close when others may."""
        try:
            held = os.open(self._path + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise sqlite3.OperationalError(f"unable to open {self._path}: {error.strerror}") from error
        lock(held)
        return held

    def _make(self) -> None:
        from jig.store.rows import INDEXES, TABLES

        with _Transaction(self.db):
            for statement in TABLES.split(";"):
                self.db.execute(statement)
            self._fill()
            for statement in INDEXES.split(";"):
                self.db.execute(statement)
            self.db.execute(f"PRAGMA user_version={VERSION}")
        self._is_fresh = True

    def _do_without(self, error: sqlite3.Error) -> None:
        """Where nothing can be written the index is made in memory: slow with many runs, but right."""
        self._tell(f"the index cannot be written ({error}); the runs are read one by one")
        if hasattr(self, "db"):  # not where even the lock file could not be made
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
        """Build it again from the folders, unless that has just been done; returns how many runs it holds."""
        if not self._is_fresh:
            self._build_again()
        count: int = self.db.execute("SELECT count(*) FROM runs WHERE status IS NOT NULL AND nested=0").fetchone()[0]
        return count

    def _fill(self) -> None:
        """Every run folder there is, and those elsewhere that the order file knows."""
        from jig.store.looking import first_looks

        found = {}
        if os.path.isdir(self._home.runs):
            with os.scandir(self._home.runs) as entries:
                # In the order of the disk: from one that is not in memory that takes half the time.
                in_order = sorted((entry.inode(), entry.name) for entry in entries)
            found = {name: os.path.join(self._home.runs, name) for _, name in in_order if not name.startswith(".")}
        for machine in os.listdir(self._home.mirror) if os.path.isdir(self._home.mirror) else []:
            copies = os.path.join(self._home.mirror, machine)
            found.update({name: os.path.join(copies, name) for name in os.listdir(copies)})
        lines, offset = self._new_order(0)
        found.update({run_id: folder for _, run_id, folder in lines})
        self._writer().put(first_looks(list(found.items()), self._tell))
        self.db.execute("UPDATE meta SET order_offset=?", (offset,))

    def refresh(self) -> None:
        """Take in runs that were submitted since, and look again at those that had not ended."""
        known = self.db.execute("SELECT order_offset FROM meta").fetchone()
        if known is None or not isinstance(known[0], int):
            raise sqlite3.DatabaseError("a table lost its row")
        lines, offset = self._new_order(known[0])
        query = f"SELECT run_id, run_number, folder, seen {FROM_BOTH} WHERE final=0 AND nested=0"
        unfinished = self.db.execute(query).fetchall()
        if not lines and not unfinished:
            return
        from jig.store.looking import look_or_tell  # imported here: most commands find nothing new

        seen = {run_id: text for run_id, _, _, text in unfinished}
        looks = [(run_id, number, os.fsdecode(folder)) for run_id, number, folder, _ in unfinished]
        looks += [(run_id, number, folder) for number, run_id, folder in lines if run_id not in seen]
        found = {
            run_id: look_or_tell(run_id, number, folder, seen.get(run_id, "{}"), self._tell)
            for run_id, number, folder in looks
        }
        with _Transaction(self.db):
            self._replace({run_id: (seen.get(run_id), one) for run_id, one in found.items()})
            self.db.execute("UPDATE meta SET order_offset=max(order_offset, ?)", (offset,))

    def _replace(self, found: dict[str, tuple[str | None, Look | None]]) -> None:
        """Write what was found of runs, each with what was known of it when it was looked at."""
        writer, fresh = self._writer(), []
        for run_id, (before, seen) in found.items():
            now = self._seen(run_id)
            if now != before:
                continue  # another command has looked since, and may have seen more
            if now is not None:
                writer.drop(run_id)
            # A run that somebody deleted while we looked at it must not come back.
            if seen is not None and os.path.exists(seen.folder):
                fresh.append(seen)
        writer.put(fresh)

    def _writer(self) -> Writer:
        from jig.store.rows import Writer

        return Writer(self.db)

    def _seen(self, run_id: str) -> str | None:
        row = self.db.execute(f"SELECT seen {FROM_BOTH} WHERE run_id=?", (run_id,)).fetchone()
        return row[0] if row else None

    def say(self, run_id: str, write: Callable[[], None]) -> None:
        """Let something be written of a run, whether it has ended or not, and bring it up to date."""
        if self._path == ":memory:":
            write()
            return self._look_again(run_id)
        held = self._lock()  # whoever builds the index would not see it
        try:
            self.db.close()
            if not self._connect():
                raise sqlite3.OperationalError(f"unable to open {self._path}")
            # It is looked at by the next command when this one is killed in between.
            self.db.execute("UPDATE runs SET final=0 WHERE run_id=?", (run_id,))
            write()
            self._look_again(run_id)
        finally:
            os.close(held)

    def _look_again(self, run_id: str) -> None:
        from jig.store.looking import look_or_tell

        query = f"SELECT run_number, folder, seen {FROM_BOTH} WHERE run_id=?"
        with _Transaction(self.db):  # nobody else looks meanwhile, so nothing that was said before is missed
            row = self.db.execute(query, (run_id,)).fetchone()
            if row is not None:
                number, folder, seen = row
                self._replace({run_id: (seen, look_or_tell(run_id, number, os.fsdecode(folder), seen, self._tell))})

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

    def records(
        self,
        project: str | None,
        limit: int | None,
        where: Expression | None = None,
        sort: Sequence[tuple[Key, bool]] = (),
        nested: bool = False,
        archived: bool = False,
        offset: int = 0,
    ) -> Iterator[str]:
        """The runs' records as JSON text: those that `where` is true of, in this order, else newest first."""
        statement, values = listing(self.known, project, limit, where, sort, nested, archived, offset)
        for (key,) in self._asking(where).execute(statement, values).fetchall():
            yield self.db.execute("SELECT record FROM texts WHERE key=?", (key,)).fetchone()[0]

    def count(self, project: str | None, where: Expression | None, nested: bool, archived: bool) -> int:
        """How many records there are that `where` is true of."""
        statement, values = listing(self.known, project, None, where, (), nested, archived)
        found: int = self._asking(where).execute(f"SELECT count(*) FROM ({statement})", values).fetchone()[0]
        return found

    def _asking(self, where: Expression | None) -> sqlite3.Connection:
        """The database, with the functions that a query needs."""
        if where is not None:
            from jig.store.conditions import give_functions

            give_functions(self.db)
        return self.db

    def known(self, space: str, name: str) -> int | None:
        """The number of a name that some run has logged."""
        from jig.store.keys import clean

        query = "SELECT name FROM cells WHERE name=(SELECT id FROM names WHERE space=? AND name=?) LIMIT 1"
        found = self.db.execute(query, (space, clean(name))).fetchone()
        return found[0] if found else None

    def names(self) -> list[tuple[str, str]]:
        """Space and name of everything that runs have logged."""
        return [
            (space, name)
            for space, name in self.db.execute("SELECT space, name FROM names ORDER BY space, name COLLATE NOCASE, id")
        ]

    def is_empty(self) -> bool:
        """Whether there is no run at all."""
        return self.db.execute("SELECT 1 FROM runs WHERE status IS NOT NULL LIMIT 1").fetchone() is None

    def matching(self, prefix: str, limit: int = 6) -> list[tuple[str, str]]:
        """Id and folder of runs whose id starts so; of nested runs only the one whose whole id it is."""
        query = """
            SELECT run_id, folder FROM runs WHERE run_id >= ? AND run_id < ? AND (nested = 0 OR run_id = ?)
            ORDER BY run_number DESC LIMIT ?
        """
        found = self.db.execute(query, (prefix, prefix + "\U0010ffff", prefix, limit))
        return [(run_id, os.fsdecode(folder)) for run_id, folder in found]

    def latest(self, project: str | None) -> tuple[str, str] | None:
        """Id and folder of the newest run that is listed; where all are archived, of the newest of those."""
        where, values = ("name=? AND", [project]) if project else ("", [])
        for listed in ("AND archived=0", ""):
            query = f"""
                SELECT run_id, folder FROM runs WHERE {where} status IS NOT NULL AND nested=0 {listed}
                ORDER BY run_number DESC LIMIT 1
            """
            found = self.db.execute(query, values).fetchone()
            if found:
                return found[0], os.fsdecode(found[1])
        return None

    def unfinished(self, project: str | None) -> tuple[str, ...]:
        """The ids of runs that have not ended, newest first."""
        going = f"final=0 AND nested=0 AND status NOT IN ({','.join('?' * len(FINAL))})"
        query = f"SELECT run_id, name FROM runs WHERE {going} ORDER BY run_number DESC"
        return tuple(run_id for run_id, found in self.db.execute(query, FINAL) if project in (None, found))

    def going(self) -> dict[str, str]:
        """Id and folder of every run that is looked at again at each refresh."""
        found = self.db.execute("SELECT run_id, folder FROM runs WHERE final=0 AND nested=0")
        return {run_id: os.fsdecode(folder) for run_id, folder in found}

    def version(self) -> int:
        """A number that is another one after somebody else has written to the index."""
        number: int = self.db.execute("PRAGMA data_version").fetchone()[0]
        return number

    def folders(self) -> Iterator[str]:
        """The folder of every run."""
        return (os.fsdecode(row[0]) for row in self.db.execute("SELECT folder FROM runs WHERE nested=0"))

    def record(self, run_id: str) -> str | None:
        """One run's record as JSON text."""
        row = self.db.execute(f"SELECT record {FROM_BOTH} WHERE run_id=?", (run_id,)).fetchone()
        return row[0] if row else None

    def forget(self, run_id: str) -> None:
        """Drop a run whose folder was removed."""
        with _Transaction(self.db):
            self._writer().drop(run_id)


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


def _to_disk(path: str) -> None:
    """Let nothing of a file be only in memory."""
    file = os.open(path, os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)
