"""The one gate to files, the record's thread, and a catalogue without holes."""

import ast
import os
import string
from pathlib import Path

import pytest

import jig.workbench
from jig import errors
from jig.errors import UsageError
from jig.workbench.gate import within
from jig.workbench.session import Session
from jig.workbench.words import WORDS, say

SOURCE = Path(jig.workbench.__file__).parent


def test_what_is_inside_is_given_by_its_real_path(tmp_path):
    (tmp_path / "root/sub").mkdir(parents=True)
    (tmp_path / "root/link").symlink_to("sub")
    root = str(tmp_path / "root")
    real = os.path.realpath(root)
    assert within(root, "") == within(root, ".") == real
    assert within(root, "link/new.txt") == f"{real}/sub/new.txt"
    assert within(root, f"{root}/sub/../sub/x") == f"{real}/sub/x"


@pytest.mark.parametrize("path", ["..", "../rooted", "sub/../../x", "/etc/passwd", "out", "out/x", "a\0b", "/", "//"])
def test_what_is_outside_is_refused(tmp_path, path):
    (tmp_path / "root/sub").mkdir(parents=True)
    (tmp_path / "rooted").mkdir()
    (tmp_path / "root/out").symlink_to("/etc")
    with pytest.raises(UsageError):
        within(str(tmp_path / "root"), path)


def test_without_a_project_there_is_nothing_to_see():
    with pytest.raises(UsageError, match="no project is open"):
        Session().here()


def keys_said() -> "list[tuple[str, set[str]]]":
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "say":
                constants = [n for n in ast.walk(node.args[0]) if isinstance(n, ast.Constant) and "." in str(n.value)]
                found += [
                    (c.value, {k.arg for k in node.keywords})
                    for c in constants
                    if isinstance(node.args[0], (ast.Constant, ast.IfExp))
                ]
    return found


def test_every_text_that_is_said_is_in_the_catalogue_with_its_values():
    said = keys_said()
    assert len(said) > 20
    for key, given in said:
        wanted = {name for _, name, _, _ in string.Formatter().parse(WORDS[key]) if name}
        assert wanted == given, key
    used = {key for key, _ in said}
    assert [key for key in WORDS if key not in used and not key.startswith("page.")] == []


def test_a_text_with_values():
    assert say("frame.go", page="Files") == "Go to Files"


# What these make is seen by people, so their texts come from the catalogue.
VISIBLE = {"label", "button", "input", "link", "notify", "tooltip", "checkbox", "switch", "select", "tab", "markdown"}
ERRORS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.JigError)}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.stem)
def test_no_visible_text_stands_outside_the_catalogue(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        shown = node.args[:1] if getattr(node.func, "attr", "") in VISIBLE else []
        shown = node.args[:2] if getattr(node.func, "id", "") in ERRORS else shown  # message and hint
        assert not any(map(is_literal, shown)), f"{path.name}:{node.lineno}: say() it"


def is_literal(node: ast.AST) -> bool:
    """A text with words in it, or one of several."""
    if isinstance(node, ast.IfExp):
        return is_literal(node.body) or is_literal(node.orelse)
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return isinstance(node, ast.JoinedStr) or (is_text and any(map(str.isalpha, node.value)))
