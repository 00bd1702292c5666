"""The sampler's own side: reports the devices, then looks at them and at the run until it is told to end."""

import errno
import os
import select
import sys
import time

assert sys.platform != "win32"  # before the imports, so that the type checker leaves them out on Windows

from jig.runner.gpu.proof import Proof
from jig.runner.gpu.watched import watched
from jig.runner.quick_json import dumps_short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence

    from jig.runner.gpu.usage import Usage
    from jig.runner.gpu.watched import Watched

FOR_EVER_S = 1e9
FULL = (errno.ENOSPC, errno.EDQUOT)
FIRST_S = 0.2  # the first sample: also of a run that is soon over
OWN_SHARE = 0.004  # of one core: what sampling may take; where a sample takes more, there are fewer of them
THINNED_AFTER_S = 3600.0  # a line for each sample; later one for each 3600th part of the time that has passed


class Sampling:
    """Takes a run's samples. `orders` ends it: a line, after a last sample; the end of whoever holds it, at once."""

    def __init__(
        self, path: str, usage: "Usage", every_s: float, orders: int, tell: "Callable[[Dict[str, Any]], None]"
    ) -> None:
        self._usage, self._every_s, self._orders, self._tell = usage, every_s, orders, tell
        self._lines = Lines(path)
        self._began_at = self._sampled_at = self._wrote_at = time.monotonic()
        self._cost_s = 0.0
        self._devices: "List[Watched]" = []
        self._proof = Proof()
        self._failing = ""

    def run(self, chosen: "Sequence[str]") -> None:
        """From the report to the last sample."""
        report, self._devices, is_blind = watched(chosen)
        devices = [(device.uuid, device.name, device.before_bytes) for device in self._devices]
        self._proof = Proof(devices, is_blind, self._every_s)
        self._tell({"report": report, "silent_s": FIRST_S if self._every_s else FOR_EVER_S})
        wait_s = max(0.0, self._began_at + FIRST_S - time.monotonic()) if self._every_s else None
        while not select.select([self._orders], [], [], wait_s)[0]:
            before_s = time.process_time()
            self._sample()
            cost_s = time.process_time() - before_s
            self._cost_s = (3 * self._cost_s + cost_s) / 4 if self._cost_s else cost_s
            gap_s = self._proof.every_s = max(self._every_s, self._cost_s / OWN_SHARE)
            self._tell({"proof": self._proof.value(), "silent_s": gap_s})
            wait_s = max(0.0, self._sampled_at + gap_s - time.monotonic())
        if not os.read(self._orders, 64):
            return
        if self._every_s:
            self._sample(is_last=True)
            self._tell({"proof": self._proof.value(), "last": True})
        else:
            self._tell({"last": True})

    def _sample(self, is_last: bool = False) -> None:
        sample = {"time": round(time.time(), 3)}  # type: Dict[str, Any]
        sample.update(self._usage.read())
        sample["gpus"] = [device.sample(self._usage.family.owns) for device in self._devices]
        now, before = time.monotonic(), self._sampled_at
        self._sampled_at = now
        self._proof.add(sample, now - before)
        if is_last or now - self._wrote_at >= (now - self._began_at) / THINNED_AFTER_S:
            self._wrote_at = now
            trouble = self._lines.write(sample)
            if trouble:
                self._tell({"note": trouble, "silent_s": self._every_s})
        self._tell_failure(sample["gpus"])

    def _tell_failure(self, gpus: "List[Dict[str, Any]]") -> None:
        """Say once that devices are not seen any more."""
        lost = [gpu for gpu in gpus if "error" in gpu]
        failing = ", ".join(gpu["uuid"] for gpu in lost) + ": " if len(lost) < len(gpus) else ""
        failing = failing + lost[0]["error"] if lost else ""
        if failing and failing != self._failing:
            self._tell({"error": failing, "silent_s": self._every_s})
        self._failing = failing


class Lines:
    """The file of samples. Where there is no room on the disk, lines are left out, each of them whole."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: "Optional[int]" = None
        self._is_over = False

    def write(self, sample: "Dict[str, Any]") -> str:
        """Append a line, if there is room for it. Told once: why there will be no more of them."""
        if self._is_over:
            return ""
        data = dumps_short(sample).encode() + b"\n"
        try:
            self._append(data)
        except OSError as error:
            if error.errno == errno.ENOENT:  # the script removed the folder
                return ""
            self._is_over = True
            return "no more samples are kept in %s: %s" % (self._path, error.strerror)
        return ""

    def _append(self, data: bytes) -> None:
        if self._file is None:
            try:
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            except OSError as error:
                if error.errno not in FULL:
                    raise
                return
        size = os.fstat(self._file).st_size
        try:
            if os.write(self._file, data) == len(data):
                return
        except OSError as error:
            if error.errno not in FULL:
                raise
        os.ftruncate(self._file, size)
