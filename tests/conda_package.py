"""Real conda packages, written with the standard library alone."""

import bz2
import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# As long as conda's own: a binary file can take no longer prefix than the one that it was made with.
PLACEHOLDER = "/opt/" + "placehold_" * 25
MADE_S = 1_600_000_000
_LEFT_OUT = {"__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "turtledemo"}
_LEFT_OUT |= {"lib2to3", "pydoc_data", "ensurepip"}


@dataclass(frozen=True)
class File:
    """One file of a package; `prefix` names the folder in it that becomes the environment's."""

    data: bytes = b""
    mode: int = 0o644
    link: str = ""
    prefix: str = ""
    binary: bool = False


def write_package(
    channel: Path,
    name: str,
    version: str,
    files: Mapping[str, File],
    *,
    build: str = "0",
    number: int = 0,
    depends: Iterable[str] = (),
    constrains: Iterable[str] = (),
    subdir: str = "noarch",
    entry_points: Iterable[str] = (),
    suffix: str = ".conda",
    **more: Any,
) -> Path:
    """A package file in the channel: `.conda` or `.tar.bz2`; noarch python where files are for site-packages."""
    index = {
        "name": name,
        "version": version,
        "build": build,
        "build_number": number,
        "depends": list(depends),
        "constrains": list(constrains),
        "subdir": subdir,
        "timestamp": MADE_S * 1000,
        **more,
    }
    if subdir == "noarch":
        index["noarch"] = "python" if any(path.startswith("site-packages/") for path in files) else "generic"
    about = _about(index, files, entry_points)
    path = channel / subdir / f"{name}-{version}-{build}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    if suffix == ".tar.bz2":
        path.write_bytes(bz2.compress(_tar({**about, **files}), 1))
    else:
        stem = path.name.removesuffix(suffix)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("metadata.json", json.dumps({"conda_pkg_format_version": 2}))
            archive.writestr(f"pkg-{stem}.tar.zst", _zstd(_tar(files)))
            archive.writestr(f"info-{stem}.tar.zst", _zstd(_tar(about)))
    return path


def _about(index: Mapping[str, Any], files: Mapping[str, File], entry_points: Iterable[str]) -> dict[str, File]:
    paths = []
    for path, file in sorted(files.items()):
        entry: dict[str, Any] = {
            "_path": path,
            "path_type": "softlink" if file.link else "hardlink",
            "sha256": hashlib.sha256(file.data).hexdigest(),
            "size_in_bytes": len(file.data),
        }
        if file.prefix:
            entry |= {"prefix_placeholder": file.prefix, "file_mode": "binary" if file.binary else "text"}
        paths.append(entry)
    about = {
        "info/index.json": File(json.dumps(index).encode()),
        "info/paths.json": File(json.dumps({"paths": paths, "paths_version": 1}).encode()),
    }
    if index.get("noarch") == "python":
        link = {"package_metadata_version": 1, "noarch": {"type": "python", "entry_points": list(entry_points)}}
        about["info/link.json"] = File(json.dumps(link).encode())
    return about


def _tar(files: Mapping[str, File]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, file in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.mode, entry.mtime = file.mode, MADE_S
            if file.link:
                entry.type, entry.linkname = tarfile.SYMTYPE, file.link
            else:
                entry.size = len(file.data)
            archive.addfile(entry, None if file.link else io.BytesIO(file.data))
    return raw.getvalue()


def _zstd(data: bytes) -> bytes:
    """A zstd frame of raw blocks, which needs no compressor: magic, one segment with its size in 8 bytes, blocks."""
    out = [b"\x28\xb5\x2f\xfd\xe0", struct.pack("<Q", len(data))]
    step = 128 * 1024
    for start in range(0, len(data), step) or [0]:
        block = data[start : start + step]
        is_last = start + step >= len(data)
        out.append(struct.pack("<I", len(block) << 3 | is_last)[:3] + block)
    return b"".join(out)


def write_python(channel: Path, subdir: str, label: str = "") -> Path:
    """The running interpreter as a `python` package, on demand with the version number of another one."""
    facts, files = running_python()
    own, said = _minor(facts["version"]), _minor(label or facts["version"])
    if own != said:  # entry points start with `#!PREFIX/bin/python3.5` for a python that says 3.5
        files[f"bin/python{said}"] = File(link=f"python{own}")
    version = label or facts["version"]
    # Where noarch packages go: a system's interpreter may have a place of its own.
    more = {"python_site_packages_path": facts["site"]}
    return write_package(channel, "python", version, files, build="0_cpython", subdir=subdir, **more)


def running_python() -> tuple[dict[str, str], dict[str, File]]:
    """The running interpreter: what it says of itself, and its files, which find each other wherever they stand."""
    facts = json.loads(_ask(_ask(sys.executable, _PROGRAM), _FACTS))
    return facts, _python_files(facts)


_PROGRAM = "import os, sys; print(os.path.realpath(getattr(sys, '_base_executable', None) or sys.executable))"
_FACTS = """
import json, os, sys, sysconfig
site = sysconfig.get_path("purelib", vars={"base": "", "platbase": ""})
library = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
print(json.dumps({"version": "%d.%d.%d" % sys.version_info[:3], "program": os.path.realpath(sys.executable),
                  "modules": os.path.dirname(os.__file__), "library": library, "site": site.lstrip("/")}))
"""


def _ask(python: str, code: str) -> str:
    done = subprocess.run([python, "-I", "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _minor(version: str) -> str:
    return version.rpartition(".")[0]


def _python_files(facts: Mapping[str, str]) -> dict[str, File]:
    name = "python" + _minor(facts["version"])
    program, library = Path(facts["program"]).read_bytes(), Path(facts["library"])
    if ".so" in library.name and library.is_file():
        # It looks for its library where this machine has it; in an environment, and on another machine, beside itself.
        here = os.fsencode(library.parent) + b"\0"
        program = program.replace(here, b"$ORIGIN/../lib".ljust(len(here), b"\0"))
    files = {f"bin/{name}": File(program, 0o755)}
    files |= {"bin/python": File(link=name), "bin/python3": File(link=name)}
    if ".so" in library.name and library.is_file():
        files[f"lib/{library.name}"] = File(library.read_bytes(), 0o755)
    for folder, names, leaves in os.walk(facts["modules"]):
        names[:] = [n for n in names if n not in _LEFT_OUT and not n.startswith("config-")]
        for leaf in leaves:
            path = Path(folder, leaf)
            unwanted = leaf in ("sitecustomize.py", "EXTERNALLY-MANAGED") or path.suffix in (".pyc", ".a", ".exe")
            if not unwanted and path.exists():
                files[f"lib/{name}/{path.relative_to(facts['modules'])}"] = File(path.read_bytes())
    files[facts["site"] + "/README.txt"] = File(b"packages go here\n")
    return files
