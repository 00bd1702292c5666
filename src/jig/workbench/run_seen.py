"""One run as a page sees it: where it is, what was planned, and the record as it is now."""

from __future__ import annotations

from typing import Any

from jig.runner import events
from jig.store.queries import Found, Store
from jig.store.runs import FINAL, Run, fold
from jig.values import Value


class Seen(Value):
    """What there is to show of a run."""

    found: Found
    plan: dict[str, Any]
    run: Run  # of a nested one, the run that it is in
    record: dict[str, Any]
    past: list[dict[str, Any]]

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
    return Seen(found, found.plan(), fold(past), store.record(found.id), past)
