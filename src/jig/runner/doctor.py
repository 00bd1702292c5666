"""What a run would find on this machine, its GPUs first: facts, gathered in one answer. `jig.doctor` judges them.

Every question is asked at once, in a child of its own with a limit of time: a driver, a disk or an engine that hangs
is told as one that does not answer.
"""

import os
import sys

assert sys.platform != "win32"

from jig.runner import at_once, builds, engine_gpu_lacks, probe, probe_engine
from jig.runner.environment import find_program
from jig.runner.folder import Home
from jig.runner.virtual_packages import machine_platform

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

QUICK_S = 5.0
PACKAGES_S = 20.0
ENGINE_S = 60.0  # the first time, each way to a GPU is tried with a container
SHARED_MEMORY = "/dev/shm"
NODES = "/dev"


def facts(
    home: Home,
    container: "Optional[Dict[str, str]]",
    environment: "Optional[Dict[str, Any]]",
    spark: "Optional[Dict[str, Any]]" = None,
) -> "Dict[str, Any]":
    """Everything in one answer. `late` has the questions that went unanswered, with the seconds they were given;
    `failed` those that the system refused, with its words.

    `container` is what a probe asks of an engine, `environment` the one that the run is to have, `spark` what it would
    tell Spark; None: not asked.
    """
    from jig.runner.gpu.look import look

    answers, late, failed = at_once.ask(
        {
            "disk": (QUICK_S, lambda: probe.disk(home)),
            "nodes": (QUICK_S, nodes),
            "without_driver": (QUICK_S, without_driver),
            "shared_memory_bytes": (QUICK_S, shared_memory),
            "logout": (4 * QUICK_S, probe.logout),
            "virtual": (QUICK_S, lambda: machine_platform()["virtual"]),
            "look": (2 * QUICK_S, lambda: look(QUICK_S)),
            "engine": (ENGINE_S, lambda: probe_engine.look(home.path, container)),
            "packages": (PACKAGES_S, lambda: packages(home, container, environment)),
            "spark": (PACKAGES_S, lambda: sparks(home, environment, spark)),
        }
    )
    engine = answers.pop("engine") if "engine" in answers else _silent_engine(failed.get("engine"))
    found = dict(probe.machine(home), docker=engine["docker"], late=late, failed=failed)
    found.update(answers.pop("disk", {"free_bytes": None, "writable": True}))
    found.update(answers)
    found.setdefault("logout", "survive")
    found.setdefault("virtual", {})
    found["gpus"] = _as_smi(found.get("look"))
    if container is not None:
        found["engine"] = engine
    import time

    found["time"] = time.time()  # last: between the client's question and its answer
    return found


def _silent_engine(reason: "Optional[str]") -> "Dict[str, Any]":
    if reason:
        return {"docker": "not usable", "error": "it could not be asked: " + reason, "hint": "", "code": ""}
    from jig.runner.engine_errors import too_slow

    failure = too_slow(["docker", "version"], ENGINE_S)
    return {"docker": "not usable", "error": failure.reason, "hint": failure.hint, "code": failure.code}


def nodes() -> "List[Dict[str, Any]]":
    """The device files of the driver, and whether this user may open them."""
    names = sorted(name for name in os.listdir(NODES) if _is_node(name))
    found = []
    for name in names:
        path = os.path.join(NODES, name)
        try:
            status = os.stat(path)
        except FileNotFoundError:  # gone this moment
            continue
        usable = os.access(path, os.R_OK | os.W_OK)
        found.append({"path": path, "mode": status.st_mode & 0o777, "group": _group(status.st_gid), "usable": usable})
    return found


def _is_node(name: str) -> bool:
    number = name[len("nvidia") :]
    return name in ("nvidiactl", "nvidia-uvm", "dxg") or name.startswith("nvidia") and number.isdigit()


def _group(number: int) -> str:
    import grp

    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def without_driver() -> "Dict[str, Any]":
    """What tells of a driver that is not at work: a card (None: the system does not tell), and its programs."""
    path = os.environ.get("PATH", os.defpath) + engine_gpu_lacks.PLACES
    return {"card": engine_gpu_lacks.has_card(), "smi": bool(find_program("nvidia-smi", path))}


def shared_memory() -> "Optional[int]":
    """The size of what processes share data through; None where there is no such folder."""
    try:
        found = os.statvfs(SHARED_MEMORY)
    except OSError:
        return None
    return found.f_blocks * found.f_frsize


def _as_smi(look: "Optional[Dict[str, Any]]") -> "List[Dict[str, str]]":
    """The devices as `probe.gpus` tells them, for who remembers what a machine has."""
    devices = look["devices"] if look else []
    return [
        {
            "name": device["name"],
            "uuid": device["uuid"],
            "driver_version": look["driver"] if look else "",
            "memory.total": "%d MiB" % ((device["memory_bytes"] or 0) >> 20),
        }
        for device in devices
    ]


def packages(
    home: Home, container: "Optional[Dict[str, str]]", environment: "Optional[Dict[str, Any]]"
) -> "Dict[str, Any]":
    """The Python of the run, and the frameworks in it; `prepared` is False for one that is still to be built."""
    if environment is None:
        return {}
    from jig.runner.engine import EngineFailed
    from jig.runner.environment import EnvironmentFailed, NotStarted

    try:
        if container is not None:
            return _in_image(home, container, environment)
        return _in_folder(home, environment)
    except (EngineFailed, EnvironmentFailed, NotStarted) as failure:
        return {"prepared": False, "error": failure.reason, "hint": failure.hint}


def sparks(home: Home, environment: "Optional[Dict[str, Any]]", spark: "Optional[Dict[str, Any]]") -> "Dict[str, Any]":
    """The Spark of the run, and its Java; a Python that cannot be asked is told by `packages`."""
    if environment is None or spark is None:
        return {}
    from jig.runner import spark_look
    from jig.runner.environment import EnvironmentFailed, NotStarted

    try:
        return spark_look.look(home, environment, spark)
    except (EnvironmentFailed, NotStarted):
        return {}


def _in_folder(home: Home, environment: "Dict[str, Any]") -> "Dict[str, Any]":
    from jig.runner import engine_call, env_store
    from jig.runner.environment import NotStarted, find, find_user_python

    if environment["kind"] == "user":
        place = ""
        python = find_user_python(environment["python"], os.environ.get("PATH", os.defpath))
    else:
        place = find(environment, home.path)
        python = os.path.join(place, env_store.PYTHON)
        if not place:
            return {"prepared": False}
    try:
        said = engine_call.run([python, "-"], {}, _program(), QUICK_S)
    except OSError as error:
        raise NotStarted("%s cannot be started: %s" % (python, error.strerror))
    found = {"prepared": True, "python": python, "bytes": env_store.size(place) if place else None}
    if said is None:
        raise NotStarted("%s has not answered within %g s" % (python, QUICK_S))
    return dict(found, **_read(python, said[0], said[1], said[2].decode("utf-8", "replace")))


def _in_image(home: Home, container: "Dict[str, str]", environment: "Dict[str, Any]") -> "Dict[str, Any]":
    from jig.runner import image, image_facts
    from jig.runner.engine import probe_labels

    seen = image.look(home.path, container, environment)
    variables = dict(pair.partition("=")[::2] for pair in (seen.config.get("Config") or {}).get("Env") or ())
    found = {"prepared": bool(seen.image_id), "image_cuda": variables.get("CUDA_VERSION", "")}
    if not seen.image_id:
        return found
    facts = image_facts.of(seen.engine, home.path, seen.image_id) or {}
    python = seen.python or image_facts.find_python(seen, facts)
    words = ["run", "--rm", "-i", "--network", "none", "--log-driver", "none"] + probe_labels(home.path)
    words += ["--entrypoint", python, seen.image_id, "-"]
    said = seen.engine.call(*words, stdin=_program(), timeout_s=PACKAGES_S / 2)
    return dict(found, python=python, **_read(python, said.code, said.out, said.err))


def _program() -> bytes:
    with open(builds.__file__, "rb") as file:
        return file.read()


def _read(python: str, code: int, out: bytes, err: str) -> "Dict[str, Any]":
    """What the program found; its last line, for an interpreter may have been told to greet."""
    from jig.runner.environment import NotStarted
    from jig.runner.quick_json import loads

    lines = out.splitlines()
    if code or not lines:
        last = (err.splitlines() or [""])[-1]
        raise NotStarted("%s does not run a script (it ended with %d: %s)" % (python, code, last))
    return dict(loads(lines[-1]))
