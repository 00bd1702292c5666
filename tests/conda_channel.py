"""A conda channel made by the tests, with real packages of every kind, and a server that can misbehave."""

import base64
import enum
import http.server
import json
import os
import platform
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from jig.runner import rattler_work
from tests.conda_package import PLACEHOLDER, File, write_package, write_python
from tests.listener import Listener

SUBDIR = {"x86_64": "linux-64", "aarch64": "linux-aarch64"}[platform.machine()]
_INDEX = """
import asyncio, os, pathlib, sys
from rattler.index import index_fs
asyncio.run(index_fs(pathlib.Path(sys.argv[1])))
os._exit(0)  # after rattler an ordinary end crashes now and then
"""


def index(folder: Path) -> None:
    """Make or renew repodata.json of a channel."""
    (folder / "noarch").mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-I", "-c", _INDEX, str(folder)], check=True, capture_output=True)


class Channel:
    """A folder with indexed packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = folder.as_uri()

    def package(self, start: str) -> Path:
        """The one package file whose name starts like this."""
        (found,) = [path for path in self.folder.glob(f"*/{start}*") if path.suffix in (".conda", ".bz2")]
        return found


def fill(folder: Path) -> None:
    """Write and index what the tests install.

    - python (the running one) and python 3.5.2 (the running one, which says so)
    - hello, noarch, with the program say-hello; prefixed, with the folder of the environment in a text, a script and a
      binary file; linker, with a post-link script; old, a .tar.bz2
    - left and right, which need different versions of zlib; meta, which needs left; constrained, which goes with an
      older zlib only; orphan, which needs what no channel has
    - gpu, built for CUDA 12 and without; cudaonly; newglibc, which needs glibc 2.34; tool, in two builds
    - truncated and truncatedbz2, cut after they were indexed; wronghash, replaced after it was indexed
    """
    write_python(folder, SUBDIR)
    write_python(folder, SUBDIR, "3.5.2")
    _python_packages(folder)
    for name, version, depends in (
        ("zlib", "1.2", []),
        ("zlib", "1.3", []),
        ("left", "1.0", ["zlib 1.2.*"]),
        ("right", "1.0", ["zlib >=1.3"]),
        ("meta", "1.0", ["left"]),
        ("orphan", "1.0", ["nowhere >=2"]),
    ):
        _simple(folder, name, version, depends)
    write_package(folder, "constrained", "1.0", {"share/constrained": File()}, constrains=["zlib <1.3"])
    _simple(folder, "old", "1.0", [], suffix=".tar.bz2")
    _simple(folder, "gpu", "1.0", ["__cuda >=12"], build="cuda_0", number=1)
    _simple(folder, "gpu", "1.0", [], build="cpu_0")
    _simple(folder, "cudaonly", "1.0", ["__cuda >=12"])
    _simple(folder, "newglibc", "1.0", ["__glibc >=2.34"])
    _simple(folder, "tool", "1.0", [], build="py35_0")
    _simple(folder, "tool", "1.0", [], build="py36_0", number=3)
    noise = File(random.Random(0).randbytes(300_000))
    cut = [write_package(folder, "truncated", "1.0", {"share/truncated": noise})]
    cut += [write_package(folder, "truncatedbz2", "1.0", {"share/truncatedbz2": noise}, suffix=".tar.bz2")]
    _simple(folder, "wronghash", "1.0", [])
    index(folder)
    for path in cut:
        os.truncate(path, path.stat().st_size // 2)
    write_package(folder, "wronghash", "1.0", {"share/wronghash": File(b"other bytes")})


def _simple(folder: Path, name: str, version: str, depends: list[str], **more) -> None:
    text = " ".join([name, version, more.get("build", "0")])
    write_package(folder, name, version, {f"share/{name}": File(text.encode())}, depends=depends, **more)


def _python_packages(folder: Path) -> None:
    about = "site-packages/hello-1.0.dist-info/"
    hello = {
        "site-packages/hello/__init__.py": File(b"def main():\n    import sys\n    print('hello from', sys.prefix)\n"),
        about + "METADATA": File(b"Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n"),
        about + "INSTALLER": File(b"conda\n"),
        about + "RECORD": File(),
    }
    write_package(folder, "hello", "1.0", hello, depends=["python"], entry_points=["say-hello = hello:main"])
    prefixed = {
        "bin/where": File(f"#!{PLACEHOLDER}/bin/python\nprint({PLACEHOLDER!r})\n".encode(), 0o755, prefix=PLACEHOLDER),
        "etc/where.txt": File(f"root={PLACEHOLDER}/share\n".encode(), prefix=PLACEHOLDER),
        "share/where.bin": File(
            b"\x7fBIN\0" + f"{PLACEHOLDER}/lib:{PLACEHOLDER}/lib64".encode() + b"\0after\0",
            prefix=PLACEHOLDER,
            binary=True,
        ),
    }
    write_package(folder, "prefixed", "1.0", prefixed, depends=["python"])
    script = File(b'#!/bin/sh\ntouch "$PREFIX/post-link-was-run"\n', 0o755)
    write_package(folder, "linker", "1.0", {"bin/.linker-post-link.sh": script, "share/linker": File()})


@pytest.fixture(scope="session")
def channel(tmp_path_factory: pytest.TempPathFactory) -> Channel:
    """The channel that `fill` makes; no test may change it."""
    folder = tmp_path_factory.mktemp("conda") / "chan"
    fill(folder)
    return Channel(folder)


@pytest.fixture(scope="session")
def choose(channel: Channel, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[dict[str, Any]]]:
    """The records of the channel's packages that fulfil some specifications."""
    known: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    cache = str(tmp_path_factory.mktemp("repodata"))

    def solve(*specs: str) -> list[dict[str, Any]]:
        if specs not in known:
            request = {"do": "solve", "channels": [channel.url], "specs": specs, "platform": SUBDIR, "cache": cache}
            argv = [sys.executable, "-I", rattler_work.__file__]
            said = subprocess.run(argv, input=json.dumps(request), stdout=subprocess.PIPE, text=True, check=True)
            known[specs] = json.loads(said.stdout.splitlines()[-1])["records"]
        return known[specs]

    return solve


class How(enum.Enum):
    """How the server treats a request that it was told to treat badly."""

    CUT = "half of the file, then no connection"
    SLOW = "a twentieth of the file at a time, about a second in all"
    HANG = "no answer"


class ChannelServer:
    """A channel on loopback: what it was asked for, and how it is to answer."""

    def __init__(self, folder: Path, address: str = "127.0.0.1") -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.bad: dict[str, How | int] = {}  # part of a path → an HTTP status or a way to misbehave
        self.login = ""  # user:password
        self.token = ""  # wanted as /t/TOKEN
        self.arrived = threading.Event()  # someone has come to a SLOW or a HANG
        self._closing = threading.Event()
        self._listener = Listener(self.answer, address, "HTTP/1.1")
        self.url = f"{self._listener.url}/chan"  # without the credentials that it wants

    def packages(self) -> list[str]:
        """The file names of the packages that were asked for, sorted."""
        return sorted(path.rpartition("/")[2] for path in self.asked if path.endswith((".conda", ".tar.bz2")))

    def close(self) -> None:
        """Answer nobody any more, and let go of those who wait."""
        self._closing.set()
        self._listener.close()

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        path = request.path
        self.asked.append(path)
        if self.token:
            start, path = f"/t/{self.token}/", path.partition("/t/")[2].partition("/")[2]
            if not request.path.startswith(start):
                return self._status(request, 401)
        wanted = "Basic " + base64.b64encode(self.login.encode()).decode()
        if self.login and request.headers.get("Authorization") != wanted:
            return self._status(request, 401)
        file = self.folder / path.lstrip("/").partition("/")[2]
        how = next((how for part, how in self.bad.items() if part in path), 0 if file.is_file() else 404)
        if isinstance(how, int) and how:
            return self._status(request, how)
        return self._send(request, file.read_bytes(), how)

    def _status(self, request: http.server.BaseHTTPRequestHandler, status: int) -> None:
        request.send_response(status)
        request.send_header("Content-Length", "0")
        request.end_headers()

    def _send(self, request: http.server.BaseHTTPRequestHandler, body: bytes, how: "How | int") -> None:
        if how in (How.SLOW, How.HANG):
            self.arrived.set()
        if how == How.HANG:
            self._closing.wait(60)
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if how == How.CUT:
            request.wfile.write(body[: len(body) // 2])
            request.close_connection = True
            return
        step = len(body) // 20 + 1 if how == How.SLOW else max(len(body), 1)
        for start in range(0, len(body), step):
            request.wfile.write(body[start : start + step])
            if how == How.SLOW:
                self._closing.wait(0.05)


@contextmanager
def serve_channel(folder: Path, address: str = "127.0.0.1") -> Iterator[ChannelServer]:
    """The folder as `http://…/chan`, at an address of this machine."""
    with closing(ChannelServer(folder, address)) as server:
        yield server


@pytest.fixture
def channel_server(channel: Channel) -> Iterator[ChannelServer]:
    """The channel on loopback, for one test."""
    with serve_channel(channel.folder) as server:
        yield server
