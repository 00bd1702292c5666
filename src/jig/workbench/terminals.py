"""Terminals: a shell behind a pty for each browser tab. They outlive pages, and end with the server."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Awaitable, Callable
from weakref import WeakKeyDictionary

from jig.errors import JigError
from jig.workbench.prompt_path import Prompt
from jig.workbench.session import Session
from jig.workbench.words import say

KEPT = 256 << 10  # characters that a page sees again when it comes back
CHUNK = 32 << 10
MOST = 16  # at once; the one that nobody has looked at for longest makes room
LEAVE_S = 2.0
# The child makes the pty its own before it becomes the shell: only then Ctrl-C and job control work.
BECOME = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"

assert sys.platform != "win32"

Watcher = Callable[[str], Awaitable[object]]
Size = tuple[int, int]  # rows and columns


class Terminal:
    """One shell; made in the server's loop."""

    def __init__(self, prompt: Prompt, size: Size) -> None:
        """Start it; JigError when it cannot be."""
        self.text = ""  # what was last on it
        self.ended = False
        self.seen_at = time.monotonic()
        self._watchers: dict[object, Watcher] = {}
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unwritten = b""
        self._loop = asyncio.get_running_loop()
        self._master, slave = os.openpty()
        self.resize(*size)
        try:
            argv = (sys.executable, "-I", "-S", "-c", BECOME, *prompt.argv)
            self._process = subprocess.Popen(
                argv, stdin=slave, stdout=slave, stderr=slave, cwd=prompt.folder, env=prompt.environ,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            os.close(self._master)
            raise JigError(say("prompt.failed", folder=prompt.folder, why=error.strerror)) from error
        finally:
            os.close(slave)
        os.set_blocking(self._master, False)
        self._loop.add_reader(self._master, self._readable)

    def watch(self, who: object, watcher: Watcher) -> None:
        """Tell a page what comes from now on; it is waited for, so that a flood does not drown it."""
        self._watchers[who] = watcher
        self.seen_at = time.monotonic()

    def unwatch(self, who: object) -> None:
        """The page is gone, for now."""
        self._watchers.pop(who, None)
        self.seen_at = time.monotonic()

    @property
    def is_watched(self) -> bool:
        """Whether a page shows it."""
        return bool(self._watchers)

    def type(self, text: str) -> None:
        """Keys of the person, in their order."""
        if not self.ended:
            self._unwritten += text.encode("utf-8", "replace")
            self._writable()

    def resize(self, rows: int, columns: int) -> None:
        """The page's size, in characters."""
        if not self.ended:
            size = struct.pack("HHHH", min(max(rows, 1), 1000), min(max(columns, 1), 1000), 0, 0)
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, size)

    def _writable(self) -> None:
        try:
            self._unwritten = self._unwritten[os.write(self._master, self._unwritten) :]
        except BlockingIOError:
            pass
        except OSError:
            self._unwritten = b""
        if self._unwritten:
            self._loop.add_writer(self._master, self._writable)
        else:
            self._loop.remove_writer(self._master)

    def _readable(self) -> None:
        self._loop.remove_reader(self._master)
        try:
            data = os.read(self._master, CHUNK)
        except OSError:  # how a pty says that the last process has closed it
            data = b""
        if not data:
            self.close()
        text = self._decoder.decode(data, final=not data)
        self.text = (self.text + text)[-KEPT:]
        task = self._loop.create_task(self._pass_on(text))
        task.add_done_callback(lambda _: self._go_on())

    async def _pass_on(self, text: str) -> None:
        for who, watcher in list(self._watchers.items()):
            try:
                await watcher(text)
            except TimeoutError:  # it is gone; when it comes back it sees all that was kept
                self._watchers.pop(who, None)

    def _go_on(self) -> None:
        if not self.ended:
            self._loop.add_reader(self._master, self._readable)

    def close(self) -> None:
        """Hang up: the shell, and what runs in it, are told; what does not listen is killed."""
        if self.ended:
            return
        self.ended = True
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.remove_reader(self._master)
            self._loop.remove_writer(self._master)
        os.close(self._master)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGHUP)

    def wait(self, until: float) -> None:
        """After `close`: until the shell is gone, by force at this time."""
        try:
            self._process.wait(max(until - time.monotonic(), 0.01))
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def terminals(session: Session) -> Terminals:
    """Those of this server; they end with it."""
    found = _THERE.get(session)
    if found is None:
        found = _THERE[session] = Terminals()
        session.closing.append(found.close)
    return found


class Terminals:
    """All of them, by tab and project."""

    def __init__(self) -> None:
        """None yet."""
        self._there: dict[tuple[str, str], Terminal] = {}

    def get(self, tab: str, root: str, start: Callable[[], Prompt], size: Size) -> Terminal:
        """The terminal of this tab for this project, of this size now; a new one for none, or one that ended."""
        found = self._there.get((tab, root))
        if found is None or found.ended:
            if found is not None:
                _leave(found, 0.0)
            self._make_room()
            found = self._there[tab, root] = Terminal(start(), size)
        else:
            found.resize(*size)
        return found

    def _make_room(self) -> None:
        idle = sorted((one.seen_at, key) for key, one in self._there.items() if not one.is_watched)
        for _, key in idle[: max(len(self._there) - MOST + 1, 0)]:
            gone = self._there.pop(key)
            gone.close()
            _leave(gone, LEAVE_S)

    def close(self) -> None:
        """End them all."""
        until = time.monotonic() + LEAVE_S
        for one in self._there.values():
            one.close()
        for one in self._there.values():
            one.wait(until)
        self._there.clear()


def _leave(gone: Terminal, within_s: float) -> None:
    """Wait for it elsewhere: the pages go on meanwhile."""
    asyncio.get_running_loop().run_in_executor(None, gone.wait, time.monotonic() + within_s)


_THERE: WeakKeyDictionary[Session, Terminals] = WeakKeyDictionary()
