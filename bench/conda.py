"""A conda channel on this computer, for figures that no network is to be part of: its Python and one small package."""

from __future__ import annotations

import functools
import platform
import subprocess
import sys
from pathlib import Path

from environments import jig
from folders import SOURCE, kept, read

SUBDIRS = {"x86_64": "linux-64", "aarch64": "linux-aarch64"}
INDEX = """
import asyncio, os, pathlib, sys
from rattler.index import index_fs
asyncio.run(index_fs(pathlib.Path(sys.argv[1])))
os._exit(0)  # after rattler an ordinary end crashes now and then
"""


@functools.cache
def channel() -> str:
    """The channel's address; it has `python`, which is the one that runs this, and `hello`."""
    return Path(kept("channel", f"{sys.version} {read(__file__)}", _fill)).as_uri()


def _fill(folder: str) -> None:
    if SOURCE not in sys.path:
        sys.path.append(SOURCE)
    from tests.conda_package import File, write_package, write_python

    write_python(Path(folder), SUBDIRS[platform.machine()])
    module = {"site-packages/hello.py": File(b'print("hello")\n')}
    write_package(Path(folder), "hello", "1.0", module, depends=["python"])
    argv = (jig().program("python"), "-I", "-c", INDEX, folder)
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
