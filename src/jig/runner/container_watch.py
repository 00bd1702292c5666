"""The guard's side of a run in a container: starts docker, passes orders on, and finds out how it ended.

Whether the run goes on is told by a lock that init holds inside, through the mounted run folder. So the engine may die
and come back, and a script that outlives it is still watched.
"""

import os
import select
import sys
import time

assert sys.platform != "win32"  # before the imports, so that the type checker leaves them out on Windows

from jig.runner import tree
from jig.runner.container import Setup
from jig.runner.engine import EngineFailed, explain
from jig.runner.folder import INSIDE
from jig.runner.guard import Watch
from jig.runner.quick_json import loads
from jig.system import carriers, end, lock
from jig.system import quick_signal as signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from jig.runner.container_copy import Copying

# Init's exit codes: the folder that it sees is not the run's; nobody told it what to start; it sees no GPU.
NOT_OURS, NO_ORDERS, NO_GPU = 90, 91, 92
MARGIN_S = 3.0  # beyond the script's grace, for init and engine
LOOK_S = 0.2
ENGINE_S = 10.0
ENGINE_GONE = "the Docker engine has gone away; the script goes on without it"
DOCKERS = 125  # exit codes from here on are docker's, or mean a signal
NOT_STARTED = (125, 126, 127, NOT_OURS, NO_ORDERS, NO_GPU)
WITHOUT_GPU = (
    "the container was started without a GPU, though the engine was asked for one: submit again to be told why"
)
COPIED = "the Docker engine does not see this machine's folders: files are copied in and out instead"
KEPT = "the container %s is still there (%s): `jig experiment clean` removes it"


class ContainerWatch(Watch):
    """One container, from its start to its removal."""

    def __init__(self, orders: int, tell: "Callable[[str], None]", setup: Setup) -> None:
        self._orders = orders
        self._tell = tell
        self._setup = setup
        self._engine = setup.engine
        self._copying: "Optional[Copying]" = None
        self._client = 0
        self._to_init = -1
        self._unsent = b""
        self._stopped = False
        self._deadline: "Optional[float]" = None
        self._told_of_engine = False
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def run(self) -> "Optional[Dict[str, Any]]":
        """Wait for the container's end; None when nobody is left to hear of it."""
        try:
            self._start()
            outcome = self._watch()
            if outcome is not None and "again" in outcome:
                self._remove()
                self._tell(COPIED)
                self._setup.shared = False
                self._start()
                outcome = self._watch()
        except EngineFailed as error:
            outcome = {"error": "%s: %s" % (error.reason, error.hint) if error.hint else error.reason}
        self._close_stdin()
        self._remove()
        tree.end_below(os.getpid(), 0.0)
        return outcome

    def _start(self) -> None:
        words = self._setup.words()
        if self._setup.shared:
            command = ["run", "--sig-proxy=false"] + words
        else:
            from jig.runner.container_copy import Copying

            self._copying = Copying(self._setup)
            self._copying.bring_in(words)
            command = ["start", "--attach", "--interactive", self._setup.name]
        self._unsent = self._setup.orders
        reading, self._to_init = os.pipe()
        os.set_blocking(self._to_init, False)
        self._client = os.fork()
        if not self._client:
            self._become_client(self._setup.starter.argv(*command), reading)
        os.close(reading)

    def _become_client(self, argv: "List[str]", stdin: int) -> None:
        try:
            signal.set_wakeup_fd(-1)
            os.setsid()
            for name in ("SIGPIPE", "SIGINT", "SIGHUP", "SIGCHLD", "SIGTERM"):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            out = os.open(self._setup.folder.docker_log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            for descriptor, ours in ((0, stdin), (1, out), (2, out)):
                os.dup2(ours, descriptor)
            os.chdir("/")
            os.execvpe(argv[0], argv, dict(os.environ, **self._setup.starter.environ))
        except OSError as error:
            os.write(2, ("%s: %s\n" % (argv[0], error.strerror)).encode())
        finally:  # the boundary of this process: nothing may unwind into the guard's frames
            os._exit(127)

    def _watch(self) -> "Optional[Dict[str, Any]]":
        while True:
            if self._client:
                pid, status = os.waitpid(self._client, os.WNOHANG)
                if pid:
                    self._client = 0
                    self._close_stdin()
            if self._copying is not None:
                self._copying.attend(going=bool(self._client))
            if not self._client:
                outcome = self._look(status)
                if outcome is not None:
                    return outcome
            writing = [self._to_init] if self._unsent and self._to_init >= 0 else []
            ready = select.select([self._orders, self._wake], writing, [], self._wait_s())
            if self._wake in ready[0]:
                os.read(self._wake, 512)
            if ready[1]:
                self._send()
            if self._orders in ready[0] and not self._obey():
                self._close_stdin()
                self._force()
                return None
            if self._deadline is not None and time.monotonic() >= self._deadline:
                self._deadline = time.monotonic() + ENGINE_S
                self._force()

    def _wait_s(self) -> "Optional[float]":
        waits = [LOOK_S] if not self._client or self._copying is not None else []
        if self._deadline is not None:
            waits.append(max(0.0, self._deadline - time.monotonic()))
        return min(waits) if waits else None

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._to_init, self._unsent[:65536]) :]
        except BrokenPipeError:  # docker has left; its exit code says why
            self._unsent = b""

    def _close_stdin(self) -> None:
        if self._to_init >= 0:
            os.close(self._to_init)
            self._to_init = -1

    def _obey(self) -> bool:
        """Read what the supervisor wants; False when it is dead."""
        data = os.read(self._orders, 4096)
        if not data:
            return False
        grace_s = float(data.split(b"\n")[-2])
        self._stopped = True
        self._unsent += b"stop %f\n" % grace_s
        self._deadline = time.monotonic() + grace_s + MARGIN_S
        if not self._client:  # no docker to pass it on: the processes are asked themselves
            for pid in carriers(tree.RUN_VARIABLE, self._setup.folder.id):
                end(pid)
        return True

    def _force(self) -> None:
        """End what is inside without asking: by the kernel, where it is ours, and by the engine."""
        tree.end_carriers(self._setup.folder.id)
        if os.path.exists(self._inside("lock")) and not self._inside_lives():
            return  # an engine that does not answer need not be waited for
        try:
            self._engine.call("kill", self._setup.name, timeout_s=ENGINE_S)
        except EngineFailed:  # it is asked again when the container is removed, and the person is told then
            return

    def _look(self, status: int) -> "Optional[Dict[str, Any]]":
        """How it ended, now that docker has left; None while it goes on inside."""
        if self._copying is not None and self._copying.bring_out():
            return None
        outcome = self._outcome()
        if outcome is not None:
            return outcome
        if self._inside_lives():
            if not self._told_of_engine:
                self._told_of_engine = True
                self._tell(ENGINE_GONE)
            return None
        outcome = self._outcome()  # written between the two looks
        if outcome is not None:
            return outcome
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        if code in NOT_STARTED and not os.path.exists(self._inside("inside.json")):
            return self._not_started(code)
        if code < DOCKERS:  # the script's own: it was not written down, on a full disk say
            return self._judge({"exit": code})
        return self._killed()

    def _outcome(self) -> "Optional[Dict[str, Any]]":
        """What init has written; None when it has not, or somebody else has."""
        try:
            with open(self._inside("outcome.json"), "rb") as file:
                outcome = loads(file.read())
        except (OSError, ValueError):
            return None
        return self._judge(outcome) if _is_outcome(outcome) else None

    def _judge(self, outcome: "Dict[str, Any]") -> "Dict[str, Any]":
        """The outcome, with what the engine had to do with it."""
        outcome["survivors"] = []
        if "error" in outcome or self._stopped or outcome.get("exit") == 0:
            return outcome
        if outcome.pop("orphaned", 0):
            outcome["engine"] = "the connection to the Docker engine was cut"
        elif outcome.pop("told", 0) and self._engine_stops():
            outcome["engine"] = "the Docker engine was stopped, and the container with it"
        else:
            outcome["out_of_memory"] = self._out_of_memory()
        return outcome

    def _inside(self, name: str) -> str:
        return os.path.join(self._setup.folder.path, INSIDE, name)

    def _inside_lives(self) -> bool:
        """Whether init holds its lock."""
        try:
            descriptor = os.open(self._inside("lock"), os.O_RDWR)
        except OSError:
            return False
        try:
            return not lock(descriptor, wait=False)
        finally:
            os.close(descriptor)

    def _not_started(self, code: int) -> "Dict[str, Any]":
        """What docker had to say."""
        with open(self._setup.folder.docker_log, errors="replace") as file:
            failed = explain(file.read()[-4000:])
        if self._setup.shared and (code == NOT_OURS or failed.code == "mount"):
            return {"again": "copied"}
        if code == NO_GPU:
            failed = EngineFailed(WITHOUT_GPU, code="gpu")
        if failed.code == "gpu":
            from jig.runner import engine_gpu

            engine_gpu.forget(self._engine, self._setup.home)
        if self._stopped:
            return {"signal": signal.SIGTERM, "survivors": []}
        return {"error": failed.reason + (": " + failed.hint if failed.hint else "")}

    def _killed(self) -> "Dict[str, Any]":
        """Nobody inside could say how it ended: the engine may know."""
        outcome: "Dict[str, Any]" = {"signal": signal.SIGKILL, "survivors": []}
        if self._stopped:
            return outcome
        outcome["out_of_memory"] = self._out_of_memory()
        if not outcome["out_of_memory"] and self._engine_stops():
            outcome["engine"] = "the Docker engine was stopped, and the container with it"
        return outcome

    def _out_of_memory(self) -> bool:
        try:
            said = self._engine.call(
                "inspect", "--format", "{{.State.OOMKilled}}", self._setup.name, timeout_s=ENGINE_S
            )
        except EngineFailed:
            return False
        return said.out.strip() == b"true"

    def _engine_stops(self) -> bool:
        """Whether the engine goes down, or has just come up again: then it knows nothing of the container's start."""
        since, mine = "%.9f" % (self._setup.began - 1), "container=" + self._setup.name
        for _ in range(8):
            asked = ("--since", since, "--until", "%.9f" % time.time(), "--filter", mine)
            try:
                said = self._engine.call("events", *asked, "--format", "{{.Action}}", timeout_s=5.0)
            except EngineFailed:
                return True
            if b"start" not in said.out.split():
                return True
            time.sleep(0.25)
        return False

    def _remove(self) -> None:
        try:
            said = self._engine.call("rm", "--force", self._setup.name, timeout_s=ENGINE_S)
        except EngineFailed as error:
            self._tell(KEPT % (self._setup.name, error.reason))
            return
        if said.code and "No such container" not in said.err:
            self._tell(KEPT % (self._setup.name, said.err.strip()))


def _is_outcome(said: "Any") -> bool:
    """Whether init would say that; the script can write where init does."""
    if not isinstance(said, dict):
        return False
    code, number = said.get("exit", -1), said.get("signal", -1)
    if not isinstance(code, int) or not isinstance(number, int):
        return False
    return isinstance(said.get("error"), str) or 0 <= code < 256 or 0 < number < signal.NSIG
