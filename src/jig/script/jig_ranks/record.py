"""`ranks.jsonl`, the run's file of what its processes do: all of them append whole lines."""

import json
import os
import sys
import time

NAME = "ranks.jsonl"


class Record(object):
    """One line a write, so that nobody reads half of one."""

    def __init__(self, folder):
        self._place = os.path.join(folder, NAME)
        self._offset = 0

    def write(self, **fields):
        """Append a line; a full disk costs the line, and not the run."""
        moments = {"time": round(time.time(), 6), "mono": round(time.monotonic(), 6)}
        line = json.dumps(dict(moments, **fields), sort_keys=True) + "\n"
        try:
            descriptor = os.open(self._place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(descriptor, line.encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            sys.stderr.write("jig: %s could not be written: %s\n" % (NAME, error.strerror))

    def new(self):
        """The whole lines since the last call."""
        try:
            with open(self._place, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:  # nothing was written, or the script has removed it
            return []
        data = data[: data.rfind(b"\n") + 1]
        self._offset += len(data)
        found = []
        for line in data.splitlines():
            try:
                said = json.loads(line.decode("utf-8", "replace"))
            except ValueError:  # torn by a kill, or the script's own
                continue
            if isinstance(said, dict):
                found.append(said)
        return found
