"""A place from which uv fetches Python: one archive, of the running interpreter, and the list that names it."""

import gzip
import io
import json
import platform
import tarfile
from pathlib import Path

from tests.conda_package import running_python


def make_mirror(folder: Path, url: str) -> "tuple[Path, str]":
    """The list, for UV_PYTHON_DOWNLOADS_JSON_URL, and the version that it has; the folder is served at that URL."""
    facts, files = running_python()
    version = facts["version"]
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for path, file in files.items():
            entry = tarfile.TarInfo(f"python/{path}")
            entry.mode, entry.size = file.mode, len(file.data)
            if file.link:
                entry.type, entry.linkname = tarfile.SYMTYPE, file.link
            archive.addfile(entry, io.BytesIO(file.data))
    place = folder / f"cpython-{version}-install_only.tar.gz"
    place.write_bytes(gzip.compress(raw.getvalue(), 1))
    major, minor, patch = map(int, version.split("."))
    machine = platform.machine()
    about = {
        "name": "cpython",
        "arch": {"family": machine, "variant": None},
        "os": "linux",
        "libc": "gnu",
        "major": major,
        "minor": minor,
        "patch": patch,
        "prerelease": "",
        "url": f"{url}/{place.name}",
        "sha256": None,
        "variant": None,
        "build": "20240101",
    }
    listed = folder / "downloads.json"
    listed.write_text(json.dumps({f"cpython-{version}-linux-{machine}-gnu": about}))
    return listed, version
