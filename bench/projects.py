"""Projects to submit from: the sample that jig makes, and folders under version control, as people have them."""

from __future__ import annotations

import os
import subprocess

from environments import jig
from folders import write


def create(folder: str, home: str) -> str:
    """The folder of a sample project, as `jig project create` makes it."""
    argv = (jig().program("jig"), "project", "create", "--path", folder, "--template", "blank")
    subprocess.run(argv, env=jig().environ(JIG_HOME=home), stdout=subprocess.DEVNULL, check=True)
    return folder


def hello(folder: str, **files: str) -> str:
    """A folder with a script that prints one line, and with these files, all of it committed; returns the folder."""
    for name, text in {"hello.py": 'print("hello")\n', **files}.items():
        write(os.path.join(folder, name), text)
    commit(folder)
    return folder


def commit(folder: str) -> None:
    """Make the folder a git repository whose one commit holds everything."""
    person = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for words in (("init", "--quiet"), ("add", "--all"), (*person, "commit", "--quiet", "--message", "start")):
        subprocess.run(("git", *words), cwd=folder, env=jig().environ(), check=True)
