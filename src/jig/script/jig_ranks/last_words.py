"""The end of what a process has printed: its last traceback, or its last lines."""

import os

READ_BYTES = 64 * 1024
MOST_LINES, MOST_CHARACTERS = 24, 400
TRACEBACK = "Traceback (most recent call last):"


def last_words(path, start, mark=""):
    """The telling lines of a log from the byte `start` on; of a line that was redrawn, what it said last.

    `mark` is what torch puts before the lines of a traceback: it says what everybody knows here.
    """
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(start, size - READ_BYTES))
            data = file.read()
    except OSError:
        return []
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    lines = [line.rstrip("\r").rpartition("\r")[2].rstrip() for line in text.split("\n")]
    lines = [line[len(mark) :] if mark and line.startswith(mark) else line for line in lines]
    lines = [line[:MOST_CHARACTERS] for line in lines if line]
    tracebacks = [number for number, line in enumerate(lines) if line.startswith(TRACEBACK)]
    if tracebacks:
        lines = lines[tracebacks[-1] :]
    if len(lines) > MOST_LINES:
        first = lines[:1] + ["  ..."] if tracebacks else []
        lines = first + lines[len(first) - MOST_LINES :]
    return lines
