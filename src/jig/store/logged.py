"""What was logged and remarked, folded line by line: each file is read once, from where the last look ended.

The fold of a file is plain data that the index keeps: {"": part, "1": part of nested run 1, …}. A part has `values`,
`params` and `tags`, each with the last value of a name (of tags also null, which removes), that of a remark also `note`
and `archived`, that of a nested run `name`, `status`, `parent`, `since` and `until`.
"""

from __future__ import annotations

import errno
import os
import time

from jig.runner.quick_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeAlias

    Said: TypeAlias = dict[str, dict[str, Any]]
    Seen: TypeAlias = dict[str, tuple[int, Said]]  # by file: how far it was read, and its fold

REMARKS = "remarks.jsonl"
SPACES = ("values", "params", "tags")
ENDS = ("FINISHED", "FAILED", "KILLED")  # MLflow's words; RUNNING and SCHEDULED are none
LATEST = 1e11  # seconds since 1970 that can be a time
PIECE_BYTES = 1 << 20
SHORT_BYTES = 1 << 11  # of so few lines each is read


def look(folder: str, names: list[str], seen: Seen) -> Seen:
    """The files of a run folder, read on from what was seen before; `names` are those that the folder holds."""
    ours = [name for name in names if name == REMARKS or rank_of(name) is not None]
    return {name: read_on(os.path.join(folder, name), *seen.get(name, (0, {}))) for name in ours}


def rank_of(name: str) -> int | None:
    """Whose metrics a file has; None for another file."""
    if name == "metrics.jsonl":
        return 0
    if not name.startswith("metrics.") or not name.endswith(".jsonl"):
        return None
    middle = name[8:-6]
    return int(middle) if middle.isascii() and middle.isdecimal() and len(middle) < 10 else None


def remark(folder: str, said: dict[str, Any]) -> None:
    """Append what a person says of a run: one line, in one write."""
    path = os.path.join(folder, REMARKS)
    line = dumps({"time": round(time.time(), 6), **said}).encode() + b"\n"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
    try:
        size = os.lseek(file, 0, os.SEEK_END)
        os.lseek(file, max(0, size - 1), os.SEEK_SET)
        if size and os.read(file, 1) != b"\n":  # a full disk has cut the line before
            line = b"\n" + line
        if os.write(file, line) != len(line):
            raise OSError(errno.ENOSPC, "the disk is full")
    finally:
        os.close(file)


def together(seen: Seen) -> Said:
    """What all files say: a remark counts before what was logged, rank 0 before the other ranks."""
    logged = sorted((rank, name) for name in seen if (rank := rank_of(name)) is not None)
    in_order = [name for _, name in reversed(logged)] + [REMARKS] * (REMARKS in seen)
    if len(in_order) == 1:
        return seen[in_order[0]][1]
    whole: Said = {}
    for name in in_order:
        for run, part in seen[name][1].items():
            known = whole.setdefault(run, {})
            for key, value in part.items():
                if name == REMARKS and key == "since":  # when somebody remarked it is not when the run began
                    continue
                known[key] = {**known.get(key, {}), **value} if key in SPACES else value
    return whole


def read_on(path: str, offset: int, said: Said) -> tuple[int, Said]:
    """Fold the whole lines from `offset` on into `said`; returns where the next look begins."""
    # A script may have put a pipe there that nobody writes to.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        os.lseek(file, offset, os.SEEK_SET)
        data = os.read(file, PIECE_BYTES)
        if not data and offset > os.fstat(file).st_size:  # it is not the file that we knew
            return read_on(path, 0, {})
        entries, held = _entries(len(data)), b""
        while data:
            end = data.rfind(b"\n") + 1
            whole, held = (held + data[:end], data[end:]) if end else (b"", held + data)
            for entry in entries(whole):
                take(entry, said)
            offset += len(whole)
            data = os.read(file, max(PIECE_BYTES, len(held)))
    finally:
        os.close(file)
    return offset, said


def _entries(size: int) -> Callable[[bytes], Iterable[dict[str, Any]]]:
    if size > SHORT_BYTES:
        from jig.store.skipping import Skipping

        return Skipping().entries
    return lambda data: filter(None, map(parsed, data.split(b"\n")))


def parsed(line: bytes) -> dict[str, Any] | None:
    """The entry that a line holds; None for a torn line, and for what is none."""
    if not line.startswith(b"{"):
        return None
    try:
        entry = loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def is_nested(run: Any) -> bool:
    """Whether this is the number of a nested run, as text: 1, 2, 3 …"""
    return isinstance(run, str) and run.isascii() and run.isdecimal() and run[0] != "0" and len(run) < 10


def take(entry: dict[str, Any], said: Said) -> None:
    """Take in one entry."""
    run = entry.get("run", "")
    if run != "" and not is_nested(run):
        return
    part = said.get(run)
    if part is None:
        part = said[run] = {}
    for space in SPACES:
        logged = entry.get(space)
        if isinstance(logged, dict):
            known = part.get(space)
            if known is None:
                part[space] = logged
            else:
                known.update(logged)
    if run:
        _nested(entry, part)
    elif isinstance(entry.get("note"), str):
        part["note"] = entry["note"]
    if isinstance(entry.get("archived"), bool):
        part["archived"] = entry["archived"]


def _nested(entry: dict[str, Any], part: dict[str, Any]) -> None:
    moment = entry.get("time")
    if not isinstance(moment, (int, float)) or not 0 <= moment < LATEST:
        moment = None
    if moment is not None:
        part.setdefault("since", moment)
    for name in ("name", "parent", "note"):
        if isinstance(entry.get(name), str):
            part[name] = entry[name]
    status = entry.get("status")
    if isinstance(status, str):
        part["status"] = status
        part["until"] = moment if status in ENDS else None
