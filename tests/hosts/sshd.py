"""The OpenSSH server of a host: its settings, keys, start and end."""

import subprocess
import time

from tests.hosts.machine import Machine

DEFAULTS = {
    "HostKey": ["/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_ecdsa_key"],
    "PidFile": "/run/sshd.pid",
    "LogLevel": "VERBOSE",
    "UseDNS": "no",
    "UsePAM": "no",
    "PrintMotd": "no",
    "AcceptEnv": "LANG LC_*",
    "Subsystem": "sftp /usr/lib/openssh/sftp-server",
}
LOG = "/var/log/sshd.log"


class Sshd:
    """`/usr/sbin/sshd` as Debian ships it, on the host's own address."""

    def __init__(self, machine: Machine, settings: "dict[str, object]") -> None:
        self._machine = machine
        self._settings: dict[str, object] = {**DEFAULTS, **settings}
        self.make_keys()
        self._write()

    @property
    def port(self) -> int:
        return int(self._settings.get("Port", 22))

    def make_keys(self) -> None:
        for kind in ("ed25519", "ecdsa"):
            key = self._machine.etc / f"ssh/ssh_host_{kind}_key"
            key.unlink(missing_ok=True)
            comment = f"root@{self._machine.name}"
            command = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", comment, "-f", str(key)]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True)

    def set(self, settings: "dict[str, object]") -> None:
        """Change settings; None takes one away. A setting that sshd refuses changes nothing."""
        before = dict(self._settings)
        self._settings = {key: value for key, value in {**before, **settings}.items() if value is not None}
        self._write()
        tried = self._machine.inside("/usr/sbin/sshd", "-t")
        if tried.returncode != 0:
            self._settings = before
            self._write()
            raise ValueError(f"sshd refuses {settings}: {tried.stderr.strip()}")

    def _write(self) -> None:
        pairs = [(key, each) for key, value in self._settings.items() for each in _values(value)]
        (self._machine.etc / "ssh/sshd_config").write_text("".join(f"{key} {value}\n" for key, value in pairs))

    def start(self) -> None:
        """Returns when it listens: only then does it write its pid file."""
        self._machine.must("/usr/sbin/sshd", "-E", LOG)
        deadline = time.monotonic() + 10
        while not (self._machine.root / "run/sshd.pid").exists():
            if time.monotonic() > deadline:
                raise RuntimeError(f"sshd did not start: {self.log()}")
            time.sleep(0.002)

    def stop(self) -> None:
        """End the listener; open sessions go on, as when the package is upgraded."""
        pid_file = self._machine.root / "run/sshd.pid"
        deadline = time.monotonic() + 10
        while pid_file.exists():  # asked again: one that is only just starting may not hear the first
            try:
                pid = pid_file.read_text().strip()
            except FileNotFoundError:
                return
            if pid:
                self._kill("-TERM", pid)
            patience = time.monotonic() + 0.3
            while pid_file.exists() and time.monotonic() < patience:
                time.sleep(0.002)
            if time.monotonic() > deadline:
                raise RuntimeError(f"sshd did not end: {self.log()}")

    def kill(self) -> None:
        """Kill the listener and every session; what they had started is left without a terminal or a pipe."""
        while pids := [str(pid) for pid, words in self._machine.processes().items() if is_sshd(words)]:
            self._kill("-KILL", *pids)  # again, until none is found: a session may just have been born
        (self._machine.root / "run/sshd.pid").unlink(missing_ok=True)

    def _kill(self, signal: str, *pids: str) -> None:
        """Bash's own `kill`: the program is not on every machine. One that has ended meanwhile is no error."""
        self._machine.inside("/bin/bash", "-c", 'kill "$@"', "kill", signal, *pids)

    def log(self) -> str:
        return (self._machine.folder / LOG[1:]).read_text(errors="replace")


def _values(value: object) -> "list[object]":
    words = {True: "yes", False: "no"}
    values = value if isinstance(value, list) else [value]
    return [words[each] if isinstance(each, bool) else each for each in values]


def is_sshd(words: "list[str]") -> bool:
    """Whether the command line is the listener's or a session's (`sshd: ada@pts/0`)."""
    return words[0].startswith("sshd:") or words[0] == "/usr/sbin/sshd"
