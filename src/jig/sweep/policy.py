"""What a sweep does next: which points begin, which are tried again, and when it is enough. Pure."""

from __future__ import annotations

from jig.store.runs import FINAL
from jig.sweep.definition import Retries, Sweep
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Try(Value):
    """One run of a point, as far as is known; `ended` is when that was seen, by this computer's clock."""

    run_id: str
    state: str
    reason: str = ""
    ended: float = 0.0
    objective: float | None = None

    @property
    def final(self) -> bool:
        """Whether it has ended."""
        return self.state in FINAL


class Next(Value):
    """What to do now."""

    begin: tuple[int, ...] = ()  # these points, in this order
    over: str = ""  # why no others are begun; empty while there may be more
    end_going: bool = False  # end the runs that are going
    done: bool = False


def is_tried_again(tries: Sequence[Try], retries: Retries) -> bool:
    """Whether a point whose last run has ended gets another one."""
    last = tries[-1]
    if not last.final or last.state == "Completed" or len(tries) > retries.times:
        return False
    return last.state in retries.on or last.reason in retries.on


def decide(
    sweep: Sweep, tries: Mapping[int, Sequence[Try]], total: int, at_once: int, now: float, elapsed_s: float
) -> Next:
    """The next step, from what is known of each point: `tries` has its runs in the order of their submits."""
    going = sum(1 for runs in tries.values() if runs and not runs[-1].final)
    begun = sum(map(len, tries.values()))
    over = _over(sweep, tries, begun, elapsed_s)
    if over:
        return Next((), over, bool(going) and sweep.stop.running == "cancel", not going)
    room = max(0, at_once - going)
    if sweep.stop.max_runs is not None:
        room = min(room, sweep.stop.max_runs - begun)
    if not room:
        return Next()
    ready: list[int] = []
    later = False
    for point in range(1, total + 1):
        if len(ready) == room:
            break
        runs = tries.get(point, ())
        if not runs:
            ready.append(point)
        elif is_tried_again(runs, sweep.retries):
            if now >= runs[-1].ended + sweep.retries.wait_s:
                ready.append(point)
            else:
                later = True
    return Next(tuple(ready), "", False, not (going or ready or later))


def _over(sweep: Sweep, tries: Mapping[int, Sequence[Try]], begun: int, elapsed_s: float) -> str:
    stop, objective = sweep.stop, sweep.objective
    found = best(sweep, tries) if stop.objective is not None else None
    if stop.objective is not None and objective is not None and found is not None:
        value = found[1].objective
        if value is not None and objective.is_reached(value, stop.objective):
            return f"the objective is reached: {objective.metric} {value:.6g} by {found[1].run_id}"
    if stop.max_time_s is not None and elapsed_s >= stop.max_time_s:
        return f"`max_time` is over: {stop.max_time_s:.0f} s"
    if stop.max_runs is not None and begun >= stop.max_runs:
        return f"`max_runs` is reached: {stop.max_runs}"
    return ""


def best(sweep: Sweep, tries: Mapping[int, Sequence[Try]]) -> tuple[int, Try] | None:
    """The point with the best objective so far, and its run; the earlier of two that are alike."""
    found: tuple[int, Try] | None = None
    if sweep.objective is None:
        return None
    for point in sorted(tries):
        for one in tries[point]:
            value = one.objective if one.state == "Completed" else None
            if value is not None and sweep.objective.is_better(value, found[1].objective if found else None):
                found = point, one
    return found
