"""`jig computetarget check, detach`: machines that are attached."""

from __future__ import annotations

import os
import sys

from jig.cli.grammar import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jig.cli.grammar import Args
    from jig.doctor import Finding
    from jig.machines.address import Address
    from jig.machines.ssh import SshMachine
    from jig.project import ComputeTarget, Project

REMOVE_KEY = Option(
    ("--remove-key",), "remove_key", "Log in once more, to remove jig's key from authorized_keys there."
)


def judged(facts: dict[str, Any], target: ComputeTarget) -> tuple[list[Finding], bool]:
    """What was found on a machine, none if nothing was looked for; and whether its runs want a GPU."""
    from jig.cli import doctor
    from jig.doctor import findings

    subject = doctor.Preflight(None, None, target).subject
    return (findings(facts, subject) if facts else []), subject.wants_gpu


def login_of(target: ComputeTarget) -> Address | None:
    """The login that a .compute file names, if any."""
    from jig.machines.address import Address

    return Address.parse(target.username or "", target.address) if target.address is not None else None


def _target(args: Args, to_run: bool = False) -> tuple[Project, ComputeTarget]:
    from jig.errors import UsageError
    from jig.project import Project

    project = Project.find(os.getcwd())
    target = project.compute_target(args.text("name") or args.required("word"), to_run)
    if target.kind == "local":
        raise UsageError(
            f"{target.name} is of type {target.kind}: there is no machine to reach",
            "its runs are processes of this computer: `jig doctor` looks at it, `jig computetarget show NAME` shows it",
        )
    return project, target


def check(args: Args) -> int:
    """The doctor's look at a target; exit code 1 when a run could not start there as the target's files want it."""
    from jig.cli import doctor
    from jig.doctor import gpu_run_works, run_starts
    from jig.machines import local
    from jig.machines.authorized_keys import run, usual
    from jig.machines.ssh import machine
    from jig.machines.ssh_errors import check_attached

    project, target = _target(args, to_run=True)
    if target.kind == "cluster" and target.address is None:
        from jig.cli import spark

        return spark.check(target)
    config, faults = doctor.configuration(project, target.name)
    preflight = doctor.Preflight(project, config, target)
    if target.address is None:
        found = preflight.findings(local.machine(target))
    else:
        tell_unused_password(target)
        check_attached(target)
        there = machine(target)
        failure = run(there, usual(there), "exit")  # past the kept connection: whether a new one would stand
        if failure is not None:
            raise failure
        found = preflight.findings(there)
        print(f"host key: {there.fingerprint()}")
    found = faults + found
    wants_gpu = preflight.subject.wants_gpu
    doctor.report(found, wants_gpu)
    print(doctor.verdict(found))
    return 0 if (gpu_run_works if wants_gpu else run_starts)(found) else 1


def tell_unused_password(target: ComputeTarget) -> None:
    """Say that a password in the file, old or new, does nothing."""
    from jig.machines.ssh_errors import unused_password

    said = unused_password(target)
    if said:
        print(f"note: {said}", file=sys.stderr)


def detach(args: Args) -> int:
    """Forget a machine: the key and host key kept for it here, and its two files."""
    project, target = _target(args)
    for path in forget(project, target, args.flag("remove_key"), print):
        print(f"deleted {os.path.relpath(path)}")
    return 0


def forget(project: Project, target: ComputeTarget, remove_key: bool, say: Callable[[str], None]) -> Iterator[str]:
    """Forget a target's machine and delete its two files: each as it is deleted. What else there is to tell is said."""
    if target.address is not None:
        _forget(project, target, remove_key, say)
    for suffix in (".runconfig", ".compute"):  # in this order: what names the machine goes last
        path = os.path.join(project.root, "aml_config", target.name + suffix)
        if os.path.exists(path):
            os.unlink(path)
            yield path


def _forget(project: Project, target: ComputeTarget, remove_key: bool, say: Callable[[str], None]) -> None:
    """Forget the login, unless another target uses it."""
    import shutil

    from jig.errors import UsageError
    from jig.machines import ssh
    from jig.machines.authorized_keys import left_behind

    machine = ssh.machine(target)
    others = [project.compute_target(other) for other in project.target_names() if other != target.name]
    sharing = [other.name for other in others if login_of(other) == machine.address]
    public = _public_key(machine)
    if remove_key:
        if sharing:
            raise UsageError(
                f"{', '.join(sharing)} logs in with the key of {machine.address} too",
                f"detach that first:  jig computetarget detach {sharing[0]}",
            )
        _remove_key(machine, public, say)
    if sharing:
        say(f"the key of {machine.address} stays: {', '.join(sharing)} uses it")
    elif os.path.isdir(machine.folder):
        _tell_of_unfinished(machine, say)
        machine.hang_up()
        shutil.rmtree(machine.folder)
        say(f"{machine.address} is forgotten here, for every project; runs that were brought home stay in the record")
        if public and not remove_key:
            say(left_behind(machine, public))


def _tell_of_unfinished(machine: SshMachine, say: Callable[[str], None]) -> None:
    from jig.machines.mirror import is_final
    from jig.runner.folder import RunFolder

    copies = machine.runs_folder()
    names = sorted(os.listdir(copies)) if os.path.isdir(copies) else []
    going = [name for name in names if not is_final(RunFolder(os.path.join(copies, name)))]
    if going:
        say(f"not ended when it was seen last, and out of reach until you attach it again: {', '.join(going)}")


def _public_key(machine: SshMachine) -> str:
    """The line of the key that was made for this machine; empty when there is none."""
    try:
        with open(machine.key + ".pub") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


def _remove_key(machine: SshMachine, public: str, say: Callable[[str], None]) -> None:
    """Take our key's line out of authorized_keys there; when that fails nothing is detached."""
    from jig.machines.authorized_keys import take_out, usual

    if not public:
        say(f"jig made no key for {machine.address}: there is no line to remove")
        return
    failure = take_out(machine, usual(machine), (public,))
    if failure is not None:
        failure.hint = "try again when it can be reached; without --remove-key it is forgotten here alone"
        raise failure
    say(
        f"removed the line of jig's key from ~/.ssh/authorized_keys of {machine.address.user} on {machine.address.host}"
    )
