"""Writing what was found of runs into the index's tables."""

from __future__ import annotations

import os

from jig.runner.quick_json import dumps, loads
from jig.store.keys import OWN
from jig.store.looking import cells, columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from typing import Any

    from jig.store.looking import Look

COLUMNS = ", ".join(f'"{name}"' for name in OWN)
TABLES = f"""
CREATE TABLE meta (order_offset INTEGER NOT NULL);
INSERT INTO meta VALUES (0);
CREATE TABLE runs (
    key INTEGER PRIMARY KEY, nested INTEGER NOT NULL, final INTEGER NOT NULL, {COLUMNS}, folder BLOB NOT NULL
);
CREATE TABLE texts (key INTEGER PRIMARY KEY, record TEXT, seen TEXT NOT NULL);
CREATE TABLE names (id INTEGER PRIMARY KEY, space TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (space, name));
CREATE TABLE cells (
    name INTEGER NOT NULL, run INTEGER NOT NULL, number, text, PRIMARY KEY (name, run)
) WITHOUT ROWID;
"""
INDEXES = """
CREATE UNIQUE INDEX by_id ON runs (run_id);
CREATE INDEX by_number ON runs (run_number);
CREATE INDEX by_project ON runs (name, run_number);
CREATE INDEX unfinished ON runs (run_number) WHERE final = 0;
"""
RUN = f"INSERT INTO runs VALUES ({','.join('?' * (4 + len(OWN)))})"
TEXTS = "INSERT INTO texts VALUES (?,?,?)"
CELL = "INSERT OR REPLACE INTO cells VALUES (?,?,?,?)"
NOT_YET = (None,) * (len(OWN) - 2)  # a run that is being submitted has an id and a number
BATCH = 500


class Writer:
    """Puts runs into the tables; knows the numbers of names. Belongs to one transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._names: dict[tuple[str, str], int] = {
            (space, name): number for number, space, name in db.execute("SELECT id, space, name FROM names")
        }
        self._next = (db.execute("SELECT max(key) FROM runs").fetchone()[0] or 0) + 1

    def put(self, looks: Iterable[Look]) -> None:
        """Runs that the tables do not have yet."""
        runs: list[tuple[Any, ...]] = []
        texts: list[tuple[Any, ...]] = []
        found: list[tuple[Any, ...]] = []
        for look in looks:
            folder = os.fsencode(look.folder)  # a path need not be text
            if not look.records:
                runs.append((self._next, 0, 0, look.run_id, look.number, *NOT_YET, folder))
                texts.append((self._next, None, "{}"))
                self._next += 1
            for record in look.records:
                nested = int(record["run_id"].rpartition("-")[2]) if record is not look.records[0] else 0
                runs.append((self._next, nested, int(look.final), *columns(record), folder))
                texts.append((self._next, dumps(record), "{}" if nested else look.seen))
                found += [(self._name(name), self._next, number, text) for name, number, text in cells(record)]
                self._next += 1
            if len(runs) >= BATCH:
                self._write(runs, texts, found)
        self._write(runs, texts, found)

    def _write(self, *rows: list[tuple[Any, ...]]) -> None:
        for statement, some in zip((RUN, TEXTS, CELL), rows, strict=True):
            self._db.executemany(statement, some)
            some.clear()

    def _name(self, name: tuple[str, str]) -> int:
        number = self._names.get(name)
        if number is None:
            number = self._names[name] = len(self._names) + 1
            self._db.execute("INSERT INTO names VALUES (?,?,?)", (number, *name))
        return number

    def drop(self, run_id: str) -> None:
        """Take out a run with its nested runs."""
        own = "runs.run_id = ? OR (runs.run_id > ? AND runs.run_id < ? AND runs.nested > 0)"
        query = f"SELECT runs.key, texts.record FROM runs JOIN texts ON texts.key = runs.key WHERE {own}"
        for key, text in self._db.execute(query, (run_id, f"{run_id}-", f"{run_id}.")).fetchall():
            names = [(self._names[name], key) for name, _, _ in cells(loads(text))] if text else []
            self._db.executemany("DELETE FROM cells WHERE name=? AND run=?", names)
            self._db.execute("DELETE FROM texts WHERE key=?", (key,))
            self._db.execute("DELETE FROM runs WHERE key=?", (key,))
