"""What Spark is told, as rows: by a plan, and by a run that is to be made again. Pure."""

from __future__ import annotations

from jig.compare import sameness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

HIDDEN = "(secret)"
WORDS = {"--packages": "packages", "--repositories": "repositories"}


def settings(spark: Mapping[str, Any] | None) -> dict[str, str | None]:
    """The file, master and mode, packages and repositories, and each setting; a hidden one without its value."""
    if not spark:
        return {}
    told = list(spark.get("words") or ())
    found = {
        "spark file": spark.get("file") or None,
        "spark master": spark.get("master"),
        "spark mode": spark.get("mode"),
        "spark-submit": spark.get("submit"),
        **{f"spark {name}": told[told.index(word) + 1] for word, name in WORDS.items() if word in told},
        **{f"setting {key}": value for key, value in dict(spark.get("settings") or {}).items()},
    }
    return {**found, **{f"setting {key}": HIDDEN for key in spark.get("hidden") or ()}}


def engine(told: Mapping[str, Any]) -> dict[str, Any]:
    """Which Spark and which Java a run had, as it wrote them down."""
    return {name: told[name] for name in ("spark", "java") if told.get(name)}


def again_rows(
    then: Mapping[str, Any] | None, now: Mapping[str, Any] | None, taken: Collection[str], told: Mapping[str, Any]
) -> list[sameness.Row]:
    """What is the same for Spark when a run is made again; of `taken` settings the values come from this computer."""
    before, after = settings(then), settings(now)
    if not before and not after:
        return []
    rows = []
    for name in {**before, **after}:
        key = name.removeprefix("setting ")
        if key in taken and name in before:
            rows.append((name, HIDDEN, HIDDEN, "its value is never written down"))
        elif before.get(name) == HIDDEN and name not in after:
            rows.append((name, HIDDEN, "-", "the project's Spark file does not take it from this computer now"))
        else:
            rows.append(sameness.row(name, before.get(name) or "-", after.get(name) or "-"))
    differing = [row for row in rows if row[3] != sameness.SAME]
    same = [("spark settings", str(len(before)), str(len(after)), sameness.SAME)]
    had = engine(told)
    found = f"{had.get('spark', '?')}, Java {had.get('java', '?')}" if had else "?"
    return [*(differing or same), ("spark", found, "?", "not checked: the run finds it, and Java, when it starts")]
