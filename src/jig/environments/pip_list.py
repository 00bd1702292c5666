"""The `pip:` list of a conda file: requirements, and the options that go with them."""

from __future__ import annotations

import re

from jig.environments.requirement import LineRefused, normalize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

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
_OTHER_FILE = "the environment is what this file says, and another file could change unseen"
_REFUSED = {
    "--constraint": (_OTHER_FILE, "write the versions of that file here"),
    "--editable": (
        "an editable install ties the environment to a folder that changes",
        "keep the code in the project folder, where the script can import it, or name a wheel by its URL",
    ),
    "--requirement": (_OTHER_FILE, "write the lines of that file here"),
}


class PipList:
    """What the entries read so far ask for."""

    def __init__(self) -> None:
        self._requirements: set[str] = set()
        self._options: dict[str, list[str]] = {name: [] for name in (*_WITH_VALUE, *_FLAGS)}

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
            self._requirements.add(normalize(text))

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
