"""The environment that a run really had, as something to build again: its record turned into a lock. Pure."""

from __future__ import annotations

import re

from jig.environments import LISTS, Environment, fingerprint, without_secrets
from jig.environments.lock import Lock
from jig.environments.requirement import normal_name
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_INSTALLED = re.compile(r"(?P<name>[^=\s]+)==(?P<version>\S+?)(?: \(from (?P<origin>.+)\))?")
_NO_VERSION = re.compile(r"there (?:is|are) no versions? of ([A-Za-z0-9_.-]+?)(?:\[[^\]]*\])?==")
_NOT_FOUND = re.compile(r"(?:Because )?([A-Za-z0-9_.-]+) was not found in the ")
_NO_WHEEL = re.compile(r"Because ([A-Za-z0-9_.-]+)==\S+ has no (?:wheels|usable)")
_NO_PYTHON = ("No interpreter found", "no such Python", "No download found", "no Python")
STARS = "***"


class Again(Value):
    """An environment to build again, and what of it had to be let go."""

    environment: Environment
    lock: Lock | None
    free: tuple[str, ...] = ()  # packages whose version could not be had

    def without(self, message: str, asked: tuple[str, ...]) -> Again | None:
        """The next best after this refusal; None when nothing can be let go of that it complains about."""
        python = self.environment.python
        if any(words in message for words in _NO_PYTHON) and python.count(".") >= 2:
            return rebuilt(self._replace(environment=self.environment._replace(python=series(python))))
        for pattern in (_NO_VERSION, _NOT_FOUND, _NO_WHEEL):
            for name in map(normal_name, pattern.findall(message)):
                lines = [line for line in self.environment.requirements if _name(line) == name]
                if lines and name not in self.free:
                    loose = [line for line in asked if _name(line) == name and line not in lines] or [name]
                    kept = [line for line in self.environment.requirements if line not in lines]
                    free = self.environment._replace(requirements=tuple(sorted([*kept, *loose])))
                    return rebuilt(self._replace(environment=free, free=(*self.free, name)))
        return None


def again(asked: Environment, record: dict[str, Any]) -> Again:
    """What to build so that it has what the record says; without a record, what the run had asked for."""
    if not record or asked.kind == "user":
        return Again(asked, None)
    lines = asked.requirements if asked.locked else tuple(sorted(pinned(record.get("pip") or (), asked.requirements)))
    python = str(record.get("python") or "") if asked.kind == "uv" else asked.python
    return rebuilt(
        Again(asked._replace(requirements=lines, python=python or asked.python, prepare=True), _lock(record))
    )


def rebuilt(found: Again) -> Again:
    """The same with a lock and a fingerprint that stand for exactly these lines."""
    lock = (found.lock or Lock("", (), {}))._replace(pip=found.environment.requirements)
    environment = found.environment._replace(locked=lock.digest)
    return found._replace(environment=environment._replace(fingerprint=fingerprint(environment)), lock=lock)


def _lock(record: dict[str, Any]) -> Lock:
    """The conda packages as a lock has them, for the platform that they are of."""
    records = [row for row in record.get("conda") or () if isinstance(row, dict)]
    platforms = [str(row.get("subdir")) for row in records if row.get("subdir") not in (None, "noarch")]
    return Lock("", (), {platforms[0]: {"virtual": {}, "records": records}} if platforms else {})


def series(python: str) -> str:
    """`3.11` of `3.11.7`."""
    return ".".join(python.split(".")[:2])


def pinned(installed: Iterable[str], asked: Iterable[str]) -> list[str]:
    """A requirement for each package that was installed: of exactly that version, or of that file."""
    asked = tuple(asked)
    lines = []
    for text in installed:
        found = _INSTALLED.fullmatch(text)
        if found is None:
            continue
        origin = found["origin"] or ""
        if origin.startswith("git+"):
            lines.append(f"{normal_name(found['name'])} @ {origin}")
            continue
        same_file = [line for line in asked if origin and _file(line) == _file(origin)]
        lines += same_file[:1] or [f"{normal_name(found['name'])}=={found['version']}"]
    return lines


def _file(line: str) -> str:
    """The name of the archive that a line or an address ends with; empty when it names none."""
    words = [word for word in line.split(" ") if "://" in word or word.startswith("{files}/")]
    return words[0].partition("?")[0].partition("#")[0].rpartition("/")[2] if words else ""


def _name(line: str) -> str:
    return normal_name(re.split(r"[\s\[=<>!~;@]", line, maxsplit=1)[0])


def with_secrets(environment: Environment, texts: Iterable[str]) -> Environment:
    """The environment with what was blotted out of its addresses, found again in the files that had them."""
    lists = {name: getattr(environment, name) for name in LISTS}
    if not any(STARS in line for lines in lists.values() for line in lines):
        return environment
    known = {}
    for text in texts:
        for word in re.findall(r"[^\s'\"]+://[^\s'\"]+", text):
            shown = without_secrets(word)
            if shown != word:
                known[shown] = word

    def put_back(line: str) -> str:
        return " ".join(known.get(word, word) for word in line.split(" "))

    requirements, options, channels, packages = (tuple(map(put_back, lines)) for lines in lists.values())
    return environment._replace(requirements=requirements, options=options, channels=channels, packages=packages)


def lacks_secrets(environment: Environment) -> bool:
    """Whether an address still has stars where a login or a token was."""
    return any(STARS in line for name in LISTS for line in getattr(environment, name))
