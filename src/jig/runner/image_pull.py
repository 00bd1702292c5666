"""Bringing a base image to this machine's engine: with progress, and with a way out where it cannot be had."""

import os
import re
import sys
import time

from jig.runner.dead_images import GONE, advice
from jig.runner.engine import explain
from jig.runner.environment import EnvironmentFailed
from jig.runner.image_words import pull as pull_words

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

    from jig.runner.image import Look

CANCELED = "canceled"
PROGRESS_S = 2.0
POLL_S = 0.1
WIDTH = 200  # columns: in fewer the docker program leaves the numbers out
_LAYER = re.compile(r"^([0-9a-f]{12}): (.+)$")
_SIZES = re.compile(r"([\d.]+)([kMG]?B)/([\d.]+)([kMG]?B)")
_UNITS = {"B": 1e-6, "kB": 1e-3, "MB": 1.0, "GB": 1e3}
_DONE = ("Pull complete", "Already exists")


def pull(found: "Look", tell: "Callable[[str], None]", stopping: "Callable[[], bool]", log_path: str = "") -> None:
    """Have the engine pull the base image, telling every two seconds how far it is; raises EnvironmentFailed.

    What docker says of a failure is appended to `log_path`, where there is one.
    """
    tell("pulling the image %s" % found.base)
    began_s, heard = time.monotonic(), Heard()
    code = _run(found, heard, tell, stopping)
    if code != 0:
        if log_path:
            _note(log_path, heard.text)
        raise _refusal(found.base, heard.text)
    tell("the image is here after %.1f s" % (time.monotonic() - began_s))


def _note(log_path: str, text: str) -> None:
    from jig.runner.engine_errors import blot

    with open(log_path, "ab") as file:
        file.write(blot(text).encode("utf-8", "replace"))


def _refusal(base: str, text: str) -> EnvironmentFailed:
    instead = advice(base)
    if instead:
        return EnvironmentFailed(GONE % base, instead)
    failed = explain(text)
    hint = failed.hint.replace("IMAGE", base)
    return EnvironmentFailed("the image %s could not be pulled: %s" % (base, failed.reason), hint)


def _run(found: "Look", heard: "Heard", tell: "Callable[[str], None]", stopping: "Callable[[], bool]") -> int:
    """Run `docker pull` at a terminal of its own: only there it says how many bytes have come."""
    import subprocess

    from jig.system import end_with

    ours, its = os.openpty()
    try:
        _widen(its)
        process = subprocess.Popen(
            found.engine.argv(*pull_words(found.base)),
            stdin=subprocess.DEVNULL,
            stdout=its,
            stderr=its,
            env=dict(os.environ, **found.engine.environ),
            start_new_session=True,
            preexec_fn=end_with(os.getpid()),
        )
    finally:
        os.close(its)
    try:
        return _follow(process, ours, heard, tell, stopping)
    finally:
        os.close(ours)  # a terminal that goes away ends what runs at it, also below sudo
        if process.poll() is None:
            try:
                process.kill()
                process.wait()
            except PermissionError:  # sudo's: it has been told by the terminal's end
                pass


def _follow(
    process: "Any", ours: int, heard: "Heard", tell: "Callable[[str], None]", stopping: "Callable[[], bool]"
) -> int:
    import select

    told_s, told = time.monotonic(), ""
    while True:
        if stopping():
            raise EnvironmentFailed(CANCELED)
        ended = process.poll() is not None
        if select.select([ours], [], [], 0 if ended else POLL_S)[0]:
            try:
                data = os.read(ours, 65536)
            except OSError:  # what a terminal answers when nobody is at its other end any more
                data = b""
            if not data:
                return int(process.wait())
            heard.hear(data)
        elif ended:
            return int(process.returncode)
        if time.monotonic() - told_s >= PROGRESS_S and heard.state() not in ("", told):
            told_s, told = time.monotonic(), heard.state()
            tell(told)


def _widen(terminal: int) -> None:
    import fcntl
    import struct
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, WIDTH, 0, 0))


class Heard:
    """What `docker pull` prints: the state of each layer, over and over."""

    def __init__(self) -> None:
        self.text = ""  # what is about no layer
        self._unfinished = ""
        self._layers: "Dict[str, str]" = {}
        self._here: "Dict[str, float]" = {}
        self._all: "Dict[str, float]" = {}

    def hear(self, data: bytes) -> None:
        """Take in what was printed; a line counts when it is whole."""
        text = self._unfinished + re.sub("\x1b\\[[0-9;]*[A-Za-z]", "\r", data.decode("utf-8", "replace"))
        lines = re.split("[\r\n]+", text)
        self._unfinished = lines.pop()
        for line in lines:
            self._take(line.strip())

    def _take(self, line: str) -> None:
        found = _LAYER.match(line)
        if not found:
            self.text += line + "\n" if line else ""
            return
        layer, state = found.groups()
        self._layers[layer] = state
        sizes = _SIZES.search(state)
        if sizes and state.startswith("Downloading"):
            self._here[layer] = float(sizes.group(1)) * _UNITS[sizes.group(2)]
            self._all[layer] = float(sizes.group(3)) * _UNITS[sizes.group(4)]
        elif state in ("Download complete", "Pull complete") and layer in self._all:
            self._here[layer] = self._all[layer]

    def state(self) -> str:
        """How far it is; empty while nothing is known."""
        if not self._layers:
            return ""
        done = sum(state in _DONE for state in self._layers.values())
        text = "pulling: %d of %d layers are here" % (done, len(self._layers))
        whole = sum(self._all.values())
        return "%s, %.0f of %.0f MB" % (text, sum(self._here.values()), whole) if whole else text
