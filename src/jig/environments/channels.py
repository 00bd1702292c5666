"""Conda's channels: the names that files use, as the addresses that they stand for."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.project.yaml import Node

ALIAS = "https://conda.anaconda.org"
DEFAULTS = ("https://repo.anaconda.com/pkgs/main", "https://repo.anaconda.com/pkgs/r")
WHEN_NONE = "conda-forge"


class Settings:
    """What a person's conda is told about channels: `~/.condarc` (or $CONDARC's file), and $CONDA_CHANNEL_ALIAS."""

    def __init__(self) -> None:
        found = _condarc()
        alias = os.environ.get("CONDA_CHANNEL_ALIAS") or found.get("channel_alias")
        self._alias = str(alias or ALIAS).rstrip("/")
        defaults = found.get("default_channels")
        self._defaults = tuple(map(str, defaults)) if isinstance(defaults, list) and defaults else DEFAULTS
        custom = found.get("custom_channels")
        self._custom = {str(name): str(base) for name, base in custom.items()} if isinstance(custom, dict) else {}

    def address(self, name: str) -> str:
        """The address of one channel."""
        if "://" in name:
            return name.rstrip("/")
        if os.path.isabs(name):
            from urllib.parse import quote

            return "file://" + quote(name.rstrip("/"))
        base = self._custom.get(name.partition("/")[0], self._alias)
        return f"{base.rstrip('/')}/{name.strip('/')}"

    def addresses(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The addresses of a file's channels, in their order: `defaults` only when the file names it."""
        found: list[str] = []
        for name in names:
            if name == "nodefaults":
                continue
            found += [self.address(one) for one in self._defaults] if name == "defaults" else [self.address(name)]
        return tuple(dict.fromkeys(found)) or (self.address(WHEN_NONE),)


def _condarc() -> dict[str, Any]:
    """The person's settings for conda; none when there is no such file, or when it cannot be read as one."""
    path = os.environ.get("CONDARC") or os.path.expanduser("~/.condarc")
    if not os.path.isfile(path):
        return {}
    from jig.errors import ProjectError
    from jig.project import yaml
    from jig.runner.folder import default_home

    try:
        root, _ = yaml.read(path, os.path.join(default_home(), "cache", "yaml"))
    except ProjectError:  # conda would not read it either
        return {}
    found = _plain(root) if root is not None else {}
    return found if isinstance(found, dict) else {}


def _plain(node: Node) -> Any:
    from jig.project.yaml import LIST, MAP

    if node.kind == MAP:
        return {key.text: _plain(value) for key, value in node.pairs()}
    if node.kind == LIST:
        return [_plain(item) for item in node.children]
    return node.text or None
