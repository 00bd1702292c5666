"""The Docker engine: whether it answers, gives containers the GPUs, and has the image."""

from __future__ import annotations

from jig.doctor import BAD, WARN, Edit, Finding
from jig.doctor.words import size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jig.doctor import Subject


def findings(facts: dict[str, Any], subject: Subject) -> Iterator[Finding]:
    """What a container of this target would find; one line where the target runs none."""
    engine = facts.get("engine")
    if engine is None:
        if facts.get("docker"):
            yield Finding("docker", "not needed: this target runs no containers")
        return
    if "error" in engine:
        yield Finding("docker", engine["error"], BAD, engine["hint"])
    else:
        yield Finding("docker", f"{engine['version']}, by `{engine['program']}`")
    yield from _gpu(engine.get("gpu"), subject)
    if "error" in engine:
        return
    yield _base(engine["base"])
    python = engine.get("python")
    if python is not None and "error" in python:
        yield Finding("python in the image", python["error"], BAD, python["hint"])
    elif python is not None:
        yield Finding("python in the image", " ".join(filter(None, (python["path"], python["version"]))))


def _gpu(gpu: dict[str, Any] | None, subject: Subject) -> Iterator[Finding]:
    if gpu is None:
        if not subject.container_gpus:
            file = f"aml_config/{subject.target}.compute"
            edit = Edit(file, "nvidiaDocker", "true")
            fix = f"write `nvidiaDocker: true` into {file}"
            yield Finding("GPU in containers", "this target asks for none", BAD, fix, only_gpu=True, edit=edit)
        return
    if "error" in gpu:
        yield Finding("GPU in containers", gpu["error"], BAD, gpu["hint"], only_gpu=True)
    else:
        yield Finding("GPU in containers", f"yes, by `{gpu['command']}`", only_gpu=True)


def _base(base: dict[str, Any] | None) -> Finding:
    """The image that the environment is put on."""
    from jig.project.compute import IMAGE
    from jig.runner.dead_images import advice

    if base is None:
        fix = f"add a line `baseDockerImage: {IMAGE}` to the .compute file"
        return Finding("base image", "none is named", BAD, fix)
    if base["bytes"]:
        return Finding("base image", f"{base['name']} is there, {size(base['bytes'])}")
    instead = advice(base["name"])
    if instead:
        return Finding("base image", f"gone from Docker Hub: {base['name']}", BAD, instead)
    return Finding("base image", f"{base['name']} is not there yet: the first run pulls it")


def room(engine: dict[str, Any], needed_bytes: int) -> Iterator[Finding]:
    """The disk that images are on."""
    free = engine.get("free_bytes")
    if free is None:
        return
    found = f"{size(free)} free for {engine['root']}"
    if needed_bytes <= free:
        yield Finding("disk for images", found)
        return
    status = BAD if free < needed_bytes / 2 else WARN
    fix = "free some there: `docker system df` tells what takes it, `docker image prune` removes what nothing names"
    yield Finding("disk for images", f"{found}; image and environment take about {size(needed_bytes)}", status, fix)
