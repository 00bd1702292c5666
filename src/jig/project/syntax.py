"""What the YAML parser objects to, said in one plain sentence that names the line."""

from __future__ import annotations

from jig.errors import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaml import YAMLError

_MISPLACED = ("expected key", "<block end>", "'-' indicator", "expected <document start>", "'<document start>'")

# The first entry with a needle in the parser's own words wins; both parsers of PyYAML are covered.
# `{line}` is where the construct that is not finished began.
_SENTENCES = (
    (
        ("escape", "hexdecimal number"),
        "a backslash inside double quotes starts an escape that does not exist",
        "write `/`, double the backslash, or use single quotes",
    ),
    (("unexpected end of stream",), "the quote that opens at line {line} is never closed", "close it"),
    (("document separator", "document indicator"), "the quote that opens at line {line} is never closed", "close it"),
    (
        ("',' or ']'",),
        "the list that opens with `[` at line {line} lacks a comma or its `]`",
        "put a comma between the items and `]` at the end",
    ),
    (
        ("',' or '}'",),
        "the map that opens with `{{` at line {line} lacks a comma or its `}}`",
        "put a comma between the entries and `}}` at the end",
    ),
    (
        ("mapping values are not allowed",),
        "there is a second `: ` in one value, or this line is indented too far",
        "start the key in the column of the one above; quote a value that contains `: `",
    ),
    (("mapping keys are not allowed",), "a value cannot start with `? `", "put the value in quotes"),
    (
        ("expected ':'",),
        "this line is neither `key: value` nor part of the value above",
        "write it as `key: value`, or indent it",
    ),
    (("scanning an alias", "undefined alias"), "a value cannot start with `*`", "put the value in quotes"),
    (("scanning an anchor",), "a value cannot start with `&`", "put the value in quotes"),
    (("tag", "scanning a tag"), "a value cannot start with `!`", "put the value in quotes"),
    (("cannot start any token",), "a value cannot start with this character", "put the value in quotes"),
    (("directive", "incompatible"), "a line cannot start with `%`", "put the text in quotes, or delete the line"),
    (("block scalar",), "`|` and `>` must stand alone after the key", "start the text on the next line, indented"),
    (
        _MISPLACED,
        "this line does not fit the indentation of the lines above",
        "give keys of one level the same indentation",
    ),
    (("sequence entries are not allowed",), "a `- ` item cannot start here", "put it on a line of its own"),
    (
        ("expected node content", "expected the node content"),
        "a value is missing before this place",
        "write the value, or delete the `,` or `-` that promises one",
    ),
)


def fault(error: YAMLError, text: str, shown: str) -> Fault:
    """The parser's error as a fault of the file."""
    words = f"{getattr(error, 'context', None) or ''}; {getattr(error, 'problem', None) or ''}"
    mark = getattr(error, "problem_mark", None)
    context = getattr(error, "context_mark", None)
    last = text.rstrip().count("\n") + 1
    opened = min(context.line + 1, last) if context is not None else 0
    line = min(mark.line + 1, last) if mark is not None else 0
    if "simple key" in words and opened:
        line = opened  # the parser notices only at the next line that the one before was no key
    if (
        mark is not None
        and any(needle in words for needle in _MISPLACED)
        and _follows_text(mark.line, mark.column, text)
    ):
        return Fault(shown, line, "", "there is more text after the value has ended", "put the whole value in quotes")
    for needles, sentence, fix in _SENTENCES:
        if any(needle in words for needle in needles):
            return Fault(shown, line, "", sentence.format(line=opened or line), fix.format())
    return Fault(shown, line, "", "this is not valid YAML", "compare the line with the file reference")


def _follows_text(line: int, column: int, text: str) -> bool:
    """Whether something stands before this place on its line."""
    lines = text.split("\n")
    return line < len(lines) and bool(lines[line][:column].strip())
