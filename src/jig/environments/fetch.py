"""Fetching for a machine that cannot: the files of an environment come here, are checked, and are sent from here."""

from __future__ import annotations

import os

from jig.environments import Environment, without_secrets
from jig.environments.download import Wanted, download
from jig.errors import PackagesError
from jig.runner.conda_credentials import Credentials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ANY_PYTHON = "3.12"  # for wheels that do not depend on it


def fetch(
    environment: Environment, records: list[dict[str, Any]], question: dict[str, Any], tell: Callable[[str], None]
) -> list[tuple[str, str]]:
    """The files that a machine asks for, by name and SHA-256; PackagesError says in a sentence what cannot be had.

    They lie where `download.place` says.
    """
    if "program" in question:
        return _fetch_program(question, tell)
    tell(f"{' and '.join(map(_shown, question['hosts']))} cannot be reached from there: fetching the files here")
    wanted = []
    if "conda" in question:
        credentials = Credentials(environment.channels)
        wanted += [_conda_file(record, credentials) for record in records]
    if "pip" in question:
        from jig.environments import fetch_pip

        wanted += fetch_pip.wheels(environment, records, question["pip"])
    download(wanted, tell)
    return [(one.name, one.sha256) for one in wanted]


def _shown(host: str) -> str:
    """The host, or the folder of a file."""
    return os.path.dirname(host) if "://" in host else host


def _conda_file(record: dict[str, Any], credentials: Credentials) -> Wanted:
    from urllib.parse import urlsplit

    url, parts = record["url"], urlsplit(record["url"])
    if parts.scheme not in ("http", "https", "file"):
        raise PackagesError(
            f"{without_secrets(url)} can be fetched by the machine only, which does not reach it",
            "use a channel with an https address",
        )
    name, headers = url.rpartition("/")[2], credentials.headers(parts.hostname or "", parts.path) or {}
    for channel, mirrors in credentials.mirrors.items():
        if url.startswith(channel.rstrip("/") + "/"):
            url = mirrors[0].rstrip("/") + url[len(channel.rstrip("/")) :]
    return Wanted(name, url, record["sha256"], record.get("size") or 0, headers.get("Authorization", ""))


def _fetch_program(question: dict[str, Any], tell: Callable[[str], None]) -> list[tuple[str, str]]:
    """The wheel of a program for a machine of another kind than this; none where that fails: it may find its own."""
    import subprocess

    from jig.environments import fetch_pip
    from jig.environments.uv import find_uv
    from jig.runner.rattler_tool import VERSION

    line = f"py-rattler=={VERSION}"
    if question["program"] == "uv":
        said = subprocess.run([find_uv(), "--version"], capture_output=True, text=True).stdout.split()
        line = f"uv=={said[1]}" if len(said) > 1 else "uv"
    tell(f"fetching {line.partition('==')[0]} for {question['system']} {question['machine']}")
    try:
        found = fetch_pip.wheels(Environment("uv", requirements=(line,)), [], {**question, "python": ANY_PYTHON})
        download(found, tell)
    except PackagesError as error:
        tell(error.message)
        return []
    return [(one.name, one.sha256) for one in found]
