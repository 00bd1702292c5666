"""A machine reached over SSH: submits and uploads against ssh, rsync and tar, and the log's delay."""

from __future__ import annotations

import glob
import itertools
import os
import random
import subprocess
import time

import projects
from environments import jig
from figure import Figure
from folders import fresh, kept, read, write
from sshd import Server, server
from timing import best_of, to_the_end_s, to_the_line_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FRESH_BAR, WARM_BAR, CHANGE_BAR, UPLOAD_BAR = 1.5, 4.0, 1.0, 1.2
LOG_LIMIT_S = 0.3
ROUNDS, FAR_ROUNDS, CHANGE_ROUNDS, UPLOAD_ROUNDS = 15, 6, 6, 3
DELAY_MS = 50
LINE = "hello"
FILES, FILE_BYTES, FOLDERS = 5000, 20_000, 200
LOG_LINES = 60
CHANGED = "changed.py"
# Lines at moments that no reader's rhythm can fit.
CLOCK = f"""\
import random, time

random.seed(3)
for _ in range({LOG_LINES}):
    time.sleep(random.uniform(0.05, 0.7))
    print(f"written {{time.time()}}")
"""


def measure() -> list[Figure]:
    """On the loopback, and over a network with a round trip of 50 ms."""
    with server() as machine:
        machine.run(f"echo 'print(\"{LINE}\")' > hello.py")
        near = _figures(machine, "", ROUNDS)
        with machine.behind(DELAY_MS) as far:
            return near + _figures(far, f", {DELAY_MS} ms", FAR_ROUNDS)


def _figures(machine: Server, where: str, rounds: int) -> list[Figure]:
    small = Attached(machine, fresh("ssh", "small", "home"), projects.create(*_places("small")))
    projects.hello(small.project)
    write(os.path.join(small.project, "clock.py"), CLOCK)
    figures = [_cold(small, rounds), _warm(small, rounds), _log(small)]
    small.hang_up()
    machine.run("rm -rf .jig there synced")
    tree = kept("ssh-tree", read(__file__), _fill)
    large = Attached(machine, fresh("ssh", "large", "home"), tree)
    figures += [*_uploads(large), _change(large)]
    large.hang_up()
    machine.run("rm -rf .jig there synced")
    return [figure._replace(ours=figure.ours + where) for figure in figures]


def _places(name: str) -> tuple[str, str]:
    return os.path.join(fresh("ssh", name), "project"), fresh("ssh", name, "home")


class Attached:
    """A project that has attached the machine as `box`, in a jig home of its own."""

    def __init__(self, machine: Server, home: str, project: str, *kind: str) -> None:
        self.machine = machine
        self.project = project
        # Where the sockets of control connections are, which are closed here between rounds.
        self._sockets = os.path.join(machine.folder, "run")
        os.makedirs(self._sockets, exist_ok=True)
        self.environ = jig().environ(JIG_HOME=home, XDG_RUNTIME_DIR=self._sockets)
        words = ("-n", "box", "-a", machine.address, "-u", machine.user, "-k", "--accept-host-key")
        for name in glob.glob(os.path.join(project, "aml_config", "box.*")):
            os.unlink(name)
        self.jig("computetarget", "attach", *(kind or ("remote",)), *words)
        (key,) = glob.glob(os.path.join(home, "machines", "*", "key.pub"))
        machine.let_in(read(key))
        self.jig("computetarget", "check", "box")

    def jig(self, *words: str) -> None:
        """A command that is not timed."""
        to_the_end_s((jig().program("jig"), *words), self.environ, self.project)

    def hang_up(self) -> None:
        """Close the control connection."""
        for socket in glob.glob(os.path.join(self._sockets, "*", "*")):
            argv = ("ssh", "-O", "exit", "-o", f"ControlPath={socket}", "box")
            subprocess.run(argv, stderr=subprocess.DEVNULL, check=False)

    def to_the_line_s(self) -> float:
        """A submit, until the script's line is here."""
        argv = (jig().program("jig"), "submit", "-c", "box", "hello.py")
        return to_the_line_s(argv, LINE, self.environ, self.project)

    def to_the_handle_s(self) -> float:
        """A submit, with a connection of its own, until the machine has the code; afterwards its run is waited for."""
        self.hang_up()
        argv = (jig().program("jig"), "submit", "-a", "-c", "box", "hello.py")
        seconds = to_the_end_s(argv, self.environ, self.project)
        self.jig("logs", "-f")
        return seconds


def _cold(attached: Attached, rounds: int) -> Figure:
    machine = attached.machine

    def ours() -> float:
        attached.hang_up()
        return attached.to_the_line_s()

    def bare() -> float:
        argv = (*machine.ssh, machine.login, "python3 hello.py")
        return to_the_line_s(argv, LINE, attached.environ, attached.project)

    ours_s, bare_s = _best(rounds, ours, bare)
    return Figure("ssh", "submit, new connection", ours_s, "ssh python3", bare_s, FRESH_BAR)


def _warm(attached: Attached, rounds: int) -> Figure:
    machine = attached.machine
    through = (*machine.ssh, "-S", os.path.join(machine.folder, "bare"))
    subprocess.run((*through, "-M", "-f", "-N", machine.login), stdin=subprocess.DEVNULL, check=True)
    try:
        ours_s, bare_s = _best(
            rounds,
            attached.to_the_line_s,
            lambda: to_the_line_s(
                (*through, machine.login, "python3 hello.py"), LINE, attached.environ, attached.project
            ),
        )
    finally:
        subprocess.run((*through, "-O", "exit", machine.login), stderr=subprocess.DEVNULL, check=True)
    return Figure("ssh", "submit, kept connection", ours_s, "ssh python3", bare_s, WARM_BAR)


def _log(attached: Attached) -> Figure:
    """The delay that 95 of 100 lines stay within, from the script's clock to this one; it is the same computer's."""
    argv = (jig().program("jig"), "submit", "-c", "box", "clock.py")
    delays = []
    with subprocess.Popen(argv, env=attached.environ, cwd=attached.project, stdout=subprocess.PIPE) as process:
        for line in process.stdout or ():
            if line.startswith(b"written "):
                delays.append(time.time() - float(line.split()[1]))
    if len(delays) != LOG_LINES:
        raise SystemExit(f"{len(delays)} of {LOG_LINES} lines came")
    p95_s = sorted(delays)[int(0.95 * LOG_LINES)]
    return Figure("ssh", "log line, p95", p95_s, "limit", LOG_LIMIT_S, 1.0)


def _uploads(attached: Attached) -> list[Figure]:
    """The whole project to a machine that has none of it: with its snapshot taken before, and with everything new."""
    machine, home = attached.machine, attached.environ["JIG_HOME"]

    def ours() -> float:
        machine.run("rm -rf .jig/blobs .jig/runs")
        return attached.to_the_handle_s()

    def everything() -> float:
        for name in ("blobs", "cache"):
            subprocess.run(("rm", "-rf", os.path.join(home, name)), check=True)
        return ours()

    def tar() -> float:
        machine.run("rm -rf there && mkdir there")
        sent = f"tar -cf - --exclude .git . | {' '.join(machine.ssh)} {machine.login} tar -xf - -C there"
        return to_the_end_s(("sh", "-c", sent), attached.environ, attached.project)

    ours_s, tar_s, everything_s = _best(UPLOAD_ROUNDS, ours, tar, everything)
    return [
        Figure("ssh", "100 MB, frozen before", ours_s, "tar | ssh tar", tar_s, UPLOAD_BAR),
        Figure("ssh", "100 MB, all of it new", everything_s, "tar | ssh tar", tar_s),
    ]


def _change(attached: Attached) -> Figure:
    """One file of the project is another, and has not been on the machine before."""
    machine, numbers = attached.machine, itertools.count()
    rsync = ("rsync", "-az", "--exclude", ".git", "-e", " ".join(machine.ssh), "./", f"{machine.login}:synced/")

    def change() -> None:
        write(os.path.join(attached.project, CHANGED), f"value = {next(numbers)}\n" * 100)

    def ours() -> float:
        change()
        return attached.to_the_handle_s()

    def theirs() -> float:
        change()
        return to_the_end_s(rsync, attached.environ, attached.project)

    ours_s, rsync_s = _best(CHANGE_ROUNDS, ours, theirs)
    return Figure("ssh", "1 of 5,000 files changed", ours_s, "rsync -az", rsync_s, CHANGE_BAR)


def _best(rounds: int, *sides: Callable[[], float]) -> list[float]:
    for side in sides:
        side()  # the first of each fills caches, and the machine's disk
    return best_of(rounds, *sides)


def _fill(tree: str) -> None:
    """Files of letters and digits, which compress to a half, under version control."""
    projects.create(tree, fresh("ssh", "large", "home"))
    write(os.path.join(tree, CHANGED), "")
    chance = random.Random(3)
    present = 1 + sum(len(names) for _, _, names in os.walk(tree))
    for number in range(FILES - present):
        place = os.path.join(tree, f"part_{number % FOLDERS:03d}", f"data_{number:04d}.txt")
        write(place, chance.randbytes(FILE_BYTES // 2).hex())
    projects.hello(tree)
