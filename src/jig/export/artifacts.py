"""The files of a run as MLflow's artifacts: its outputs as they are, and the record's own files in `jig/`."""

from __future__ import annotations

import os

from jig.runner import tail
from jig.runner.folder import RunFolder
from jig.store import runs

NESTED = "nested"


class Artifacts:
    """Files, each with the artifact folder that it goes to."""

    def __init__(self, folder: RunFolder, nested: str) -> None:
        top = os.path.join("outputs", NESTED, nested) if nested else "outputs"
        found = [name for name in runs.attachments(folder) if name.startswith(top + os.sep)]
        if not nested:
            found = [name for name in found if not _is_nested(name)]
        names = [(runs.artifact_path(folder, name), os.path.relpath(name, top)) for name in found]
        self.listed = [(path, os.path.dirname(name).replace(os.sep, "/")) for path, name in names]
        # A script may have called a folder of its outputs so.
        self.own = "jig" if not any(name.split(os.sep)[0] == "jig" for _, name in names) else "jig-record"
        if not nested:
            kept = [name for name in sorted(os.listdir(folder.path)) if tail.is_kept(name) and name != "plan.json"]
            for path in (os.path.join(folder.path, name) for name in kept):
                self.add_if_any(path)

    def write(self, aside: str, name: str, text: str) -> None:
        """Add a file of the record with this text, made in the folder `aside`."""
        path = os.path.join(aside, name)
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        self.add_if_any(path)

    def add_if_any(self, path: str) -> None:
        """Add a file of the record, unless it is empty."""
        if os.path.getsize(path):
            self.listed.append((path, self.own))

    def digest(self) -> str:
        """Changes when a file does."""
        from hashlib import sha256

        told = sha256()
        for path, folder in self.listed:
            told.update(
                f"{folder}/{os.path.basename(path)}\0{os.path.getsize(path)}\0".encode(errors="surrogateescape")
            )
            told.update(_bytes_digest(path))
        return told.hexdigest()


def _bytes_digest(path: str) -> bytes:
    import hashlib

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _is_nested(name: str) -> bool:
    parts = name.split(os.sep)
    return len(parts) > 3 and parts[1] == NESTED and parts[2].isdigit()
