"""Whether this machine reaches the places that an environment's packages come from, asked of all of them at once."""

import os
import re
import sys
import time

from jig.runner import pip_settings
from jig.runner.environment import EnvironmentFailed, libc

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

DEADLINE_S = 2.0
PYPI, PYPI_FILES = "https://pypi.org/simple", "https://files.pythonhosted.org"
_URL = re.compile(r"https?://[^\s\"'#]+")


def out_of_reach(
    environment: "Dict[str, Any]", home: str, inside: "Optional[Callable[[], Dict[str, Any]]]" = None
) -> "Dict[str, Any]":
    """What the client would have to fetch for us, and the hosts that do not answer; nothing when all of them do.

    `conda` asks for the files of the records; `pip` says for which Python and which system wheels are wanted. `inside`
    gives the facts of the image in which the environment will be, and is asked only when they are needed.
    """
    variables, pip = _pip_sources(environment)
    conda = [record["url"] for record in environment.get("records", [])]
    gone = unreachable(pip + conda, variables)
    question = {}  # type: Dict[str, Any]
    if any(place_of(url, variables) in gone for url in conda):
        question["conda"] = True
    if any(place_of(url, variables) in gone for url in pip):
        facts = inside() if inside else {}
        python = _python_inside(environment, facts) if inside else _python_version(environment, home, variables)
        if not python:  # the builder will say so
            return {}
        system = about_system()
        question["pip"] = dict(system, libc=facts.get("libc", system["libc"]), python=python)
    if question:
        question["hosts"] = sorted({host for host, _ in gone})
    return question


def about_system() -> "Dict[str, str]":
    """What decides which wheels can be used here."""
    return {"system": sys.platform, "machine": os.uname().machine, "libc": libc()}


def _pip_sources(environment: "Dict[str, Any]") -> "Tuple[Dict[str, str], List[str]]":
    """The variables that uv would be started with, and every address that it would go to."""
    environ, home_dir, options = dict(os.environ), os.path.expanduser("~"), environment["options"]
    try:
        variables = pip_settings.uv_environment(environ, home_dir, options)
        lines = pip_settings.uv_lines(environ, home_dir, options)
    except pip_settings.PipSettingsUnreadable:  # the builder fails with that sentence
        return environ, []
    if not environment["requirements"]:
        return variables, []
    found = []  # type: List[str]
    if "--no-index" not in lines and not variables.get("UV_NO_INDEX"):
        default = variables.get("UV_DEFAULT_INDEX") or variables.get("UV_INDEX_URL")
        more = (variables.get("UV_INDEX") or variables.get("UV_EXTRA_INDEX_URL") or "").split()
        in_files = [url for line in pip_settings.uv_settings(environ, home_dir) for url in _URL.findall(line)]
        found += more + in_files + ([default] if default else [] if in_files else [PYPI])
        found += [PYPI_FILES for url in found if "//pypi.org/" in url]
    found += lines + variables.get("UV_FIND_LINKS", "").replace(",", " ").split() + environment["requirements"]
    return variables, [url for text in found for url in _URL.findall(text)]


def place_of(url: str, variables: "Dict[str, str]") -> "Tuple[str, int]":
    """Whom to ask in order to get this file: a host, or the proxy before it. For a file of this machine: itself."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            return url, 0
        proxy = _proxy(parts.scheme, parts.hostname or "", variables)
        if proxy:
            parts = urlsplit(proxy if "://" in proxy else "http://" + proxy)
        return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:  # no such address can be: whoever goes there says so
        return url, 0


def _proxy(scheme: str, host: str, variables: "Dict[str, str]") -> str:
    def variable(name: str) -> str:
        return variables.get(name) or variables.get(name.upper()) or ""

    for name in variable("no_proxy").replace(",", " ").split():
        if name == "*" or ("." + host).endswith("." + name.lstrip(".")):
            return ""
    return variable(scheme + "_proxy") or variable("all_proxy")


def unreachable(urls: "List[str]", variables: "Dict[str, str]") -> "Set[Tuple[str, int]]":
    """The places of these addresses that do not answer within two seconds."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    gone, children = set(), {}  # type: Set[Tuple[str, int]], Dict[int, Tuple[str, int]]
    for place in sorted({place_of(url, variables) for url in urls}):
        if place[1]:
            children[_knock(place)] = place
        elif place[0].startswith("file:") and not os.path.exists(url2pathname(urlsplit(place[0]).path)):
            gone.add(place)  # a folder of the client's
    deadline_s = time.monotonic() + DEADLINE_S
    for pid, ended in _ends(sorted(children), deadline_s):
        if not ended:
            gone.add(children[pid])
    return gone


def _knock(place: "Tuple[str, int]") -> int:
    """Start a process that ends well when somebody answers there; looking up a name cannot be given up otherwise."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        import signal
        import socket

        signal.alarm(int(DEADLINE_S) + 2)  # for the case that nobody waits for us any more
        socket.create_connection(place, DEADLINE_S).close()
        code = 0
    except (OSError, UnicodeError):
        pass
    finally:
        os._exit(code)


def _ends(pids: "List[int]", deadline_s: float) -> "Iterator[Tuple[int, bool]]":
    """Each process as it ends, and whether it ended well; those that are late are killed."""
    import signal

    while pids:
        for pid in list(pids):
            if time.monotonic() > deadline_s:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                ended, status = pid, 1
            else:
                ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                pids.remove(pid)
                yield pid, status == 0
        time.sleep(0.005)


def _python_inside(environment: "Dict[str, Any]", facts: "Dict[str, Any]") -> str:
    """The same for an environment in an image: its own Python where that will do, else the one that is asked for."""
    wanted = environment["python"]
    found = [str(record["version"]) for record in environment.get("records", []) if record["name"] == "python"]
    if environment["kind"] != "conda":
        found += [about["version"] for about in facts["pythons"].values() if fits(about["version"], wanted)]
        found += [wanted] if re.match(r"\d+\.\d+(\.\d+)?$", wanted) else []
    return found[0] if found else ""


def fits(version: str, wanted: str) -> bool:
    """Whether a version of Python is what uv is asked for: `3.11`, or conditions such as `>=3.9,<3.12`."""
    have = [int(part) for part in re.findall(r"\d+", version)][:3]
    for condition in wanted.split(",") if wanted else ():
        found = re.match(r"(==|!=|>=|<=|~=|>|<|)(\d+(?:\.\d+)*)(\.\*)?$", condition.strip())
        if not found:
            return False
        operator, given, star = found.groups()
        parts = [int(part) for part in given.split(".")]
        within = have[: len(parts) - (operator == "~=")] == parts[: len(parts) - (operator == "~=")]
        same = within if star or not operator else have == (parts + [0, 0])[:3]
        answers = {
            "": same,
            "==": same,
            "!=": not same,
            ">=": have >= parts,
            "<=": have <= parts or have == (parts + [0, 0])[:3],
            "~=": within and have >= parts,
            ">": have > (parts + [0, 0])[:3],
            "<": have < parts,
        }
        if not answers[operator]:
            return False
    return bool(have)


def _python_version(environment: "Dict[str, Any]", home: str, variables: "Dict[str, str]") -> str:
    """The version of the Python that the environment will have; empty when there is none here."""
    for record in environment.get("records", []):
        if record["name"] == "python":
            return str(record["version"])
    if environment["kind"] == "conda":
        return ""
    from jig.runner import uv_build

    try:
        uv = uv_build.find_uv(environment, home)
    except EnvironmentFailed:
        return ""
    variables = dict(variables, UV_OFFLINE="1", **uv_build.storage(home, os.path.expanduser("~"), dict(os.environ)))
    wanted = [environment["python"]] if environment["python"] else []
    python = _said([uv, "python", "find", "--no-project", "--system"] + wanted, variables)
    return _said([python, "-I", "-S", "-c", "import platform; print(platform.python_version())"], variables)


def _said(argv: "List[str]", variables: "Dict[str, str]") -> str:
    """What a program prints; nothing when there is no such program, or when it fails."""
    import subprocess

    null = subprocess.DEVNULL
    try:
        done = subprocess.run(argv, env=variables, cwd="/", stdin=null, stdout=subprocess.PIPE, stderr=null)
    except OSError:
        return ""
    return os.fsdecode(done.stdout).strip() if done.returncode == 0 else ""
