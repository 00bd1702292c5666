"""Wheels made on the spot, and a package index on this machine that serves them."""

import base64
import http.server
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.listener import Listener


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    program: bool = False,
    requires: "tuple[str, ...]" = (),
    needs_python: str = "",
) -> Path:
    """A wheel with one module `name`, and with a program of that name on demand; both print the version."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    about = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", f"VERSION = {version!r}\n\n\ndef main():\n    print(VERSION)\n")
        needs = f"Requires-Python: {needs_python}\n" if needs_python else ""
        needs += "".join(f"Requires-Dist: {line}\n" for line in requires)
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        if program:
            wheel.writestr(f"{about}/entry_points.txt", f"[console_scripts]\n{name} = {name}:main\n")
        wheel.writestr(f"{about}/RECORD", "")
    return path


class Index:
    """What the server is asked for, and what it wants to be told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self.asked: list[str] = []
        self.password = ""
        self.before: Callable[[str], None] = lambda path: None
        self.arrived = threading.Event()
        self.release = threading.Event()
        self.stall = ""

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        path = request.path
        self.asked.append(path)
        self.before(path)
        if self.password:
            wanted = "Basic " + base64.b64encode(f"user:{self.password}".encode()).decode()
            if request.headers.get("Authorization") != wanted:
                request.send_response(401)
                request.send_header("WWW-Authenticate", 'Basic realm="wheels"')
                request.end_headers()
                return
        if self.stall and self.stall in path:
            self.arrived.set()
            self.release.wait(60)
        name = path.partition("?")[0].strip("/").split("/")
        if name[0] == "simple" and len(name) == 2:
            links = [
                f'<a href="/files/{file}">{file}</a>'
                for file in sorted(os.listdir(self.folder))
                if file.replace("_", "-").startswith(name[1])
            ]
            self._send(request, "text/html", "".join(links).encode() if links else None)
        else:
            file = self.folder / name[-1]
            self._send(request, "application/octet-stream", file.read_bytes() if file.is_file() else None)

    def _send(self, request: http.server.BaseHTTPRequestHandler, kind: str, body: bytes | None) -> None:
        request.send_response(404 if body is None else 200)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body or b"")))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body or b"")


@contextmanager
def serve(folder: Path, address: str = "127.0.0.1") -> Iterator[Index]:
    """An index with the wheels of a folder, at an address of this machine."""
    index = Index(folder)
    listener = Listener(index.answer, address)
    index.url = listener.url
    try:
        yield index
    finally:
        index.release.set()
        listener.close()
