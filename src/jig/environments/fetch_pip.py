"""The wheels of an environment for another machine: chosen by uv as if it were there."""

from __future__ import annotations

import os
import re
import sys

from jig.environments import FILES, Environment
from jig.environments.download import Wanted
from jig.environments.lock_pip import MARK, OLDEST, brought_by_conda, limits_of, write_stand_in
from jig.errors import PackagesError
from jig.runner.conda_credentials import Credentials
from jig.runner.pip_settings import PipSettingsUnreadable, file_url_path, uv_environment, uv_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The C libraries that uv has a name for: a machine gets the newest that is not newer than its own.
GLIBC = ("2.17", "2.28", *(f"2.{minor}" for minor in range(31, 41)))
_INDEXES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL")


def wheels(environment: Environment, records: list[dict[str, Any]], there: dict[str, str]) -> list[Wanted]:
    """What pip packages of the environment need there; PackagesError says in a sentence what has no wheel.

    `there` are Python, system, processor and C library. Archives of the project are left out: they travel anyway.
    """
    import tempfile

    python, platform = there["python"], uv_platform(there["system"], there["machine"], there["libc"])
    if _numbers(python) < OLDEST:
        raise PackagesError(
            f"the machine reaches no package index, and pip packages for Python {python} cannot be chosen from here",
            "use Python 3.6 or newer, or conda packages only",
        )
    options = [option for option in environment.options if not _is_there(option.partition(" ")[2])]
    try:
        variables = uv_environment(dict(os.environ), os.path.expanduser("~"), options)
        lines = uv_lines(dict(os.environ), os.path.expanduser("~"), options)
    except PipSettingsUnreadable as error:
        raise PackagesError(str(error)) from None
    brought = brought_by_conda(records, environment.requirements)
    with tempfile.TemporaryDirectory() as folder:
        lines += _requirements(environment, folder)
        # What conda brings is not fetched, if the pip packages go with it.
        try:
            found = _compile(folder, _beside_conda(folder, brought) + lines, variables, python, platform)
        except PackagesError:
            if not brought:
                raise
            found = _compile(folder, lines, variables, python, platform)
    own, indexes = dict(environment.files), [url for name in _INDEXES for url in variables.get(name, "").split()]
    files = [_best(package) for package in found if not package.get("version", "").endswith(MARK)]
    return [Wanted(_name(url), url, digest, 0, login(url, indexes)) for url, digest in files if digest not in own]


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


def _is_there(value: str) -> bool:
    """Whether an option's value is a place on the machine."""
    return value.startswith(("file:", "/", "~"))


def _requirements(environment: Environment, folder: str) -> list[str]:
    """What is asked for, with the project's archives laid out; a file of the machine's own cannot be looked into."""
    for digest, path in environment.files:
        os.makedirs(os.path.join(folder, digest))
        os.symlink(path, os.path.join(folder, digest, os.path.basename(path)))
    base = "file://" + file_url_path(os.path.realpath(folder))
    return [line.replace(FILES, base) for line in environment.requirements if "file:///" not in line]


def _beside_conda(folder: str, brought: dict[str, str]) -> list[str]:
    """The lines that leave to conda what it brings."""
    if not brought:
        return []
    os.makedirs(os.path.join(folder, "conda"), exist_ok=True)
    for name, version in brought.items():
        write_stand_in(os.path.join(folder, "conda"), name, version)
    with open(os.path.join(folder, "conda", "limits.txt"), "w") as file:
        file.writelines(line + "\n" for line in limits_of({"there": brought}))
    place = os.path.join(os.path.realpath(folder), "conda")
    return [f"--find-links file://{file_url_path(place)}", f"--constraint {place}/limits.txt"]


def _compile(
    folder: str, lines: list[str], variables: dict[str, str], python: str, platform: str
) -> list[dict[str, Any]]:
    """The packages of a standard lock file for that machine: each with the addresses and hashes of its wheels."""
    import subprocess
    import tomllib

    from jig.environments.uv import find_uv
    from jig.runner.uv_output import explain

    wanted, out = (os.path.join(folder, name) for name in ("in.txt", "pylock.toml"))
    with open(wanted, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(line + "\n" for line in lines)
    argv = [find_uv(), "pip", "compile", "--format", "pylock.toml", "--no-header", "--no-annotate", "--no-progress"]
    argv += ["--color", "never", "--only-binary", ":all:", "--python-platform", platform, "--python-version", python]
    argv += ["--python", sys.executable, "--output-file", out, wanted]  # no other interpreter is looked for
    done = subprocess.run(argv, env=variables, cwd="/", capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        why = explain(done.stderr) or f"exit code {done.returncode}"
        raise PackagesError(
            f"the machine reaches no package index, and uv could not choose wheels for it here: {why}",
            "packages that exist as source only cannot be sent to such a machine",
        )
    with open(out, "rb") as locked:
        found: list[dict[str, Any]] = tomllib.load(locked).get("packages", [])
    return found


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
    parts = _name(file.get("url") or file["path"]).removesuffix(".whl").split("-")[-3:]
    return f"{parts[0]} {parts[-1].rpartition('.')[2]}"


def _name(url: str) -> str:
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(url).path.rpartition("/")[2])


def login(url: str, indexes: list[str]) -> str:
    """What goes with a request for this file as `Authorization`: what the address of an index of its host holds."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    for index in indexes:
        scheme, mark, rest = index.partition("://")
        place = rest.partition("/")[0]
        if "@" in place and place.rpartition("@")[2] == parts.netloc:
            at_root = f"{scheme.rpartition('=')[2]}{mark}{place}/"  # an index may have a name: NAME=https://…
            return (Credentials([at_root]).headers(parts.hostname or "", "/") or {}).get("Authorization", "")
    return ""
