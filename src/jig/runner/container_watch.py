"""The guard's side of a run in a container: starts docker, passes orders on, and finds out how it ended.

Whether the run goes on is told by a lock that init holds inside, through the mounted run folder. So the engine may die
and come back, and a script that outlives it is still watched.
"""

import os
import select
import sys
import time

assert sys.platform != "win32"  # before the imports, so that the type checker leaves them out on Windows

from jig.runner import image_words, tree
from jig.runner.container import INIT, Interrupted, Setup
from jig.runner.engine import EngineFailed, explain
from jig.runner.folder import INSIDE, is_held, read_plain
from jig.runner.manifest import native
from jig.runner.quick_json import loads
from jig.system import carriers, close_inherited, end, kill
from jig.system import quick_signal as signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Set

    from jig.runner.container_copy import Copying
    from jig.runner.engine_run import Asked

# Init's exit codes: the folder that it sees is not the run's; nobody told it what to start; it sees no GPU.
NOT_OURS, NO_ORDERS, NO_GPU = 90, 91, 92
MARGIN_S = 3.0  # beyond the script's grace, for init and engine
LOOK_S = 0.2
ENGINE_S = 10.0
KILLED_S = 1.0  # longer a process takes to die only in a container that is paused
ENGINE_GONE = "the Docker engine has gone away; the script goes on without it"
DOCKERS = 125  # exit codes from here on are docker's, or mean a signal
NOT_STARTED = (125, 126, 127, NOT_OURS, NO_ORDERS, NO_GPU)
WITHOUT_GPU = (
    "the container was started without a GPU, though the engine was asked for one: submit again to be told why"
)
NO_PYTHON = "%s in the image did not get as far as the script (it says: %s)"
NO_PYTHON_HINT = "it must be Python 3.5 or newer, and whole: set pythonLocation, or take another base image"
COPIED = "the Docker engine does not see this machine's folders: files are copied in and out instead"
EVENT = "{{.Action}} {{.Actor.Attributes.name}}"
MOST_EVENTS = 256  # the engine keeps no more: with so many, the start may have been forgotten
OUTCOME = ("exit", "signal", "error", "told", "orphaned")
KEPT = "the container %s is still there (%s): `jig experiment clean` removes it"


class ContainerWatch:
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
        self._not_adopted: "Set[str]" = set()
        self._created = True
        self._forced = self._interrupted = False
        self._given_up = False  # what the container has is not waited for any more
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
            outcome = {"error": error.reason, "hint": error.hint}
        except Interrupted:
            outcome = {"signal": signal.SIGTERM, "survivors": []} if self._stopped else None
        self._close_stdin()
        self._remove()
        self._adopt_ranks()
        tree.end_below(os.getpid(), 0.0)
        return outcome

    def _start(self) -> None:
        words = self._setup.words()
        if self._setup.shared:
            command = ["run", "--sig-proxy=false"] + words
        else:
            from jig.runner.container_copy import Copying

            self._lay_out()
            self._copying = Copying(self._setup, self._heed)
            self._copying.bring_in(words)
            command = ["start", "--attach", "--interactive", self._setup.name]
        self._unsent = self._setup.orders()
        reading, self._to_init = os.pipe()
        os.set_blocking(self._to_init, False)
        asked, self._setup.asked = self._setup.asked, None
        self._client = os.fork()
        if not self._client:
            self._become_client(self._setup.starter.argv(*command), reading, asked)
        os.close(reading)
        self._lay_out()  # while the container starts: init waits for its orders

    def _lay_out(self) -> None:
        """Put the code where the container sees it, once."""
        lay_out, self._setup.lay_out = self._setup.lay_out, lambda: None
        try:
            lay_out()
        except OSError as error:
            raise EngineFailed(str(error))

    def _become_client(self, argv: "List[str]", stdin: int, asked: "Optional[Asked]") -> None:
        try:
            signal.set_wakeup_fd(-1)
            os.setsid()
            for name in ("SIGPIPE", "SIGINT", "SIGHUP", "SIGCHLD", "SIGTERM"):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            out = os.open(self._setup.folder.docker_log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            for descriptor, ours in ((0, stdin), (1, out), (2, out)):
                os.dup2(ours, descriptor)
            # The guard's pipes: whoever waits for their end waits for the guard's, not for ours.
            close_inherited(*[asked.fileno()] if asked else [])
            os.chdir("/")
            if asked:
                os._exit(asked.run())
            os.execvpe(argv[0], argv, dict(os.environ, **self._setup.starter.environ))
        except OSError as error:
            os.write(2, ("%s: %s\n" % (argv[0], error.strerror)).encode())
        except BaseException as error:  # the boundary of this process: nothing may unwind into the guard's frames
            os.write(2, repr(error).encode())
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
            elif self._setup.ranks:
                self._adopt_ranks()
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
                self._given_up = self._forced
                self._force()
                if self._given_up and self._client and not self._inside_lives():
                    self._client, status = 0, signal.SIGKILL  # sudo's, which we may not end, and an engine that hangs

    def _wait_s(self) -> "Optional[float]":
        waits = [LOOK_S] if not self._client or self._copying is not None or self._setup.ranks else []
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

    def _heed(self, readable: "List[int]", writable: "List[int]") -> None:
        """Wait in the middle of a copy; raises Interrupted for an order, or when after one nothing moves any more."""
        if not self._interrupted:
            ready = select.select([self._orders] + readable, writable, [], ENGINE_S if self._stopped else None)
            if self._orders not in ready[0] and any(ready):
                return
            self._interrupted = True  # and so for tarfile too, which wants to write its end
            if self._orders in ready[0]:
                self._obey()
        raise Interrupted

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
        self._forced = True
        if self._client:
            kill(self._client)
        tree.end_carriers(self._setup.folder.id, give_up_s=KILLED_S)
        if os.path.exists(self._inside("lock")) and not self._inside_lives():
            return  # an engine that does not answer need not be waited for
        try:
            for verb in ("unpause", "kill"):  # one that is paused is not killed
                self._engine.call(verb, self._setup.name, timeout_s=ENGINE_S)
        except EngineFailed:  # it is asked again in the end, and the person is told then
            self._given_up = True

    def _look(self, status: int) -> "Optional[Dict[str, Any]]":
        """How it ended, now that docker has left; None while it goes on inside."""
        if self._copying is not None and not self._given_up and self._copying.bring_out():
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
        if not os.path.exists(self._inside("inside.json")) and (code in NOT_STARTED or self._is_whole()):
            return self._not_started(code)
        if code < DOCKERS:  # the script's own: it was not written down, on a full disk say
            return self._judge({"exit": code})
        return self._killed()

    def _outcome(self) -> "Optional[Dict[str, Any]]":
        """What init has written; None when it has not, or somebody else has."""
        try:
            outcome = loads(read_plain(self._inside("outcome.json")))
        except (OSError, ValueError, RecursionError):
            return None
        if not _is_outcome(outcome):
            return None
        return self._judge({name: outcome[name] for name in OUTCOME if name in outcome})

    def _judge(self, outcome: "Dict[str, Any]") -> "Dict[str, Any]":
        """The outcome, with what the engine had to do with it."""
        outcome["survivors"] = []
        if self._copying is not None and self._copying.lost:
            outcome["lost"] = self._copying.lost
        if "error" in outcome or self._stopped or outcome.get("exit") == 0:
            return outcome
        if outcome.pop("orphaned", 0):
            outcome["engine"] = "the connection to the Docker engine was cut"
        elif outcome.pop("told", 0) and self._engine_stops():
            outcome["engine"] = "the Docker engine was stopped, and the container with it"
        else:
            outcome["out_of_memory"] = self._out_of_memory()
        return outcome

    def _adopt_ranks(self) -> None:
        """What the script's other ranks logged and printed belongs to the record."""
        from jig.runner.tail import is_kept

        folder, inside = self._setup.folder.path, self._inside("")
        for entry in os.scandir(inside) if self._setup.shared and os.path.isdir(inside) else ():
            place = os.path.join(folder, entry.name)
            is_rank = entry.name.startswith(("metrics.", "output.")) and is_kept(entry.name)
            if is_rank and entry.is_file(follow_symlinks=False) and not os.path.lexists(place):
                if entry.name in self._not_adopted:
                    continue
                try:
                    os.link(entry.path, place)
                except OSError as error:
                    self._not_adopted.add(entry.name)
                    self._tell("%s is not in the record: %s" % (entry.name, error.strerror))

    def _is_whole(self) -> bool:
        """Whether what init was given is there, where it could have written; a script may have removed all that."""
        return self._setup.shared and os.path.exists(self._inside("nonce"))

    def _inside(self, name: str) -> str:
        return os.path.join(self._setup.folder.path, INSIDE, name)

    def _inside_lives(self) -> bool:
        """Whether init holds its lock."""
        return is_held(self._inside("lock"))

    def _not_started(self, code: int) -> "Dict[str, Any]":
        """What docker had to say."""
        with open(self._setup.folder.docker_log, errors="replace") as file:
            said = file.read()[-4000:]
        failed = explain(said)
        unseen = code == NOT_OURS or failed.code == "mount" or "can't open file '%s" % INIT in said
        if self._setup.shared and unseen:
            os.truncate(self._setup.folder.docker_log, 0)  # what it says next is about the next one
            return {"again": "copied"}
        if "is already in use by container" in said:  # of another jig home: it is not ours to remove
            self._created = False
        if code == NO_GPU:
            failed = EngineFailed(WITHOUT_GPU, code="gpu")
        elif code < DOCKERS:
            failed = EngineFailed(NO_PYTHON % (self._setup.python, (said.split("\n") + [""])[-2]), NO_PYTHON_HINT)
        if failed.code == "gpu":
            from jig.runner import engine_gpu

            engine_gpu.forget(self._engine, self._setup.home)
        if self._stopped:
            return {"signal": signal.SIGTERM, "survivors": []}
        return {"error": failed.reason, "hint": failed.hint}

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
        since, mine = "%.9f" % (self._setup.began - 1), b"start " + native(self._setup.name)
        for _ in range(8):
            asked = ("--since", since, "--until", "%.9f" % time.time(), "--format", EVENT)
            try:
                lines = self._engine.call("events", *asked, timeout_s=5.0).out.splitlines()
            except EngineFailed:
                return True
            if mine not in lines and len(lines) < MOST_EVENTS:
                return True
            time.sleep(0.25)
        return False

    def _remove(self) -> None:
        if not self._created:
            return
        try:
            said = self._engine.call(*image_words.remove(self._setup.name), timeout_s=ENGINE_S)
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
