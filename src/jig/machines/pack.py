"""The part of jig that goes to a machine: collected from this installation, named by its content."""

from __future__ import annotations

import os

import jig
from jig.digest import name_of
from jig.runner.folder import make_private

# Not by jig.__file__: inside a run that is the part of jig that the script was given.
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# (folder in this installation, folder in the pack): the runner's own, and what a script may import.
RUNNER_PARTS = (("runner", "jig/runner"), ("runner/gpu", "jig/runner/gpu"), ("system", "jig/system"))
SCRIPT_PARTS = (
    ("script", "script"),
    ("track", "script/jig/track"),
    ("script/azureml", "script/azureml"),
    ("script/jig_mlflow", "script/jig_mlflow"),
    ("script/jig_spark", "script/jig_spark"),
    ("script/jig_ranks", "script/jig_ranks"),
    ("script/jig_ranks/start", "script/jig_ranks/start"),
    ("../onebit", "script/onebit"),
    ("script/jig_kernel", "script/jig_kernel"),
)
# What init in a container has in common with the guard, and a kernel's end of the way with the client's.
SHARED = {"script/jig_door.py": "runner/mlflow_door.py", "script/jig_kernel/carry.py": "runner/carry.py"}
# A script that has jig itself installed still finds the rest of it behind the part that it is given.
SCRIPT_INIT = b'\n__path__ = __import__("pkgutil").extend_path(__path__, __name__)\n'
RUNNER_INIT = b'"""The part of jig that lives on a machine."""\n'


def contents() -> dict[str, str]:
    """Path in the pack → file of this installation."""
    files = {"script/jig/__init__.py": os.path.join(ROOT, "__init__.py")}
    files.update((place, os.path.join(ROOT, source)) for place, source in SHARED.items())
    for source, place in RUNNER_PARTS + SCRIPT_PARTS:
        for name in os.listdir(os.path.join(ROOT, source)):
            if name.endswith((".py", ".c")):
                files[f"{place}/{name}"] = os.path.join(ROOT, source, name)
    return files


def install(home: str) -> str:
    """Lay the pack out under a jig home on this machine, once per content; returns its folder."""
    place = os.path.join(home, "runner", stat_key())
    if os.path.isdir(place):
        return place
    import shutil

    make_private(os.path.dirname(place))
    aside = f"{place}.{os.getpid()}"
    for path, data in _packed().items():
        os.makedirs(os.path.dirname(os.path.join(aside, path)), exist_ok=True)
        with open(os.path.join(aside, path), "wb") as file:
            file.write(data)
    try:
        os.rename(aside, place)
    except OSError:  # somebody else put the same pack there first
        shutil.rmtree(aside)
        if not os.path.isdir(place):
            raise
    return place


def content_id() -> str:
    """A name for exactly these files, the same on every computer with this version."""
    from hashlib import sha256

    global _content_id
    if not _content_id:
        digest = sha256()
        for path, data in sorted(_packed().items()):
            digest.update(f"{path} {len(data)}\n".encode() + data)
        _content_id = f"{jig.__version__}-{digest.hexdigest()[:16]}"
    return _content_id


_content_id = ""


def _packed() -> dict[str, bytes]:
    """Path in the pack → its bytes."""
    packed = {"jig/__init__.py": RUNNER_INIT}
    for path, source in contents().items():
        with open(source, "rb") as file:
            packed[path] = file.read() + (SCRIPT_INIT if path == "script/jig/__init__.py" else b"")
    return packed


def archive(folder: str) -> bytes:
    """The pack as a compressed tar archive whose files lie below `folder`."""
    import io
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=6) as tar:
        for path, data in sorted(_packed().items()):
            entry = tarfile.TarInfo(f"{folder}/{path}")
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def stat_key() -> str:
    """A name that changes whenever a file of this installation does, made without reading any of them."""
    lines = []
    for path, source in sorted(contents().items()):
        status = os.stat(source)
        lines.append(f"{path} {status.st_size} {status.st_mtime_ns}\n")
    return f"{jig.__version__}-{name_of(''.join(lines).encode(), 6)}"
