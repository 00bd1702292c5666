"""What a machine has for containers: whether an engine answers and how, and what a run in a container would find."""

import os
import sys

from jig.runner.engine import EngineFailed, address, connect, explain

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from jig.runner.engine import Engine

ANSWER_S = 10.0


def look(home: str, container: "Optional[Dict[str, str]]") -> "Dict[str, Any]":
    """`docker`: usable, with sudo, not usable or absent.

    More only for a container that is to come: its `base`, `gpus`, and `python`, where that is to be the image's own.
    """
    try:
        engine, said = connect("version", "--format", "{{.Server.Version}}", timeout_s=ANSWER_S)
        if said.code:
            raise explain(said.err)
        found = {"docker": "with sudo" if engine.program[0] == "sudo" else "usable"}  # type: Dict[str, Any]
        if container is not None:
            found.update(version=said.out.decode(errors="replace").strip(), program=" ".join(engine.program))
            found.update(_room(engine, home), base=_base(engine, container["base"]))
            if container.get("python") and found["base"] and found["base"]["bytes"]:
                found["python"] = _python(home, container)
            if container["gpus"]:
                found["gpu"] = _gpu(engine, home, container["gpus"])
        return found
    except EngineFailed as failure:
        found = dict(_told(failure), docker="absent" if failure.code == "absent" else "not usable")
        lacking = _no_gpu(container)
        return dict(found, gpu=_told(lacking)) if lacking else found


def _no_gpu(container: "Optional[Dict[str, str]]") -> "Optional[EngineFailed]":
    """Why a container would get no GPU here, whatever the engine is like."""
    if container is None or not container["gpus"] or not address().startswith("unix://"):
        return None
    from jig.runner import engine_gpu_lacks

    return engine_gpu_lacks.no_driver()


def _told(failure: EngineFailed) -> "Dict[str, Any]":
    return {"error": failure.reason, "hint": failure.hint, "code": failure.code}


def _room(engine: "Engine", home: str) -> "Dict[str, Any]":
    """Where the engine keeps images and how much is free there; nothing when that is a disk of another machine."""
    root = engine.need("info", "--format", "{{.DockerRootDir}}", timeout_s=ANSWER_S).decode(errors="replace").strip()
    if not engine.facts(home)["sees"] or not os.path.isdir(root):
        return {"root": root, "free_bytes": None}
    disk = os.statvfs(root)
    return {"root": root, "free_bytes": disk.f_bavail * disk.f_frsize}


def _base(engine: "Engine", name: str) -> "Optional[Dict[str, Any]]":
    """The image that environments are put on, and its bytes; 0 when the engine does not have it."""
    if not name:
        return None
    said = engine.call("image", "inspect", "--format", "{{.Size}}", name, timeout_s=ANSWER_S)
    return {"name": name, "bytes": 0 if said.code else int(said.out)}


def _python(home: str, container: "Dict[str, str]") -> "Dict[str, Any]":
    """The interpreter that the image brings."""
    from jig.runner import image, image_facts
    from jig.runner.environment import NotStarted

    try:
        found = image.look(home, container, {"kind": "user", "python": container["python"]})
        facts = image_facts.of(found.engine, home, found.image_id) or {}
        path = image_facts.find_python(found, facts)
    except (EngineFailed, NotStarted) as failure:
        return {"error": failure.reason, "hint": failure.hint}
    versions = [about["version"] for about in facts["pythons"].values() if about["path"] == path]
    return {"path": path, "version": versions[0] if versions else ""}


def _gpu(engine: "Engine", home: str, wanted: str) -> "Dict[str, Any]":
    from jig.runner import engine_gpu

    try:
        way = engine_gpu.choose(engine, home, wanted)
        return {"way": way.name, "command": " ".join((way.program or engine.program) + ["run"] + way.options)}
    except EngineFailed as failure:
        return _told(failure)
