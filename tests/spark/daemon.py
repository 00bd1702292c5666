"""One daemon of a Spark cluster, master or worker: an ordinary process of an ordinary user on a host."""

import os
import shlex
import time

from tests.hosts.host import Host

END_S = 20


class Daemon:
    """`start` and `kill` return when it is done; the log goes on over restarts."""

    def __init__(self, host: Host, kind: str, words: "tuple[str, ...]", environ: "dict[str, str]") -> None:
        self.host, self.marker = host, f"org.apache.spark.deploy.{kind.lower()}.{kind}"
        self.is_wanted = False  # its process has no words for the moment in which it becomes another program
        self._log = host.home / f"{kind.lower()}.log"
        settings = [f"{name}={value}" for name, value in environ.items()]
        command = ("env", *settings, f"{environ['SPARK_HOME']}/bin/spark-class", self.marker, *words)
        self._command = f"setsid {shlex.join(command)} < /dev/null >> {self._log.name} 2>&1 &"

    def start(self) -> None:
        """Start it, if it does not run."""
        self.is_wanted = True
        if not self.pids():
            self.host.run(self._command).check_returncode()
            wait_for(self.pids, f"{self.marker} on {self.host.name}", END_S, self.log)

    def kill(self, signal: str = "KILL") -> None:
        self.is_wanted = False
        kill(self.host, self.pids(), signal)

    def pids(self) -> "list[int]":
        return pids(self.host, self.marker)

    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""


def pids(host: Host, marker: str) -> "list[int]":
    """The host's own numbers of its living processes that have the word among theirs."""
    return sorted(number for number, words in processes(host).items() if marker in words)


def processes(host: Host) -> "dict[int, list[str]]":
    """The words of every process of people there, by its number; sshd's are left out."""
    found = {}
    for place in (host.root / "proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
            owner = place.stat().st_uid
        except (FileNotFoundError, ProcessLookupError):  # ended while we looked
            continue
        if owner != 0 and words[0] and not words[0].startswith("sshd:"):
            found[int(place.name)] = words
    return found


def kill(host: Host, numbers: "list[int]", signal: str = "KILL") -> None:
    """Returns when they are gone."""
    if numbers:
        host.run(f"kill -{signal} {shlex.join(map(str, numbers))}", user="root")
        # The whole of it: one that is about to end has no words any more, and still its ports.
        left = [host.root / f"proc/{number}" for number in numbers]
        wait_for(lambda: not any(map(os.path.exists, left)), f"the end of {numbers} on {host.name}", END_S)


def wait_for(condition, what: str, timeout_s: float, said=lambda: "") -> None:
    """Look ten times a second; `said` tells more when it took too long."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"waited {timeout_s} s for {what}\n{said()}")
        time.sleep(0.1)
