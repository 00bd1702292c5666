"""Canceling a sweep: the run that is at work on it, and then what it could not end itself."""

from __future__ import annotations

from jig.cli.here import store
from jig.cli.run import end
from jig.cli.sweep import end_runs
from jig.errors import StoreError
from jig.sweep import start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.store.queries import Found


def cancel(found: Found, grace_s: float | None) -> int:
    """End a sweep, and all of its runs, also those of one that was killed or goes on in another run."""
    sweep_id = start.sweep_id_of(found.folder)
    living = start.living(sweep_id)
    code = end(found if living == found.id else store().find(living, None), grace_s)
    if not end_runs(sweep_id, grace_s):
        raise StoreError("not all runs of the sweep have ended", f"look at them:  jig sweep show {sweep_id}")
    return code
