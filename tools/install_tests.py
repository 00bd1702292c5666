"""Installs beside this Python what the tests need, by uv as jig builds environments: from where pip would take it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

from jig.environments.uv import find_uv
from jig.runner.pip_settings import uv_environment, uv_lines


def main() -> int:
    """uv's exit code."""
    with open("pyproject.toml", "rb") as file:
        packages = tomllib.load(file)["dependency-groups"]["dev"]
    home = os.path.expanduser("~")
    lines = "\n".join([*uv_lines(dict(os.environ), home), *packages])
    argv = (find_uv() or "uv", "pip", "install", "--quiet", "--compile-bytecode", "--python", sys.executable, "-r", "-")
    return subprocess.run(argv, input=lines, text=True, env=uv_environment(dict(os.environ), home)).returncode


if __name__ == "__main__":
    sys.exit(main())
