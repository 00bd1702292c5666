"""Which packages a run needs: the value that says it, and the kinds of environment by name."""

from __future__ import annotations

from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.project import ComputeTarget, CondaSpec

# The module of each kind is imported when that kind is decided: most runs need one only.
KINDS = {
    "user": "jig.environments.user",
    "uv": "jig.environments.uv",
}


class Environment(Value):
    """The interpreter and the packages of a run; equal fingerprints mean one and the same folder on a machine."""

    kind: str
    fingerprint: str = ""  # empty for `user`: jig builds nothing
    python: str = ""  # user: pythonLocation as written; uv: what `uv venv --python` is asked for, empty for any
    requirements: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # pip's options that go with the requirements, such as "--index-url https://…"
    prepare: bool = True

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        return self._asdict() | {"requirements": list(self.requirements), "options": list(self.options)}

    def shown(self) -> Environment:
        """The same without what a URL may hold of secrets: user, password and query. For plans and records."""
        requirements = tuple(_without_secrets(line) for line in self.requirements)
        return self._replace(requirements=requirements, options=tuple(_without_secrets(line) for line in self.options))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Environment:
        """The environment that `to_json` wrote; what else a request carries beside it is left out."""
        lists = {name: tuple(data[name]) for name in ("requirements", "options")}
        return cls(**{name: data[name] for name in cls._fields} | lists)


def _without_secrets(line: str) -> str:
    """The line with `user:password@` and `?query` of its URLs blotted out."""
    if "://" not in line:
        return line
    words = []
    for word in line.split(" "):
        scheme, mark, rest = word.partition("://")
        if mark:
            place, slash, path = rest.partition("/")
            place = "***@" + place.rpartition("@")[2] if "@" in place else place
            path = path.partition("?")[0] + "?***" if "?" in path else path
            word = scheme + mark + place + slash + path
        words.append(word)
    return " ".join(words)


def decide(target: ComputeTarget, conda: CondaSpec, prepare: bool) -> Environment:
    """The environment of a run on this target: the user's own, or one to build; ProjectError names every fault."""
    from importlib import import_module

    kind = "uv" if target.managed else "user"
    environment: Environment = import_module(KINDS[kind]).decide(target, conda, prepare)
    return environment
