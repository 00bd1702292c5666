"""Conda's way to write packages (`numpy=1.26`, `python >=3.9,<3.12`), read only as far as uv can follow."""

from __future__ import annotations

import re

from jig.environments.requirement import LineRefused
from jig.values import Value

OLDEST = (3, 6)  # uv refuses anything older; it finds 3.6 and 3.7 on a machine, and downloads 3.8 and newer

_NAME = re.compile(r"(?:\S+::)?(?P<name>\w[\w.-]*)\s*(?P<rest>.*)", re.ASCII)
_CLAUSE = re.compile(
    r"\s*(?P<operator>==|!=|>=|<=|~=|=|>|<)?\s*(?P<version>\*|\d[\w.*+!]*)(?:(?:\s*=\s*|\s+)(?P<build>\S+))?\s*",
    re.ASCII,
)
_PYTHON_VERSION = re.compile(r"\d+(\.\d+){0,2}((a|b|rc)\d+)?(\.\*)?")


class Clause(Value):
    """One condition on a version; conda's plain form (`numpy 1.26`) has the operator `=`."""

    operator: str
    version: str


class Package(Value):
    """A conda entry; `clauses` is None where its versions are written in a form that is not read here."""

    name: str
    clauses: tuple[Clause, ...] | None
    build: str = ""


def parse(text: str) -> Package | None:
    """The package that a conda entry names, or None when it names none."""
    found = _NAME.fullmatch(text.strip())
    if found is None:
        return None
    name, rest = found["name"].lower(), found["rest"].strip()
    if not rest:
        return Package(name, ())
    matches = [_CLAUSE.fullmatch(part) for part in rest.split(",")]
    clauses = tuple(Clause(match["operator"] or "=", match["version"]) for match in matches if match)
    builds = [match["build"] for match in matches if match and match["build"]]
    if len(clauses) < len(matches) or (builds and len(matches) > 1):
        return Package(name, None)
    return Package(name, clauses, builds[0] if builds else "")


def python_request(text: str, package: Package) -> str:
    """What to ask uv for; LineRefused when it has no such Python or the entry cannot be read."""
    clauses = package.clauses
    if clauses is None or not all(
        _PYTHON_VERSION.fullmatch(clause.version) or clause == ("=", "*") for clause in clauses
    ):
        raise LineRefused(f"`{text}` is not a Python version that can be read", "write for example `python=3.11`")
    if package.build:
        raise LineRefused(
            f"`{text}` asks for one build of a conda package, and the Python here comes from uv",
            f"write `python={clauses[0].version}`",
        )
    if any(_is_too_old(clause) for clause in clauses):
        raise LineRefused(
            f"`{text}`: uv serves no Python older than {OLDEST[0]}.{OLDEST[1]}, and downloads none older than 3.8",
            "write for example `python=3.11`; the rest of the file may then need newer versions too",
        )
    return _request([clause for clause in clauses if clause.version != "*"])


def _request(clauses: list[Clause]) -> str:
    if len(clauses) == 1:
        operator, version = clauses[0]
        if operator == "=" or (operator == "==" and version.endswith(".*")):
            return version.removesuffix(".*")
    return ",".join(sorted({_specifier(clause) for clause in clauses}))


def _specifier(clause: Clause) -> str:
    """The clause as pip and uv write it."""
    operator, version = clause
    bare = version.removesuffix(".*")
    if operator == "=":
        # conda's `=1.2` is every 1.2.x; of a version with three parts people mean that very one.
        return f"=={bare}" if bare.count(".") >= 2 and bare == version else f"=={bare}.*"
    return operator + (version if operator in ("==", "!=") else bare)


def _is_too_old(clause: Clause) -> bool:
    """Whether no Python that uv serves can satisfy the clause."""
    operator, version = clause
    if version == "*":
        return False
    numbers = tuple(int(part) for part in re.match(r"[\d.]*\d", version)[0].split("."))  # type: ignore[index]
    if operator == "=" or version.endswith(".*"):
        return operator in ("=", "==") and numbers < OLDEST[: len(numbers)]
    if operator == "~=":
        return numbers[:-1] < OLDEST[: len(numbers) - 1]
    if operator == "<":
        return numbers <= OLDEST or numbers == (*OLDEST, 0)
    return operator in ("==", "<=") and numbers < OLDEST
