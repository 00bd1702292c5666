"""Mistakes that real project files contain and that YAML reads as something else, or explains badly.

Each trap is reported and stepped over, keeping the line count, so that the rest of the file is checked in the same go.
A value is only ever quoted when its key is a known one that holds no secret.
"""

from __future__ import annotations

import re

from jig.errors import Fault, ProjectError
from jig.project import keys

_UNPRINTABLE = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FLOW = re.compile(r"(?>\s++|#[^\n]*+|---(?=\s))*+\{")  # possessive: a row of # has countless readings otherwise
_TOKEN = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*"|'(?:''|[^'])*')|(?P<comment>(?:(?<=\s)|^)\#[^\r\n]*)|[{}\[\],:]"""
    r"""|[^\s{}\[\],:"'][^\s{}\[\],:]*|["']""",
    re.DOTALL | re.MULTILINE,
)
_STRING_OR_TAB = re.compile(r'"(?:\\.|[^"\\])*"|\t', re.DOTALL)
_CONFLICT = re.compile(r"(<{7}|>{7}|\|{7})(\s|$)|={7}$")
_NO_SPACE = re.compile(
    r"""(?P<lead>\s*(?P<dash>-\s+)?)(?P<quote>["']?)(?P<key>[A-Za-z_][\w.-]*)(?P=quote):(?=[^\s:/\\])"""
)
_BLOCK_TEXT = re.compile(r"(?P<indent>\s*).*:\s+[|>][+-]?\d?[+-]?\s*(#.*)?$")
_BRACKET = re.compile(r"""\s*["']?(?P<key>[\w.-]+)["']?:\s*\[\s*(#.*)?$""")
_DASH_ITEM = re.compile(r"(?P<lead>\s*)-\s+(?P<item>.*?),?\s*$")


def before(text: str, shown: str) -> tuple[str, list[Fault]]:
    """The traps that YAML would read without complaint, and the text without them."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _UNPRINTABLE.search(text):
        found = [(number, _UNPRINTABLE.search(line)) for number, line in enumerate(text.split("\n"), 1)]
        raise ProjectError(
            [
                Fault(shown, number, "", f"character U+{ord(bad[0]):04X} cannot be part of a text file", "delete it")
                for number, bad in found
                if bad
            ]
        )
    faults: list[Fault] = []
    if "<<<<<<<" in text or ">>>>>>>" in text or "=======" in text:
        lines = text.split("\n")
        faults = _conflicts(lines, shown)
        text = "\n".join(lines) if faults else text
    if _FLOW.match(text):
        # Between braces a tab is as good as a space, but not every YAML parser knows.
        text = _STRING_OR_TAB.sub(lambda found: " " if found[0] == "\t" else found[0], text)
        text, commas = _commas(text, shown)
        faults += commas
    return text, faults


def after(text: str, shown: str) -> tuple[str, list[Fault]]:
    """The traps in a text that YAML refused, or that did not turn out to be a map, and the text without them."""
    lines = text.split("\n")
    faults = _dots(lines, shown) + _tabs(lines, shown)
    if not _FLOW.match(text):
        faults += _spaces(lines, shown)
    faults += _brackets(lines, shown)
    return "\n".join(lines), faults


def _conflicts(lines: list[str], shown: str) -> list[Fault]:
    """Merge-conflict markers: each one's line. The first side is kept."""
    marked = {number for number, line in enumerate(lines) if _CONFLICT.match(line)}
    if not any(lines[number].startswith(("<", ">")) for number in marked):
        return []  # a lone row of equals signs is an underline, in a comment's style
    ours = True
    for number, line in enumerate(lines):
        if number in marked:
            ours = line.startswith((">", "<"))
        if number in marked or not ours:
            lines[number] = ""
    fix = "keep one side of the conflict and delete the marker lines"
    return [Fault(shown, number + 1, "", "a merge conflict was left unresolved here", fix) for number in sorted(marked)]


def _commas(text: str, shown: str) -> tuple[str, list[Fault]]:
    """Missing commas before a quoted key: `true.` instead of `true,` makes YAML swallow the key whole."""
    tokens = [found for found in _TOKEN.finditer(text) if found.lastgroup != "comment"]
    faults: list[Fault] = []
    repairs: list[tuple[int, int]] = []
    for index in range(1, len(tokens) - 1):
        value, key, colon = tokens[index - 1], tokens[index], tokens[index + 1]
        if key.lastgroup != "string" or colon[0] != ":" or value[0][0] in "{[,:?!&":
            continue
        stray = value.lastgroup != "string" and value[0][-1] in ".;"
        end = value.end() - 1 if stray else value.end()
        repairs.append((end, value.end()))
        owner = tokens[index - 3][0].strip("\"'") if index > 2 and tokens[index - 2][0] == ":" else ""
        line = text.count("\n", 0, value.start()) + 1
        said = text[value.start() : end] if owner in keys.EVERY and owner != "password" else "the value"
        message = (
            f"a comma is missing after {_quoted(said)}, so that the next key, {_quoted(key[0])}, became part of it"
        )
        faults.append(
            Fault(shown, line, owner, message, "write `,`" + (" instead of " + _quoted(value[0][-1]) if stray else ""))
        )
    for start, stop in reversed(repairs):
        text = text[:start] + "," + text[stop:]
    return text, faults


def _quoted(text: str) -> str:
    return text if text == "the value" else f"`{text}`"


def _dots(lines: list[str], shown: str) -> list[Fault]:
    """`...` copied from an article, where it stood for the lines left out; in YAML it ends the document."""
    last = max((number for number, line in enumerate(lines) if line.strip() not in ("", "...")), default=0)
    rest = [number for number, line in enumerate(lines[:last]) if line.rstrip() == "..."]
    for number in rest:
        lines[number] = ""
    return [Fault(shown, number + 1, "", "`...` ends the file here", "delete the line") for number in rest]


def _tabs(lines: list[str], shown: str) -> list[Fault]:
    """Tabs as indentation. Those before a comment, or after the text, are harmless and just become spaces."""
    faults: list[Fault] = []
    for number, line in enumerate(lines):
        lead = line[: len(line) - len(line.lstrip(" \t"))]
        rest = line[len(lead) :]
        if "\t" in lead and rest and not rest.startswith("#"):
            faults.append(Fault(shown, number + 1, "", "the line is indented with a tab", "indent with spaces"))
        lines[number] = lead.expandtabs(4) + rest.replace("\t", " ")
    return faults


def _spaces(lines: list[str], shown: str) -> list[Fault]:
    """`Framework:Python` without the space that makes it a key and a value."""
    faults: list[Fault] = []
    block_indent = -1
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if block_indent >= 0 and (not line.strip() or indent > block_indent):
            continue
        block = _BLOCK_TEXT.match(line)
        block_indent = len(block["indent"]) if block else -1
        found = _NO_SPACE.match(line)
        if not found or (found["dash"] and found["key"] not in keys.EVERY):
            continue
        key = found["key"]
        lines[number] = line[: found.end()] + " " + line[found.end() :]
        said = lines[number].strip().removeprefix("- ") if key in keys.EVERY and key != "password" else f"{key}: …"
        message = f"there is no space after the colon of `{key}:`, so that it is not a key"
        faults.append(Fault(shown, number + 1, key, message, f"write `{said}`"))
    return faults


def _brackets(lines: list[str], shown: str) -> list[Fault]:
    """A list that opens with `[` and goes on with `- ` items, as one page of the original's documentation had it."""
    faults: list[Fault] = []
    for number, line in enumerate(lines):
        opened = _BRACKET.match(line)
        if not opened:
            continue
        items: list[str] = []
        for later in range(number + 1, len(lines)):
            item = _DASH_ITEM.match(lines[later])
            if item is None and lines[later].strip() and not lines[later].lstrip().startswith("#"):
                break
            if item is not None:
                text, bracket = item["item"].removesuffix("]").rstrip(), item["item"].endswith("]")
                items.append(text)
                lines[later] = f"{item['lead']}  {text}," + ("]" if bracket else "")
                if bracket:
                    break
        if items:
            key = opened["key"]
            fix = "write\n" + "\n".join([f"        {key}:", *(f"          - {item}" for item in items)])
            faults.append(Fault(shown, number + 1, key, "the list mixes `[` with `- ` items: use one of the two", fix))
    return faults
