"""Records and an index of them, without folders; and run folders that are written line by line."""

import json
import sqlite3

from jig.store.conditions import give_functions
from jig.store.keys import clean
from jig.store.listing import listing
from jig.store.looking import Look
from jig.store.record import record
from jig.store.rows import INDEXES, TABLES, Writer
from jig.store.runs import Run, fold

PLAN = {
    "run_id": "p_1",
    "number": 1,
    "project": "p",
    "script": "a.py",
    "arguments": [],
    "target": "local",
    "run_config": "local",
    "created": 0.0,
    "parent_run_id": "",
    "origin": {"commit": ""},
    "snapshot": {"id": "ab"},
    "user": "ada",
}
ENDED = (
    {"event": "queued", "time": 100.0, "mono": 0.0},
    {"event": "running", "time": 101.0, "mono": 1.0},
    {"event": "completed", "time": 111.5, "mono": 11.5, "reason": "exited", "exit_code": 0},
)


def make(number, values=None, params=None, tags=None, run=None, **changed):
    """The record of run `number`; what is not a key of a plan is said of it."""
    said = {name: changed.pop(name) for name in ("note", "archived", "name") if name in changed}
    plan = {**PLAN, "run_id": f"p_{number}", "number": number, "created": 1000.0 * number, **changed}
    said.update(values=values or {}, params=params or {}, tags=tags or {})
    return record(plan, run or Run(), said, ["driver_log"])


class Indexed:
    """Records in an index that lies in memory."""

    def __init__(self, records):
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        for statement in (TABLES + INDEXES).split(";"):
            self.db.execute(statement)
        Writer(self.db).put(Look(one["run_id"], one["run_number"], "/x", True, "{}", (one,)) for one in records)
        give_functions(self.db)
        self._names = {(space, name): number for number, space, name in self.db.execute("SELECT * FROM names")}

    def find(self, where=None, sort=(), limit=None):
        """Numbers of the runs, archived and nested ones too."""
        text, values = listing(
            lambda space, name: self._names.get((space, clean(name))), None, limit, where, sort, True, True
        )
        query = f"SELECT run_number FROM runs JOIN ({text}) AS found ON found.key = runs.key"
        keys = [key for (key,) in self.db.execute(text, values)]
        numbers = dict(self.db.execute("SELECT key, run_number FROM runs"))
        assert sorted(number for (number,) in self.db.execute(query, values)) == sorted(map(numbers.get, keys))
        return [numbers[key] for key in keys]


def write_run(home, run_id, number=1, events=ENDED, **plan):
    """A run folder as jig leaves it, entered in the order file; returns its path."""
    folder = home / "runs" / run_id
    folder.mkdir(parents=True)
    own = {**PLAN, "run_id": run_id, "number": number, "project": run_id.rpartition("_")[0], **plan}
    (folder / "plan.json").write_text(json.dumps(own))
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    with open(home / "order", "a") as order:
        order.write(json.dumps([number, run_id, str(folder)]) + "\n")
    return folder


def log(folder, *entries, file="metrics.jsonl"):
    with open(folder / file, "a") as out:
        out.write("".join(json.dumps({"time": 5.0, **entry}) + "\n" for entry in entries))


def ended(**last):
    return fold([*ENDED[:2], {**ENDED[2], **last}])
