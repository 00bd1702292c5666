"""Which versions meet conditions, as far as plain numbers tell; what cannot be read is taken to be met."""

from __future__ import annotations

from jig.environments.conda_packages import Clause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Numbers = tuple[int, ...]


def numbers(version: str) -> Numbers | None:
    """(1, 26, 4) of `1.26.4`, also of `1.26.4+cu118`; None for a version that is more than numbers."""
    parts = version.partition("+")[0].split(".")
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        return None
    return tuple(int(part) for part in parts)


def exact(clauses: Iterable[Clause] | None) -> str:
    """The one version that is asked for; empty when it is none or a range."""
    clauses = tuple(clauses or ())
    if len(clauses) != 1 or clauses[0].operator not in ("=", "==", "===") or "*" in clauses[0].version:
        return ""
    return clauses[0].version


def fits(clauses: Iterable[Clause], version: Numbers) -> bool:
    """Whether a version meets every condition."""
    return all(_fits(clause, version) for clause in clauses)


def satisfiable(clauses: Iterable[Clause]) -> bool:
    """Whether any version at all meets every condition."""
    clauses = tuple(clauses)
    # Where a range of versions begins, a condition stands: at its number, just above it, or where its series ends.
    points: list[Numbers] = [(0,)]
    for wanted in (_wanted(clause) for clause in clauses):
        if wanted:
            points += [wanted, (*wanted, 0, 0, 0, 0, 1), _after(wanted)]
            points += [_after(wanted[:-1])] if len(wanted) > 1 else []
    return any(fits(clauses, point) for point in points)


def _wanted(clause: Clause) -> Numbers | None:
    return numbers(clause.version.removesuffix(".*"))


def _after(wanted: Numbers) -> Numbers:
    return (*wanted[:-1], wanted[-1] + 1)


def _fits(clause: Clause, version: Numbers) -> bool:
    wanted = _wanted(clause)
    if wanted is None:
        return True
    size = max(len(version), len(wanted))
    here, there = (numbers + (0,) * (size - len(numbers)) for numbers in (version, wanted))
    is_within = here[: len(wanted)] == wanted
    match clause.operator:
        case "=":
            return is_within
        case "==" | "===":
            return is_within if clause.version.endswith(".*") else here == there
        case "!=":
            return not is_within if clause.version.endswith(".*") else here != there
        case "~=":
            return here >= there and here[: len(wanted) - 1] == wanted[:-1]
        case ">=":
            return here >= there
        case "<=":
            return here <= there
        case ">":
            return here > there
    return here < there
