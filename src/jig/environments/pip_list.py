"""The `pip:` list of a conda file: requirements, and the options that go with them."""

from __future__ import annotations

import os
import re

from jig.environments import FILES
from jig.environments.requirement import LineRefused, is_archive, normalize
from jig.errors import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from jig.project import CondaSpec

_COMMENT = re.compile(r"(^|\s+)#.*$")

_WITH_VALUE = ("--index-url", "--extra-index-url", "--find-links", "--trusted-host")
_FLAGS = ("--no-index", "--pre")
_LONG_NAMES = {
    "-c": "--constraint",
    "-e": "--editable",
    "-f": "--find-links",
    "-i": "--index-url",
    "-r": "--requirement",
}
DEEPEST = 5  # requirement files that name each other
_REFUSED = {
    "--constraint": ("only `-r` may name another file", "write the versions of that file here"),
    "--editable": (
        "an editable install ties the environment to a folder that changes",
        "keep the code in the project folder, where the script can import it, or name a wheel by its URL",
    ),
}


class PipList:
    """What the entries read so far ask for. Relative paths are looked up in `places`, folders of this computer."""

    def __init__(self, places: tuple[str, ...] = ()) -> None:
        self._places = places
        self._depth = 0
        self._requirements: set[str] = set()
        self._options: dict[str, list[str]] = {name: [] for name in (*_WITH_VALUE, *_FLAGS)}
        self.files: dict[str, str] = {}  # the SHA-256 of a file that travels with the environment, and its path here

    @property
    def requirements(self) -> tuple[str, ...]:
        """In an order that does not depend on the file's."""
        return tuple(sorted(self._requirements))

    @property
    def options(self) -> tuple[str, ...]:
        """By name; within a name as written, for indexes are searched in that order."""
        return tuple(f"{name} {value}".rstrip() for name, values in self._options.items() for value in values)

    def add(self, entry: str) -> None:
        """Read one entry; LineRefused when it is not something that uv can be given."""
        text = entry.strip()
        if any(ord(c) < 32 and c != "\t" or ord(c) == 127 for c in text):
            raise LineRefused("an entry holds a line break or another control character", "write one entry per line")
        text = _COMMENT.sub("", text)
        if text.startswith("-"):
            self._add_options(text)
        elif text:
            self._requirements.add(self._local_file(text) or normalize(text))

    def _local_file(self, text: str) -> str:
        """The line for an archive that lies in the project: it travels along, under the hash of its content."""
        if "://" in text or text.startswith(("/", "~")) or not is_archive(text):
            return ""
        path = self._find(text)
        if not path:
            return ""
        import hashlib
        from urllib.parse import quote

        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self.files[digest] = path
        return f"{FILES}/{digest}/{quote(os.path.basename(path))}"

    def _find(self, path: str) -> str:
        found = (os.path.join(place, path) for place in self._places)
        return next((path for path in found if os.path.isfile(path)), "")

    def _add_file(self, name: str) -> None:
        """Read the lines of another requirements file, as if they stood here."""
        path = self._find(name)
        if not path:
            where = " or ".join(self._places) or "the project"
            raise LineRefused(f"`-r {name}`: there is no such file in {where}", "name it from the conda file's folder")
        if self._depth >= DEEPEST:
            raise LineRefused(f"`-r {name}`: files that name each other {DEEPEST} deep", "write the lines here")
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().replace("\\\n", " ").splitlines()
        places, self._depth = self._places, self._depth + 1
        self._places = (os.path.dirname(path), *places)  # what it names lies beside it, as with pip
        try:
            for line in lines:
                self.add(line)
        finally:
            self._places, self._depth = places, self._depth - 1

    def _add_options(self, text: str) -> None:
        from shlex import split  # pip reads option lines so

        try:
            words = split(text)
        except ValueError as error:
            raise LineRefused(f"`{text}` cannot be read: {error}", "close the quotation") from error
        while words:
            name, equals, value = words.pop(0).partition("=")
            if not name.startswith("--") and len(name) > 2:  # -ihttps://…
                name, equals, value = name[:2], "=", name[2:] + equals + value
            written, name = name, _LONG_NAMES.get(name, name)
            if name == "--requirement":
                value = value if equals else (words.pop(0) if words else "")
                if not value:
                    raise LineRefused("`-r` has no value", "write the file's name in the same entry")
                self._add_file(value)
                continue
            if name in _FLAGS and equals:
                raise LineRefused(f"`{name}` takes no value", f"write `{name}` alone")
            if name not in _FLAGS and name not in _WITH_VALUE:
                _refuse(written, name)
            if name in _WITH_VALUE:
                value = value if equals else (words.pop(0) if words else "")
                _check_value(name, value)
            self._add_option(name, value)

    def _add_option(self, name: str, value: str) -> None:
        values = self._options[name]
        if name == "--index-url":  # of several the last counts, as with pip
            values.clear()
        if value not in values:
            values.append(value)


def read_pip(conda: CondaSpec, root: str) -> tuple[PipList, list[Fault]]:
    """The `pip:` list of a project's conda file, and a fault for every entry that uv cannot be given."""
    pip, faults = PipList((os.path.join(root, os.path.dirname(conda.file)), root) if root else ()), []
    for entry in conda.pip:
        try:
            pip.add(entry.text)
        except LineRefused as refused:
            faults.append(Fault(conda.file, entry.line, "pip", refused.message, refused.fix))
    return pip, faults


def _check_value(name: str, value: str) -> None:
    if not value or value.startswith("-"):
        raise LineRefused(f"`{name}` has no value", f"write it in the same entry: `{name} …`")
    if any(c.isspace() for c in value):
        raise LineRefused(
            f"`{name}` has a value with a space in it", "write %20 for each space, and file:// before a path"
        )
    is_anchored = "://" in value or value.startswith(("file:/", "/", "~", "${"))
    if name != "--trusted-host" and not is_anchored:
        raise LineRefused(
            f"`{name} {value}` is a relative path, and the environment is not built in the project folder",
            "write a URL, or a full path on the machine that runs it",
        )


def _refuse(written: str, name: str) -> NoReturn:
    if name in _REFUSED:
        why, fix = _REFUSED[name]
        raise LineRefused(f"`{written}` cannot stand here: {why}", fix)
    from jig.errors import nearest

    known = (*_WITH_VALUE, *_FLAGS)
    meant = nearest(name, known)
    raise LineRefused(
        f"`{name}` is not an option that can stand here; these can: {', '.join(known)}",
        f"did you mean `{meant}`?" if meant else "",
    )
