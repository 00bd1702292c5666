"""The runs of a sweep as they go: looked at again and again, each change told and written down."""

from __future__ import annotations

import time

from jig.errors import nearest
from jig.runner import events
from jig.store import runs
from jig.store.runs import Run
from jig.sweep import children, policy, report
from jig.sweep.children import Child
from jig.sweep.policy import Try

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jig.machines import Machine
    from jig.sweep.definition import Sweep
    from jig.sweep.journal import Journal
    from jig.sweep.space import Point

NEAR_S, FAR_S = (0.02, 0.5), (0.5, 5.0)  # between two looks at a run: at first, and when it has been going for long


class Going:
    """A run that has not ended."""

    def __init__(self, child: Child) -> None:
        self.child = child
        self.began = time.monotonic()
        self.look_at = 0.0
        self.told = ""

    def looked(self, remote: bool) -> None:
        """The longer it has been going, the longer until the next look."""
        shortest_s, longest_s = FAR_S if remote else NEAR_S
        now = time.monotonic()
        self.look_at = now + min(longest_s, max(shortest_s, (now - self.began) / 20))


class Watch:
    """Every run of a sweep: those that ended, and those that are going."""

    def __init__(self, sweep: Sweep, points: Sequence[Point], journal: Journal, say: Callable[[str], None]) -> None:
        self._sweep = sweep
        self._points = points
        self._journal = journal
        self._say = say
        self._told_of_metric = False
        self.tries: dict[int, list[Try]] = {}
        self.known: dict[str, Run] = {}
        self.going: dict[str, Going] = {}
        self.ended: list[Child] = []  # since somebody took them away
        self.changes = 0

    def adopt(self, found: Sequence[Child]) -> None:
        """Take over the runs that an earlier program of the sweep submitted; what it canceled has not been run."""
        seen = self._journal.ends()
        for child in found:
            run = runs.fold(events.read(child.folder.events))
            if run.state == "Canceled" and child.run_id not in seen:
                continue
            self._enter(child)
            if run.final:
                self._end(child, run, seen.get(child.run_id, {}).get("time", time.time()))

    def begin(self, child: Child) -> None:
        """A run was submitted."""
        self._enter(child)
        self._journal.write(point=child.point, run=child.run_id, state="Queued")
        self.going[child.run_id].told = "Queued"
        self.tell(child.point, f"submitted as {child.run_id}")

    def _enter(self, child: Child) -> None:
        self.changes += 1
        self.tries.setdefault(child.point, []).append(Try(child.run_id, "Queued"))
        self.going[child.run_id] = Going(child)

    def look(self, machine: Callable[[], Machine], answered: Callable[[], None]) -> None:
        """Look at those that are due, and call `answered` for each; MachineError when their machine cannot be asked."""
        for one in list(self.going.values()):
            if time.monotonic() < one.look_at:
                continue
            there = machine()
            run = children.look(one.child, there)
            answered()
            one.looked(there.remote)
            if run is None:
                self.tell(one.child.point, f"{one.child.run_id} never began")
                self._forget(one.child)
            elif run.final:
                self._finish(one.child, run)
            else:
                self._tell_state(one, run)

    def due_s(self) -> float:
        """Seconds until the next look."""
        now = time.monotonic()
        return max(0.0, min((one.look_at - now for one in self.going.values()), default=1.0))

    def tell(self, point: int, text: str) -> None:
        """One line about a point."""
        self._say(f"[{point}/{len(self._points)}] {report.settings(self._points[point - 1])}: {text}")

    def numbers(self) -> dict[str, float]:
        """How far it is, as metrics of the sweep's own run."""
        last = [tries for tries in self.tries.values() if not policy.is_tried_again(tries, self._sweep.retries)]
        done = [tries[-1] for tries in last if tries[-1].final]
        found: dict[str, float] = {
            "done": len(done),
            "failed": sum(1 for one in done if one.state != "Completed"),
            "running": len(self.going),
        }
        best = policy.best(self._sweep, self.tries)
        if best is not None and best[1].objective is not None:
            found["best"] = best[1].objective
        return found

    def _forget(self, child: Child) -> None:
        self.changes += 1
        del self.going[child.run_id]
        left = [one for one in self.tries.pop(child.point) if one.run_id != child.run_id]
        if left:
            self.tries[child.point] = left

    def _tell_state(self, one: Going, run: Run) -> None:
        told = "Queued, waiting for a GPU" if run.reason == runs.WAITING else run.state
        if told != one.told:
            one.told = told
            self.known[one.child.run_id] = run
            self._update(one.child, state=run.state, reason=run.reason)
            self._journal.write(point=one.child.point, run=one.child.run_id, state=run.state)
            self.tell(one.child.point, told)

    def _update(self, child: Child, **changed: object) -> None:
        tries = self.tries[child.point]
        for place, one in enumerate(tries):
            if one.run_id == child.run_id:
                tries[place] = Try(**{**one._asdict(), **changed})

    def _end(self, child: Child, run: Run, seen_at: float) -> Try:
        objective = self._sweep.objective
        value = children.objective_of(child.folder, objective.metric) if objective is not None else None
        self.changes += 1
        del self.going[child.run_id]
        self.known[child.run_id] = run
        self.ended.append(child)
        self._update(child, state=run.state, reason=run.reason, ended=seen_at, objective=value)
        return next(one for one in self.tries[child.point] if one.run_id == child.run_id)

    def _finish(self, child: Child, run: Run) -> None:
        before = policy.best(self._sweep, self.tries)
        one = self._end(child, run, time.time())
        said = {"state": run.state, "reason": run.reason, "objective": one.objective, "ended": True}
        self._journal.write(point=child.point, run=child.run_id, **said)
        text = report.ended(run, self._sweep, one)
        best = policy.best(self._sweep, self.tries)
        if best is not None and best != before:
            text += ", the best so far"
        tries, retries = self.tries[child.point], self._sweep.retries
        if policy.is_tried_again(tries, retries):
            text += f"; trying again in {retries.wait_s:.0f} s ({len(tries)} of {retries.times})"
        self.tell(child.point, text)
        self._tell_of_missing(child, run, one)

    def _tell_of_missing(self, child: Child, run: Run, one: Try) -> None:
        """A sweep whose script never logs the metric has no best: told once, with what it did log."""
        objective = self._sweep.objective
        if objective is None or one.objective is not None or run.state != "Completed" or self._told_of_metric:
            return
        self._told_of_metric = True
        logged = sorted(runs.last_metrics(child.folder))
        near = nearest(objective.metric, logged)
        guess = f"; did you mean {near}?" if near else ""
        self._say(
            f"warning: {child.run_id} logged no number {objective.metric}, only {', '.join(logged) or 'nothing'}{guess}"
        )
