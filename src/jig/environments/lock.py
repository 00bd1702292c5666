"""The lock beside a conda file: the exact versions and hashes that were found for it, used for as long as it fits."""

from __future__ import annotations

import json
import os
import re

from jig.environments import Environment, fingerprint
from jig.environments.lock_secrets import Secrets
from jig.errors import PackagesError
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

FORMAT = 1
AGAIN = "make it again:  jig environment lock"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_TEXTS = ("name", "version", "build", "subdir", "url", "sha256")  # what every record has


class Lock(Value):
    """What a lock file holds; no password and no token of a URL is in it."""

    meaning: str  # of the conda file that it was made for
    pip: tuple[str, ...]  # requirements with their hashes, for every platform
    conda: dict[str, dict[str, Any]]  # by platform: the virtual packages it was solved for, and the records

    @property
    def digest(self) -> str:
        """A name for the packages that it holds."""
        from hashlib import sha256

        records = {platform: part["records"] for platform, part in self.conda.items()}
        return sha256(json.dumps([self.pip, records], sort_keys=True).encode()).hexdigest()[:32]

    def fits(self, environment: Environment) -> bool:
        """Whether the conda file still means what it meant."""
        return self.meaning == meaning(environment)

    def applied(self, environment: Environment) -> Environment:
        """The environment with the exact versions of this lock, and with the credentials that the file has."""
        put_back = Secrets(environment.requirements).put_back
        locked = environment._replace(requirements=tuple(map(put_back, self.pip)), locked=self.digest)
        return locked._replace(fingerprint=fingerprint(locked))

    def misfit(self, platform: str, virtual: dict[str, str]) -> str:
        """Why the conda packages in it are not for such a machine, as a sentence; empty when they are."""
        if platform not in self.conda:
            return f"the lock holds no conda packages for {platform}"
        from jig.environments.check.versions import fits, numbers
        from jig.environments.conda_packages import parse

        for record in self.conda[platform]["records"]:
            for needed in record.get("depends", ()):
                package = parse(needed) if needed.startswith("__") else None
                if package is None:
                    continue
                there = virtual.get(package.name, "").partition("=")[0]
                version = numbers(there)
                if not there or (version and not fits(package.clauses or (), version)):
                    has = f"has {package.name} {there}" if there else f"has no {package.name}"
                    return f"the lock is for another machine: {record['name']} needs {needed}, and this one {has}"
        return ""


def meaning(environment: Environment) -> str:
    """A name for what the conda file asks for; a new password or signature in a URL does not change it."""
    return fingerprint(environment.shown()._replace(locked=""))


def read(path: str) -> Lock | None:
    """The lock, None when there is none; PackagesError when it cannot be read as one."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return None
    try:
        return _parsed(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = f"{os.path.basename(path)} is not a lock that this version of jig can read ({_why(error)})"
        raise PackagesError(message, AGAIN) from None


def _parsed(found: dict[str, Any]) -> Lock:
    if found["format"] != FORMAT:
        raise ValueError(f"its format is {found['format']!r}")
    lock = Lock(found["for"], tuple(found["pip"]), found["conda"])
    records = [record for part in lock.conda.values() for record in part["records"]]
    texts = [lock.meaning, *lock.pip, *(record[name] for record in records for name in _TEXTS)]
    texts += [text for part in lock.conda.values() for text in part["virtual"].values()]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a part of it is no text")
    for record in records:
        if not _SHA256.fullmatch(record["sha256"]):  # it becomes the name of a file
            raise ValueError(f"{record['sha256']!r} is not a SHA-256")
    return lock


def _why(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def write(path: str, lock: Lock) -> None:
    """Write the lock, one package a line, so that a version control shows what changed."""
    lines = ["{", f' "format": {FORMAT},', f' "for": {json.dumps(lock.meaning)},', ' "pip": [']
    lines += _rows(lock.pip, 2)
    lines += [" ],", ' "conda": {']
    for at, (platform, part) in enumerate(sorted(lock.conda.items())):
        lines += [f"  {json.dumps(platform)}: {{", f'   "virtual": {json.dumps(part["virtual"])},', '   "records": [']
        lines += _rows(part["records"], 4)
        lines += ["   ]", "  }" + ("," if at + 1 < len(lock.conda) else "")]
    lines += [" }", "}"]
    aside = f"{path}.{os.getpid()}"
    try:
        with open(aside, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        os.replace(aside, path)
    except BaseException:
        if os.path.exists(aside):
            os.unlink(aside)
        raise


def _rows(values: Iterable[Any], indent: int) -> list[str]:
    rows = [" " * indent + json.dumps(value) for value in values]
    return [row + "," for row in rows[:-1]] + rows[-1:]


def make(
    environment: Environment,
    platform: str,
    virtual: dict[str, str],
    before: Lock | None,
    tell: Callable[[str], None],
    warn: Callable[[str], None],
    upgrade: bool = False,
) -> Lock:
    """Find the exact versions; those of the lock before are kept where they still fit, unless it is an upgrade.

    Only conda packages need a platform. What the lock before has for other platforms stays, if it fits the file.
    """
    conda = dict(before.conda) if before is not None and before.fits(environment) else {}
    kept = None if upgrade else before
    if environment.kind == "conda":
        from jig.environments.solve import solve

        locked = kept.conda.get(platform, {}).get("records", []) if kept is not None else []
        records = solve(environment, platform, virtual, tell, **({"locked": locked} if locked else {}))
        if all(record["name"] != "python" for record in records):
            raise PackagesError(
                "none of the conda packages is python, which the script needs", "list it in the conda file"
            )
        conda[platform] = {"virtual": virtual, "records": records}
    from jig.environments.lock_pip import resolve

    by_platform = {name: part["records"] for name, part in conda.items()}
    pip = resolve(environment, by_platform, platform, kept.pip if kept is not None else (), tell, warn)
    return Lock(meaning(environment), tuple(map(Secrets(environment.requirements).hide, pip)), conda)
