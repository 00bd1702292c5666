"""What is the same when a run is made again, and what is not: rows of a table. Pure."""

from __future__ import annotations

from jig.compare import packages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Row = tuple[str, str, str, str]

SAME = "same"
NOT_KNOWN = "not known"
MOST = 12  # packages that are named one by one


def row(what: str, then: object, now: object, why: str = "") -> Row:
    """One row: the same, different, or (where one side is not known) not to be told."""
    before, after = _text(then), _text(now)
    if then is None or now is None:
        return what, before, after, why or NOT_KNOWN
    return what, before, after, SAME if then == now else why or "different"


def _text(value: object) -> str:
    return "?" if value is None else str(value)


def packages_rows(then: Mapping[str, Any], now: Mapping[str, Any], free: Iterable[str]) -> list[Row]:
    """Python, and the packages: as one row when all are the same, else each that is not."""
    before, after = packages.versions(dict(then)), packages.versions(dict(now))
    rows = [row("python", then.get("python"), now.get("python"))]
    if not then:
        return [*rows, ("packages", "?", str(len(after)), "that run did not write down what it had")]
    if before == after:
        return [*rows, ("packages", str(len(before)), str(len(after)), SAME)]
    gone = set(free)
    differing = [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]
    for name in differing[:MOST]:
        why = "that version cannot be had any more" if name in gone else "different"
        rows.append((f"package {name}", before.get(name, "-"), after.get(name, "-"), why))
    if len(differing) > MOST:
        rows.append(("packages", str(len(before)), str(len(after)), f"{len(differing) - MOST} more differ"))
    return rows


def kinds(look: Mapping[str, Any] | None, uuids: Iterable[str] = ()) -> tuple[str, ...] | None:
    """The kinds of GPU in a look, each once; None when nobody looked. Only of those named, where some are."""
    if look is None:
        return None
    chosen = set(uuids)
    names = [
        str(device.get("name"))
        for device in look.get("devices") or ()
        if isinstance(device, dict) and (not chosen or device.get("uuid") in chosen)
    ]
    return tuple(dict.fromkeys(names))


def gpu_row(then: tuple[str, ...] | None, now: tuple[str, ...] | None) -> Row:
    """Whether the kinds of GPU that the run had are there."""
    before, after = ("?" if names is None else ", ".join(names) or "none" for names in (then, now))
    if then is None or now is None:
        return "GPU", before, after, NOT_KNOWN
    return "GPU", before, after, SAME if set(then) <= set(now) and bool(then) == bool(now) else "different"


def variables_rows(
    then: Mapping[str, str], now: Mapping[str, str], unset: Iterable[str], taken: Iterable[str]
) -> list[Row]:
    """The variables that scripts see; values of those from the client are written down nowhere."""
    rows = [row(f"variable {name}", then.get(name, "-"), now.get(name, "-")) for name in {**then, **now}]
    rows += [(f"variable {name}", "(secret)", "(secret)", "its value is never written down") for name in taken]
    rows += [(f"variable {name}", "(secret)", "-", "it is not set on this computer") for name in unset]
    return [one for one in rows if one[3] != SAME] or [("variables", str(len(then)), str(len(now)), SAME)]
