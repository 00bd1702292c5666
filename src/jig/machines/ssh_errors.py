"""What ssh printed, as an error that says what to do."""

from __future__ import annotations

from jig.errors import MachineError
from jig.machines import RunnerMissing


class Unreachable(MachineError):
    """The machine did not answer, now; trying again later may help."""


class HostKeyChanged(MachineError):
    """The machine shows another key than the one that was pinned."""


def explain(name: str, code: int, said: str, pinned: str) -> MachineError:
    """The error behind a failed ssh: its exit code and what it printed on stderr."""
    last = next((line for line in reversed(said.splitlines()) if line.strip()), "").strip()
    if "IDENTIFICATION HAS CHANGED" in said or "Host key verification failed" in said:
        found = _fingerprint_in(said)
        return HostKeyChanged(
            f"{name} shows another host key than the one that was pinned when it was attached\n"
            f"  pinned  {pinned or 'none'}\n  found   {found or 'unknown'}",
            "somebody may stand between you and the machine; or it was set up anew: ask whoever runs it, and then "
            f"attach it again:  jig computetarget attach … -n {name}",
        )
    if code == 255 and "Permission denied" in said:
        return MachineError(
            f"{name} refused the login: {last}", f"attach it again:  jig computetarget attach … -n {name}"
        )
    if code == 127 or "python3: not found" in said or "python3: command not found" in said:
        return MachineError(f"there is no python3 on {name}", "install Python 3.6 or newer there (any user may)")
    if "can't open file" in said:
        return RunnerMissing(f"the runner on {name} is gone")
    if code == 255:
        return Unreachable(f"{name} cannot be reached: {last or 'ssh gave no reason'}", "is it on, and are you online?")
    first = next((line for line in said.splitlines() if line.strip()), f"exit code {code}").strip()
    return MachineError(f"the runner on {name} failed: {first}")


def _fingerprint_in(said: str) -> str:
    for word in said.replace("\n", " ").split():
        if word.startswith("SHA256:"):
            return word.rstrip(".")
    return ""
