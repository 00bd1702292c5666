"""A sweep as its file describes it: which script, which settings, how many at a time, and when it is enough."""

from __future__ import annotations

import re

from jig.sweep import space
from jig.sweep.space import Point
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.sweep.space import Parameter

# The machine's faults, not the script's: what is tried again when `on` is not given.
USUAL = ("Lost", "machine-shutdown", "engine-stopped", "guard-killed")
TEMPLATE = re.compile(r"\{\{([A-Za-z_][\w.\-]*)\}\}|\{([A-Za-z_][\w.\-]*)\}")


class Objective(Value):
    """The metric that tells points apart."""

    metric: str
    goal: str = "maximize"

    def is_better(self, one: float, other: float | None) -> bool:
        """Whether the first is better than the second."""
        return other is None or (one > other if self.goal == "maximize" else one < other)

    def is_reached(self, value: float, wanted: float) -> bool:
        """Whether the value is as good as the wanted one."""
        return value >= wanted if self.goal == "maximize" else value <= wanted


class Retries(Value):
    """When a point is tried again."""

    times: int = 0
    on: tuple[str, ...] = USUAL
    wait_s: float = 30.0


class Stop(Value):
    """When no more points are begun, and whether those that are going may go on."""

    max_runs: int | None = None
    max_time_s: float | None = None
    objective: float | None = None
    running: str = "finish"


class Sweep(Value):
    """A sweep as its file describes it."""

    script: str
    parameters: tuple[Parameter, ...]
    arguments: tuple[str, ...] = ()
    method: str = "grid"
    samples: int = 0
    seed: str = ""  # empty: the sweep's own id
    at_once: int | None = None
    objective: Objective | None = None
    retries: Retries = Retries()
    stop: Stop = Stop()
    passing: str = "arguments"

    def points(self, sweep_id: str) -> tuple[Point, ...]:
        """Every point, in order; those of a sweep without a seed are drawn by its id."""
        if self.method == "grid":
            return tuple(space.grid(self.parameters))
        return tuple(space.sample(self.parameters, self.samples, self.seed or sweep_id))

    def words(self, point: Point) -> tuple[str, ...]:
        """The script's arguments at a point: the fixed ones, with what they name put in, then the other parameters."""
        texts = {setting.name: setting.text for setting in point}

        def put(found: re.Match[str]) -> str:
            return f"{{{found[1]}}}" if found[1] else texts[found[2]]

        fixed = [TEMPLATE.sub(put, word) for word in self.arguments]
        if self.passing == "variables":
            return tuple(fixed)
        return (*fixed, *(f"--{setting.name}={setting.text}" for setting in self._not_named(point)))

    def variables(self, point: Point) -> tuple[tuple[str, str], ...]:
        """The environment variables at a point."""
        if self.passing != "variables":
            return ()
        return tuple((setting.name, setting.text) for setting in self._not_named(point))

    def _not_named(self, point: Point) -> list[space.Setting]:
        named = {found[2] for word in self.arguments for found in TEMPLATE.finditer(word)}
        return [setting for setting in point if setting.name not in named]
