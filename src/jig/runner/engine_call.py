"""One call of a program, to its end or until its time is over, without `subprocess`: that takes 10 ms to import."""

import os
import select
import sys
import time

from jig.runner.manifest import native
from jig.system import quick_signal as signal

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, NoReturn, Optional, Sequence, Tuple

CHUNK = 1 << 16
LOOK_S = 0.5  # how often we look whether a program that says nothing is still there
# Python ignores some of these, and so may who started us; a program expects the system's own behaviour.
DEFAULTS = tuple(
    getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ", "SIGINT", "SIGQUIT", "SIGHUP", "SIGCHLD", "SIGTERM")
)  # type: Tuple[int, ...]


def run(
    argv: "Sequence[str]", environ: "Dict[str, str]", stdin: bytes, timeout_s: float
) -> "Optional[Tuple[int, bytes, bytes]]":
    """Exit code (negative: a signal), stdout and stderr of a program; None when it was killed because of the time.

    It gets our variables and `environ` beside them. OSError when it cannot be started.
    """
    call = _Call(argv, environ, stdin)
    try:
        if not call.finish(time.monotonic() + timeout_s):
            return None
        return call.code, b"".join(call.heard[call.out]), b"".join(call.heard[call.err])
    finally:
        call.close()


class _Call:
    def __init__(self, argv: "Sequence[str]", environ: "Dict[str, str]", stdin: bytes) -> None:
        self._rest = memoryview(stdin)
        self.code = 0
        self._pid = 0
        theirs, self._entry = os.pipe()
        self.out, out = os.pipe()
        self.err, err = os.pipe()
        self.heard: "Dict[int, List[bytes]]" = {self.out: [], self.err: []}
        self._open = [self.out, self.err]
        os.set_blocking(self._entry, False)
        try:
            self._pid = _start(argv, environ, (theirs, out, err))
        except BaseException:
            self.close()
            raise
        finally:
            for descriptor in (theirs, out, err):
                os.close(descriptor)

    def finish(self, end_s: float) -> bool:
        """Talk until the program has ended, whoever else still holds its pipes; False when the time is over first."""
        nap_s = 0.00005
        while not self._ended():
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                return False
            if self._open:
                while self._talk(min(left_s, LOOK_S)):
                    pass
            else:  # it has closed its ends, so it is about to leave
                time.sleep(nap_s)
                nap_s = min(nap_s * 2, 0.01)
        while self._open and self._talk(0.0):  # what it said last
            pass
        return True

    def _talk(self, wait_s: float) -> bool:
        """Write and read what can be; False when nothing could, or all has been said."""
        if not self._rest:
            self._close_entry()
        entry = [self._entry] if self._entry >= 0 else []
        readable, writable, _ = select.select(self._open, entry, [], wait_s)
        if writable:
            try:
                self._rest = self._rest[os.write(self._entry, self._rest[:CHUNK]) :]
            except BrokenPipeError:  # it did not want to know; its exit code says why
                self._rest = self._rest[:0]
        for descriptor in readable:
            data = os.read(descriptor, CHUNK)
            if data:
                self.heard[descriptor].append(data)
            else:
                self._open.remove(descriptor)
        return bool(self._open) and bool(readable or writable)

    def _ended(self) -> bool:
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if pid:
            self._pid = 0
            self.code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        return bool(pid)

    def _close_entry(self) -> None:
        if self._entry >= 0:
            os.close(self._entry)
            self._entry = -1

    def close(self) -> None:
        """Let go of it, and end it if it has not ended."""
        self._close_entry()
        os.close(self.out)
        os.close(self.err)
        if self._pid and _kill(self._pid):
            os.waitpid(self._pid, 0)


def _kill(pid: int) -> bool:
    """End it and what it started; False where that is not ours to do: what sudo started stays until it ends itself."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:  # it has not got as far as making its group
        os.kill(pid, signal.SIGKILL)
    except PermissionError:
        return False
    return True


def _start(argv: "Sequence[str]", environ: "Dict[str, str]", streams: "Tuple[int, int, int]") -> int:
    """Start it in a group of its own: Ctrl-C at the terminal is not for it, and all of it can be ended at once."""
    words = [native(word) for word in argv]
    variables = dict(os.environb)
    variables.update((native(name), native(value)) for name, value in environ.items())
    spawn = getattr(os, "posix_spawnp", None)  # of 3.8: half the time of a fork
    if spawn is None:
        return _fork(words, variables, streams)
    to = getattr(os, "POSIX_SPAWN_DUP2", None)
    moves = [(to, descriptor, place) for place, descriptor in enumerate(streams)]
    return int(spawn(words[0], words, variables, file_actions=moves, setpgroup=0, setsigdef=DEFAULTS))


def _fork(words: "List[Any]", variables: "Dict[Any, Any]", streams: "Tuple[int, int, int]") -> int:
    failed, tell = os.pipe()
    pid = os.fork()
    if not pid:
        _become(words, variables, streams, tell)
    os.close(tell)
    with open(failed, "rb") as stream:
        number = stream.read()
    if number:
        os.waitpid(pid, 0)
        raise OSError(int(number), os.strerror(int(number)))
    return pid


def _become(words: "List[Any]", variables: "Dict[Any, Any]", streams: "Tuple[int, int, int]", tell: int) -> "NoReturn":
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in DEFAULTS:
            signal.signal(number, signal.SIG_DFL)
        for place, descriptor in enumerate(streams):
            os.dup2(descriptor, place)
        os.execvpe(words[0], words, variables)
    except OSError as error:
        os.write(tell, b"%d" % (error.errno or 0))
    finally:  # nothing may unwind into the frames of who called
        os._exit(127)
