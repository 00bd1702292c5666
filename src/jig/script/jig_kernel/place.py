"""Where the kernel's sockets are: files in a folder of this person's own, so that no other user can listen in."""

import os
import tempfile

CHANNELS = ("shell", "iopub", "stdin", "control", "hb")
LONGEST = 100  # what the system takes for a socket's path is little more
SOCKETS, READY = "kernel", "ready"


def folder(run):
    """The folder of a run's kernel: in the run's own, or in the one for temporary files where that path is too long."""
    inside = os.path.join(run, SOCKETS)
    if len(os.fsencode(inside)) + 8 <= LONGEST:
        return inside
    import hashlib

    name = hashlib.sha256(os.fsencode(os.path.abspath(run))).hexdigest()[:16]
    return os.path.join(tempfile.gettempdir(), "jig-kernel-%d-%s" % (os.getuid(), name))


def make(run):
    """Make it; it was not there before, or somebody else has put something in the way."""
    place = folder(run)
    os.mkdir(place, 0o700)
    return place


def socket(place, channel):
    """The socket of a channel."""
    return "%s-%d" % (os.path.join(place, "s"), CHANNELS.index(channel) + 1)
