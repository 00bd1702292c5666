"""A shell, or a command, where a run is: in its folder or its container, with its variables, at this terminal.

A shell belongs to the person, not to the run. In a run that is a process it may outlive the run; in a container it ends
with the container. A place that is held open for shells only (`jig shell -c`) ends with the last of them, and with it
whatever was started there.
"""

import os
import sys
import time

from jig.runner import events, hold, status, tree, wire
from jig.runner.folder import Home, RunFolder, expand_home, runner_root
from jig.runner.quick_json import loads
from jig.system import carriers

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional, Sequence

    from jig.runner.engine import Engine

JIG_FAILED = 125
START_S = 10.0  # for a script, or a container, that is just being started
LOOK_S = 0.05
LEAVE_S = 10.0
ENDING_S = 2.0
KILLED = 137
STEPS = ("queued", "waiting", "preparing", "running") + events.FINAL
PROGRAM = "script/jig_shell.py"


class Door:
    """The way into a run: the words that start `jig_shell.py` there, as the run's user."""

    is_over: "Optional[Callable[[], bool]]" = None

    def __init__(self, program: "Sequence[str]", script: str, work: str, environ: "Dict[str, str]") -> None:
        self._program = list(program)
        self._script = script
        self._work = work
        self.environ = environ

    def argv(self, run_id: str, terminal: bool, words: "Sequence[str]") -> "List[str]":
        """Become the shell, or the command."""
        return self._program + ["enter", run_id, self._script, self._work] + list(words)

    def after(self, code: int) -> None:
        """What is to be done when it has ended so."""


class ContainerDoor(Door):
    """Through the engine, which does not end what it started when nobody listens any more."""

    def __init__(self, engine: "Engine", folder: RunFolder, python: "List[str]") -> None:
        from jig.runner.container import RUN, WORK, container_name

        self._engine = engine
        self._folder = folder
        self._name = container_name(folder.id)
        self._mark = os.urandom(8).hex()
        inside = python + ["-I", "-S", "/jig/pack/" + PROGRAM]
        Door.__init__(self, inside, RUN + "/inside.json", WORK, dict(os.environ, **engine.environ))

    def argv(self, run_id: str, terminal: bool, words: "Sequence[str]") -> "List[str]":
        """The same, by `docker exec`."""
        told = ["JIG_SHELL_MARK=" + self._mark]
        told += ["%s=%s" % (name, os.environ[name]) for name in ("TERM", "COLORTERM") if name in os.environ]
        options = ["--interactive"] + (["--tty"] if terminal else [])
        options += [word for pair in told for word in ("--env", pair)]
        return self._engine.argv("exec", *options, self._name, *Door.argv(self, run_id, terminal, words))

    def is_over(self) -> bool:
        """Whether the run is asked to end: init would wait for a shell that does not hear that."""
        return os.path.exists(self._folder.stop)

    def after(self, code: int) -> None:
        """Hang up inside, too, and say why where that is not plain."""
        from jig.runner.attend import HUNG_UP

        if self._is_ending(code):
            sys.stderr.write("jig: the run %s ends, and its container with it\n" % self._folder.id)
            sys.stderr.flush()
        if code == HUNG_UP:
            from jig.runner.engine import EngineFailed

            try:
                self._engine.call("exec", self._name, *self._program, "leave", self._mark, timeout_s=LEAVE_S)
            except EngineFailed:
                return  # it goes on until the run ends

    def _is_ending(self, code: int) -> bool:
        """Whether the run ends; of a killed shell that may be known a moment later."""
        end = time.monotonic() + (ENDING_S if code == KILLED else 0.0)
        while not self.is_over():
            past = events.read(self._folder.events)
            if not past or past[-1]["event"] in events.FINAL:
                return True
            if time.monotonic() >= end:
                return False
            time.sleep(LOOK_S)
        return True


def find(home: Home, run_id: str, pack: str) -> Door:
    """The way into a run; Refused tells why there is none. `pack` is the folder of a runner here."""
    folder = home.run(run_id)
    _check_going(home, folder)
    with open(folder.plan) as file:
        plan = loads(file.read())
    if plan.get("container"):
        return _container(home, folder)
    if not os.path.isdir("/proc/self"):
        raise wire.Refused("this system does not tell a process's variables: there is no /proc", code="no-way")
    script = _script(home, folder)
    program = [sys.executable, "-I", "-S", os.path.join(pack, PROGRAM)]
    return Door(program, str(script), folder.work, dict(os.environ))


def _check_going(home: Home, folder: RunFolder) -> float:
    """Refused unless the run is at work on this machine; returns for how many seconds it has been."""
    seen = status.status(home, folder.id)
    past = [event for event in events.read(folder.events) if event["event"] in STEPS]
    if seen == status.ABSENT:
        raise wire.Refused("the run %s is not there any more" % folder.id, code="absent")
    if seen == status.ENDED:
        raise wire.Refused("the run %s has ended (%s)" % (folder.id, past[-1]["event"]), code="ended")
    if seen == status.ELSEWHERE:
        host = past[0].get("host")
        raise wire.Refused("the run %s is on the machine %s, which shares this home" % (folder.id, host), code="no-way")
    if past[-1]["event"] != "running":
        raise wire.Refused("the run %s has not begun: it is %s" % (folder.id, past[-1]["event"]), code="not-running")
    return max(0.0, time.time() - float(past[-1]["time"]))


def _script(home: Home, folder: RunFolder) -> int:
    """The script's process: of those that carry the run's id it began first."""
    end = time.monotonic() + START_S
    while True:
        began = {}
        for pid in carriers(tree.RUN_VARIABLE, folder.id):
            try:
                with open("/proc/%d/stat" % pid, "rb") as file:
                    began[pid] = int(file.read().rpartition(b")")[2].split()[19])
            except OSError:  # it has just ended
                continue
        if began:
            return min(began, key=lambda pid: (began[pid], pid))
        if _check_going(home, folder) > START_S or time.monotonic() > end:
            hint = "has it given itself another name? Then the system does not tell them"
            raise wire.Refused("the script of %s hides its variables" % folder.id, hint, code="no-way")
        time.sleep(LOOK_S)


def _container(home: Home, folder: RunFolder) -> Door:
    from jig.runner.container import container_name
    from jig.runner.engine import EngineFailed, connect

    name = container_name(folder.id)
    asked = ("container", "inspect", "--format", "{{.State.Status}} {{json .Config.Entrypoint}}", name)
    end = time.monotonic() + START_S
    while True:
        try:
            engine, said = connect(*asked)
        except EngineFailed as error:
            raise wire.Refused(error.reason, error.hint, code="engine")
        state, _, python = said.out.decode(errors="replace").partition(" ")
        if state == "running":
            return ContainerDoor(engine, folder, loads(python))
        if state == "paused":
            raise wire.Refused("the container %s is paused" % name, "docker unpause %s" % name, code="engine")
        if _check_going(home, folder) > START_S or time.monotonic() > end:
            found = "is %s" % state if state else "is not there"
            hint = "is DOCKER_HOST, or Docker's context, another one than when the run was submitted?"
            raise wire.Refused("the container %s %s" % (name, found), hint, code="engine")
        time.sleep(LOOK_S)


def enter(home: Home, run_id: str, words: "Sequence[str]", terminal: bool, pack: str, reader: int = -1) -> int:
    """Be in the run until the shell, or the command, ends; returns its exit code.

    `reader` is the descriptor by which somebody far away hears us: the shell ends when nobody does any more.
    """
    from jig.runner.attend import attend

    door = find(home, run_id, pack)
    held = hold.enter(home, home.run(run_id))
    try:
        code = attend(door.argv(run_id, terminal, words), door.environ, reader, door.is_over)
        door.after(code)
        return code
    finally:
        if held is not None:
            os.close(held)


def main(word: str) -> int:
    """Enter as the word asks: a request as hexadecimal digits, which every login shell leaves as they are."""
    request = loads(bytes.fromhex(word).decode())
    home = Home(expand_home(request.get("home")))
    try:
        return enter(home, request["run"], request["words"], request["terminal"], runner_root(), reader=1)
    except wire.Refused as refusal:  # it was asked before: this is for what has changed since
        sys.stderr.write("error: %s\n" % refusal.message)
        if refusal.hint:
            sys.stderr.write("\nhint: %s\n" % refusal.hint)
    except OSError as error:
        sys.stderr.write("error: %s\n" % error)
    sys.stderr.flush()
    return JIG_FAILED
