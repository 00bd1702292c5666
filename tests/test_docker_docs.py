"""Every sentence that jig has for what goes wrong with Docker stands in the documentation, with its fix."""

import ast
import importlib
import re
import subprocess
import sys

import pytest

from tests.test_docs import ROOT

PAGES = ("docs/containers.md", "docs/reference/docker.md")
RUNNER = ROOT / "src/jig/runner"
MODULES = sorted(path for noun in ("engine", "image", "container") for path in RUNNER.glob(noun + "*.py"))
FAILURES = ("EngineFailed", "EnvironmentFailed", "_told")
OWN = re.compile(  # of jig itself, or of a run that was canceled: no user can mend them
    r"canceled|this runner builds no|… is not the fingerprint|… cannot be started|the container does not see"
)


def sentence(node: ast.expr, module: object) -> "str | None":
    """What the expression says, with … for what is filled in; None when it is made elsewhere."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return re.sub(r"%[.\d]*[a-z]", "…", node.value)
    if isinstance(node, ast.Name) and isinstance(getattr(module, node.id, None), str):
        return re.sub(r"%[.\d]*[a-z]", "…", getattr(module, node.id))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return sentence(node.left, module)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (sentence(node.left, module) or "…") + (sentence(node.right, module) or "…")
    return None


def sentences(path) -> "list[str]":
    module = importlib.import_module(f"jig.runner.{path.stem}")
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call) and node.args]
    named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in FAILURES]
    said = [sentence(call.args[0], module) for call in named]
    return [text for text in said if text and text.strip("…") and not OWN.match(text)]


def test_the_table_of_messages_is_what_the_tool_prints():
    printed = subprocess.run([sys.executable, ROOT / "tools/docker_messages.py"], capture_output=True, check=True)
    again = "print it again: python tools/docker_messages.py > docs/reference/docker.md"
    assert printed.stdout == (ROOT / "docs/reference/docker.md").read_bytes(), again


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_what_can_be_said_is_written_down(path):
    text = "".join((ROOT / page).read_text() for page in PAGES)
    written = re.findall(r"``? ?(.+?) ?`?`(?!\w)", text)
    for said in sentences(path):
        fixed = [piece.strip(" ,:(") for piece in re.split(r"…|`|: | by which| for want|, and this", said)]
        first = next(piece for piece in [*fixed, ""] if len(piece) > 7)  # what is always the same
        assert any(first in one for one in written), f"{path.stem}: not in {' or '.join(PAGES)}: {said}"


def test_sentences_are_found():
    found = {text for path in MODULES for text in sentences(path)}
    assert "the engine runs Windows containers only" in found and len(found) > 20, sorted(found)
