"""Fetching for a machine that cannot: the files of an environment come here, are checked, and are sent from here."""

from __future__ import annotations

import os
import re

from jig.environments import FILES, Environment, without_secrets
from jig.environments.download import Wanted, download
from jig.errors import PackagesError
from jig.runner import pip_settings
from jig.runner.conda_credentials import Credentials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

# The oldest C libraries that uv can choose wheels for, each as the newest that a machine has.
GLIBC = ("2.17", "2.28", *(f"2.{minor}" for minor in range(31, 41)))
OLDEST_PYTHON = (3, 6)  # for which uv chooses packages
ANY_PYTHON = "3.12"  # for wheels that do not depend on it


def fetch(
    environment: Environment, records: list[dict[str, Any]], question: dict[str, Any], tell: Callable[[str], None]
) -> list[tuple[str, str]]:
    """The files that a machine asks for, by name and SHA-256; PackagesError says in a sentence what cannot be had.

    They lie where `download.place` says.
    """
    if "program" in question:
        return _fetch_program(question, tell)
    tell(f"{' and '.join(map(_host, question['hosts']))} cannot be reached from there: fetching the files here")
    wanted = []
    if "conda" in question:
        credentials = Credentials(environment.channels)
        wanted += [_conda_file(record, credentials) for record in records]
    if "pip" in question:
        wanted += _pip_files(environment, records, question["pip"])
    download(wanted, tell)
    return [(one.name, one.sha256) for one in wanted]


def _fetch_program(question: dict[str, Any], tell: Callable[[str], None]) -> list[tuple[str, str]]:
    """The wheel of a program for a machine of another kind than this; none where that fails, for it may find its own."""
    import subprocess

    from jig.environments.uv import find_uv
    from jig.runner.rattler_tool import VERSION

    line = f"py-rattler=={VERSION}"
    if question["program"] == "uv":
        said = subprocess.run([find_uv(), "--version"], capture_output=True, text=True).stdout.split()
        line = f"uv=={said[1]}" if len(said) > 1 else "uv"
    tell(f"fetching {line.partition('==')[0]} for {question['system']} {question['machine']}")
    try:
        found = _pip_files(Environment("uv", requirements=(line,)), [], {**question, "python": ANY_PYTHON})
        download(found, tell)
    except PackagesError as error:
        tell(error.message)
        return []
    return [(one.name, one.sha256) for one in found]


def _host(place: str) -> str:
    return os.path.dirname(place) if "://" in place else place


def _conda_file(record: dict[str, Any], credentials: Credentials) -> Wanted:
    from urllib.parse import urlsplit

    url, (name, sha256, size) = record["url"], (record["url"].rpartition("/")[2], record["sha256"], record["size"])
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https", "file"):
        raise PackagesError(
            f"{without_secrets(url)} can be fetched by the machine only, which does not reach it",
            "use a channel with an https address",
        )
    headers = credentials.headers(parts.hostname or "", parts.path) or {}
    for channel, mirrors in credentials.mirrors.items():
        if url.startswith(channel.rstrip("/") + "/"):
            url = mirrors[0].rstrip("/") + url[len(channel.rstrip("/")) :]
    return Wanted(name, url, sha256, size, headers.get("Authorization", ""))


def uv_platform(system: str, machine: str, libc: str) -> str:
    """The machine as uv calls it; PackagesError when uv cannot choose wheels for it from here."""
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(machine, machine)
    name, _, version = libc.partition(" ")
    if machine in ("x86_64", "aarch64"):
        if system == "darwin":
            return f"{machine}-apple-darwin"
        if not name:
            return f"{machine}-unknown-linux-musl"
        served = [one for one in GLIBC if _numbers(one) <= _numbers(version)]
        if served:
            return f"{machine}-manylinux_{served[-1].replace('.', '_')}"
    raise PackagesError(
        f"the machine reaches no package index, and wheels for {system} {machine} {libc} cannot be chosen from here",
        "give it access to an index, or use an environment of your own there (userManagedEnvironment: true)",
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _pip_files(environment: Environment, records: list[dict[str, Any]], there: dict[str, str]) -> list[Wanted]:
    """The wheels that uv would install there."""
    import tempfile

    python, platform = there["python"], uv_platform(there["system"], there["machine"], there["libc"])
    if _numbers(python) < OLDEST_PYTHON:
        raise PackagesError(
            f"the machine reaches no package index, and pip packages for Python {python} cannot be chosen from here",
            "use Python 3.6 or newer, or conda packages only",
        )
    with tempfile.TemporaryDirectory() as folder:
        # What conda brings is not fetched, if pip's packages go with it.
        brought = [f"{record['name']}=={record['version']}" for record in records if record["name"] != "python"]
        try:
            found = _compile(environment, folder, python, platform, brought)
        except PackagesError:
            if not brought:
                raise
            found = _compile(environment, folder, python, platform, [])
    indexes = _Logins(environment)
    wanted = [_best(package) for package in found]
    return [
        Wanted(_name(url), url, sha256, 0, indexes.login(url)) for url, sha256 in wanted if not _is_own(url, folder)
    ]


def _compile(
    environment: Environment, folder: str, python: str, platform: str, brought: Sequence[str]
) -> list[dict[str, Any]]:
    """The packages of a standard lock file for that machine: each with the addresses and hashes of its wheels."""
    import subprocess
    import tomllib

    from jig.environments.uv import find_uv
    from jig.runner.uv_output import explain

    environ, home_dir = dict(os.environ), os.path.expanduser("~")
    options = [option for option in environment.options if not _is_there(option.partition(" ")[2])]
    for digest, path in environment.files:
        os.makedirs(os.path.join(folder, digest), exist_ok=True)
        if not os.path.lexists(link := os.path.join(folder, digest, os.path.basename(path))):
            os.symlink(path, link)
    lines = [line.replace(FILES, f"file://{folder}") for line in environment.requirements if "file:///" not in line]
    wanted, limits, out = (os.path.join(folder, name) for name in ("in.txt", "limits.txt", "pylock.toml"))
    for path, rows in ((wanted, pip_settings.uv_lines(environ, home_dir, options) + lines), (limits, brought)):
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write("".join(f"{row}\n" for row in rows))
    argv = [find_uv(), "pip", "compile", "--format", "pylock.toml", "--no-header", "--no-annotate", "--color", "never"]
    argv += ["--no-progress", "--only-binary", ":all:", "--python-platform", platform, "--python-version", python]
    argv += ["--constraint", limits, "--output-file", out, wanted]
    argv += [f"--no-emit-package={line.partition('==')[0]}" for line in brought]
    variables = pip_settings.uv_environment(environ, home_dir, options)
    done = subprocess.run(argv, env=variables, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        why = explain(done.stderr) or f"exit code {done.returncode}"
        raise PackagesError(
            f"the machine reaches no package index, and uv could not choose wheels for it here: {why}",
            "packages that exist as source only cannot be sent to such a machine",
        )
    with open(out, "rb") as file:
        found: list[dict[str, Any]] = tomllib.load(file).get("packages", [])
    return found


def _is_there(value: str) -> bool:
    """Whether an option's value is a place on the machine."""
    return value.startswith(("file:", "/", "~"))


def _is_own(url: str, folder: str) -> bool:
    """Whether it is an archive of the project, which travels anyway."""
    return url.startswith((f"{folder}/", f"file://{folder}/"))


def _best(package: dict[str, Any]) -> tuple[str, str]:
    """Address and hash of the file to take: uv lists all wheels that fit, of which the newest kind is best."""
    files = [package["archive"]] if "archive" in package else package.get("wheels", [])
    if not files:
        raise PackagesError(
            f"{package['name']} exists as source only, and the machine reaches no index to build it with",
            "choose a version that has a wheel, or leave it out",
        )
    best = max(files, key=lambda file: [int(number) for number in re.findall(r"\d+", _tags(file))])
    return best.get("url") or best["path"], best["hashes"]["sha256"]


def _tags(file: dict[str, Any]) -> str:
    """Python and system of a wheel, as its name says."""
    python, _, system = _name(file.get("url") or file["path"]).removesuffix(".whl").split("-")[-3:]
    return f"{python} {system.rpartition('.')[2]}"


def _name(url: str) -> str:
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(url).path.rpartition("/")[2])


class _Logins:
    """User and password for the files of an index: those that its own address holds."""

    def __init__(self, environment: Environment) -> None:
        variables = pip_settings.uv_environment(dict(os.environ), os.path.expanduser("~"), list(environment.options))
        names = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL")
        self._urls = [word for name in names for word in variables.get(name, "").split()]

    def login(self, url: str) -> str:
        """What goes with a request for this address as `Authorization`."""
        from urllib.parse import urlsplit

        host = urlsplit(url).netloc
        for index in self._urls:
            scheme, mark, rest = index.partition("://")
            place = rest.partition("/")[0]
            if "@" in place and place.rpartition("@")[2] == host:
                at_root = f"{scheme.rpartition('=')[2]}{mark}{place}/"
                headers = Credentials([at_root]).headers(urlsplit(url).hostname or "", "/")
                return (headers or {}).get("Authorization", "")
        return ""
