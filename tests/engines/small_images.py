"""Images of a few files, for what no ordinary image is like."""

import io
import json
import subprocess
import tarfile
from pathlib import Path

from tests.engines.engine import Engine
from tests.system_packages import need

Files = "dict[str, bytes | str]"  # a str is where a link leads
LINKS = ("sh", "cat", "cp", "mkdir", "chown", "chmod", "rm", "ls", "dd", "ln", "touch")
USERS = b"root:x:0:0:root:/root:/bin/sh\nodd:x:7:7::/:/bin/false\n"


def tar(files: "dict[str, bytes | str]") -> bytes:
    """An archive of the files; folders are made for them."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for path in sorted(files):
            entry, content = tarfile.TarInfo(path), files[path]
            entry.mode = 0o755
            if isinstance(content, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, content
                archive.addfile(entry)
            else:
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return raw.getvalue()


def import_files(engine: Engine, name: str, files: "dict[str, bytes | str]", *changes: str) -> None:
    """An image of these files."""
    options = [word for change in changes for word in ("--change", change)]
    command = ["docker", "-H", engine.address, "import", *options, "-", name]
    subprocess.run(command, input=tar(files), check=True, capture_output=True)


def busybox() -> "dict[str, bytes | str]":
    """A shell and a few programs that need no C library, as in an image of Alpine."""
    need("busybox-static")
    files: dict[str, bytes | str] = {f"bin/{name}": "busybox" for name in LINKS}
    files |= {"bin/busybox": Path("/bin/busybox").read_bytes(), "lib/ld-musl-x86_64.so.1": b""}
    return files | {"etc/passwd": USERS, "etc/group": b"root:x:0:\n"}


def load_for(engine: Engine, name: str, base: str, **config: str) -> None:
    """An image like another one that says it is for another processor."""
    saved = subprocess.run(["docker", "-H", engine.address, "save", base], check=True, capture_output=True).stdout
    raw = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(saved)) as old, tarfile.open(fileobj=raw, mode="w") as new:
        manifest = json.load(old.extractfile("manifest.json"))  # type: ignore[arg-type]
        for entry in old:
            data = old.extractfile(entry).read() if entry.isreg() else b""  # type: ignore[union-attr]
            if entry.name == "repositories":
                continue
            if entry.name == "manifest.json":
                manifest[0]["RepoTags"] = [name]
                data = json.dumps(manifest).encode()
            elif entry.name == manifest[0]["Config"]:
                data = json.dumps({**json.loads(data), **config}).encode()
            entry.size = len(data)
            new.addfile(entry, io.BytesIO(data))
    command = ["docker", "-H", engine.address, "load"]
    subprocess.run(command, input=raw.getvalue(), check=True, capture_output=True)
