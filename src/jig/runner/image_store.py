"""What this jig home has made in the machine's engine: which images there are, and removing what no living run uses.

Containers and images are known by the label `jig.home`. An image that a person makes from one of ours inherits its
labels, so ours are those that bear jig's own comment too; and a name that a person has given to one is not taken away.
"""

import os
import sys
import time

from jig.runner.engine import EngineFailed, connect, explain, home_key
from jig.runner.folder import Home
from jig.runner.image_words import (
    BUILD_LABEL,
    ENVIRONMENT_LABEL,
    HOME_LABEL,
    PACKAGES_LABEL,
    REPOSITORY,
    VERSION_LABEL,
)
from jig.runner.quick_json import loads

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from jig.runner.engine import Engine

RUN_LABEL, PROBE_LABEL = "jig.run", "jig.probe"
COMMENT = "jig environment "
ENGINE_S = 120.0  # removing a large image from a slow disk takes long
FORGOTTEN_S = 600.0  # a probe lives for seconds: one of this age was left by a process that was killed


def clean(home: Home, older_than_s: "Optional[float]") -> "Dict[str, Any]":
    """Remove containers that nobody owns any more, forgotten probes, and environments not used for so long; None: none.

    Returns how many `containers` went, the names of the `images`, and the bytes `freed`; `error` when the engine could
    not be asked.
    """
    done = {"containers": 0, "images": [], "freed": 0}  # type: Dict[str, Any]
    if not was_used(home.path):
        return done
    try:
        engine = _reach()
        for about in _inspect(engine, "container", home.path, "--all"):
            if _is_dead(home, about):
                said = engine.call("rm", "-f", "-v", about["Id"], timeout_s=ENGINE_S)
                done["containers"] += not said.code or "No such container" in said.err  # whoever was faster
        for about in _inspect(engine, "image", home.path):
            if PROBE_LABEL in _labels(about):
                if _is_old(about):
                    engine.call("image", "rm", about["Id"], timeout_s=ENGINE_S)
            elif older_than_s is not None and _is_unused(home.path, about, older_than_s):
                _remove(engine, home.path, about, done)
        done["freed"] += _forget_absent(engine, home.path)
    except EngineFailed as failure:
        done["error"] = failure.reason
    return done


def add_images(home: Home, folders: "List[Dict[str, Any]]") -> "Dict[str, Any]":
    """The environments of this home, images among them, told as folders are; `unknown`: why there may be more."""
    images: "List[Dict[str, Any]]" = []
    unknown = ""
    if was_used(home.path):
        try:
            engine = _reach()
            found = [about for about in _inspect(engine, "image", home.path) if _is_environment(about)]
            images = [_entry(engine, home.path, about) for about in found]
        except EngineFailed as failure:
            unknown = failure.reason
    return {"environments": sorted(folders + images, key=lambda entry: -float(entry["used"])), "unknown": unknown}


def prune_images(home: Home, request: "Dict[str, Any]", done: "Dict[str, Any]") -> "Dict[str, Any]":
    """Add to what `env_store.prune` has done: images by their last use, and all where nothing is to be kept."""
    gone = clean(home, 0.0 if request["keep_bytes"] == 0 else request["older_than_s"])
    return dict(
        done,
        removed=done["removed"] + gone["images"],
        freed=done["freed"] + gone["freed"],
        unknown=gone.get("error", ""),
    )


def where(home: str, container: "Dict[str, Any]", environment: "Dict[str, Any]") -> "Dict[str, Any]":
    """Which image has an environment, or would have it, as the verb `environment` tells of a folder."""
    from jig.runner.image import look
    from jig.runner.wire import Refused

    try:
        found = look(home, container, environment)
        size = _own_bytes(found.engine, found.image_id) if found.image_id and found.name else 0
    except EngineFailed as failure:
        raise Refused(failure.reason, failure.hint)
    return {"image": found.tag, "prepared": bool(found.image_id), "bytes": size}


def was_used(home: str) -> bool:
    """Whether this jig home has ever had to do with an engine: else none need be asked now."""
    return any(os.path.isdir(os.path.join(home, folder)) for folder in ("engine", "images"))


def _reach() -> "Engine":
    engine, said = connect("version", "--format", "{{.Server.Version}}")
    if said.code:
        raise explain(said.err)
    return engine


def _inspect(engine: "Engine", kind: str, home: str, *options: str) -> "List[Dict[str, Any]]":
    """What the engine says of each container or image that has this home's label."""
    label = "label=%s=%s" % (HOME_LABEL, home_key(home))
    ids = set(engine.need(kind, "ls", "--quiet", "--no-trunc", "--filter", label, *options).decode().split())
    if not ids:
        return []
    said = engine.call(kind, "inspect", "--format", "{{json .}}", *sorted(ids))  # one that just went is no failure
    return [loads(line) for line in said.out.splitlines() if line]


def _labels(about: "Dict[str, Any]") -> "Dict[str, str]":
    return (about.get("Config") or {}).get("Labels") or {}


def _made(about: "Dict[str, Any]") -> float:
    import calendar

    return float(calendar.timegm(time.strptime(about["Created"][:19], "%Y-%m-%dT%H:%M:%S")))  # engines tell UTC


def _is_old(about: "Dict[str, Any]") -> bool:
    return time.time() - _made(about) > FORGOTTEN_S


def _used(home: str, about: "Dict[str, Any]") -> float:
    from jig.runner import image_facts

    return max(_made(about), image_facts.used(home, about["Id"]))


def _is_dead(home: Home, about: "Dict[str, Any]") -> bool:
    """Whether the run or the build that a container belongs to has ended."""
    from jig.runner.env_cache import lock_path, locked
    from jig.runner.folder import is_run_id
    from jig.runner.status import ALIVE, ELSEWHERE, status

    run, build = _labels(about).get(RUN_LABEL, ""), _labels(about).get(BUILD_LABEL, "")
    if is_run_id(run):
        return status(home, run) not in (ALIVE, ELSEWHERE)
    if build:
        with locked(lock_path(home.path, os.path.basename(build))) as held:
            return held  # nobody builds it
    # A container that a person makes of one of our images inherits its labels, and is not ours.
    return PROBE_LABEL in _labels(about) and _is_old(about)


def _is_unused(home: str, about: "Dict[str, Any]", older_than_s: float) -> bool:
    return _is_environment(about) and time.time() - _used(home, about) >= older_than_s


def _is_environment(about: "Dict[str, Any]") -> bool:
    return about.get("Comment") == COMMENT + _labels(about).get(ENVIRONMENT_LABEL, "")


def _remove(engine: "Engine", home: str, about: "Dict[str, Any]", done: "Dict[str, Any]") -> None:
    """Remove an image that no run uses."""
    from jig.runner import image_facts

    taken = image_facts.take(home, about["Id"])
    if taken is None:
        return
    try:
        size, names = _own_bytes(engine, about["Id"]), about.get("RepoTags") or []
        ours = [name for name in names if name.startswith(REPOSITORY + ":")]
        if names and not ours:
            return
        said = engine.call("image", "rm", *(ours or [about["Id"]]), timeout_s=ENGINE_S)
        if b"Deleted: " in said.out:  # else a container uses it, or it has another name
            done["images"].append(_name(about))
            done["freed"] += size + _forget(home, about["Id"])
    finally:
        os.close(taken)


def _name(about: "Dict[str, Any]") -> str:
    """As `env_store` would call it: the end of its name, or of its id where a newer image has the name."""
    return _tag(about).rpartition(":")[2][:32]


def _tag(about: "Dict[str, Any]") -> str:
    names = [name for name in about.get("RepoTags") or () if name.startswith(REPOSITORY + ":")]
    return str(names[0] if names else about["Id"])


def _own_bytes(engine: "Engine", image_id: str) -> int:
    """What jig has put on the base image: the uppermost layer."""
    said = engine.call("history", "--human=false", "--format", "{{.Size}}", image_id)
    sizes = said.out.split()
    return int(sizes[0]) if sizes and sizes[0].isdigit() else 0


def _forget(home: str, image_id: str) -> int:
    """Remove what is kept here of an image that is gone; returns the bytes of its compiled files."""
    from jig.runner import image_facts
    from jig.runner.collect import delete

    image_facts.forget(home, image_id)
    return delete(os.path.join(home, "pycache", image_id.rpartition(":")[2][:32]))


def _forget_absent(engine: "Engine", home: str) -> int:
    """The same for images that somebody else has removed."""
    from jig.runner import image_facts

    folder = os.path.join(home, "images")
    noted = {"sha256:" + name.partition(".")[0] for name in (os.listdir(folder) if os.path.isdir(folder) else ())}
    there = engine.need("image", "ls", "--all", "--quiet", "--no-trunc").decode().split()
    freed = 0
    for image_id in noted.difference(there):
        taken = image_facts.take(home, image_id)
        if taken is not None:
            freed += _forget(home, image_id)
            os.close(taken)
    return freed


def _entry(engine: "Engine", home: str, about: "Dict[str, Any]") -> "Dict[str, Any]":
    from jig.runner import image_facts

    labels, used = _labels(about), _used(home, about)
    free = image_facts.take(home, about["Id"])
    if free is not None:
        os.close(free)
    return {
        "id": _name(about),
        "path": _tag(about),
        "fingerprint": labels[ENVIRONMENT_LABEL],
        "kind": "image",
        "python": labels.get(VERSION_LABEL),
        "packages": int(labels[PACKAGES_LABEL]) if PACKAGES_LABEL in labels else None,
        "seconds": None,
        "bytes": _own_bytes(engine, about["Id"]),
        "built": _made(about),
        "used": used,
        "in_use": free is None,
        "changed": False,
    }
