"""A process that does what it is told: as a guard, a script, or somebody else's."""

import ast
import contextlib
import os
import subprocess
import sys

from jig.runner.gpu import proc

# What all of them have, and what they start has too.
WORDS = """
import os, subprocess, sys, threading, time

def python(code, *words):
    argv = [sys.executable, "-c", "import os; exec(os.environ['WORDS'])\\n" + code, *words]
    return subprocess.Popen(argv, stdout=subprocess.PIPE)

def burn(s):
    until = time.process_time() + s
    while time.process_time() < until:
        pass
"""
OBEY = """
import os; exec(os.environ["WORDS"])
for line in sys.stdin:
    answer = None
    exec(eval(line))
    print(repr(answer), flush=True)
"""
SLEEP = "time.sleep(60)"
CHILD = f"python({SLEEP!r})"
PARENT = f"{CHILD}; {SLEEP}"


class Obedient:
    """Takes Python statements, one after the other, and tells what they leave in `answer`.

    It has `python(code, *words)`, which starts a process, and `burn(seconds)`; that process has them too.
    """

    def __init__(self, *words: str, **variables: str) -> None:
        argv = [sys.executable, "-c", OBEY, *words]
        environ = {**os.environ, "WORDS": WORDS, **variables}
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ)
        self.pid = self._process.pid
        self("pass")

    def __call__(self, code: str):
        self._process.stdin.write(f"{code!r}\n")
        self._process.stdin.flush()
        return ast.literal_eval(self._process.stdout.readline())

    def children(self) -> "list[int]":
        return sorted(proc.children(self.pid, of_all_threads=True))

    def end(self) -> None:
        """It ends and is waited for; what it started goes on."""
        self._process.communicate()

    def close(self) -> None:
        """It ends with all that it started."""
        for pid in _below(self.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        self._process.kill()
        self._process.communicate()


def _below(pid: int) -> "list[int]":
    found = proc.children(pid, of_all_threads=True)
    return found + [below for child in found for below in _below(child)]


@contextlib.contextmanager
def obedients():
    """make("words", NAME="value") → Obedient; all of them end with the block."""
    with contextlib.ExitStack() as ends:

        def make(*words: str, **variables: str) -> Obedient:
            return ends.enter_context(contextlib.closing(Obedient(*words, **variables)))

        yield make
