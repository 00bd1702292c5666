"""Exact versions and hashes of pip packages, found by uv for every platform at once."""

from __future__ import annotations

import os
import re
import sys

from jig.environments import FILES
from jig.environments.check.repeats import SAME
from jig.environments.check.versions import fits, numbers, satisfiable
from jig.environments.conda_packages import Clause
from jig.environments.requirement import normal_name
from jig.errors import PackagesError
from jig.runner.pip_settings import PipSettingsUnreadable, file_url_path, uv_environment, uv_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from jig.environments import Environment

    Records = list[dict[str, Any]]

OLDEST = (3, 6)  # uv finds no versions for older Pythons
MARK = "+conda"  # the version of a package that conda brings, as uv is shown it: no index has one like it
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")
_NAMED = re.compile(r"(?P<name>[a-z0-9-]+)(?P<extras>\[[^\]]*\])?(?P<versions>([=<>!~][^ ]*)?)(?P<url> @ \S+)?")
_CLAUSE = re.compile(r"(===|==|!=|>=|<=|~=|>|<)(.+)")
_FILE = re.compile(r"(?P<name>[A-Za-z0-9][\w.]*(?:-[A-Za-z][\w.]*)*)-\d")
_HASH = re.compile(r" --hash=(\S+)")
_SYSTEMS = {"osx": "darwin", "win": "win32"}
_MACHINES = {"64": "x86_64", "32": "i686"}


def resolve(
    environment: Environment,
    conda: Mapping[str, Records],
    platform: str,
    before: Iterable[str],
    tell: Callable[[str], None],
    warn: Callable[[str], None],
) -> tuple[str, ...]:
    """Exact requirements with hashes; versions of `before` are kept where they fit. PackagesError says what does not.

    `conda` are the conda packages by platform: what they bring is left to them.
    """
    asked = environment.requirements
    if not asked:
        return ()
    python = next((one["version"] for one in conda.get(platform, ()) if one["name"] == "python"), "")
    if python and (numbers(python) or OLDEST) < OLDEST:
        warn(f"uv finds no versions for Python {python}: the pip packages stay as the file has them")
        return asked
    tell(f"resolving {len(asked)} pip package{'' if len(asked) == 1 else 's'}")
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        base = "file://" + file_url_path(os.path.realpath(folder))
        for digest, path in environment.files:
            os.makedirs(os.path.join(folder, digest))
            os.symlink(path, os.path.join(folder, digest, os.path.basename(path)))
        brought = {name: brought_by_conda(records, asked) for name, records in conda.items()}
        for name, version in {pair for packages in brought.values() for pair in packages.items()}:
            write_stand_in(folder, name, version)
        limits = _write(folder, "limits.txt", limits_of(brought))
        lines = [f"--find-links {base}", f"--constraint {limits}"] if any(brought.values()) else []
        lines += [line.replace(FILES, base) for line in asked]
        out = _write(folder, "out.txt", [_HASH.sub("", line) for line in before if " @ " not in line])
        _compile(environment, _write(folder, "in.txt", lines), out, python or _oldest(environment.python))
        with open(out, encoding="utf-8") as file:
            found = file.read().replace("\\\n", " ").splitlines()
    exact = (" ".join(line.split()).replace(base, FILES) for line in found if line[:1] not in ("", "#", "-"))
    return _with_own_hashes([line for line in exact if not line.split(" ")[0].endswith(MARK)], asked)


def _compile(environment: Environment, wanted: str, out: str, python: str) -> None:
    """Have uv write the exact versions into the file `out`, where those to keep stand already."""
    import subprocess

    from jig.environments.uv import find_uv
    from jig.runner.uv_output import explain

    uv, home, options = find_uv(), os.path.expanduser("~"), environment.options
    if not uv:
        raise PackagesError("there is no uv on this computer, which finds the versions", "install it:  pip install uv")
    argv = [uv, "pip", "compile", "--universal", "--generate-hashes", "--no-header", "--no-annotate", "--no-progress"]
    argv += ["--color", "never", "--python", sys.executable, "--output-file", out, wanted]
    argv += ["--python-version", python] if python else []
    # Of one Python the newest versions for it will do; of several, each has newest versions of its own.
    argv += [
        "--fork-strategy",
        "fewest" if environment.kind == "conda" or _is_one(environment.python) else "requires-python",
    ]
    try:
        environ = uv_environment(dict(os.environ), home, options)
        with open(wanted, "a", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in uv_lines(dict(os.environ), home, options))
    except PipSettingsUnreadable as error:
        raise PackagesError(str(error)) from None
    done = subprocess.run(argv, env=environ, cwd="/", capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        why = explain(done.stderr) or f"exit code {done.returncode}"
        raise PackagesError(f"uv could not find versions that fit together: {why}")


def _write(folder: str, name: str, lines: Iterable[str]) -> str:
    """A file that only we can read, for a URL may hold a password; returns its path."""
    path = os.path.join(folder, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)
    return path


def _is_one(request: str) -> bool:
    """Whether the request is for one series of Python, such as 3.11."""
    return "." in request and (request[:1].isdigit() or (request.startswith("==") and "," not in request))


def _oldest(request: str) -> str:
    """The oldest Python that uv may take for this request; empty for this one, where the request does not say."""
    if request[:1].isdigit():
        return request if "." in request else ""
    clauses = tuple(Clause(*found.groups()) for found in map(_CLAUSE.fullmatch, request.split(",")) if found)
    if len(clauses) == 1 and clauses[0].operator == "==" and "*" not in clauses[0].version:
        return clauses[0].version
    minors = list(range(OLDEST[1], sys.version_info[1] + 1))
    if all(clause.operator in ("<", "<=", "!=") for clause in clauses):
        minors.reverse()  # there is no oldest: the newest that is not newer than this one
    series = (f"3.{minor}" for minor in (*minors, *range(sys.version_info[1] + 1, 40)))
    return next((one for one in series if clauses and satisfiable((*clauses, Clause("=", one)))), "")


def brought_by_conda(records: Records, asked: Iterable[str]) -> dict[str, str]:
    """The versions of the Python packages that conda brings, by pip's names.

    One of which the pip list asks for another version is not among them: pip installs over it.
    """
    found = {}
    for record in records:
        depends = [str(one).partition(" ")[0] for one in record.get("depends", ())]
        is_python_package = record["name"] != "python" and ("python" in depends or record.get("noarch") == "python")
        if is_python_package and _VERSION.fullmatch(record["version"]):
            name = normal_name(record["name"])
            found[SAME.get(name, name)] = record["version"]
    for name, clauses in map(_wanted, asked):
        if name in found and (clauses is None or not fits(clauses, numbers(found[name]) or (0,))):
            del found[name]
    return found


def _wanted(requirement: str) -> tuple[str, tuple[Clause, ...] | None]:
    """The name and the conditions of a requirement; None for one that only an index or a URL can meet."""
    body = re.split(r" ; | --hash=", requirement)[0]
    named = _NAMED.fullmatch(body)
    if named is None:
        file = _FILE.match(body.partition("?")[0].partition("#")[0].rpartition("/")[2])
        return (normal_name(file["name"]) if file else ""), None
    clauses = (_CLAUSE.fullmatch(part) for part in named["versions"].split(","))
    is_plain = not named["extras"] and not named["url"]
    return named["name"], tuple(Clause(*found.groups()) for found in clauses if found) if is_plain else None


def limits_of(brought: dict[str, dict[str, str]]) -> list[str]:
    """Constraints that leave to conda what it brings, on each platform."""
    lines = []
    for name in sorted({name for packages in brought.values() for name in packages}):
        versions = {platform: packages.get(name, "") for platform, packages in brought.items()}
        every = sorted(set(versions.values()) - {""})
        if len(set(versions.values())) == 1:
            lines.append(f"{name}=={every[0]}{MARK}")
            continue
        none = ",".join(f"!={version}{MARK}" for version in every)
        for platform, version in versions.items():
            lines.append(f"{name}{f'=={version}{MARK}' if version else none} ; {_marker(platform)}")
    return lines


def _marker(platform: str) -> str:
    """A platform of conda's as a condition of pip's."""
    system, _, machine = platform.partition("-")
    machine = "AMD64" if platform == "win-64" else _MACHINES.get(machine, machine)
    return f"sys_platform == '{_SYSTEMS.get(system, system)}' and platform_machine == '{machine}'"


def write_stand_in(folder: str, name: str, version: str) -> None:
    """A wheel that stands for what conda brings: it needs nothing more, and it is in no index."""
    import zipfile

    start = f"{name.replace('-', '_')}-{version}{MARK}"
    with zipfile.ZipFile(os.path.join(folder, f"{start}-py3-none-any.whl"), "w") as wheel:
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}{MARK}\n"
        wheel.writestr(f"{start}.dist-info/METADATA", about)
        wheel.writestr(f"{start}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{start}.dist-info/RECORD", "")


def _with_own_hashes(lines: Iterable[str], asked: Iterable[str]) -> tuple[str, ...]:
    """The lines with no other hashes than those that the conda file has, where it has some."""
    own: dict[str, set[str]] = {}
    for requirement in asked:
        own.setdefault(_wanted(requirement)[0], set()).update(_HASH.findall(requirement))
    found = []
    for line in lines:
        name = re.split(r"\[| @ |==", line)[0]
        hashes = own.get(name)
        if hashes:
            kinds = {value.partition(":")[0] for value in hashes}
            there = {value for value in _HASH.findall(line) if value.partition(":")[0] in kinds}
            if there and not there & hashes:
                raise PackagesError(f"no file of {name} that can be had has the hash that the conda file asks for")
            line = _HASH.sub("", line) + "".join(f" --hash={value}" for value in sorted(there & hashes or hashes))
        found.append(line)
    return tuple(found)
