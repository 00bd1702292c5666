"""Runs side by side: sections of rows, each with one value a run, and whether they are the same."""

from __future__ import annotations

from jig.compare import packages, spark
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

SECTIONS = ("parameters", "arguments", "metrics", "environment", "code", "configuration", "gpu", "time")


class View(Value):
    """All that is known of one run: its record, its plan, what its environment had, and its files against the first."""

    record: dict[str, Any]
    plan: dict[str, Any]
    environment: dict[str, Any]
    spark: dict[str, Any] = {}  # what its Spark wrote down first
    host: str = ""
    image: str = ""
    prepared_s: float | None = None  # from submit to the script's start
    duration_s: float | None = None
    files: dict[str, Any] = {}  # by path: {"change": new | deleted | changed | mode, "added", "deleted"}
    size: int = 0  # how many files it has


class Row(Value):
    """One thing of all runs; `difference` is the last minus the first where two runs are compared by numbers."""

    name: str
    values: tuple[Any, ...]

    @property
    def same(self) -> bool:
        """Whether all runs agree."""
        return all(_equal(value, self.values[0]) for value in self.values[1:])

    @property
    def difference(self) -> float | int | None:
        """How much more the second of two has."""
        if len(self.values) != 2 or not all(map(is_number, self.values)):
            return None
        first, second = self.values
        try:
            in_floats = isinstance(first, float) or isinstance(second, float)
            return float(second - first) if in_floats else int(second - first)
        except OverflowError:  # a whole number that no float can hold
            return None


def is_number(value: Any) -> bool:
    """Whether the value is a number, and not a yes or no."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    both_nan = isinstance(one, float) and isinstance(other, float) and one != one and other != other
    return both_nan or bool(one == other)


def compare(views: Sequence[View]) -> dict[str, list[Row]]:
    """Every section with its rows, those that differ first; within that in the order of the first run that has one."""
    made = {
        "parameters": [_parameters(view) for view in views],
        "arguments": [_arguments(view.plan) for view in views],
        "metrics": [view.record.get("metrics") or {} for view in views],
        "environment": [_environment(view) for view in views],
        "code": _code(views),
        "configuration": [_configuration(view) for view in views],
        "gpu": [_gpu(view.record) for view in views],
        "time": [_time(view) for view in views],
    }
    return {name: _rows(made[name]) for name in SECTIONS}


def _rows(columns: Sequence[dict[str, Any]]) -> list[Row]:
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [Row(name, tuple(column.get(name) for column in columns)) for name in names]
    return sorted(rows, key=lambda row: row.same)


def _parameters(view: View) -> dict[str, Any]:
    return dict(view.record.get("params") or {})


def _arguments(plan: dict[str, Any]) -> dict[str, Any]:
    """The script, and its arguments by name where they have one: `--lr 0.1` and `--lr=0.1` are the same."""
    found: dict[str, Any] = {"script": plan["script"]}
    words, place, count = list(plan["arguments"]), 0, 0
    while place < len(words):
        word = words[place]
        name, equals, value = word.partition("=")
        if len(word) > 1 and word.startswith("-") and not _is_numeral(word):
            following = words[place + 1] if place + 1 < len(words) else None
            takes = not equals and following is not None and (not following.startswith("-") or _is_numeral(following))
            found[_free(name, found)] = following if takes else value if equals else True
            place += 2 if takes else 1
            continue
        count += 1
        found[f"argument {count}"] = word
        place += 1
    return found


def _is_numeral(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _free(name: str, taken: dict[str, Any]) -> str:
    again = 2
    free = name
    while free in taken:
        free, again = f"{name} ({again})", again + 1
    return free


def _environment(view: View) -> dict[str, Any]:
    asked, record = view.plan.get("environment") or {}, view.environment
    found = {"kind": asked.get("kind"), "python": record.get("python") or asked.get("python") or None}
    found.update(spark.engine(view.spark))
    base = record.get("base") or {}
    container = view.plan.get("container") or {}
    if container:
        found["base image"] = container.get("base")
        found["image id"] = base.get("id") or view.image or None
    if record:
        return {**found, "platform": record.get("platform"), **packages.versions(record)}
    lines = [*(asked.get("packages") or ()), *(asked.get("requirements") or ())]
    return {**found, **{f"asked: {line}": True for line in lines}}


def _code(views: Sequence[View]) -> list[dict[str, Any]]:
    """Commit, and each file that some run has otherwise than the first."""
    changed = dict.fromkeys(path for view in views for path in view.files)
    columns = []
    for at, view in enumerate(views):
        origin = view.plan.get("origin") or {}
        commit = origin.get("commit") or None
        column: dict[str, Any] = {
            "commit": f"{commit[:12]}{' + changes' if origin.get('dirty') else ''}" if commit else None
        }
        column["snapshot"] = view.record.get("snapshot_id") or view.plan["snapshot"]["id"]
        column["files"] = view.size
        column.update({path: (view.files.get(path) if at else None) for path in changed})
        columns.append(column)
    return columns


def _configuration(view: View) -> dict[str, Any]:
    plan = view.plan
    found = {
        "target": plan["target"],
        "type": plan["target_kind"],
        "run configuration": plan["run_config"],
        "machine": view.host or None,
        "project": plan["project"],
        "user": plan["user"],
    }
    for name, value in (plan.get("variables") or {}).items():
        found[f"variable {name}"] = value
    for name in plan.get("client_variables") or ():
        found[f"variable {name}"] = "(from the client)"
    gpu = plan.get("gpu") or {}
    found.update({f"gpu {name}": value for name, value in gpu.items() if name in ("want", "require", "shared")})
    found.update(spark.settings(plan.get("spark")))
    ranks = plan.get("ranks") or {}
    found.update({name: ranks[name] or "gpus" for name in ("processes",) if name in ranks})
    found.update({f"exchange {name}": value for name, value in (ranks.get("compression") or {}).items()})
    return found


def _gpu(record: dict[str, Any]) -> dict[str, Any]:
    proof = record.get("gpu") or {}
    names = [str(device.get("name")) for device in proof.get("devices") or () if isinstance(device, dict)]
    return {
        "verdict": proof.get("verdict"),
        "device": ", ".join(names) or None,
        "driver": proof.get("driver") or None,
        "busy_percent": record.get("gpu_busy_percent"),
        "peak_memory_bytes": record.get("gpu_peak_memory_bytes"),
        "gpu_s": record.get("gpu_s"),
        "energy_j": proof.get("energy_j"),
    }


def _time(view: View) -> dict[str, Any]:
    exchange = view.record.get("exchange") or {}
    sent = {f"exchange {name}": exchange[name] for name in ("bytes_sent", "ratio", "exchange_s") if name in exchange}
    return {
        **sent,
        "status": view.record.get("status"),
        "exit_code": view.record.get("exit_code"),
        "duration_s": view.duration_s,
        "before_start_s": view.prepared_s,
        "cpu_s": (view.record.get("gpu") or {}).get("cpu_s"),
        "peak_rss_bytes": (view.record.get("gpu") or {}).get("peak_rss_bytes"),
    }
