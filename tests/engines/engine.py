"""A Docker engine for tests: everything of it under one folder, reached by a socket of its own; nobody else's is touched."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from tests.control_group import limit_memory, remove_groups
from tests.engines.room import HostRoom, Room
from tests.hosts.machine import child_of

QUIET = ("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-masq=false", "--ip-forward=false")
PROGRAMS = "/usr/sbin:/usr/bin:/sbin:/bin"  # Debian's dockerd, containerd and runc, whatever else is in PATH
# Between dockerd and nsenter, which would stop with its child when that is paused, and could not collect it then.
WAITER = ("/bin/sh", "-c", '"$@" & wait $!', "sh")
UP_S, DOWN_S = 30, 30


class Engine:
    """One dockerd, and a control group for its containers.

    With `own_network` it has a network of its own with a bridge, which leads nowhere; else its containers have the network
    of this machine (`--network host`) or none. `group` is the number of the group whose members may use it; `path` are
    folders where it looks for programs first, itself included; `memory_bytes` is all that its containers may have together.
    Everything else is a setting of daemon.json, with `_` for `-`.
    """

    def __init__(
        self,
        folder: Path,
        own_network: bool = False,
        group: int = 0,
        path: str = "",
        memory_bytes: int = 0,
        room: "HostRoom | None" = None,
        **daemon_json: object,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._options = [f"--group={group}", *(() if own_network else QUIET)]
        self._path = f"{path}:{PROGRAMS}" if path else PROGRAMS
        self._dockerd: subprocess.Popen[bytes] | None = None
        self._room = room or Room(folder, own_network)
        try:
            if memory_bytes:
                limit_memory(self._room.name, memory_bytes)
            self.configure(**daemon_json)
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> str:
        """What DOCKER_HOST is to be on this machine."""
        return f"unix://{self._room.socket_here}"

    def configure(self, **daemon_json: object) -> None:
        """Settings that are in force after the next start."""
        settings = {key.replace("_", "-"): value for key, value in daemon_json.items()}
        settings.setdefault("cgroup-parent", f"/{self._room.name}")
        settings.setdefault("exec-opts", ["native.cgroupdriver=cgroupfs"])  # systemd would want to know of each group
        (self.folder / "daemon.json").write_text(json.dumps(settings))

    def start(self) -> None:
        """Start it, or start it again after its end; returns when it answers."""
        if self._dockerd is not None:
            self._dockerd.wait(DOWN_S)
        seen, log = self._room.folder, self.folder / "log"
        places = [f"--data-root={seen}/data", f"--exec-root={seen}/exec", f"--pidfile={seen}/pid"]
        words = ["dockerd", f"--config-file={seen}/daemon.json", *places, f"--host=unix://{self._room.socket}"]
        command = [*self._room.enter, "env", f"PATH={self._path}", *WAITER, *words, *self._options]
        with open(log, "ab") as file:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": file, "stderr": file}
            env = {"PATH": PROGRAMS, "HOME": str(seen)}
            self._dockerd = subprocess.Popen(command, env=env, umask=0o022, start_new_session=True, **pipes)
        deadline = time.monotonic() + UP_S
        while not self.answers():
            if self._dockerd.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"dockerd did not come up:\n{log.read_text()[-2000:]}")
            time.sleep(0.02)

    def answers(self, timeout_s: float = 1.0) -> bool:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(timeout_s)
            asked.connect(str(self._room.socket_here))
            asked.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b"200 OK" in asked.recv(64)
        return False

    @property
    def pid(self) -> int:
        """The number of dockerd's process here."""
        return child_of(child_of(self._dockerd.pid))

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it by a signal. With SIGTERM containers end too, unless it has `live_restore`; with SIGKILL they go on."""
        os.kill(self.pid, number)
        self._dockerd.wait(DOWN_S)

    def pause(self) -> None:
        """Freeze it: calls are taken and never answered; containers go on. Returns when each of its threads stands."""
        pid = self.pid
        os.kill(pid, signal.SIGSTOP)
        deadline = time.monotonic() + DOWN_S
        while not all(_stands(place) for place in Path(f"/proc/{pid}/task").iterdir()):
            if time.monotonic() > deadline:
                raise RuntimeError("dockerd does not stop")
            time.sleep(0.005)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """Take it away with its containers, at once."""
        with contextlib.ExitStack() as ends:
            ends.callback(remove_groups, self._room.name)
            ends.callback(self._room.close)
            if self._dockerd is not None and self._dockerd.poll() is None:
                self.stop(signal.SIGKILL)

    def docker(self, *words: str, timeout_s: float = 60, **options) -> str:
        """What `docker WORDS` prints; RuntimeError with its words when it fails."""
        command = ["docker", "-H", self.address, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, **options)
        if done.returncode:
            raise RuntimeError(f"docker {' '.join(words)} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout


def _stands(task: Path) -> bool:
    return (task / "stat").read_text().rpartition(")")[2].split()[0] == "T"
