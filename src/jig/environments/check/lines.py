"""The entries of a conda file, conda's and pip's alike, as the checks look at them."""

from __future__ import annotations

import os
import re

from jig.environments import conda_packages, without_secrets
from jig.environments.check import ERROR, Remark
from jig.environments.conda_packages import Clause
from jig.environments.pip_list import PipList
from jig.environments.requirement import LineRefused, normal_name
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.project import CondaSpec
    from jig.project.dependencies import Requirement

# What `normalize` makes of a requirement.
_NAMED = re.compile(r"(?P<name>[a-z0-9-]+)(?:\[(?P<extras>[^\]]*)\])?(?: @ (?P<url>\S+)|(?P<versions>(?:[=<>!~]\S*)?))")
_CONDITION = re.compile(r"(===|==|!=|>=|<=|~=|>|<)(.+)")
_FREE_CHANNELS = ("conda-forge", "nodefaults")


class Line(Value):
    """An entry that asks for a package."""

    number: int
    text: str  # as written, without secrets
    is_pip: bool
    name: str  # as package indexes compare it; empty where a URL does not tell
    clauses: tuple[Clause, ...] | None = ()
    build: str = ""
    extras: tuple[str, ...] = ()
    url: str = ""
    has_marker: bool = False

    @property
    def file(self) -> str:
        """The name of the file that a URL leads to."""
        from urllib.parse import unquote

        return unquote(self.url.partition("#")[0].partition("?")[0].rpartition("/")[2])

    @property
    def shown_url(self) -> str:
        """The URL without what it may hold of secrets."""
        return without_secrets(self.url.partition("#")[0].partition("?")[0])


class Option(Value):
    """One of pip's options, in an entry of its own."""

    number: int
    name: str
    value: str

    @property
    def text(self) -> str:
        """The option without what its value may hold of secrets."""
        return f"{self.name} {without_secrets(self.value.partition('?')[0])}".rstrip()


class Content(Value):
    """What the file asks for, and what in it could not be read."""

    lines: tuple[Line, ...]
    options: tuple[Option, ...]
    channels: tuple[str, ...]
    unread: tuple[Remark, ...]

    @property
    def is_from_conda_forge(self) -> bool:
        """Whether conda's packages can come from conda-forge only, which is also meant when no channel is named."""
        named = any("::" in line.text for line in self.lines if not line.is_pip)
        return not named and all(channel in _FREE_CHANNELS for channel in self.channels)

    def named(self, *names: str) -> tuple[Line, ...]:
        """The lines that ask for one of these packages."""
        return tuple(line for line in self.lines if line.name in names)


def read(conda: CondaSpec, root: str) -> Content:
    """The lines of the file, and of those that it names with `-r`; what cannot be read becomes a remark."""
    lines, options, unread = [], [], []
    places = (os.path.join(root, os.path.dirname(conda.file)), root) if root else ()
    for entry in conda.packages:
        package = conda_packages.parse(entry.text)
        if package is None:
            message = f"`{without_secrets(entry.text)}` is not a package that can be read"
            unread.append(Remark(ERROR, entry.line, message, "write a name, and a version after it"))
        else:
            name = normal_name(package.name)
            lines.append(Line(entry.line, without_secrets(entry.text), False, name, package.clauses, package.build))
    for entry in conda.pip:
        pip = PipList(places)
        try:
            pip.add(entry.text)
        except LineRefused as refused:
            unread.append(Remark(ERROR, entry.line, without_secrets(refused.message), without_secrets(refused.fix)))
        lines += [_pip_line(entry, requirement) for requirement in pip.requirements]
        options += [Option(entry.line, *_halves(option)) for option in pip.options]
    return Content(tuple(lines), tuple(options), conda.channels, tuple(unread))


def _halves(option: str) -> tuple[str, str]:
    name, _, value = option.partition(" ")
    return name, value


def _pip_line(entry: Requirement, requirement: str) -> Line:
    text = requirement if entry.text.startswith("-") else entry.text  # one of a file that `-r` names
    line = Line(entry.line, without_secrets(text), True, "", has_marker=" ; " in requirement)
    body = re.split(r" ; | --hash=", requirement)[0]
    named = _NAMED.fullmatch(body)
    if named is None:  # a URL alone: a wheel's file name tells the rest
        line = line._replace(url=body)
        name, _, rest = line.file.partition("-")
        is_wheel = line.file.lower().endswith(".whl") and "-" in rest
        clauses = (Clause("==", rest.partition("-")[0]),)
        return line._replace(name=normal_name(name), clauses=clauses) if is_wheel else line
    found = [_CONDITION.fullmatch(part) for part in (named["versions"] or "").split(",")]
    return line._replace(
        name=named["name"],
        clauses=tuple(Clause(condition[1], condition[2]) for condition in found if condition),
        extras=tuple((named["extras"] or "").split(",")) if named["extras"] else (),
        url=named["url"] or "",
    )
