"""What ssh printed, as an error that says what to do."""

from __future__ import annotations

import os

from jig.errors import MachineError
from jig.machines import RunnerMissing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.machines.address import Address
    from jig.project import ComputeTarget

OLD_SECRET = "AzureMlSecret="


class Unreachable(MachineError):
    """The machine did not answer, now; trying again later may help."""


class Detached(MachineError):
    """The machine is not known to this computer, or not any more: it cannot be asked."""


class HostKeyChanged(MachineError):
    """The machine shows another key than the one that was pinned."""


class LoginRefused(MachineError):
    """The machine is there, and does not let us in; `last` is what ssh said."""

    def __init__(self, message: str, hint: str, last: str) -> None:
        super().__init__(message, hint)
        self.last = last


class KeyTooOpen(LoginRefused):
    """ssh left a private key aside because others can read its file."""


def explain(name: str, code: int, said: str, pinned: str, address: Address | None = None) -> MachineError:
    """The error behind a failed ssh: its exit code and what it printed on stderr; an address makes the advice exact."""
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "").strip()
    if "IDENTIFICATION HAS CHANGED" in said or "Host key verification failed" in said:
        if not _is_about_the_machine(said):
            return jump_host_unknown(name, address)
        found = _fingerprint_in(said)
        return HostKeyChanged(
            f"{name} shows another host key than the one that was pinned when it was attached\n"
            f"  pinned  {pinned or 'none'}\n  found   {found or 'unknown'}",
            "somebody may stand between you and the machine; or it was set up anew: ask whoever runs it, and then "
            f"attach it again:  {_attach_again(name, address)}",
        )
    if code == 255 and ("Permission denied" in said or "Too many authentication failures" in said):
        too_open = next(
            (line for line in said.splitlines() if line.startswith("Permissions ") and "too open" in line), ""
        )
        if too_open:
            return _key_too_open(name, too_open)
        return LoginRefused(f"{name} refused the login: {last}", _how_to_get_in(name, address), last)
    if "systemd-run" in said or "connect to bus" in said:
        return MachineError(
            f"{name} gives a run no scope of its own any more, where it would outlive the login: {last}",
            f"look around there again:  jig computetarget check {name}",
        )
    if code == 127 or "python3: not found" in said or "python3: command not found" in said:
        return MachineError(f"there is no python3 on {name}", "install Python 3.6 or newer there (any user may)")
    if "can't open file" in said:
        return RunnerMissing(f"the runner on {name} is gone")
    if code == 255:
        return Unreachable(f"{name} cannot be reached: {last or 'ssh gave no reason'}", _what_to_try(last, address))
    first = next((line for line in said.splitlines() if line.strip()), f"exit code {code}").strip()
    return MachineError(f"the runner on {name} failed: {first}")


def _is_about_the_machine(said: str) -> bool:
    """Whether ssh speaks of our own name for the machine, which holds an `@`, and not of a host on the way to it."""
    words = said.split()
    return any(word.startswith("jig-") and "@" in word for word in words)


def jump_host_unknown(name: str, address: Address | None) -> Unreachable:
    """The host key of a host on the way is for the person's own ssh to know."""
    from jig.machines.host_key import jumps

    between = jumps(address) if address is not None else ()
    host = f"jump host {between[0][0]}" if len(between) == 1 else "a jump host on the way there"
    by_hand = "  or  ".join(command for _, command in between) or "ssh …"
    return Unreachable(
        f"{name} cannot be reached: the host key of {host} is not known here, or is not the one that was",
        f"connect to it once with ssh, so that its key is in ~/.ssh/known_hosts:  {by_hand}",
    )


def _key_too_open(name: str, said: str) -> KeyTooOpen:
    import shlex

    path = said.partition("'")[2].rpartition("'")[0]
    return KeyTooOpen(f"{name} refused the login: {said}", f"chmod 600 {shlex.quote(path)}", said)


def _what_to_try(last: str, address: Address | None) -> str:
    """What to do when nobody answers; of a connection that is kept, ssh does not pass on what a jump host said."""
    from jig.machines.host_key import jumps

    between = jumps(address) if address is not None and "onnection closed by" in last else ()
    if not between:
        return "is it on, and are you online?"
    return f"does {between[-1][0]}, the jump host on the way there, let you in?  {between[-1][1]}"


def _how_to_get_in(name: str, address: Address | None) -> str:
    """What to do when the login that was set up is refused."""
    again = f"attach it again:  {_attach_again(name, address)}"
    if address is None:
        return again
    try:
        with open(os.path.join(address.folder, "key.pub")) as file:
            public = file.read().strip()
    except FileNotFoundError:
        return again
    where = f"~/.ssh/authorized_keys of {address.user} on {address.host}"
    return f"append this line to {where}:\n\n{public}\n\nor, with a password, {again}"


def _attach_again(name: str, address: Address | None) -> str:
    if address is None:
        return f"jig computetarget attach … -n {name}"
    import shlex

    return shlex.join(("jig", "computetarget", "attach", "-n", name, "-a", address.place, "-u", address.user))


def check_attached(target: ComputeTarget) -> None:
    """MachineError, with the command line that helps, when this computer has no pinned key for the target's machine."""
    from jig.machines.address import Address

    address = Address.parse(target.username or "", target.address or "")
    if os.path.exists(os.path.join(address.folder, "known_hosts")):
        return
    import shlex

    home = ("--jig-home", target.jig_home) if target.jig_home else ()
    words = ("jig", "computetarget", "attach", target.kind, "-n", target.name, "-a", address.place, "-u", address.user)
    hint = f"attach it once:  {shlex.join((*words, *home))}"
    if (target.password or "").startswith(OLD_SECRET):
        hint = f"the password that {target.name}.compute names was in the old Workbench's own store; {hint}"
    raise MachineError(f"{target.name} ({address}) is not attached on this computer", hint)


def unused_password(target: ComputeTarget) -> str:
    """What to tell about a password in the target's file; empty when there is none."""
    if target.password is None:
        return ""
    what = f"{OLD_SECRET}… of the old Workbench" if target.password.startswith(OLD_SECRET) else "a password"
    return f"{target.name}.compute holds {what}; it is not used, and can be deleted"


def _fingerprint_in(said: str) -> str:
    for word in said.replace("\n", " ").split():
        if word.startswith("SHA256:"):
            return word.rstrip(".")
    return ""
