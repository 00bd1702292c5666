"""The Spark and the Java that a PySpark run would start with, and who gives out its work."""

from __future__ import annotations

from jig.doctor import BAD, WARN, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def findings(facts: dict[str, Any], file: str) -> Iterator[Finding]:
    """Nothing where nobody asked; `file` names what would bring a Spark that is not there yet."""
    told = facts.get("spark")
    if not told:
        return
    if told.get("brought"):
        yield Finding("spark", f"comes with the environment, from {file}")
    elif told.get("java"):
        version = f"Spark {told['spark']}" if told["spark"] else told["submit"]
        found = f"{version} ({told['submit']}), Java {told['java']} ({told['java_home']})"
        yield Finding("spark", told["note"] or found, WARN if told["note"] else "ok")
    if "detail" in told:
        what = "spark" if not told.get("java") and not told.get("brought") else "cluster"
        yield Finding(what, told["detail"], BAD, told["hint"])
    elif not told["master"].startswith("local"):
        answers = " answers" if told["master"].startswith("spark://") else ""
        yield Finding("cluster", told["master"] + answers)
