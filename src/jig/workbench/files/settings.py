"""One setting of a project file, changed in its text: the line of its key alone, so that comments survive.

Every change is checked by reading the text again: when anything else would read differently it is not made.
"""

from __future__ import annotations

import json
import re

from jig.errors import ProjectError, UsageError
from jig.project.yaml import LIST, MAP, NULL, Node, parse
from jig.workbench.words import say

_PLAIN = re.compile(r"[A-Za-z0-9]([\w./:@=<>,\[\]+*!~-]*[\w*\]])?")
_ITEM = re.compile(r"(\s*)-\s")


def value(text: str, key: str) -> str | None:
    """The text of a top-level key; None when it is absent, null, or not one text."""
    node = _top(text).get(key)
    return node.text if node is not None and node.is_scalar and node.kind != NULL else None


def packages(text: str) -> tuple[list[str], list[str]]:
    """The conda packages and the pip lines that a conda file lists."""
    items = _items(_top(text).get("dependencies"))
    pip = [one for item in items if item.kind == MAP for key, value in item.pairs() if key.text == "pip"
           for one in _items(value)]  # fmt: skip
    return [item.text for item in items if item.is_scalar], [item.text for item in pip]


def with_value(text: str, key: str, new: str | None) -> str:
    """The text with this value for a top-level key, or without the key for None; UsageError when that is not safe."""
    before = _top(text)
    lines = text.split("\n")
    if key in before:
        node = before[key]
        index = next((i for i, line in enumerate(lines) if _key_line(line, key)), None)
        if index is None or not node.is_scalar:
            raise _unsafe(key)
        head, old, tail = _parts(lines[index], key)
        lines[index : index + 1] = [] if new is None else [f"{head}{_written(new)}{tail}"]
    elif new is not None:
        mark = re.compile(rf"#\s*{re.escape(key)}:(\s|$)")
        index = next((i for i, line in enumerate(lines) if mark.match(line)), None)
        entry = f"{key}: {_written(new)}"
        if index is not None:  # the example that stands there becomes the setting
            same = lines[index].lstrip("# ").rstrip() == entry
            lines[index : index + 1] = [entry] if same else [lines[index], entry]
        else:
            lines[_end(lines) :] = [entry, ""]
    after = "\n".join(lines)
    wanted = {name: _plain(node) for name, node in before.items() if name != key}
    _check(after, wanted if new is None else {**wanted, key: new}, key)
    return after


def with_package(text: str, package: str, is_pip: bool) -> str:
    """The conda file with one package more."""
    before, (conda, pip) = _top(text), packages(text)
    lines = text.split("\n")
    items = _items(before.get("dependencies"))
    nested = next(
        (value for item in items if item.kind == MAP for key, value in item.pairs() if key.text == "pip"), None
    )
    entry = f"- {_written(package)}"
    if is_pip and nested is not None and _items(nested):
        last = _items(nested)[-1].line
        lines.insert(last, _indent(lines[last - 1]) + entry)
    elif items:
        first = items[0].line
        space = _indent(lines[first - 1])
        scalars = [item.line for item in items if item.is_scalar]
        new = [f"{space}- pip:", f"{space}  {entry}"] if is_pip else [space + entry]
        at = scalars[-1] if scalars else first - 1
        lines[at:at] = new
    else:
        at = next((i + 1 for i, line in enumerate(lines) if _key_line(line, "dependencies")), 0)
        if not at:
            at = _end(lines) + 1
            lines[at - 1 :] = ["dependencies:", ""]
        lines[at:at] = ["  - pip:", f"    {entry}"] if is_pip else [f"  {entry}"]
    return _checked(text, "\n".join(lines), conda + [package] * (not is_pip), pip + [package] * is_pip)


def without_package(text: str, package: str, is_pip: bool) -> str:
    """The conda file without this package."""
    conda, pip = packages(text)
    for index, line in enumerate(text.split("\n")):
        bare = re.sub(r"\s+#.*$", "", line).strip()
        if bare in (f"- {package}", f'- "{package}"', f"- '{package}'"):
            lines = text.split("\n")
            del lines[index]
            left = [list(conda), list(pip)]
            left[is_pip].remove(package)
            if is_pip and not left[1]:  # a list of nothing is none
                lines = [one for one in lines if one.strip() != "- pip:"]
            return _checked(text, "\n".join(lines), *left)
    raise _unsafe(package)


def _checked(before: str, after: str, conda: list[str], pip: list[str]) -> str:
    """The new text, if it lists these packages and nothing else in it is another."""
    was = {name: _plain(node) for name, node in _top(before).items() if name != "dependencies"}
    now = {name: _plain(node) for name, node in _top(after).items() if name != "dependencies"}
    found = packages(after)
    if was != now or sorted(found[0]) != sorted(conda) or sorted(found[1]) != sorted(pip):
        raise _unsafe("dependencies")
    return after


def _top(text: str) -> dict[str, Node]:
    """The top-level keys of a text that has no faults of syntax."""
    try:
        root, faults = parse(text, "")
    except ProjectError as error:
        raise UsageError(say("form.broken"), say("form.broken.hint")) from error
    if faults or (root is not None and root.kind != MAP):
        raise UsageError(say("form.broken"), say("form.broken.hint"))
    return {key.text: value for key, value in root.pairs()} if root is not None else {}


def _check(after: str, wanted: dict[str, object], key: str) -> None:
    try:
        found = {name: _plain(node) for name, node in _top(after).items()}
    except UsageError:
        found = {}
    if found != wanted:
        raise _unsafe(key)


def _plain(node: Node) -> object:
    if node.kind == NULL:
        return None
    if node.kind == LIST:
        return [_plain(child) for child in node.children]
    return [(key.text, _plain(value)) for key, value in node.pairs()] if node.kind == MAP else node.text


def _items(node: Node | None) -> tuple[Node, ...]:
    return node.children if node is not None and node.kind == LIST else ()


def _key_line(line: str, key: str) -> bool:
    return re.match(rf"""(["']?){re.escape(key)}\1\s*:(\s|$)""", line) is not None


def _parts(line: str, key: str) -> tuple[str, str, str]:
    """The line as: key and colon, the value, and a comment behind it."""
    found = re.match(
        rf"""((["']?){re.escape(key)}\2\s*:[ \t]*)((?:"[^"]*"|'[^']*'|[^#]|(?<!\s)#)*?)(\s*|\s+#.*)$""", line
    )
    if found is None:
        raise _unsafe(key)
    head = found[1] if found[1][-1:].isspace() else found[1] + " "
    return head, found[3], found[4]


def _end(lines: list[str]) -> int:
    """Behind the last line that holds something."""
    return next((i + 1 for i in range(len(lines) - 1, -1, -1) if lines[i].strip()), 0)


def _indent(line: str) -> str:
    found = _ITEM.match(line)
    if found is None:
        raise _unsafe("dependencies")
    return found[1]


def _written(text: str) -> str:
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in ("null", "~") and ": " not in text
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _unsafe(key: str) -> UsageError:
    return UsageError(say("form.unsafe", name=key), say("form.unsafe.hint"))
