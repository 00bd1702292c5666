"""A real terminal for a command: typed to and read by a test, with a window that can change its size."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from tests.conftest import environ


class Terminal:
    """A command in a session of its own, at a terminal of its own."""

    def __init__(self, *argv: str, rows: int = 24, columns: int = 80, **more: str) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(rows, columns, theirs)
        self.first_modes = termios.tcgetattr(theirs)
        self.process = subprocess.Popen(
            argv, stdin=theirs, stdout=theirs, stderr=theirs, env=environ(TERM="xterm", NO_COLOR="1", LC_ALL="C.UTF-8", **more),
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        self._kept = theirs  # so that the terminal's modes can still be read when the command has ended
        self.seen = ""
        self._at = 0

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.close()

    def close(self) -> None:
        """Close the window; what runs in it is hung up."""
        for descriptor in (self._ours, self._kept):
            if descriptor >= 0:
                os.close(descriptor)
        self._ours = self._kept = -1

    def resize(self, rows: int, columns: int, descriptor: int = -1) -> None:
        fcntl.ioctl(
            descriptor if descriptor >= 0 else self._ours, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0)
        )

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def read_until(self, text: str, timeout: float = 20.0) -> str:
        """What is shown from the last such call up to this text."""
        deadline = time.monotonic() + timeout
        while text not in self.seen[self._at :]:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._ours], [], [], left)[0]:
                raise AssertionError(f"{text!r} was not shown within {timeout} s, but {self.seen[self._at :]!r}")
            self.seen += os.read(self._ours, 65536).decode(errors="replace")
        start = self._at
        self._at = self.seen.index(text, start) + len(text)
        return self.seen[start : self._at]

    def ask(self, line: str, mark: str = "") -> str:
        """Type a command line for a shell, and return what it prints: exactly, without the echo and the prompt."""
        self.type(f"printf '%s%s\\n' be gin; {line}; printf '%s%s\\n' e nd\r")
        self.read_until("begin\r\n")
        return self.read_until("end\r\n").removesuffix("end\r\n").replace("\r\n", "\n")

    def ends(self, timeout: float = 20.0) -> int:
        """Its exit code, once it has ended; what it prints on the way is read."""
        deadline = time.monotonic() + timeout
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it has not ended: {self.seen[self._at :]!r}"
            if select.select([self._ours], [], [], 0.02)[0]:
                self.seen += os.read(self._ours, 65536).decode(errors="replace")
        while select.select([self._ours], [], [], 0)[0]:
            self.seen += os.read(self._ours, 65536).decode(errors="replace")
        return self.process.returncode

    def modes_are_as_before(self) -> bool:
        return termios.tcgetattr(self._kept) == self.first_modes


def jig(*words: str, **options) -> Terminal:
    """`jig` at a terminal."""
    return Terminal(sys.executable, "-m", "jig", *words, **options)
