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
    from typing import Any, Callable, Dict, NoReturn, Tuple

    Questions = Dict[str, Tuple[float, Callable[[], Any]]]

CHUNK = 1 << 16
GONE_S = 0.5  # for the kernel to end a killed child; one that waits for a broken disk or driver stays, and is left


def ask(questions: "Questions") -> "Tuple[Dict[str, Any], Dict[str, float]]":
    """The answers by name; and, for what was not answered in its time, that time in seconds.

    An answer is plain JSON data. A child and what it started is killed when its time is over. RuntimeError tells of a
    question that failed: each must answer whatever it may meet.
    """
    began = time.monotonic()
    asked = {}  # type: Dict[int, _Asked]
    answers = {}  # type: Dict[str, Any]
    late = {}  # type: Dict[str, float]
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
                    answers[one.name] = one.answer()
            passed_s = time.monotonic() - began
            for one in [one for one in asked.values() if one.limit_s <= passed_s]:
                del asked[one.pipe]
                one.end()
                late[one.name] = one.limit_s
    finally:
        for one in asked.values():
            one.end()
    return answers, late


class _Asked:
    """A child at work on a question."""

    def __init__(self, name: str, limit_s: float, question: "Callable[[], Any]") -> None:
        self.name = name
        self.limit_s = limit_s
        self.heard = b""
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
            while not os.waitpid(self._pid, os.WNOHANG)[0] and time.monotonic() < end_s:
                time.sleep(0.001)
        except ChildProcessError:  # whoever started us ignores its children's ends, and the kernel took it in already
            return

    def answer(self) -> "Any":
        """What it said."""
        answer = loads(self.heard) if self.heard.endswith(b"\n") else {"failed": "it was killed"}
        if "failed" in answer:
            raise RuntimeError("the question %s failed: %s" % (self.name, answer["failed"]))
        return answer["answer"]


def _answer(question: "Callable[[], Any]", pipe: int) -> "NoReturn":
    """In the child: nothing of the parent's is cleaned up, or written out, a second time."""
    try:
        os.setpgid(0, 0)
        text = dumps({"answer": question()})
    except BaseException:
        import traceback

        text = dumps({"failed": traceback.format_exc()})
    try:
        left = memoryview(text.encode() + b"\n")
        while left:
            left = left[os.write(pipe, left) :]
    finally:
        os._exit(0)
