"""The container engine of this machine, spoken to through its `docker` program; every call has a limit of time.

A warm submit makes one call of it: nothing is imported here that takes time.
"""

import os
import sys

from jig.runner.blobs import sha256
from jig.runner.environment import find_program
from jig.runner.manifest import native
from jig.runner.quick_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

ANSWER_S = 20.0
DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
# Where the program is on machines whose ssh logins do not search there.
PLACES = ("/usr/local/bin", "/usr/bin", "/snap/bin", "/opt/homebrew/bin", "~/bin", "~/.docker/bin")
# What the program prints when it did not get as far as asking the engine anything.
UNREACHED = (
    "Cannot connect to the Docker daemon",
    "failed to connect to the docker API",
    "ermission denied while trying to connect",
    "error during connect",
    "Is the docker daemon running",
    "unable to resolve docker endpoint",
    "ontext not found",
    "is not found on the file system",
    "unable to parse docker host",
    "invalid bind address",
    "is too old. Minimum supported API version",
    "is too new. Maximum supported API version",
    "docker.raw.sock",
    "WSL 2 distro",
)
# What sudo prints when it does not start the program.
SUDO_REFUSED = (
    "sudo: a password is required",
    "sudo: a terminal is required",
    "you must have a tty",
    "is not in the sudoers file",
    "is not allowed to execute",
    "may not run sudo",
    "no new privileges",
    "sudo: effective uid is not 0",
)


class EngineFailed(Exception):
    """The engine could not do it: `reason` is one sentence, `hint` says what to do.

    `code` is absent, not-running, permission, timeout, no-image, gpu, mount, disk-full or refused.
    """

    def __init__(self, reason: str, hint: str = "", code: str = "refused") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
        self.code = code


class Said:
    """How a call ended: its exit code, its stdout as bytes, its stderr as text."""

    __slots__ = ("code", "err", "out")

    def __init__(self, code: int, out: bytes, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err


class Engine:
    """One way to talk to an engine: the words that start the program, and where that finds the engine."""

    __slots__ = ("address", "environ", "program")

    def __init__(self, program: "List[str]", address: str, environ: "Optional[Dict[str, str]]" = None) -> None:
        self.program = program
        self.address = address  # empty when it is not known
        self.environ = environ or {}

    def argv(self, *words: str) -> "List[str]":
        """The command that does this."""
        return self.program + list(words)

    def call(self, *words: str, stdin: bytes = b"", timeout_s: float = ANSWER_S) -> Said:
        """Run it to its end; a code that is not 0 is the caller's matter.

        Raises EngineFailed when the engine cannot be reached or has not done it in time.
        """
        said = run(self.argv(*words), self.environ, stdin, timeout_s)
        if self.is_unreached(said):
            raise explain(said.err)
        return said

    def is_unreached(self, said: Said) -> bool:
        """Whether this is a failure to reach the engine, rather than its answer."""
        if not said.code:
            return False
        return any(text in said.err for text in UNREACHED) or self.program[0] == "sudo" and is_sudos(said.err)

    def need(self, *words: str, stdin: bytes = b"", timeout_s: float = ANSWER_S) -> bytes:
        """What it prints; raises EngineFailed when it fails, with the engine's reason."""
        said = self.call(*words, stdin=stdin, timeout_s=timeout_s)
        if said.code:
            raise explain(said.err)
        return said.out

    def facts(self, home: str) -> "Dict[str, Any]":
        """What kind of engine it is; asked once a day, or when the engine was started again, and kept in the home."""
        from jig.runner import engine_facts

        return engine_facts.facts(self, home)


def connect(*words: str, timeout_s: float = ANSWER_S) -> "Tuple[Engine, Said]":
    """Do the first thing with the engine, and so find out how it is reached: as this user, or else through sudo.

    A code that is not 0 is the caller's matter. EngineFailed tells all that was tried.
    """
    docker, where = find_docker(), address()
    ways = [Engine([docker], where)]
    if where.startswith("unix://") and not _is_root() and find_program("sudo", _search_path()):
        chosen = [] if where == DEFAULT_ADDRESS else ["-H", where]  # sudo drops DOCKER_HOST and has another context
        ways.append(Engine(["sudo", "-n", docker] + chosen, where, {"LC_ALL": "C"}))
        path = where[len("unix://") :]
        if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK):
            ways.reverse()  # saves a call that would be refused
    refused: "List[Tuple[str, str]]" = []
    for engine in ways:
        said = run(engine.argv(*words), engine.environ, b"", timeout_s)
        if not engine.is_unreached(said):
            return engine, said
        refused.append((engine.program[0], said.err))
        if "command not found" in said.err and engine.program[2:3] == ["docker"]:  # sudo has a search path of its own
            full = find_program("docker", _search_path())
            ways.insert(len(refused), Engine(["sudo", "-n", full] + engine.program[3:], where, engine.environ))
        elif "ermission denied while trying to connect" not in said.err and not is_sudos(said.err):
            break  # it is not a matter of permission
    from jig.runner import engine_errors

    raise engine_errors.all_tried(refused, where)


def explain(said_err: str) -> EngineFailed:
    """The sentence and the fix for what the engine, or the program, printed as it failed."""
    from jig.runner import engine_errors

    return engine_errors.explain(said_err)


def is_sudos(err: str) -> bool:
    """Whether it was sudo that refused."""
    if any(text in err for text in SUDO_REFUSED):
        return True
    lines = [line for line in err.splitlines() if line.strip() and "unable to resolve host" not in line]  # a warning
    return bool(lines) and all(line.startswith("sudo: ") for line in lines)  # no word of docker's: it was not started


def home_key(home: str) -> str:
    """A short hash that labels in the engine what this jig home made; another machine's home has another one."""
    text = native("%s\n%s" % (os.path.realpath(home), _machine_id()))
    return str(sha256(len(text), text).hexdigest()[:16])


def probe_labels(home: str) -> "List[str]":
    """What tells `clean` that a probe of this jig home is a leftover."""
    return ["--label", "jig.probe=1", "--label", "jig.home=" + home_key(home)]


def _machine_id() -> str:
    try:
        with open("/etc/machine-id") as file:
            return file.read().strip()
    except OSError:  # this system has none: the path alone must do
        return ""


def find_docker() -> str:
    """The word that starts the program: `docker`, or its full path where that is not in the search path."""
    if find_program("docker", _search_path()):
        return "docker"
    found = find_program("docker", os.pathsep.join(os.path.expanduser(place) for place in PLACES))
    if found:
        return found
    from jig.runner import engine_errors

    raise engine_errors.no_program()


def _is_root() -> bool:
    return os.name == "nt" or os.getuid() == 0  # type: ignore[attr-defined,unused-ignore]


def _search_path() -> str:
    return os.environ.get("PATH", os.defpath)


def address() -> str:
    """Where the program looks for the engine: DOCKER_HOST, its context, or the usual socket; empty if unknown."""
    host = os.environ.get("DOCKER_HOST")
    if host:
        return host
    folder = os.environ.get("DOCKER_CONFIG") or os.path.expanduser("~/.docker")
    context = os.environ.get("DOCKER_CONTEXT") or str(_json(folder, "config.json").get("currentContext", ""))
    if context in ("", "default"):
        return DEFAULT_ADDRESS
    name = native(context)
    meta = _json(folder, "contexts", "meta", sha256(len(name), name).hexdigest(), "meta.json")
    return str(meta.get("Endpoints", {}).get("docker", {}).get("Host", ""))


def _json(*parts: str) -> "Dict[str, Any]":
    try:
        with open(os.path.join(*parts), "rb") as file:
            found = loads(file.read())
    except (OSError, ValueError):  # the program itself complains of it
        return {}
    return found if isinstance(found, dict) else {}


def run(argv: "List[str]", environ: "Dict[str, str]", stdin: bytes, timeout_s: float) -> Said:
    """Run the program to its end; EngineFailed when it is not there, or takes longer than it may."""
    if sys.platform == "win32":
        raise EngineFailed("containers are not started on Windows yet", "start them inside WSL", "absent")
    from jig.runner import engine_call

    try:
        done = engine_call.run(argv, environ, stdin, timeout_s)
    except OSError as error:
        raise EngineFailed("%s cannot be started: %s" % (argv[0], error.strerror), "", "absent")
    if done is None:
        from jig.runner import engine_errors

        raise engine_errors.too_slow(argv, timeout_s)
    code, out, err = done
    return Said(code, out, err.decode("utf-8", "replace"))
