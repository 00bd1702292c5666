"""Host keys: seen with ssh itself, so that configuration and jump hosts count; shown, and pinned."""

from __future__ import annotations

import os

from jig.errors import MachineError
from jig.machines import ssh_command
from jig.machines.address import Address
from jig.machines.ssh_errors import Unreachable


def see(address: Address) -> str:
    """The line that a known-hosts file would hold for the machine, as it shows itself now."""
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "known_hosts")
        shown = ssh_command.options(address, path, strict="accept-new")
        nobody = ("-o", "PreferredAuthentications=none", "-o", "BatchMode=yes", "-o", "ControlPath=none")
        argv = ("ssh", "-T", *shown, *nobody, *ssh_command.destination(address), "exit")
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True)
        try:
            with open(path) as file:
                lines = file.read().splitlines()
        except FileNotFoundError:
            lines = []
    if not lines:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise Unreachable(f"{address} cannot be reached: {said[-1] if said else 'no answer'}", "check the address")
    return lines[0]


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
