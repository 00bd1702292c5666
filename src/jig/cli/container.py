"""Targets whose scripts run in a container: attaching Docker of this machine, and what is told of an engine."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.cli.grammar import Args
    from jig.project import ComputeTarget, Project

OVER_SSH = {
    "-a": "address", "-u": "username", "-w": "password", "--password-stdin": "password_stdin", "-k": "new_key",
    "--private-key-file": "key_file", "--private-key-passphrase": "passphrase", "--fingerprint": "fingerprint",
    "--accept-host-key": "accept",
}  # fmt: skip


def image(args: Args, kind: str) -> str | None:
    """The image that is named, or the one to begin with; None where scripts do not run in containers."""
    from jig.errors import UsageError
    from jig.project.compute import CONTAINERS, IMAGE, image_fault

    named = args.text("image")
    if kind not in CONTAINERS:
        for option, given in (("--image", named is not None), ("--gpu", args.flag("gpu"))):
            if given:
                raise UsageError(f"{option} is for containers, and {kind} has none", f"write {' or '.join(CONTAINERS)}")
        return None
    fault = image_fault(named) if named is not None else None
    if fault is not None:
        raise UsageError(*fault)
    return named or IMAGE


def question(target: ComputeTarget) -> dict[str, str] | None:
    """What a probe is to find out about the engine for this target; None where there is none to ask."""
    if not target.in_container:
        return None
    asked = {"base": target.base_docker_image or "", "gpus": "all" if target.nvidia_docker else ""}
    return asked if target.managed else asked | {"python": target.python_location}


def attach_here(args: Args, project: Project, image: str | None) -> int:
    """Write the two files of a container target on this machine, and tell how its Docker is."""
    from jig.cli.attached import report
    from jig.errors import UsageError
    from jig.project import ComputeTarget, write_target

    given = [option for option, dest in OVER_SSH.items() if args.text(dest) is not None or args.flag(dest)]
    if given:
        hint = "for a container on another machine write remotedocker"
        verb = "has" if len(given) == 1 else "have"
        raise UsageError(f"localdocker is Docker on this machine: {', '.join(given)} {verb} no use", hint)
    target = ComputeTarget(
        args.required("name"), "localdocker",
        base_docker_image=image, nvidia_docker=args.flag("gpu"), jig_home=args.text("home"),
    )  # fmt: skip
    for path in write_target(project, target):
        print(f"wrote {os.path.relpath(path)}")
    facts = look_here(target)
    report(facts)
    if wrong(facts):
        print(f"once that is mended:  jig computetarget check {target.name}")
    return 0


def look_here(target: ComputeTarget) -> dict[str, Any]:
    """What this machine has for containers."""
    from jig.machines import local

    facts: dict[str, Any] = local.machine(target).ask("probe", container=question(target))["probe"]
    return facts


def wrong(facts: dict[str, Any]) -> bool:
    """Whether a run in a container could not start there."""
    engine = facts.get("engine")
    if engine is None:
        return False
    parts = (engine, engine.get("gpu", {}), engine.get("python", {}))
    return any("error" in part for part in parts) or len(_base_rows(engine["base"])) > 1


def rows(engine: dict[str, Any]) -> list[tuple[str, str]]:
    """What to tell of an engine, with a fix below what does not work; a row without a name goes on with the last."""
    from jig.cli.terminal import human_bytes

    if "error" in engine:
        return [("docker", f"NOT USABLE: {engine['error']}"), *_fix(engine), *_gpu_rows(engine.get("gpu"))]
    found = [("docker", f"{engine['version']}, by `{engine['program']}`"), *_gpu_rows(engine.get("gpu"))]
    found += _base_rows(engine["base"])
    python = engine.get("python")
    if python is not None and "error" in python:
        found += [("python in the image", f"NOT THERE: {python['error']}"), *_fix(python)]
    elif python is not None:
        found.append(("python in the image", " ".join(filter(None, (python["path"], python["version"])))))
    if engine["free_bytes"] is not None:
        found.append(("disk for images", f"{human_bytes(engine['free_bytes'])} free for {engine['root']}"))
    return found


def _gpu_rows(gpu: dict[str, Any] | None) -> list[tuple[str, str]]:
    if gpu is None:
        return []
    if "error" in gpu:
        return [("GPU in containers", f"NOT POSSIBLE: {gpu['error']}"), *_fix(gpu)]
    return [("GPU in containers", f"yes, by `{gpu['command']}`")]


def _base_rows(base: dict[str, Any] | None) -> list[tuple[str, str]]:
    """What to tell of the base image; more than one row when there is something to mend."""
    from jig.cli.terminal import human_bytes
    from jig.project.compute import IMAGE
    from jig.runner.dead_images import advice

    if base is None:
        return [
            ("base image", "NONE IS NAMED"),
            ("  fix", f"add a line `baseDockerImage: {IMAGE}` to the .compute file"),
        ]
    if base["bytes"]:
        return [("base image", f"{base['name']} is there, {human_bytes(base['bytes'])}")]
    instead = advice(base["name"])
    if instead:
        return [("base image", f"GONE from Docker Hub: {base['name']}"), ("  fix", instead)]
    return [("base image", f"{base['name']} is not there yet: the first run pulls it")]


def _fix(failure: dict[str, Any]) -> list[tuple[str, str]]:
    first, *rest = failure["hint"].splitlines() or [""]
    return [("  fix", first), *(("", line) for line in rest)]
