"""What a Spark application is at, in one line."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BAR = 20


def work(told: dict[str, Any]) -> str:
    """The stage that is furthest, as a bar with its tasks; nothing where Spark does nothing."""
    stages = [stage for stage in told["stages"] if isinstance(stage, dict) and stage.get("tasks")]
    if not stages:
        return ""
    stage = max(stages, key=lambda stage: int(stage["active"]))
    done, tasks = int(stage["done"]), int(stage["tasks"])
    full = BAR * done // tasks
    failed = f", {stage['failed']} failed" if stage.get("failed") else ""
    more = f" and {len(stages) - 1} more" if len(stages) > 1 else ""
    waits = "waits for executors, " if told.get("waits") else ""
    bar = "=" * full + " " * (BAR - full)
    return f"{waits}stage {stage['id']} [{bar}] {done}/{tasks} tasks{failed}, {stage['name']}{more}"
