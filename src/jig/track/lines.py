"""One file that many processes and threads append whole lines to, without a lock."""

import os

from jig.track.place import metrics_path, say_once, say_outside

# O_BINARY: Windows would turn each "\n" into "\r\n".
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
_CLOSED = (-1, -1, -1)

# Looked up once: a line costs a few microseconds, and names looked up in modules are a good part of them.
_getpid, _lseek, _write = os.getpid, os.lseek, os.write


class LineFile:
    """The metrics file of this process, opened at its first line and again after a fork.

    A line is one write to a descriptor in append mode: the kernel puts it at the end whole, beside any other writer,
    and has it when the call returns. A line cut short by a full disk or a kill is left, and the next starts afresh.
    """

    __slots__ = ("_cut", "_end", "_opened", "_path", "_pid")

    def __init__(self) -> None:
        # (descriptor, inode, device), replaced whole: a thread in the middle of a line goes on with what it read.
        self._opened = _CLOSED
        self._path = None  # type: str | None
        self._pid = -1
        self._end = -1
        self._cut = False

    def append(self, line: bytes) -> None:
        """Write the line, which ends with a newline; what goes wrong is told once on stderr and never raised."""
        if self._pid != _getpid():
            # A forked child may have become another rank, so it looks again where to write.
            self._opened = _CLOSED
            self._path = metrics_path()
            self._pid = _getpid()
        if self._path is None:
            say_outside()
            return
        try:
            fd = self._descriptor(self._path)
            if self._cut:
                line = b"\n" + line
            written = _write(fd, line)
            if written != len(line):
                self._cut = True
                raise OSError(0, "only {} of {} bytes were written (is the disk full?)".format(written, len(line)))
            self._end += written
            self._cut = False
        except OSError as error:
            self._end = -1
            reason = error.strerror or str(error)
            say_once("unwritable", "METRICS ARE BEING LOST: {}: {}; the script goes on".format(self._path, reason))

    def _descriptor(self, path: str) -> int:
        """The descriptor of the metrics file, which may have to be opened, or opened again.

        A script may close every descriptor and open a file of its own under the same number: that one must not be
        written to. It would hardly stand where our last line ended, and asking where it stands changes nothing.
        """
        fd, inode, device = self._opened
        if fd >= 0:
            try:
                end = _lseek(fd, 0, os.SEEK_CUR)
                if end == self._end:
                    return fd
                self._end = end
                found = os.fstat(fd)
                if found.st_ino == inode and found.st_dev == device:
                    return fd
            except OSError:
                pass  # closed by the script, and opened again below
        fd = os.open(path, _FLAGS, 0o666)
        found = os.fstat(fd)
        self._cut = found.st_size > 0 and _last_byte(fd) != b"\n"
        self._end = -1
        self._opened = (fd, found.st_ino, found.st_dev)
        return fd


def _last_byte(fd: int) -> bytes:
    os.lseek(fd, -1, os.SEEK_END)
    return os.read(fd, 1)
