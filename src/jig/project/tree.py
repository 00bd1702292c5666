"""Parser events to nodes.

The tree is built with a stack of its own because yaml.compose recurses, and deep nesting crashes the C parser's.
"""

from __future__ import annotations

import yaml

from jig.errors import Fault, ProjectError
from jig.project import syntax
from jig.project.yaml import LIST, MAP, NULL, PLAIN, QUOTED, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Stop = Callable[..., ProjectError]

DEPTH_LIMIT = 64
NODE_LIMIT = 100_000
STANDARD_TAG = "tag:yaml.org,2002:"
_NULLS = ("", "~", "null", "Null", "NULL")


class _Open:
    """A list or map whose end has not been met yet."""

    def __init__(self, kind: str, line: int, anchor: str | None, count: int) -> None:
        self.kind, self.line, self.anchor, self.count = kind, line, anchor, count
        self.children: list[Node] = []


def compose(text: str, shown: str, pure: bool = False) -> Node | None:
    """The text as a tree, None when it holds nothing; raises ProjectError with the first fault of its syntax."""
    loader = yaml.SafeLoader if pure else getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _build(yaml.parse(text, Loader=loader), shown)
    except yaml.YAMLError as error:
        raise ProjectError([syntax.fault(error, text, shown)]) from error
    except ValueError as error:  # an escape such as "\U00110000", in the parser that is pure Python
        raise ProjectError([Fault(shown, 0, "", "an escape in double quotes names no character")]) from error


def _build(events: Iterator[yaml.Event], shown: str) -> Node | None:
    stack = [_Open(LIST, 0, None, 0)]
    anchors: dict[str, tuple[Node, int]] = {}
    count = documents = 0

    def stop(line: int, message: str, fix: str = "") -> ProjectError:
        return ProjectError([Fault(shown, line, "", message, fix)])

    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise stop(_line(event), "a second document starts here", "delete the line and what follows")
        if not isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            continue
        line = _line(event)
        count += 1
        done: Node | None = None
        size = 1
        anchor = None
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise stop(line, f"`*{event.anchor}` points to nothing before it", "put the value in quotes")
            done, size = anchors[event.anchor]
            count += size
        elif isinstance(event, yaml.ScalarEvent):
            done, anchor = _scalar(event, line, stop), event.anchor
        elif isinstance(event, yaml.CollectionStartEvent):
            _check_tag(event.tag, line, stop)
            kind = MAP if isinstance(event, yaml.MappingStartEvent) else LIST
            stack.append(_Open(kind, line, event.anchor, count))
            if len(stack) > DEPTH_LIMIT:
                raise stop(line, f"nested more than {DEPTH_LIMIT} levels deep")
        else:
            closed = stack.pop()
            done, anchor = Node(closed.kind, closed.line, "", tuple(closed.children)), closed.anchor
            size = count - closed.count
        if count > NODE_LIMIT:
            raise stop(line, f"more than {NODE_LIMIT:,} values")
        if done is not None:
            stack[-1].children.append(done)
            if anchor is not None:
                anchors[anchor] = (done, size)
    root = stack[0].children[0] if stack[0].children else None
    return None if root is None or root.kind == NULL else root


def _scalar(event: yaml.ScalarEvent, line: int, stop: Stop) -> Node:
    _check_tag(event.tag, line, stop)
    text: str = event.value
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise stop(line, "a value holds a character that no program can be given (NUL, or half a character)")
    plain = event.style in (None, "") and event.tag is None
    return Node(NULL if plain and text in _NULLS else PLAIN if plain else QUOTED, line, text, ())


def _check_tag(tag: str | None, line: int, stop: Stop) -> None:
    if tag is not None and tag != "!" and not tag.startswith(STANDARD_TAG):
        raise stop(line, f"`{tag}` is a YAML tag, which has no meaning here", "remove it, or quote the value")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 0
