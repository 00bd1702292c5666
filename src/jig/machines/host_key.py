"""Host keys: seen with ssh itself, so that configuration and jump hosts count; shown, and pinned."""

from __future__ import annotations

import os

from jig.errors import MachineError
from jig.machines import ssh_command
from jig.machines.address import Address
from jig.machines.ssh_errors import Unreachable, jump_host_unknown

SEE_S = 60


def see(address: Address) -> str:
    """The line that a known-hosts file would hold for the machine, as it shows itself now."""
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "known_hosts")
        shown = ssh_command.options(address, path, strict="accept-new")
        nobody = ("-o", "PreferredAuthentications=none", "-o", "BatchMode=yes", "-o", "ControlPath=none")
        argv = ("ssh", "-T", *shown, *nobody, *ssh_command.destination(address), "exit")
        try:
            # In a session of its own: what a jump host would ask at the terminal, no later command could answer.
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=SEE_S, start_new_session=True
            )
            said = done.stderr.decode(errors="replace")
        except subprocess.TimeoutExpired:
            said = f"no answer within {SEE_S} s"
        except FileNotFoundError:
            raise MachineError("there is no ssh program on this computer", "install OpenSSH's client") from None
        try:
            with open(path) as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            lines = []
    if lines:
        return lines[0]
    if "Host key verification failed" in said:  # not the machine's own, which any file would have taken
        raise jump_host_unknown(str(address), address)
    last = [line.strip() for line in said.splitlines() if line.strip()][-1:] or ["no answer"]
    raise Unreachable(f"{address} cannot be reached: {last[0]}", "check the address")


def jumps(address: Address) -> tuple[tuple[str, str], ...]:
    """The hosts that a person's settings put on the way to the machine, each with the ssh command that reaches it."""
    import subprocess

    port = ("-p", str(address.port)) if address.port is not None else ()
    argv = ("ssh", "-G", *port, *ssh_command.destination(address))
    settings = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace").stdout
    found = [line.partition(" ")[2].strip() for line in settings.splitlines() if line.startswith("proxyjump ")]
    hosts = [host for host in ",".join(found).split(",") if host not in ("", "none")]
    return tuple((_login_and_port(host)[0], _reach(hosts[:number], host)) for number, host in enumerate(hosts))


def _reach(before: list[str], host: str) -> str:
    """The ssh command for one jump host, through those before it."""
    import shlex

    login, port = _login_and_port(host)
    through = ("-J", ",".join(before)) if before else ()
    return shlex.join(("ssh", *through, *(("-p", port) if port not in ("", "22") else ()), login))


def _login_and_port(host: str) -> tuple[str, str]:
    """A jump host, as ssh writes it (`eve@[gate]:2222`), in its parts."""
    rest, colon, port = host.rpartition(":")
    if not (colon and port.isdecimal() and (rest.endswith("]") or ":" not in rest)):
        rest, port = host, ""
    user, at, name = rest.rpartition("@")
    return user + at + name.strip("[]"), port


def fingerprint(line: str) -> str:
    """`SHA256:…` of a known-hosts line, as ssh-keygen prints it."""
    from base64 import b64decode, b64encode
    from hashlib import sha256

    words = line.split()
    if len(words) < 3:
        raise MachineError(f"not a host key: {line!r}")
    return "SHA256:" + b64encode(sha256(b64decode(words[2])).digest()).decode().rstrip("=")


def fingerprint_of_file(path: str) -> str:
    """The fingerprint in a known-hosts file of ours; empty when there is none."""
    try:
        with open(path) as file:
            line = file.readline()
    except FileNotFoundError:
        return ""
    return fingerprint(line)
