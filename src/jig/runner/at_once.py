"""Several questions at once, each asked in a forked child and each with a limit of time: what hangs, hangs alone."""

import os
import select
import sys
import time

from jig.runner.quick_json import dumps, loads
from jig.system import quick_signal as signal

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, NoReturn, Optional, Tuple

    Questions = Dict[str, Tuple[float, Callable[[], Any]]]

CHUNK = 1 << 16
GONE_S = 0.5  # for the kernel to end a killed child; one that waits for a broken disk or driver stays, and is left


def ask(questions: "Questions") -> "Tuple[Dict[str, Any], Dict[str, float], Dict[str, str]]":
    """The answers by name; for what was not answered in its time, that time in seconds; why others failed.

    An answer is plain JSON data. A child and what it started is killed when its time is over. A question fails when the
    system refuses it something (OSError), or kills it; whatever else it raises is a bug, and a RuntimeError here.
    """
    began = time.monotonic()
    asked = {}  # type: Dict[int, _Asked]
    answers = {}  # type: Dict[str, Any]
    late = {}  # type: Dict[str, float]
    failed = {}  # type: Dict[str, str]
    try:
        for name, (limit_s, question) in questions.items():
            one = _Asked(name, limit_s, question)
            asked[one.pipe] = one
        while asked:
            left_s = min(one.limit_s for one in asked.values()) - (time.monotonic() - began)
            ready = select.select(list(asked), [], [], max(0.0, left_s))[0]
            for pipe in ready:
                data = os.read(pipe, CHUNK)
                asked[pipe].heard += data
                if not data or data.endswith(b"\n"):  # not its end: something that it started may hold the pipe open
                    one = asked.pop(pipe)
                    one.end()
                    said = one.said()
                    if "failed" in said:
                        failed[one.name] = said["failed"]
                    else:
                        answers[one.name] = said["answer"]
            passed_s = time.monotonic() - began
            for one in [one for one in asked.values() if one.limit_s <= passed_s]:
                del asked[one.pipe]
                one.end()
                late[one.name] = one.limit_s
    finally:
        for one in asked.values():
            one.end()
    return answers, late, failed


class _Asked:
    """A child at work on a question."""

    def __init__(self, name: str, limit_s: float, question: "Callable[[], Any]") -> None:
        self.name = name
        self.limit_s = limit_s
        self.heard = b""
        self._status: "Optional[int]" = None
        self.pipe, theirs = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _answer(question, theirs)
        os.close(theirs)

    def end(self) -> None:
        """Kill what is left of it, and take it in."""
        os.close(self.pipe)
        for kill in (os.kill, os.killpg):  # the first for a child that has not got as far as to lead a group
            try:
                kill(self._pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):  # gone; or, for a moment, no group yet
                continue
        end_s = time.monotonic() + GONE_S
        try:
            while self._status is None and time.monotonic() < end_s:
                ended, status = os.waitpid(self._pid, os.WNOHANG)
                if ended:
                    self._status = status
                else:
                    time.sleep(0.001)
        except ChildProcessError:  # whoever started us ignores its children's ends, and the kernel took it in already
            return

    def said(self) -> "Dict[str, Any]":
        """`answer`, or why it `failed`."""
        if self.heard.endswith(b"\n"):
            said = loads(self.heard)  # type: Dict[str, Any]
        elif self._status is None or os.WIFSIGNALED(self._status):
            said = {"failed": self._killed()}
        else:
            said = {"bug": "it ended without an answer"}
        if "bug" in said:
            raise RuntimeError("the question %s failed: %s" % (self.name, said["bug"]))
        return said

    def _killed(self) -> str:
        number = os.WTERMSIG(self._status) if self._status is not None else signal.SIGKILL
        if number == signal.SIGKILL:
            return "it was killed, as the system does when memory runs out"
        return "it was killed by signal %d" % number


def _answer(question: "Callable[[], Any]", pipe: int) -> "NoReturn":
    """In the child: nothing of the parent's is cleaned up, or written out, a second time."""
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # what the parent does then is not ours to do
        text = dumps({"answer": question()})
    except OSError as error:
        text = dumps({"failed": str(error)})
    except MemoryError:
        text = dumps({"failed": "memory ran out"})
    except BaseException:
        import traceback

        text = dumps({"bug": traceback.format_exc()})
    try:
        left = memoryview(text.encode() + b"\n")
        while left:
            left = left[os.write(pipe, left) :]
    finally:
        os._exit(0)
