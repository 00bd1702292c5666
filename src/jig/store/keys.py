"""The names that a query may use: what each means in a record, and where the index has it."""

from __future__ import annotations

from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TEXT, NUMBER, FLAG, TIME, DURATION, LOGGED = "text", "number", "flag", "time", "duration", "logged"
LARGEST = (1 << 63) - 1  # of whole numbers in SQLite
LONGEST_NUMBER = 40  # a text longer than this is not read as a number

# A record's own keys in the order of the index's columns.
OWN = {
    "run_id": TEXT,
    "run_number": NUMBER,
    "name": TEXT,
    "run_name": TEXT,
    "script_name": TEXT,
    "target": TEXT,
    "run_configuration": TEXT,
    "status": TEXT,
    "reason": TEXT,
    "exit_code": NUMBER,
    "created_utc": TIME,
    "start_time_utc": TIME,
    "end_time_utc": TIME,
    "duration": DURATION,
    "experiment_id": TEXT,
    "parent_run_id": TEXT,
    "sweep": TEXT,
    "reproduces": TEXT,
    "properties.CommitId": TEXT,
    "snapshot_id": TEXT,
    "user_id": TEXT,
    "hidden": FLAG,
    "archived": FLAG,
    "gpu.verdict": TEXT,
    "gpu.driver": TEXT,
    "gpu_s": NUMBER,
    "gpu_peak_memory_bytes": NUMBER,
    "gpu_busy_percent": NUMBER,
    "note": TEXT,
    "description": TEXT,
    "arguments": TEXT,
    "attachments": TEXT,
}
ALIASES = {
    "gpu_busy": "gpu_busy_percent",
    "created": "created_utc",
    "started": "start_time_utc",
    "ended": "end_time_utc",
    "commit": "properties.CommitId",
}
SPACES = ("metrics", "params", "tags")
# Columns, but nothing to compare.
ONLY_SHOWN = ("exchange", "gpu", "metrics", "params", "properties", "tags", "heartbeat_enabled")


class Key(Value):
    """A name, and what it stands for: one of the record's own keys, or something logged under `spaces`."""

    written: str
    name: str
    kind: str
    spaces: tuple[str, ...] = ()  # the first that has it counts


def key(written: str) -> Key:
    """What a name stands for; every name stands for something, though perhaps no run has it."""
    name = ALIASES.get(written, written)
    if name in OWN:
        return Key(written, name, OWN[name])
    space, dot, rest = written.partition(".")
    if dot and rest and space in SPACES:
        return Key(written, rest, LOGGED, (space,))
    return Key(written, written, LOGGED, ("metrics", "params"))


def split(written: str) -> list[str]:
    """The names in a list with commas; a name in backquotes may have commas itself."""
    found, quoted = [""], False
    for character in written:
        quoted ^= character == "`"
        if character == "," and not quoted:
            found.append("")
        else:
            found[-1] += character
    return [name for name in (name.strip() for name in found) if name]


def sorting(written: str) -> tuple[tuple[Key, bool], ...]:
    """Keys to sort by, and whether each goes backwards: `-accuracy,duration`."""
    return tuple((named(name.removeprefix("-")), name.startswith("-")) for name in split(written))


def named(written: str) -> Key:
    """The key of a name that stands alone; backquotes around it, or around its last part, are left out."""
    head, quote, rest = written.partition("`")
    return key(head + rest[:-1].replace("``", "`")) if quote and rest.endswith("`") else key(written)


def raw(record: dict[str, Any], key: Key) -> Any:
    """The value as the record has it; None where it has none."""
    if key.kind != LOGGED:
        value: Any = record
        for part in key.name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value
    if len(key.spaces) == 1:
        return record[key.spaces[0]].get(key.name)
    if key.name in ONLY_SHOWN:
        return record.get(key.name)
    found = [record[space].get(key.name) for space in key.spaces]
    return next((value for value in found if is_scalar(value)), next((v for v in found if v is not None), None))


def pair(value: Any, kind: str) -> tuple[int | float | None, str | None]:
    """A value as number and as text, of which either may be missing: what comparisons and sorting look at."""
    if value is None:
        return None, None
    if kind == TEXT:
        return None, clean(" ".join(map(str, value)) if isinstance(value, list) else str(value))
    if kind == TIME:
        return (microseconds_of(value) if isinstance(value, str) else None), None
    if kind == DURATION:
        return (clock_microseconds(value) if isinstance(value, str) else None), None
    if kind in (NUMBER, FLAG):
        return number_of(value), None
    return (number_of(value), text_of(value)) if is_scalar(value) else (None, None)


def is_scalar(value: Any) -> bool:
    """Whether it is a number or a text."""
    return isinstance(value, (int, float, str))


def number_of(value: Any) -> int | float | None:
    """The number that a value is, or that a text reads as (MLflow keeps parameters as texts); NaN is none."""
    if isinstance(value, str):
        if len(value) > LONGEST_NUMBER or not value.isascii() or "_" in value:
            return None
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, int) and abs(value) > LARGEST:
        try:
            value = float(value)
        except OverflowError:
            value = float("inf") if value > 0 else float("-inf")
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, (int, float)) and value == value else None


def text_of(value: Any) -> str:
    """The text that a number or text is compared as."""
    if isinstance(value, str):
        return clean(value)
    from jig.runner.quick_json import dumps

    return dumps(value)


def clean(text: str) -> str:
    """Text that UTF-8 can hold: half of a surrogate pair cannot be stored."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def microseconds(seconds: float) -> int:
    """Whole microseconds, cut off as the texts of a record are."""
    return int(seconds // 1) * 1_000_000 + int(seconds % 1 * 1e6)


def microseconds_of(utc: str) -> int | None:
    """The moment that a time of a record names, in microseconds since 1970."""
    from calendar import timegm

    try:
        year, month, day = int(utc[:4]), int(utc[5:7]), int(utc[8:10])
        whole = timegm((year, month, day, int(utc[11:13]), int(utc[14:16]), int(utc[17:19])))
        return whole * 1_000_000 + int(utc[20:26])
    except ValueError:
        return None


def clock_microseconds(clock: str) -> int | None:
    """The microseconds of `H:MM:SS.ffffff`."""
    try:
        hours, minutes, seconds = clock.split(":")
        whole, _, rest = seconds.partition(".")
        return (int(hours) * 3600 + int(minutes) * 60 + int(whole)) * 1_000_000 + int(rest.ljust(6, "0")[:6])
    except ValueError:
        return None
