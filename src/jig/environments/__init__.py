"""Which packages a run needs: the value that says it, and the kinds of environment by name."""

from __future__ import annotations

from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.project import ComputeTarget, CondaSpec

FORMAT = "jig environment 2"  # a change of what is built for the same lines changes this, and so every fingerprint
# The module of each kind is imported when that kind is decided: most runs need one only.
KINDS = {
    "conda": "jig.environments.conda",
    "user": "jig.environments.user",
    "uv": "jig.environments.uv",
}


FILES = "{files}"  # stands in requirements for the folder that holds the project's archives on the machine
LISTS = ("requirements", "options", "channels", "packages")


class Environment(Value):
    """The interpreter and the packages of a run; equal fingerprints mean one and the same folder on a machine."""

    kind: str
    fingerprint: str = ""  # empty for `user`: jig builds nothing
    python: str = ""  # user: pythonLocation as written; uv: what `uv venv --python` is asked for, empty for any
    requirements: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # pip's options that go with the requirements, such as "--index-url https://…"
    prepare: bool = True
    channels: tuple[str, ...] = ()  # conda: addresses, the first that has a package serves it
    packages: tuple[str, ...] = ()  # conda: what is asked for by name
    locked: str = ""  # the hash of the lock file that the exact versions come from
    files: tuple[tuple[str, str], ...] = ()  # archives of the project: SHA-256, and path on this computer

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data; where the files lie on this computer is nobody else's matter."""
        lists = {name: list(getattr(self, name)) for name in LISTS}
        return self._asdict() | lists | {"files": [digest for digest, _ in self.files]}

    def shown(self) -> Environment:
        """The same without what a URL may hold of secrets: user, password, token and query. For plans and records."""
        requirements, options, channels, packages = (tuple(map(without_secrets, getattr(self, name))) for name in LISTS)
        return self._replace(requirements=requirements, options=options, channels=channels, packages=packages)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Environment:
        """The environment that `to_json` wrote; what else a request carries beside it is left out."""
        found = {name: data[name] for name in cls._fields if name in data}  # an older plan may not have all of them
        found["files"] = tuple((digest, "") for digest in found.get("files", ()))
        return cls(**found | {name: tuple(found[name]) for name in LISTS if name in found})


def without_secrets(line: str) -> str:
    """The line with `user:password@`, `/t/token/` and `?query` of its URLs blotted out."""
    if "://" not in line:
        return line
    words = []
    for word in line.split(" "):
        scheme, mark, rest = word.partition("://")
        if mark:
            rest, question, _ = rest.partition("?")
            place, slash, path = rest.partition("/")
            place = "***@" + place.rpartition("@")[2] if "@" in place else place
            before, token, path = f"{slash}{path}".partition("/t/")
            path = f"{before}{token}***/{path.partition('/')[2]}" if token else before
            word = scheme + mark + place + path + (question and "?***")
        words.append(word)
    return " ".join(words)


def decide(target: ComputeTarget, conda: CondaSpec, prepare: bool, root: str = "") -> Environment:
    """The environment of a run on this target: the user's own, or one to build; ProjectError names every fault.

    `root` is the project's folder: relative paths in the file are looked up beside it and there.
    """
    from importlib import import_module

    kind = "user"
    if target.managed:
        from jig.environments.uv import serves

        kind = "uv" if serves(conda) else "conda"
    environment: Environment = import_module(KINDS[kind]).decide(target, conda, prepare, root)
    return environment


def lock_path(conda_file: str) -> str:
    """Where the lock of a conda file lies: beside it."""
    return conda_file.rpartition(".")[0] + ".lock.json"


def fingerprint(environment: Environment) -> str:
    """The name of an environment: the same for the same Python, packages, channels, requirements and options."""
    from hashlib import sha256

    # No line is empty or holds a line break, so that nothing can move from one part to the next unseen.
    lists = [line for name in LISTS for line in (*getattr(environment, name), "")]
    text = "\n".join((FORMAT, environment.kind, environment.python, environment.locked, *lists))
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
