"""The ssh command line, as a value. The user's own program, configuration, agent and jump hosts count."""

from __future__ import annotations

import os

from jig.digest import name_of
from jig.machines.address import Address

ALIVE_S = 5
ALIVE_COUNT = 3
CONNECT_S = 15
PERSIST_S = 600
LONGEST_BASE = 50  # the path of a socket has about a hundred bytes, of which ssh takes some for itself


def options(address: Address, known_hosts: str, strict: str = "yes") -> tuple[str, ...]:
    """What holds for every connection: the pinned key and nothing else decides whom we talk to."""
    chosen = {
        "HostKeyAlias": alias(address),
        "UserKnownHostsFile": f'"{_literal(known_hosts)}"',
        "GlobalKnownHostsFile": "none",
        "StrictHostKeyChecking": strict,
        "UpdateHostKeys": "no",
        "CheckHostIP": "no",
        "VerifyHostKeyDNS": "no",
        "HashKnownHosts": "no",
        "ConnectTimeout": str(CONNECT_S),
        "ServerAliveInterval": str(ALIVE_S),
        "ServerAliveCountMax": str(ALIVE_COUNT),
        "ForwardAgent": "no",
        "ForwardX11": "no",
        "ClearAllForwardings": "yes",
        "PermitLocalCommand": "no",
        "RemoteCommand": "none",
        "RequestTTY": "no",
        "LogLevel": "ERROR",
    }
    words = [word for name, value in chosen.items() for word in ("-o", f"{name}={value}")]
    if address.port is not None:
        words += ["-p", str(address.port)]
    return tuple(words)


def alias(address: Address) -> str:
    """The name under which the machine's key is pinned, and by which ssh asks for its password."""
    return f"jig-{address.slug}"


def _literal(path: str) -> str:
    """The path as ssh's settings take it: without meaning of their own for `%`, quotes and backslashes."""
    return path.replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"')


def own_key(path: str) -> tuple[str, ...]:
    """Log in with this key and no other, without asking anybody."""
    only = ("-o", "IdentitiesOnly=yes", "-o", "PubkeyAuthentication=yes", "-o", "BatchMode=yes")
    return ("-o", f'IdentityFile="{_literal(path)}"', *only)


def any_key() -> tuple[str, ...]:
    """Log in with what the user's ssh has: agent, configuration, default keys; without asking anybody."""
    return ("-o", "BatchMode=yes")


def destination(address: Address) -> tuple[str, ...]:
    """The login, as ssh takes it; `--` so that no name can be an option."""
    return ("--", f"{address.user}@{address.host}")


def control_path(address: Address, key: str) -> str:
    """The socket of the control connection: a short path outside the home, in a folder of our own.

    What a run starts ends with it, so a run that submits others has a connection of its own: nobody else's is cut.
    """
    base = os.environ.get("XDG_RUNTIME_DIR") or "/tmp"
    if len(base) > LONGEST_BASE:
        base = "/tmp"
    run = filter(None, [os.environ.get("JIG_RUN_ID")])
    folder = os.path.join(base, f"jig-{os.getuid()}")  # type: ignore[attr-defined,unused-ignore]
    return os.path.join(folder, name_of(os.fsencode(" ".join((address.folder, key, *run))), 4))


def command(
    address: Address,
    known_hosts: str,
    auth: tuple[str, ...],
    control: str,
    remote: str,
    first: tuple[str, ...] = ("-T",),
) -> tuple[str, ...]:
    """Run one command there, through the control connection; the first one leaves it behind for those that follow.

    `first` are options that come before all others, and so count: whether there is a terminal, for one.
    """
    stay = ("-o", "ControlMaster=auto", "-o", f"ControlPersist={PERSIST_S}") if control else ("-o", "ControlMaster=no")
    through = (*stay, "-o", f"ControlPath={control or 'none'}")
    return ("ssh", *first, *options(address, known_hosts), *auth, *through, *destination(address), remote)


def leave(address: Address, control: str) -> tuple[str, ...]:
    """Let the control connection end with its last user."""
    return ("ssh", "-O", "stop", "-o", f"ControlPath={control}", *destination(address))
