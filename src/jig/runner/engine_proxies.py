"""Proxies that a person has set for containers: the docker program would write them into each one, passwords too."""

import os

from jig.runner.quick_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY")
# The same in the settings of the docker program.
_IN_SETTINGS = ("httpProxy", "httpsProxy", "ftpProxy", "allProxy", "noProxy")


def _docker_settings() -> "Dict[str, Dict[str, str]]":
    folder = os.environ.get("DOCKER_CONFIG") or os.path.expanduser("~/.docker")
    try:
        with open(os.path.join(folder, "config.json"), "rb") as file:
            found = loads(file.read())
    except (OSError, ValueError):  # the docker program itself complains of it
        return {}
    proxies = found.get("proxies") if isinstance(found, dict) else None
    return proxies if isinstance(proxies, dict) else {}


def docker_proxies() -> "Dict[str, str]":
    """The proxies that this user has set for containers."""
    default = _docker_settings().get("default") or {}
    return {name: default[key] for name, key in zip(PROXIES, _IN_SETTINGS) if default.get(key)}


def no_proxies(base: "Dict[str, str]", sudo: bool) -> "List[str]":
    """The words that keep the docker program from putting its user's proxies, and their passwords, into a container.

    `base` are the variables of the base image, which stay as they are.
    """
    if not sudo and not _docker_settings():  # whose settings sudo's are nobody can see
        return []
    words: "List[str]" = []
    for name in [spelled for proxy in PROXIES for spelled in (proxy, proxy.lower())]:
        if name in base:
            words += ["--env", "%s=%s" % (name, base[name])]
        else:  # without a value it is taken away, but for one that the docker program has itself
            words += ["--env", name + "=" if name in os.environ and not sudo else name]
    return words
