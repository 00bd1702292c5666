"""What a command prompt has on its search path: this jig, and the interpreter that the target `local` uses.

So `pip install` there lands where `submit -c local` looks. A file that names `~/.bashrc` first comes after it, because
what a person has there often puts other interpreters in front.
"""

from __future__ import annotations

import os
import shlex
import sys

from jig.errors import JigError
from jig.project import Project
from jig.runner.environment import NotStarted, find_user_python
from jig.runner.folder import make_private
from jig.values import Value

LOCAL = "local"
NAMES = {"jig": ("-m", "jig"), "pip": ("-m", "pip"), "pip3": ("-m", "pip")}


class Prompt(Value):
    """How to start the shell: its words, folder and variables; what is to be said of the interpreter, if anything."""

    argv: tuple[str, ...]
    folder: str
    environ: dict[str, str]
    trouble: str = ""


def interpreter(project: Project, search_path: str) -> str:
    """The interpreter of the target `local`; JigError says why there is none."""
    location = "python"
    if LOCAL in project.target_names():
        target = project.compute_target(LOCAL)
        location = target.python_location if not target.managed else location
    try:
        return find_user_python(location, search_path)
    except NotStarted as error:
        raise JigError(str(error)) from error


def prompt(project: Project, home: str) -> Prompt:
    """The shell of the person, with small programs in front of its path; written anew each time."""
    search_path = os.environ.get("PATH", os.defpath)
    trouble, python = "", ""
    try:
        python = interpreter(project, search_path)
    except JigError as error:
        trouble = error.message
    folder = os.path.join(home, "cache", "prompt", f"{project.name}-{_mark(project.root)}")
    make_private(folder)
    programs: dict[str, tuple[str, ...]] = {"jig": (sys.executable, *NAMES["jig"])}
    if python:
        programs |= {name: (python, *NAMES[name]) for name in ("pip", "pip3")}
        programs |= {name: (python,) for name in ("python", "python3") if not _is_beside(name, python)}
    for old in set(os.listdir(folder)) - set(programs):
        os.unlink(os.path.join(folder, old))
    for name, words in programs.items():
        _write(os.path.join(folder, name), f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', 0o700)
    first = os.pathsep.join([folder, *([os.path.dirname(python)] if python else [])])
    left_out = ("NICEGUI_STORAGE_PATH", "MATPLOTLIB", "JIG_RUN_ID", "JIG_RUN_DIR", "JIG_SHELL", "JIG_SHELL_MARK")
    environ = {name: value for name, value in os.environ.items() if name not in left_out}
    environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PATH": first + os.pathsep + search_path}
    return Prompt(_shell(folder, first), project.root, environ, trouble)


def _shell(folder: str, first: str) -> tuple[str, ...]:
    shell = os.environ.get("SHELL") or "/bin/sh"
    shell = shell if os.path.isabs(shell) and os.access(shell, os.X_OK) else "/bin/sh"
    if os.path.basename(shell) != "bash":
        return (shell, "-i")
    settings = os.path.join(os.path.dirname(folder), f"{os.path.basename(folder)}.bashrc")
    text = f'[ -r ~/.bashrc ] && . ~/.bashrc\nPATH={shlex.quote(first)}:"$PATH"\nhash -r\n'
    _write(settings, text, 0o600)
    return (shell, "--rcfile", settings, "-i")


def _mark(root: str) -> str:
    """Another one for each folder: projects may have the same name."""
    import hashlib

    return hashlib.sha256(os.fsencode(root)).hexdigest()[:8]


def _is_beside(name: str, python: str) -> bool:
    """Whether a program of this name stands beside the interpreter, and is that."""
    place = os.path.join(os.path.dirname(python), name)
    return os.path.exists(place) and os.path.samefile(place, python)


def _write(path: str, text: str, mode: int) -> None:
    aside = f"{path}.{os.getpid()}"
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(aside, path)
