"""A notebook's file as what can be shown without executing anything: text, and pictures that cannot do anything."""

from __future__ import annotations

import json
import re

from jig.errors import UsageError
from jig.values import Value
from jig.workbench.ansi import ESCAPE
from jig.workbench.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_BYTES = 32 << 20
MOST_CELLS, MOST_TEXT, MOST_OUTPUTS = 500, 20_000, 50
PICTURES = ("image/png", "image/jpeg", "image/gif")
BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class Output(Value):
    """Something that a cell has left: text, or a picture as a `data:` address; `kind` says what it is."""

    kind: str  # text, error, picture, hidden
    content: str


class Cell(Value):
    """A cell; `number` is when it was executed, where the file says so."""

    kind: str  # code, or anything that is text
    source: str
    number: str = ""
    outputs: tuple[Output, ...] = ()


def read(path: str) -> tuple[list[Cell], int]:
    """The first cells of a notebook, and how many there are; UsageError for a file that is none."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(say("notebooks.unread", why=error.strerror)) from error
    if len(data) > MOST_BYTES:
        raise UsageError(say("notebooks.large", most=MOST_BYTES >> 20), say("notebooks.large.hint"))
    try:
        found = json.loads(data)
        cells = found["cells"] if "cells" in found else found["worksheets"][0]["cells"]
        return [_cell(cell) for cell in cells[:MOST_CELLS]], len(cells)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise UsageError(say("notebooks.wrong"), say("notebooks.wrong.hint")) from error


def _cell(cell: dict[str, Any]) -> Cell:
    number = cell.get("execution_count", cell.get("prompt_number"))
    outputs = cell.get("outputs") or ()
    return Cell(
        "code" if cell.get("cell_type") == "code" else "text",
        _text(cell.get("source", cell.get("input", ""))),
        str(number) if isinstance(number, int) else "",
        tuple(_output(one) for one in outputs[:MOST_OUTPUTS]),
    )


def _output(output: dict[str, Any]) -> Output:
    if output.get("output_type") in ("error", "pyerr"):
        return Output(
            "error", _text("\n".join(map(_plain, output.get("traceback") or ()))) or _plain(output.get("evalue"))
        )
    if "text" in output and "data" not in output:
        return Output("text", _text(output["text"]))
    data = output.get("data") or {}
    for kind in PICTURES:
        picture = data.get(kind, "")
        picture = "".join(picture) if isinstance(picture, list) else picture
        written = "".join(_plain(picture).split())
        if BASE64.fullmatch(written):
            return Output("picture", f"data:{kind};base64,{written}")
    if "text/plain" in data:
        return Output("text", _text(data["text/plain"]))
    return Output("hidden", ", ".join(sorted(map(str, data))))


def _text(lines: object) -> str:
    """The text of a field, which is a string or a list of lines, without what colours it; long ones are cut."""
    text = "".join(map(_plain, lines)) if isinstance(lines, list) else _plain(lines)
    text = ESCAPE.sub("", text[: 2 * MOST_TEXT])
    return text[:MOST_TEXT] + "\n…" if len(text) > MOST_TEXT else text


def _plain(value: object) -> str:
    return value if isinstance(value, str) else ""
