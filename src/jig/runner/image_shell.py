"""A shell in a container, which is told on its stdin what to run.

So a variable that holds a password is in no file, in no argument and in nothing that the engine keeps; and when we die,
however that is, its stdin ends, and the container with it (`image_words.SHELL`).
"""

import os
import select
import shlex
import sys

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from typing import Callable, Dict, List

    Hear = Callable[[bytes], None]

POLL_S = 0.1
KEPT = 4000  # bytes of what was said last


class ShellEnded(Exception):
    """The shell is gone; the text is what was printed at its end."""


class Shell:
    """`docker start --attach --interactive` of a container whose first process is `image_words.SHELL`."""

    def __init__(self, argv: "List[str]", environ: "Dict[str, str]", stop_if_asked: "Callable[[], None]") -> None:
        import subprocess

        from jig.system import end_with

        self._stop_if_asked = stop_if_asked
        self._mark = b"jig-" + os.urandom(12).hex().encode() + b" "  # comes after all that a program prints
        self._process: "subprocess.Popen[bytes]" = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environ,
            start_new_session=True,
            preexec_fn=end_with(os.getpid()),
        )

    def run(self, argv: "List[str]", variables: "Dict[str, str]", hear: "Hear", programs: str = "") -> int:
        """Run a program to its end; returns its exit code, as a shell has it.

        `hear` gets what it prints. The programs of one folder come before all others.
        """
        steps = ["export %s=%s" % (name, shlex.quote(value)) for name, value in sorted(variables.items())]
        if programs:
            steps.append('export PATH=%s:"$PATH"' % shlex.quote(programs))
        steps += ["cd /", "exec " + " ".join(shlex.quote(word) for word in argv)]
        return self.script("; ".join(steps), hear)

    def script(self, text: str, hear: "Hear") -> int:
        """Run lines of shell, apart; returns their exit code."""
        line = "(%s\n) </dev/null 2>&1\nprintf '%s%%d\\n' $?\n" % (text, self._mark.decode())
        return self._talk(line.encode("utf-8", "surrogateescape"), hear)

    def _talk(self, said: bytes, hear: "Hear") -> int:
        """Write to the shell, and listen until the mark comes."""
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise ValueError("a shell was started without pipes")
        entry, exit, rest = process.stdin.fileno(), process.stdout.fileno(), memoryview(said)
        os.set_blocking(entry, False)
        unsure, last = b"", b""
        while True:
            self._stop_if_asked()
            ready = select.select([exit], [entry] if rest else [], [], POLL_S)
            if ready[1]:
                try:
                    rest = rest[os.write(entry, rest[:65536]) :]
                except BrokenPipeError:  # it has ended, as is heard next
                    rest = rest[:0]
            if not ready[0]:
                continue
            heard = os.read(exit, 65536)
            unsure += heard
            last = (last + heard)[-KEPT:]
            before, found, after = unsure.partition(self._mark)
            if found and b"\n" in after:
                hear(before)
                return int(after.partition(b"\n")[0])
            if not heard:
                raise ShellEnded(last.decode("utf-8", "replace"))
            if not found:
                sure = len(unsure) - _overlap(unsure, self._mark)
                hear(unsure[:sure])
                unsure = unsure[sure:]

    def leave(self) -> int:
        """Let the shell end; returns its exit code once the container has."""
        process = self._process
        if process.stdin:
            process.stdin.close()
        while process.poll() is None:
            self._stop_if_asked()
            select.select([], [], [], 0.005)
        return int(process.returncode)

    def close(self) -> None:
        """End it in any case; the container may take a moment longer."""
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()
        if process.poll() is None:
            try:
                process.kill()
            except PermissionError:  # sudo's: it ends by the end of its stdin
                return
            process.wait()


def _overlap(text: bytes, mark: bytes) -> int:
    """How many bytes at the end of the text may be the beginning of the mark."""
    return next((size for size in range(len(mark) - 1, 0, -1) if text.endswith(mark[:size])), 0)
