"""Where an engine lives: namespaces of its own, or those of a test host."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.hosts.host import Host
from tests.hosts.machine import child_of

ROOM = Path(__file__).with_name("room.sh")
SPACES = ("--mount", "--propagation=slave", "--pid", "--fork", "--kill-child", "--mount-proc")


class Room:
    """Hangs on a pipe of this process: when that ends, the kernel kills every process in here and drops the mounts."""

    def __init__(self, folder: Path, own_network: bool) -> None:
        self.name = f"{folder.parent.name}-{folder.name}"
        self.folder = folder  # as the engine sees it
        self.socket = self.socket_here = folder / "s"  # short: the path of a socket has at most 107 bytes
        net = ["--net"] if own_network else []
        command = ["unshare", *SPACES, *net, "/bin/bash", str(ROOM), str(folder), "own" if own_network else "shared"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._keeper = subprocess.Popen(command, text=True, umask=0o022, start_new_session=True, **pipes)
        if self._keeper.stdout.readline() != "up\n":
            _, said = self._keeper.communicate(timeout=10)
            raise RuntimeError(f"no place for an engine: {said.strip()}")
        self.enter = ["nsenter", f"--target={child_of(self._keeper.pid)}", "--mount", "--pid", *net, "--"]

    def close(self) -> None:
        with self._keeper:  # closes the pipes, waits
            pass


class HostRoom:
    """A test host: its people reach the engine at the usual place, and it ends with the host."""

    folder, socket = Path("/var/lib/engine"), Path("/run/docker.sock")  # as its people see them

    def __init__(self, host: Host) -> None:
        self._host = host
        self.name = f"{host.var.parents[1].name}-{host.name}-engine"
        script = ["set -e", "mount -t tmpfs cgroup /sys/fs/cgroup"]
        for place, kind, options in control_group_mounts():
            script.append(f"mkdir -p {place}; mount -t {kind} -o rw{options} {kind} {place}")
        done = host.run("\n".join(script), user="root")
        if done.returncode:
            raise RuntimeError(f"no control groups on {host.name}: {done.stderr}")

    @property
    def enter(self) -> "list[str]":
        return self._host.enter

    @property
    def socket_here(self) -> Path:
        return self._host.root / "run/docker.sock"

    def close(self) -> None:
        """The host goes on."""


def control_group_mounts() -> "Iterator[tuple[str, str, str]]":
    """Where, of which version and with which options (`,cpu,cpuacct`) this machine has control groups."""
    controllers = {line.split()[0] for line in Path("/proc/cgroups").read_text().splitlines()}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        if kind in ("cgroup", "cgroup2"):
            words = [word for word in options.split(",") if word in controllers or word.startswith("name=")]
            yield place, kind, "".join(f",{word}" for word in words)
