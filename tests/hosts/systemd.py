"""A host whose logins systemd looks after: its bus, logind, and each user's own systemd; nothing else of a whole boot."""

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.control_group import remove_groups
from tests.hosts import accounts

if TYPE_CHECKING:
    from tests.hosts.machine import Machine

PACKAGES = ("systemd", "dbus", "dbus-user-session", "libpam-systemd", "polkitd")
WANTS = "/usr/lib/systemd/system/sysinit.target.wants"  # mounts, devices and settings of the kernel: those are this machine's
TARGET = "[Unit]\nDefaultDependencies=no\nWants=dbus.service systemd-logind.service\n"
PAM = "account required pam_unix.so\nsession required pam_unix.so\nsession required pam_systemd.so\n"
FILES = {
    "systemd/system/host.target": TARGET,
    "pam.d/systemd-user": PAM,
    "pam.d/sshd": f"auth required pam_unix.so\n{PAM}",
}
USERS = "messagebus:x:101:65534::/nonexistent:/usr/sbin/nologin\npolkitd:x:102:65534::/nonexistent:/usr/sbin/nologin\n"


def lay_out(etc: Path, logind: "dict[str, object]") -> None:
    """What it reads under /etc."""
    with open(etc / "passwd", "a") as file:
        file.write(USERS)
    settings = "".join(f"{key}={value}\n" for key, value in logind.items())
    for name, text in {**FILES, "systemd/logind.conf": f"[Login]\n{settings}"}.items():
        (etc / name).parent.mkdir(parents=True, exist_ok=True)
        accounts.put(etc / name, text)


def wait_for_logind(machine: "Machine") -> None:
    deadline = time.monotonic() + 20
    while (said := machine.inside("busctl", "status", "org.freedesktop.login1")).returncode != 0:
        if time.monotonic() > deadline:
            raise RuntimeError(f"systemd did not start logind: {said.stderr.strip()}")
        time.sleep(0.01)


@contextlib.contextmanager
def control_group(name: str):
    """A group for every process of a host; yields a function that puts the calling process into it."""
    if not hierarchies():
        raise RuntimeError("systemd needs control groups of version 2, which are mounted nowhere here")
    group = hierarchies()[0] / name
    group.mkdir()
    try:
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        remove_groups(name)


def hierarchies() -> "list[Path]":
    """Where control groups of version 2 are seen: one place at most."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [Path(place) for _, place, kind, *_ in mounts if kind == "cgroup2"][:1]
