"""The script's parent: ends with it, or ends it, and leaves no descendant behind.

The supervisor forks the guard and keeps one end of a pipe to it. A line in the pipe asks it to stop the script; when
the supervisor dies the kernel closes that end, and the guard kills the tree. Another pipe carries the script's outcome.
"""

import os
import select
import sys
import time

from jig.runner import manifest, mlflow_door, tree
from jig.runner.folder import RunFolder, runner_root
from jig.runner.quick_json import dumps, loads
from jig.system import end, inherit_orphans, kill, oom_kills
from jig.system import quick_signal as signal

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence

    # Starts the script, waits, and returns how it ended; None when nobody is left to hear of it.
    Watch = Callable[[int, Callable[[str], None]], Optional[Dict[str, Any]]]

LEFTOVER_GRACE_S = 1.0  # for what a script leaves running when it ends by itself


class Guard:
    """The supervisor's end."""

    def __init__(self, pid: int, orders: int, answers: int) -> None:
        self.pid = pid
        self._orders = orders
        self._answers = answers
        self._heard = b""
        self.notes: "List[str]" = []  # what it has to say before the end

    def fileno(self) -> int:
        """Readable when the outcome is there."""
        return self._answers

    def stop(self, grace_s: float) -> None:
        """Ask the guard to end the script; a guard that is gone is noticed by `outcome`."""
        try:
            os.write(self._orders, b"%f\n" % grace_s)
        except BrokenPipeError:
            return

    def outcome(self) -> "Optional[Dict[str, Any]]":
        """Read what is there: the outcome, or None when there is more to come.

        `{"guard": "killed"}`: what it guarded is ours to end.
        """
        data = os.read(self._answers, 65536)
        lines = (self._heard + data).split(b"\n")
        self._heard = lines.pop()
        for line in lines:
            said = dict(loads(line.decode()))
            if "note" not in said:
                os.waitpid(self.pid, 0)
                return said
            self.notes.append(said["note"])
        if data:
            return None
        os.waitpid(self.pid, 0)
        return {"guard": "killed"}


def start(watch: "Watch", not_ours: "Sequence[int]") -> Guard:
    """Fork the guard, which runs `watch` with the pipe of its orders and a way to say something.

    `not_ours` are descriptors that only the supervisor may hold.
    """
    orders, orders_end = os.pipe()
    answers_end, answers = os.pipe()
    pid = os.fork()
    if pid:
        os.close(orders)
        os.close(answers)
        return Guard(pid, orders_end, answers_end)
    try:
        for descriptor in (orders_end, answers_end, *not_ours):
            os.close(descriptor)
        # When the whole tree is told to end (a shutdown), the script still gets its time from the supervisor.
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)

        def tell(said: "Dict[str, Any]") -> None:
            try:
                os.write(answers, dumps(said).encode() + b"\n")
            except BrokenPipeError:  # the supervisor is dead, and nobody wants to know
                return

        outcome = watch(orders, lambda text: tell({"note": text}))
        if outcome is not None:
            tell(outcome)
    except BaseException:  # this process's boundary: tell where, then end without unwinding the supervisor's frames
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


class ProcessWatch:
    """The guard's own side for a script that is a process here: starts it, waits, ends what is left."""

    def __init__(
        self,
        orders: int,
        tell: "Callable[[str], None]",
        argv: "Sequence[str]",
        environ: "Dict[str, str]",
        folder: RunFolder,
    ) -> None:
        self._orders = orders
        self._door = mlflow_door.Door(folder.id, folder.path, folder.work, tell)
        self._oom_before = oom_kills()
        self._deadline = None  # type: Optional[float]
        self._killed_by_us = False
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        inherit_orphans()
        self._script = 0
        self._error = self._start(argv, self._with_door(environ, tell), folder.work, folder.log)

    def _with_door(self, environ: "Dict[str, str]", tell: "Callable[[str], None]") -> "Dict[str, str]":
        """The script's variables with the way to its MLflow endpoint, unless they have one already."""
        if mlflow_door.is_wanted(environ):
            try:
                return dict(environ, **self._door.open(environ))
            except OSError as error:
                tell("there is no MLflow endpoint in this run: %s" % error)
        return environ

    def _start(self, argv: "Sequence[str]", environ: "Dict[str, str]", work: str, log: str) -> "Optional[str]":
        """Fork and exec the script; returns why that failed, or None."""
        failed, tell = os.pipe()
        self._script = os.fork()
        if not self._script:
            _become_script(argv, environ, work, log, tell)
        os.close(tell)
        with open(failed, "rb") as stream:
            reason = stream.read().decode(errors="replace")
        return reason or None

    def run(self) -> "Optional[Dict[str, Any]]":
        """Wait for the script's end; None when nobody is left to hear of it."""
        if self._error is not None:
            os.waitpid(self._script, 0)
            return {"error": self._error}
        while True:
            ended = self._ended()
            if ended is not None:
                return self._finish(ended)
            wait_s = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
            knocked = self._door.watched()
            ready = select.select([self._orders, self._wake] + knocked, [], [], wait_s)[0]
            if self._wake in ready:
                os.read(self._wake, 512)
            if knocked and knocked[0] in ready:
                self._door.answer(os.path.join(runner_root(), "script"))
            if self._orders in ready and not self._obey():
                tree.end_below(os.getpid(), 0.0)
                return None
            if self._deadline is not None and time.monotonic() >= self._deadline:
                self._killed_by_us = True
                kill(self._script)
                self._deadline = None

    def _obey(self) -> bool:
        """Read what the supervisor wants; False when it is dead."""
        data = os.read(self._orders, 4096)
        if not data:
            return False
        grace_s = float(data.split(b"\n")[-2])
        self._deadline = time.monotonic() + grace_s
        end(self._script)
        return True

    def _ended(self) -> "Optional[int]":
        """The script's wait status once it has ended; other children are taken in on the way."""
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == self._script:
                return status
            if pid == 0:
                return None
            self._door.missed(pid)

    def _finish(self, status: int) -> "Dict[str, Any]":
        self._door.leave()
        left_s = LEFTOVER_GRACE_S if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        outcome = {"survivors": tree.end_below(os.getpid(), 0.0 if self._killed_by_us else left_s)}  # type: Dict[str, Any]
        if os.WIFSIGNALED(status):
            outcome["signal"] = number = os.WTERMSIG(status)
        else:
            outcome["exit"] = os.WEXITSTATUS(status)
            number = outcome["exit"] - 128  # so a shell, or Java, tells of one that it had started
        was_killed = number == signal.SIGKILL and not self._killed_by_us
        outcome["out_of_memory"] = was_killed and oom_kills() > self._oom_before
        return outcome


def _become_script(argv: "Sequence[str]", environ: "Dict[str, str]", work: str, log: str, tell: int) -> "NoReturn":
    """Turn this forked process into the script; when that fails, say why through `tell`."""
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        # Python ignores these; a script's shell pipelines and native programs expect the system's own behaviour.
        for name in ("SIGPIPE", "SIGXFSZ", "SIGINT", "SIGQUIT", "SIGHUP", "SIGCHLD", "SIGTERM"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDONLY)
        out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.dup2(null, 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(work)
        # As bytes: Python 3.6 would encode them as ASCII where the locale is C.
        variables = {manifest.native(name): manifest.native(value) for name, value in environ.items()}
        os.execve(argv[0], [manifest.native(word) for word in argv], variables)
    except OSError as error:
        os.write(tell, ("%s: %s" % (error.filename or argv[0], error.strerror)).encode(errors="replace"))
    except BaseException as error:  # the boundary of this process: nothing may unwind into the guard's frames
        os.write(tell, repr(error).encode(errors="replace"))
    os._exit(127)
