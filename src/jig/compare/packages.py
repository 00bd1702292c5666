"""The packages that a run really had, and how two such lists differ."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LINE = re.compile(r"(?P<name>[^=\s]+)==(?P<version>\S+)(?P<origin> \(from .+\))?")


def pip(record: dict[str, Any]) -> dict[str, str]:
    """Versions of the pip packages in an environment's record, by name; where one came from a URL, with that."""
    found = {}
    for line in record.get("pip") or ():
        match = _LINE.fullmatch(line) if isinstance(line, str) else None
        if match:
            found[normal(match["name"])] = match["version"] + _lasting(match["origin"] or "")
    return found


def _lasting(origin: str) -> str:
    """A file was only where the environment grew: its path says nothing later."""
    return "" if "file://" in origin else origin


def conda(record: dict[str, Any]) -> dict[str, str]:
    """Versions and builds of the conda packages, by name."""
    rows = [row for row in record.get("conda") or () if isinstance(row, dict)]
    return {str(row.get("name")): f"{row.get('version')} {row.get('build', '')}".rstrip() for row in rows}


def versions(record: dict[str, Any]) -> dict[str, str]:
    """All packages by name; pip's beats conda's of the same name, because it was put over it."""
    return {**conda(record), **pip(record)}


def normal(name: str) -> str:
    """The name as indexes know it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def differences(then: dict[str, str], now: dict[str, str]) -> list[str]:
    """What is not the same, each as a few words."""
    found = []
    for name in sorted(then.keys() | now.keys()):
        if name not in now:
            found.append(f"{name} {then[name]} is missing")
        elif name not in then:
            found.append(f"{name} {now[name]} came along")
        elif then[name] != now[name]:
            found.append(f"{name} {then[name]} → {now[name]}")
    return found
