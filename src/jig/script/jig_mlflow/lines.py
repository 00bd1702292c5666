"""The run's metrics file: lines are appended whole, and what others append meanwhile is read."""

import os

MOST_BYTES = 1 << 22  # read at a time


class Lines(object):
    """The file, seen up to an offset.

    `take` is given each line that others have written; `complain` is told that lines are being lost.
    """

    def __init__(self, path, take, complain):
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._take = take
        self._complain = complain
        self._seen = 0
        self._cut = False

    def append(self, data):
        """Write whole lines, in one piece; what others have written before them is taken first.

        A disk that is full is told to the person and to nobody else: it must not end a training run.
        """
        size = os.fstat(self._file).st_size
        if self._cut or (size != self._seen and not self._ends_a_line(size)):
            data = b"\n" + data
        try:
            written = os.write(self._file, data)
        except OSError as error:
            self._complain(error.strerror)
            return
        self._cut = written != len(data)
        if self._cut:
            self._complain("only %d of %d bytes were written (is the disk full?)" % (written, len(data)))
        end = os.lseek(self._file, 0, os.SEEK_CUR)
        self._read(end - written)
        self._seen = end

    def look(self):
        """Take what others have written since; a line that is not ended yet is left for the next time."""
        self._read(os.fstat(self._file).st_size)

    def _read(self, end):
        rest = b""
        while self._seen + len(rest) < end:
            start = self._seen + len(rest)
            data = os.pread(self._file, min(MOST_BYTES, end - start), start)
            if not data:
                return
            whole, newline, rest = (rest + data).rpartition(b"\n")
            if newline:
                self._seen += len(whole) + 1
                for line in whole.split(b"\n"):
                    self._take(line)

    def _ends_a_line(self, size):
        return size == 0 or os.pread(self._file, 1, size - 1) == b"\n"

    def tail(self, size):
        """The last bytes."""
        end = os.fstat(self._file).st_size
        return os.pread(self._file, size, max(0, end - size))

    def pieces(self, start):
        """The file from this offset: whole lines, some at a time, each piece with the offset where it starts."""
        rest = b""
        while True:
            data = os.pread(self._file, MOST_BYTES, start + len(rest))
            if not data:
                return
            whole, newline, rest = (rest + data).rpartition(b"\n")
            if newline:
                yield start, whole
                start += len(whole) + 1
