"""A look at a run folder: what the index keeps of it. Reads each growing file from where the last look ended."""

from __future__ import annotations

import os
import sys

from jig.runner.folder import Home, RunFolder
from jig.runner.quick_json import dumps, loads
from jig.runner.status import status
from jig.store import logged, runs
from jig.store.keys import OWN, TEXT, clean, is_scalar, key, number_of, pair, raw, text_of
from jig.store.record import nested_record, record
from jig.store.reserve import UNBORN
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

KINDS = tuple((name, kind, key(name) if "." in name else None) for name, kind in OWN.items())
ALONE = 1000  # runs that one process looks at
NOT_YET = UNBORN.difference(("plan.json",))


class Look(Value):
    """What was found of a run: its record and those of its nested runs; none for one that is not there yet."""

    run_id: str
    number: int
    folder: str
    final: bool = False
    seen: str = "{}"
    records: tuple[dict[str, Any], ...] = ()


def look(run_id: str, number: int, place: str, seen: str) -> Look | None:
    """Look at the folder; None when there is nothing to keep. OSError, ValueError and others for a broken one."""
    try:
        names = os.listdir(place)
    except (FileNotFoundError, NotADirectoryError):
        return None
    # Without a plan: a run that is being submitted, or a client that died doing so.
    if NOT_YET.issuperset(names):
        return Look(run_id, number, place)
    folder = RunFolder(place)
    plan = runs.read_plan(folder)
    if not plan.get("tracked", True):
        return None
    run = runs.fold(runs.read_events(folder))
    home = os.path.dirname(os.path.dirname(place))
    # A copy of a run elsewhere says what was seen last; only the machine itself can say more.
    is_copy = os.path.basename(home) == "mirror"
    if not run.final and not is_copy and status(Home(home), run_id) == "ended":
        run = runs.fold(runs.read_events(folder))
    final = run.final and (not is_copy or "outputs.json" in names)  # outputs of a copy come last
    before = {name: (offset, said) for name, (offset, said) in loads(seen).items()}
    now = logged.look(place, names, before)
    said = logged.together(now)
    artifacts = runs.attachments(folder, plan, names)
    own = said.get("", {})
    nested = [
        nested_record(plan, run, {"archived": own.get("archived"), **part}, artifacts, n)
        for n, part in said.items()
        if n
    ]
    return Look(run_id, plan["number"], place, final, dumps(now), (record(plan, run, own, artifacts), *nested))


def look_or_tell(run_id: str, number: int, place: str, seen: str, tell: Callable[[str], None]) -> Look | None:
    """Look at the folder; of one that is not as jig left it is told: it must not keep all others from being seen."""
    try:
        return look(run_id, number, place, seen)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        tell(f"{place} cannot be read as a run ({error!r}); it is left out")
        return None


def first_looks(runs: Sequence[tuple[str, str]], tell: Callable[[str], None]) -> Iterator[Look]:
    """A first look at each run, given by id and folder; very many are shared out among processes."""
    if len(runs) > ALONE and sys.platform != "win32" and _is_single_threaded():
        from jig.store.crew import look_at_all

        return look_at_all(runs, tell)
    return (found for run in runs if (found := first_look(*run, tell)) is not None)


def first_look(run_id: str, place: str, tell: Callable[[str], None]) -> Look | None:
    """A first look at a run."""
    return look_or_tell(run_id, 0, place, "{}", tell)


def _is_single_threaded() -> bool:
    """Whether this process can be forked: another thread may hold a lock that the child would wait for."""
    threading = sys.modules.get("threading")
    return threading is None or threading.active_count() == 1


def columns(record: dict[str, Any]) -> list[Any]:
    """The values of the index's own columns, in the order of OWN."""
    found: list[Any] = []
    for name, kind, dotted in KINDS:
        value = raw(record, dotted) if dotted else record[name]
        if value is None:
            found.append(None)
        elif kind == TEXT:
            found.append(value if type(value) is str and value.isascii() else pair(value, kind)[1])
        else:
            found.append(pair(value, kind)[0])
    return found


def cells(record: dict[str, Any]) -> Iterator[tuple[tuple[str, str], int | float | None, str | None]]:
    """Space and name of everything that was logged, with number and text of scalars."""
    for space in ("metrics", "params", "tags"):
        for name, value in record[space].items():
            if is_scalar(value):
                yield (space, clean(name)), number_of(value), text_of(value)
            elif value is not None:
                yield (space, clean(name)), None, None
