"""The first moment of a rank: rank.py PYTHON SCRIPT …

Its output goes to `output.<rank>.log`, by descriptors of its own; then this process becomes the script.
"""

import os
import sys
import time


def main(words):
    """Become the script."""
    here = os.path.dirname(os.path.abspath(__file__))
    folder, rank = os.environ["JIG_RUN_DIR"], int(os.environ["RANK"])
    place = os.path.join(folder, "output.%d.log" % rank)
    out = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    size = os.fstat(out).st_size
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.close(out)
    begun = (rank, os.getpid(), int(os.environ.get("TORCHELASTIC_RESTART_COUNT") or 0), size, time.time())
    line = '{"rank": %d, "pid": %d, "restart": %d, "from": %d, "time": %.6f}\n' % begun
    record = os.open(os.path.join(folder, "ranks.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(record, line.encode())
    os.close(record)
    before = os.environ.get("PYTHONPATH")
    start = os.path.join(here, "start")
    os.environ["PYTHONPATH"] = start + os.pathsep + before if before else start
    os.execv(words[0], words)


if __name__ == "__main__":
    main(sys.argv[1:])
