"""Which Jupyter there is to start: jig's own, or the one that the Python of the target `local` has."""

from __future__ import annotations

import os
import subprocess
import sys

from jig.errors import JigError
from jig.project import Project
from jig.runner.environment import NotStarted, find_user_python
from jig.values import Value

LOCAL = "local"
# What is asked for, best first: the module, what makes it one that jig can start, and the page that it opens.
SERVERS = (
    ("jupyterlab", "jupyterlab", "lab"),
    ("notebook", "notebook.app", "tree"),
    ("jupyter_server", "jupyter_server", ""),
)
LOOK = """
import importlib.util, sys
def there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
print(next((name for name in sys.argv[1:] if there(name)), ""))
"""
LOOK_S = 60.0
INSTALL = "pip install 'jig-workbench[notebook]'"


class Jupyter(Value):
    """An interpreter, the module that it is to run, and the page of that to open."""

    python: str
    module: str
    page: str


def find(project: Project) -> Jupyter:
    """What to start: the best that there is; JigError has the one line that installs it."""
    looked = dict.fromkeys((sys.executable, *_local(project)))
    found = [(order, one) for python in looked for order, one in _in(python)]
    if found:
        return min(found, key=lambda item: item[0])[1]  # of equals the first, which is jig's own
    raise JigError(f"Jupyter is not installed: neither JupyterLab nor Notebook is in {' or '.join(looked)}", INSTALL)


def _in(python: str) -> list[tuple[int, Jupyter]]:
    """The best one that an interpreter has, with its place in the order; none is an empty list."""
    words = [python, "-c", LOOK, *(mark for _, mark, _ in SERVERS)]
    said = subprocess.run(words, capture_output=True, text=True, timeout=LOOK_S).stdout.strip()
    return [
        (order, Jupyter(python, module, page)) for order, (module, mark, page) in enumerate(SERVERS) if mark == said
    ]


def _local(project: Project) -> tuple[str, ...]:
    """The person's own interpreter, as the target `local` has it; none where there is no such."""
    try:
        target = project.compute_target(LOCAL)
        if target.managed:
            return ()
        return (find_user_python(target.python_location, os.environ.get("PATH", os.defpath)),)
    except (JigError, NotStarted):
        return ()
