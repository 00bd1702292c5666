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
# What is asked for, best first, and the page that it opens. Notebook 7 needs JupyterLab, whose server has its pages.
PAGES = {"jupyterlab": "lab", "jupyter_server": ""}
LOOK = """
import importlib.util, sys
print(next((name for name in sys.argv[1:] if importlib.util.find_spec(name)), ""))
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
    raise JigError(f"Jupyter is not installed: it is not in {' or '.join(looked)}", INSTALL)


def _in(python: str) -> list[tuple[int, Jupyter]]:
    """The best one that an interpreter has, with its place in the order; none is an empty list."""
    said = subprocess.run([python, "-c", LOOK, *PAGES], capture_output=True, text=True, timeout=LOOK_S).stdout.strip()
    return [
        (order, Jupyter(python, module, page)) for order, (module, page) in enumerate(PAGES.items()) if module == said
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
