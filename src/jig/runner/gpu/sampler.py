"""The supervisor's end of the sampler, a child that watches what a run uses and may hang as long as the driver does.

Nothing here waits for that child, but `finish` for a moment. It ends with the supervisor, however that comes about.
"""

import os
import select
import sys
import time

from jig.runner.quick_json import dumps, loads
from jig.system import close_inherited, end_with, kill
from jig.system import quick_signal as signal

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence

    from jig.runner.folder import RunFolder

ANSWER_S = 10.0  # a child that is silent for so much longer than it said it would be hangs in the driver
KILLED_S = 0.1
STAND_BACK_S = 0.15
HANGS = "the NVIDIA driver does not answer"
LATE = "the NVIDIA driver did not answer before the run ended"
HANGS_HINT = "`nvidia-smi` on the machine hangs as well then: restart the machine; `sudo dmesg` there says more"


class Sampler:
    """What the supervisor asks, every second or when `fileno` is readable."""

    def __init__(self, pid: int, orders: int, answers: int) -> None:
        self.pid = pid
        self._orders, self._answers = orders, answers
        self._heard = b""
        self._silence = -1
        self._messages = []  # type: List[Dict[str, Any]]
        self._proof = None  # type: Optional[Dict[str, Any]]
        self._reported = self._hangs = self._over = False
        self._silent_until = time.monotonic() + ANSWER_S
        os.set_blocking(answers, False)

    def fileno(self) -> int:
        """Readable when there is a message; never again once the child has ended."""
        return self._answers

    def messages(self) -> "List[Dict[str, Any]]":
        """What is new: `{"report": look}` once and first, `{"proof": proof}`, `{"error": sentence}`. Never blocks."""
        self._hear()
        if not self._over and not self._hangs and time.monotonic() > self._silent_until:
            self._hangs = True
            self._fail_for(HANGS, HANGS_HINT)
        found, self._messages = self._messages, []
        return found

    def finish(self, limit_s: float = 1.0) -> "Optional[Dict[str, Any]]":
        """Have a last sample taken and the child ended, by force after `limit_s`; the last proof that there is.

        What `messages` would have told meanwhile it still does.
        """
        deadline = time.monotonic() + limit_s
        try:
            os.write(self._orders, b"\n")
        except BrokenPipeError:  # it has ended already
            pass
        while not self._over and time.monotonic() < deadline:
            select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            self._hear()
        if not self._over:
            kill(self.pid)
            self._over = True
            self._fall_silent()
            if not self._hangs:
                self._fail_for(LATE, "")
        self._take_in(KILLED_S)  # a run that has ended has no process left
        return self._proof

    def _hear(self) -> None:
        while not self._over:
            try:
                data = os.read(self._answers, 65536)
            except BlockingIOError:
                return
            if not data:
                self._died()
                return
            lines = (self._heard + data).split(b"\n")
            self._heard = lines.pop()
            for line in lines:
                self._take(loads(line))

    def _take(self, said: "Dict[str, Any]") -> None:
        self._hangs = False
        self._silent_until = time.monotonic() + said.pop("silent_s", 0.0) + ANSWER_S
        self._over = said.pop("last", False)
        if "proof" in said:
            self._proof = said["proof"]
        if "report" in said:
            if self._reported:  # that it hangs has been said in its place
                return
            self._reported = True
        if said:
            self._messages.append(said)
        if self._over:
            self._fall_silent()

    def _died(self) -> None:
        self._over = True
        self._fall_silent()
        status = self._take_in(KILLED_S)
        how = "was killed by signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "failed"
        self._fail("the process that watches the GPU " + how, "")

    def _fail_for(self, reason: str, hint: str) -> None:
        """Blame the driver, where there is one."""
        from jig.runner.environment import has_nvidia

        if has_nvidia():
            self._fail(reason, hint)
        else:
            self._fail("the process that watches the run does not answer", "")

    def _fail(self, reason: str, hint: str) -> None:
        if not self._reported:
            self._reported = True
            self._messages.append(
                {"report": {"driver": None, "cuda": None, "devices": [], "error": reason, "hint": hint}}
            )
        self._messages.append({"error": reason})

    def _fall_silent(self) -> None:
        """A pipe whose other end is closed is readable for ever: put one in its place in which nothing will come."""
        silent, self._silence = os.pipe()
        os.dup2(silent, self._answers, inheritable=False)
        os.close(silent)
        os.set_blocking(self._answers, False)

    def _take_in(self, limit_s: float) -> int:
        """Its wait status. One that hangs in the kernel is left to whoever comes after us."""
        deadline = time.monotonic() + limit_s
        while True:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # taken in already
                return 0
            if pid or time.monotonic() > deadline:
                return status
            select.select([], [], [], 0.001)  # sleep() fails under a clock that is moved by a library


def start(
    folder: "RunFolder", run_id: str, root_pid: int, chosen_uuids: "Sequence[str]", every_s: float = 1.0
) -> Sampler:
    """Fork the sampler for what lives below `root_pid`, on the chosen devices, or on all where none is chosen.

    With `every_s` 0 it only reports the devices.
    """
    orders, orders_end = os.pipe()
    answers_end, answers = os.pipe()
    supervisor = os.getpid()
    end_too = end_with(supervisor)
    pid = os.fork()
    if pid:
        os.close(orders)
        os.close(answers)
        return Sampler(pid, orders_end, answers_end)
    try:
        if end_too is not None:
            end_too()
        close_inherited(orders, answers)
        signal.set_wakeup_fd(-1)
        # When the whole tree is told to end (a shutdown), this one still goes on until the supervisor wants its proof.
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        from jig.runner.environment import has_nvidia
        from jig.runner.gpu.usage import Usage

        usage = Usage(run_id, root_pid, supervisor)
        if not has_nvidia():  # nobody waits for a report: the first moments belong to the script, and to its engine
            select.select([orders], [], [], STAND_BACK_S)
        from jig.runner.gpu.sampling import Sampling

        def tell(said: "Dict[str, Any]") -> None:
            data = dumps(said).encode() + b"\n"
            while data:
                data = data[os.write(answers, data) :]

        system = os.path.join(folder.path, "system.jsonl")
        Sampling(system, usage, every_s, orders, tell).run(chosen_uuids)
    except BrokenPipeError:  # the supervisor is dead, and nobody wants to know
        os._exit(0)
    except BaseException:  # this process's boundary: tell where, then end without unwinding the supervisor's frames
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)
