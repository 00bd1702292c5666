"""One run as a page sees it: where it is, what was planned, and the record as it is now."""

from __future__ import annotations

from typing import Any

from jig.errors import UsageError
from jig.runner import events
from jig.store.queries import Found, Store
from jig.store.runs import FINAL, Run, fold
from jig.values import Value
from jig.workbench import log_window
from jig.workbench.gate import within

TAIL = 12  # lines


class Seen(Value):
    """What there is to show of a run."""

    found: Found
    plan: dict[str, Any]
    run: Run  # of a nested one, the run that it is in
    record: dict[str, Any]
    past: list[dict[str, Any]]
    last: tuple[str, ...] = ()  # lines of the log of a run that failed: why, nine times of ten

    @property
    def final(self) -> bool:
        """Whether nothing more will happen."""
        return self.record["status"] in FINAL


def look(store: Store, run_id: str) -> Seen:
    """The run with this id; StoreError, UsageError when there is none or it is not kept."""
    found = store.find(run_id, None)
    if store.index.record(found.id) is None:  # submitted this moment
        store.index.refresh()
    past = list(events.read(found.folder.events))
    run, record = fold(past), store.record(found.id)
    last = _last(found) if record["status"] == "Failed" and not run.said else ()
    return Seen(found, found.plan(), run, record, past, last)


def _last(found: Found) -> tuple[str, ...]:
    try:
        lines = log_window.before(within(found.folder.path, found.folder.log), None).lines[-TAIL:]
    except UsageError:  # the script has put a link in its place
        return ()
    return tuple("".join(part for _, part in spans) for _, spans in lines)
