"""A computer made of namespaces: a file tree, a network and a name that stay, and processes that end at each reboot."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.hosts import accounts, systemd
from tests.hosts.link import Link

BUILD = Path(__file__).with_name("build.sh")
BOOT = Path(__file__).with_name("boot.sh")
PLAIN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
FOLDERS = {"tree": 0o755, "upper": 0o755, "etc": 0o755, "home": 0o755, "root": 0o700, "var": 0o755, "var/log": 0o755,
           "var/lib": 0o755, "var/tmp": 0o1777}  # fmt: skip
KEPT = {"mount": "mnt", "net": "net", "uts": "uts"}
SYSTEMD = ("/lib/systemd/systemd", "--unit=host.target")


class Machine:
    """Everything hangs on descriptors of this process: when it is killed, the kernel takes the machine away."""

    def __init__(self, name: str, folder: Path, behind: "Machine | None" = None) -> None:
        self.name, self.folder, self.depth = name, folder, behind.depth + 1 if behind else 0
        for part, mode in FOLDERS.items():
            (folder / part).mkdir(parents=True)
            (folder / part).chmod(mode)
        (folder / "var/run").symlink_to("/run")
        self.etc = folder / "etc"
        accounts.lay_out(self.etc, name)
        self._spaces: dict[str, int] = {}
        self._keeper: subprocess.Popen[str] | None = None
        self._enter_group: Callable[[], object] | None = None
        with contextlib.ExitStack() as ends:
            self._build(behind, ends)
            ends.callback(self._halt)
            self._boot()
            self._ends = ends.pop_all()

    def _build(self, behind: "Machine | None", ends: contextlib.ExitStack) -> None:
        command = ["unshare", "--mount", "--net", "--uts", "/bin/bash", str(BUILD), str(self.folder), self.name]
        with _spoken_to(command) as builder:
            _expect(builder, "built")
            for option, kind in KEPT.items():
                self._spaces[option] = os.open(f"/proc/{builder.pid}/ns/{kind}", os.O_RDONLY)
                ends.callback(os.close, self._spaces[option])
            near = behind._spaces["net"] if behind else None
            self.link = Link(builder.pid, self._spaces["net"], near, self.depth)
            ends.callback(self.link.close)

    def _boot(self) -> None:
        enter = [f"--{option}=/proc/self/fd/{held}" for option, held in self._spaces.items()]
        start = ["unshare", "--pid", "--ipc", "--fork", "--kill-child", "/bin/bash", "-c", BOOT.read_text(), "init"]
        if self._enter_group is not None:  # systemd does not end with its standard input: it is to die with us
            start = ["setpriv", "--pdeathsig", "KILL", "unshare", "--cgroup", *start[1:], *SYSTEMD]
        options = {"pass_fds": tuple(self._spaces.values()), "preexec_fn": self._enter_group}
        keeper = _spoken_to(["nsenter", *enter, *start], **options)
        _expect(keeper, "up")
        self.init, self._keeper = child_of(keeper.pid), keeper
        if self._enter_group is not None:
            systemd.wait_for_logind(self)

    def reboot(self) -> None:
        """Kill every process at once and start anew; what is on its disks stays, /tmp and /run are empty."""
        self._halt()
        self._boot()

    def boot_systemd(self, logind: "dict[str, object]") -> None:
        """Reboot, from now on with systemd."""
        systemd.lay_out(self.etc, logind)
        self.must("find", systemd.WANTS, "-mindepth", "1", "-delete")
        self._halt()
        group = systemd.control_group(f"{self.folder.parent.name}-{self.name}")
        self._enter_group = self._ends.enter_context(group)
        self._ends.callback(self._halt)  # before the group goes
        self._boot()

    def _halt(self) -> None:
        if self._keeper is not None:
            with self._keeper:  # closes the pipes, waits
                os.kill(self.init, signal.SIGKILL)
            self._keeper = None

    def close(self) -> None:
        self._ends.close()

    @property
    def root(self) -> Path:
        """The root of its file tree, as seen from here; it changes at a reboot."""
        return Path(f"/proc/{self.init}/root")

    @property
    def enter(self) -> "list[str]":
        """The words before a command of this machine that is to run there; they change at a reboot."""
        return ["nsenter", f"--target={self.init}", "--mount", "--uts", "--ipc", "--net", "--pid", "--"]

    def inside(self, *words: str, user: str = "root", timeout_s: float = 60) -> "subprocess.CompletedProcess[str]":
        """Run a command there, in a plain environment."""
        drop = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--reset-env", "--"]
        options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "errors": "replace"}
        return subprocess.run([*self.enter, *drop, *words], env=PLAIN, umask=0o022, timeout=timeout_s, **options)

    def must(self, *words: str) -> str:
        """Run a command there as root that has to succeed."""
        done = self.inside(*words)
        if done.returncode != 0:
            raise RuntimeError(f"{words} failed on {self.name} with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def processes(self) -> "dict[int, list[str]]":
        """Words of each living process by its number there, the first process left out."""
        found = {}
        for place in (self.root / "proc").iterdir():
            if place.name.isdigit() and place.name != "1":
                try:
                    words = (place / "cmdline").read_bytes().decode(errors="replace")
                except (FileNotFoundError, ProcessLookupError):  # ended while we looked
                    continue
                if words:  # a zombie has none
                    found[int(place.name)] = words.rstrip("\0").split("\0")
        return found


def _spoken_to(command: "list[str]", **options) -> "subprocess.Popen[str]":
    """A process that lives until its standard input is closed, by us or by our death."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env=PLAIN, umask=0o022, start_new_session=True, **pipes, **options)


def _expect(process: "subprocess.Popen[str]", word: str) -> None:
    if process.stdout.readline() != f"{word}\n":
        _, said = process.communicate(timeout=10)
        raise RuntimeError(f"a test host did not come up: {said.strip()}")


def child_of(parent: int) -> int:
    """The number of the child of a process that has one."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                after_name = Path(f"/proc/{name}/stat").read_text(errors="replace").rpartition(")")[2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(after_name.split()[1]) == parent:
                return int(name)
    raise RuntimeError(f"process {parent} has no child")
