"""A program that has this terminal to itself until it ends: keys, window, job control, and the terminal as it was."""

import os
import select
import sys
import time

from jig.runner.manifest import native
from jig.system import quick_signal as signal

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence

HUNG_UP = 128 + signal.SIGHUP
HANG_UP_GRACE_S = 2.0
LOOK_MS = 500
IGNORED = (signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTOU)  # the terminal's keys are for the program
CAUGHT = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD)


def attend(
    argv: "Sequence[str]",
    environ: "Dict[str, str]",
    reader: int = -1,
    is_over: "Optional[Callable[[], bool]]" = None,
) -> int:
    """Run the program at our own standard streams to its end; its exit code, or 128 + number for a signal.

    It is hung up when we are told to end, when nobody reads the descriptor `reader` any more, or when it `is_over`:
    HUNG_UP then.
    """
    return _Attended(argv, environ, reader, is_over).run()


class _Attended:
    def __init__(
        self,
        argv: "Sequence[str]",
        environ: "Dict[str, str]",
        reader: int,
        is_over: "Optional[Callable[[], bool]]",
    ) -> None:
        self._argv = argv
        self._environ = environ
        self._reader = reader
        self._is_over = is_over
        self._told: "List[int]" = []
        self._child = 0

    def run(self) -> int:
        """Start it, wait, and leave the terminal and our signals as they were."""
        terminal = _Terminal()
        wake, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        before: "Dict[int, Any]" = {number: signal.signal(number, signal.SIG_IGN) for number in IGNORED}
        before.update((number, signal.signal(number, self._on_signal)) for number in CAUGHT)
        woken = signal.set_wakeup_fd(wake_write)
        try:
            self._child = os.fork()
            if not self._child:
                self._become_program()
            return self._wait(wake)
        finally:
            signal.set_wakeup_fd(woken)
            terminal.restore()
            for number, handler in before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
            os.close(wake)
            os.close(wake_write)

    def _on_signal(self, number: int, frame: object) -> None:
        self._told.append(number)

    def _become_program(self) -> "NoReturn":
        try:
            signal.set_wakeup_fd(-1)
            for number in IGNORED + CAUGHT + (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            words = [native(word) for word in self._argv]
            os.execvpe(words[0], words, {native(name): native(value) for name, value in self._environ.items()})
        except OSError as error:
            os.write(2, ("jig: %s: %s\n" % (self._argv[0], error.strerror)).encode(errors="replace"))
        except BaseException as error:  # the boundary of this process: nothing may unwind into the caller's frames
            os.write(2, repr(error).encode(errors="replace"))
        os._exit(127)

    def _wait(self, wake: int) -> int:
        events = select.poll()
        events.register(wake, select.POLLIN)
        if self._reader >= 0:
            events.register(self._reader, 0)  # tells when the other end is closed
        while True:
            code = self._look()
            if code is not None:
                # ssh gives up its session at Ctrl-C, with a code that says nothing.
                return 128 + signal.SIGINT if code == 255 and signal.SIGINT in self._told else code
            if signal.SIGHUP in self._told or signal.SIGTERM in self._told:
                return self._hang_up()
            if self._is_over is not None and self._is_over():
                return self._hang_up()
            for descriptor, _ in events.poll(None if self._is_over is None else LOOK_MS):
                if descriptor == wake:
                    os.read(wake, 512)
                else:
                    return self._hang_up()

    def _look(self) -> "Optional[int]":
        """The program's exit code once it has ended. When it stops we do too, so that the shell before us is back."""
        pid, status = os.waitpid(self._child, os.WNOHANG | os.WUNTRACED)
        if not pid:
            return None
        if os.WIFSTOPPED(status):
            if os.getsid(0) != os.getpid():  # whoever leads a session is nobody's job, and would never be woken
                os.kill(os.getpid(), signal.SIGSTOP)
            os.kill(self._child, signal.SIGCONT)
            return None
        return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

    def _hang_up(self) -> int:
        """As a terminal that is closed does it; a program that does not care is killed. One of sudo's is left alone."""
        self._send(signal.SIGHUP)
        self._send(signal.SIGCONT)
        end = time.monotonic() + HANG_UP_GRACE_S
        while not os.waitpid(self._child, os.WNOHANG)[0]:
            if time.monotonic() > end and not self._send(signal.SIGKILL):
                break
            time.sleep(0.01)
        return HUNG_UP

    def _send(self, number: int) -> bool:
        try:
            os.kill(self._child, number)
        except PermissionError:
            return False
        return True


class _Terminal:
    """The terminal that we are in the foreground of, if any, as it is now."""

    def __init__(self) -> None:
        self._modes: "Optional[List[Any]]" = None
        try:
            if os.tcgetpgrp(0) == os.getpgrp():
                import termios

                self._modes = termios.tcgetattr(0)
        except OSError:  # there is none
            return

    def restore(self) -> None:
        """Take it back, also from a program that was killed; SIGTTOU is to be ignored for that."""
        if self._modes is None:
            return
        import termios

        try:
            os.tcsetpgrp(0, os.getpgrp())
            termios.tcsetattr(0, termios.TCSANOW, self._modes)
        except (OSError, termios.error):  # it was closed
            return
