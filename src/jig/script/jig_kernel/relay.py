"""The kernel's channels, and its Ctrl-C, at the other end of standard input and output."""

import os
import shutil
import signal
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # an isolated Python does not look

from jig_kernel import carry, place  # noqa: E402

LOOK_S = 0.25
START_LOOK_S = 0.05


def main():
    """Carry until the kernel or the client is gone."""
    folder = place.folder(os.environ["JIG_RUN_DIR"])
    kernel = [0]

    def connect(word):
        return unix(place.socket(folder, word.decode()))

    def hear(what, data):
        if what == carry.SIGNAL and kernel[0]:
            _interrupt(kernel[0])

    carrier = carry.Carrier(0, 1, connect, hear)
    try:
        while not kernel[0]:
            kernel[0] = _ready(folder)
            if carrier.turn(0 if kernel[0] else START_LOOK_S) is None:
                return
        carrier.say(carry.READY)
        while carrier.turn(LOOK_S) is not None and _is_alive(kernel[0]):
            pass
    finally:
        carrier.close()
        if kernel[0]:
            shutil.rmtree(folder, ignore_errors=True)


def unix(path):
    """A connection to a socket in the file system."""
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        stream.connect(path)
    except OSError:
        stream.close()
        raise
    return stream


def _ready(folder):
    """The kernel's process, once it can be reached."""
    try:
        with open(os.path.join(folder, place.READY)) as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0


def _is_alive(pid):
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _interrupt(pid):
    """As Ctrl-C at a terminal does it: what the cell has started hears it too."""
    try:
        if os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGINT)
        else:
            os.kill(pid, signal.SIGINT)
    except OSError:
        return


if __name__ == "__main__":
    main()
