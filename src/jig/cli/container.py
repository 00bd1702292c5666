"""Targets whose scripts run in a container: attaching Docker of this machine, and what is told of an engine."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args
    from jig.doctor import Finding
    from jig.project import ComputeTarget, Project, RunConfig

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


def question(target: ComputeTarget, config: RunConfig | None = None) -> dict[str, str] | None:
    """What is to be found out about the engine for runs on this target; None where there is none to ask."""
    if not target.in_container:
        return None
    gpus = "all" if target.nvidia_docker else ""
    if config is not None and config.gpus is not None:
        gpus = str(config.gpus) if config.gpus else ""
    asked = {"base": target.base_docker_image or "", "gpus": gpus}
    return asked if target.managed else asked | {"python": target.python_location}


def attach_here(
    args: Args, project: Project, image: str | None
) -> tuple[ComputeTarget, tuple[str, ...], list[Finding], bool]:
    """Write the two files of a container target on this machine; and how its Docker is."""
    from jig.cli import doctor
    from jig.errors import UsageError
    from jig.machines import local
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
    written = write_target(project, target)
    preflight = doctor.Preflight(None, None, target)
    return target, written, preflight.findings(local.machine(target)), preflight.subject.wants_gpu
