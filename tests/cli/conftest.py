import os
import shlex
import sys
from pathlib import Path

import pytest

import jig.cli
from tests.runner.wheels import make_wheel, serve

ROOT = Path(__file__).parents[2]
SOURCE = Path(jig.cli.__file__).parents[2]
PROGRAM = f"""
import json, os, sys
sys.path[:0] = [{str(SOURCE)!r}, {str(ROOT)!r}]
import jig.cli
jig.cli.NOUNS["sample"] = "tests.cli.sample_noun"
jig.cli.SHORT["go"] = ("sample", "submit")
record = os.environ.get("RECORD_ARGV")
if record and sys.argv[1:2] != ["__complete"]:
    with open(record + ".part", "w") as file:
        json.dump(sys.argv[1:], file)
    os.rename(record + ".part", record)
    print("<recorded>")
    sys.exit(0)
sys.exit(jig.cli.main())
"""


@pytest.fixture
def sample_noun(monkeypatch):
    """Add the sample noun, and `go` as a short form, to the command line of this process."""
    monkeypatch.setitem(jig.cli.NOUNS, "sample", "tests.cli.sample_noun")
    monkeypatch.setitem(jig.cli.SHORT, "go", ("sample", "submit"))


@pytest.fixture
def program(tmp_path):
    """A `jig` to run as a process; with $RECORD_ARGV it writes what it was given there instead of doing it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    path = folder / "jig"
    path.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(folder / "program.py")])} "$@"\n')
    path.chmod(0o755)
    return path


@pytest.fixture
def clean_environment(program, tmp_path):
    """Variables for a process that must not depend on the person who runs the tests."""
    home = tmp_path / "home"
    home.mkdir()
    return {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm",
    }


@pytest.fixture
def managed(project):
    """A project whose target `local` has its environments built."""
    project.write("aml_config/local.compute", "type: local\nuserManagedEnvironment: false\n")
    return project


@pytest.fixture
def index(tmp_path, monkeypatch):
    """`six` 1.15 and 1.16, from the index that PIP_INDEX_URL names."""
    for version in ("1.15", "1.16"):
        make_wheel(tmp_path / "wheels", "six", version)
    with serve(tmp_path / "wheels") as found:
        monkeypatch.setenv("PIP_INDEX_URL", f"{found.url}/simple")
        yield found
