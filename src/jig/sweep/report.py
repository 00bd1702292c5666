"""A sweep in words: its lines while it goes, and the table of its points, the best first."""

from __future__ import annotations

import io

from jig.cli.show import show
from jig.cli.terminal import human_duration
from jig.store.record import clock
from jig.store.runs import Run
from jig.sweep import policy
from jig.sweep.definition import Sweep
from jig.sweep.policy import Try
from jig.sweep.space import Point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

NOT_BEGUN = "not begun"
COLUMNS = ("point", "status", "duration", "run_id")


def settings(point: Point) -> str:
    """A point's parameters in one line."""
    return " ".join(f"{setting.name}={setting.text}" for setting in point)


def heading(sweep: Sweep, total: int, at_once: object, target: str) -> str:
    """What the sweep is about to do."""
    points = f"{total} point" + ("s" if total != 1 else "")
    return f"sweep of {points} ({sweep.method}), {at_once} at a time, on {target}"


def ended(run: Run, sweep: Sweep, one: Try) -> str:
    """How a run of a point ended."""
    words = [run.state if run.state in ("Completed", "Canceled") else f"{run.state}: {run.why}"]
    if sweep.objective is not None and one.objective is not None:
        words.append(f"{sweep.objective.metric} {one.objective:.6g}")
    if run.duration_s is not None:
        words.append(human_duration(run.duration_s))
    return ", ".join(words)


def progress(numbers: Mapping[str, Any], total: int, metric: str) -> str:
    """One line for the bottom of a terminal, from what the sweep logged last."""
    parts = [f"{numbers.get('done', 0):.0f} of {total} done", f"{numbers.get('running', 0):.0f} going"]
    if numbers.get("failed"):
        parts.append(f"{numbers['failed']:.0f} failed")
    if "best" in numbers and metric:
        parts.append(f"best {metric} {numbers['best']:.6g}")
    return ", ".join(parts)


def counts(found: Sequence[Mapping[str, Any]]) -> str:
    """How many points are in which state."""
    states = [row["status"] for row in found]
    return ", ".join(f"{states.count(state)} {state.lower()}" for state in dict.fromkeys(states))


def rows(
    sweep: Sweep,
    points: Sequence[Point],
    tries: Mapping[int, Sequence[Try]],
    known: Mapping[str, Run],
) -> list[dict[str, Any]]:
    """Each point with its last run, the best first; then those without an objective, in order."""
    found = []
    for index, point in enumerate(points, 1):
        runs = tries.get(index, ())
        one = runs[-1] if runs else Try("", NOT_BEGUN)
        run = known.get(one.run_id)
        found.append(
            {
                "point": index,
                "params": {setting.name: setting.value for setting in point},
                "objective": one.objective,
                "status": one.state,
                "reason": one.reason,
                "duration": clock(run.duration_s) if run is not None else None,
                "duration_s": run.duration_s if run is not None else None,
                "tries": len(runs),
                "run_id": one.run_id or None,
            }
        )
    down = sweep.objective is not None and sweep.objective.goal == "maximize"

    def order(row: dict[str, Any]) -> tuple[bool, float]:
        counts = row["objective"] is not None and row["status"] == "Completed"
        return not counts, (-row["objective"] if down else row["objective"]) if counts else 0.0

    return sorted(found, key=order) if sweep.objective is not None else found


def table(sweep: Sweep, found: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a person reads them."""
    lines: list[dict[str, Any]] = []
    for row in found:
        line = {"point": row["point"]}
        for name, value in row["params"].items():
            line[f"{name} (parameter)" if name in COLUMNS else name] = value
        if sweep.objective is not None:
            metric = sweep.objective.metric
            line[f"{metric} (objective)" if metric in COLUMNS or metric in line else metric] = row["objective"]
        tried = f" ({row['tries']} tries)" if row["tries"] > 1 else ""
        duration = human_duration(row["duration_s"]) if row["duration_s"] is not None else ""
        lines.append({**line, "status": row["status"] + tried, "duration": duration, "run_id": row["run_id"]})
    out = io.StringIO()
    show(lines, output="table", columns=list(lines[0]) if lines else [], stream=out)
    return out.getvalue()


def summary(sweep: Sweep, points: Sequence[Point], tries: Mapping[int, Sequence[Try]]) -> str:
    """The best point, in one line."""
    found = policy.best(sweep, tries)
    if found is None or sweep.objective is None:
        return ""
    index, one = found
    return f"best: {sweep.objective.metric} {one.objective:.6g} at {settings(points[index - 1])} ({one.run_id})"
