"""The supervisor's side of GPUs: leases them before a run, watches them during it, and has the proof in the end."""

import os
import sys
import time

from jig.runner.environment import NotStarted, has_nvidia
from jig.runner.gpu import NO_DRIVER, VISIBLE, is_asked_for

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional

    from jig.runner.folder import RunFolder
    from jig.runner.gpu.lease import Lease
    from jig.runner.gpu.sampler import Sampler

    Write = Callable[..., None]

ASK_AGAIN_S = 1.0
LOOK_AGAIN_S = 5.0  # while others are before us in the queue; opening a driver takes long on some machines
LEASED = "JIG_LEASED_DEVICES"  # what a run's CUDA_VISIBLE_DEVICES was set to
ELSEWHERE = "the Docker engine is on another machine: its GPUs cannot be seen from here"
FRESH_S = 10.0  # an older proof does not end a run: the driver may hang, and not the script
NOTHING: "Dict[str, Any]" = {"driver": "", "cuda": "", "devices": [], "error": NO_DRIVER, "hint": ""}


class Care:
    """One run's GPUs."""

    def __init__(self, plan: "Dict[str, Any]", folder: "RunFolder", write: "Write") -> None:
        self._plan = plan
        self._wanted: "Dict[str, Any]" = plan.get("gpu") or {}
        self._folder = folder
        self._write = write
        self._lease: "Optional[Lease]" = None
        self._sampler: "Optional[Sampler]" = None
        self._uuids: "List[str]" = []
        self._proof: "Optional[Dict[str, Any]]" = None
        self._proved = 0.0
        self._warned = False
        self._trouble = ""  # with the driver, that was told

    def lease(
        self, stopping: "Callable[[], bool]", pause: "Callable[[float], None]"
    ) -> "Optional[List[Dict[str, Any]]]":
        """Wait for the devices that the run wants, first come, first served; None when somebody wants it to end."""
        if not self._wanted.get("want"):
            return []
        from jig.runner.gpu.lease import Lease, LeaseRefused, Waiting
        from jig.runner.gpu.look import look

        if os.environ.get(LEASED) == os.environ.get(VISIBLE):
            os.environ.pop(VISIBLE, None)  # submitted by a run, whose leases are no limit for this one
        self._lease = Lease(self._folder.id, self._wanted["want"], self._wanted["shared"])
        told: "Any" = None
        seen: "Dict[str, Any]" = {}
        looked = 0.0
        while not stopping():
            near = told is None or told[1] <= 2  # whoever may be the next to get devices must know who is on them now
            if not seen or time.monotonic() - looked >= (ASK_AGAIN_S if near else LOOK_AGAIN_S):
                seen, looked = look(), time.monotonic()
            try:
                got = self._lease.ask(seen)
            except LeaseRefused as error:
                raise NotStarted(error.reason, error.hint)
            if not isinstance(got, Waiting):
                self._uuids = list(got)
                devices = [device for device in seen["devices"] if device["uuid"] in self._uuids]
                self._write("leased", uuids=self._uuids, indices=[device["index"] for device in devices])
                return devices
            if told != (got.reason, got.position, got.of):
                told = (got.reason, got.position, got.of)
                self._write("waiting", reason=got.reason, position=got.position, of=got.of)
            pause(ASK_AGAIN_S)
        self.release()
        return None

    def start(self, guard: int, elsewhere: bool) -> None:
        """Begin to look, now that the script is on its way; not where the engine's GPUs are on another machine."""
        if elsewhere or not has_nvidia():
            self._write("gpu", look=dict(NOTHING, error=ELSEWHERE) if elsewhere else NOTHING)
        if self._wanted and not elsewhere:
            from jig.runner.gpu import sampler

            every_s = self._wanted["every_s"]
            try:
                self._sampler = sampler.start(self._folder, self._folder.id, guard, self._uuids, every_s)
            except OSError as error:  # no more processes, or descriptors: the script goes on
                self._write("note", text="the GPU is not watched: %s" % error.strerror)

    def descriptors(self) -> "List[int]":
        """Readable when there is something to hear."""
        return [self._sampler.fileno()] if self._sampler is not None else []

    def hear(self) -> None:
        """Take in what the sampler has to say."""
        if self._sampler is None:
            return
        for message in self._sampler.messages():
            if "report" in message:
                if has_nvidia():
                    self._write("gpu", look=message["report"])
            elif "proof" in message:
                self._proof, self._proved = message["proof"], time.monotonic()
            elif "note" in message:
                self._write("note", text=message["note"])
            elif "error" in message and message["error"] != self._trouble:
                self._trouble = message["error"]
                self._write("note", text="the GPU cannot be watched: %s" % self._trouble)

    def is_idle_too_long(self) -> bool:
        """Whether the run is to be stopped for it; warns before."""
        warn_s, stop_s = self._wanted.get("warn_s"), self._wanted.get("stop_s")
        if self._proof is None or not (warn_s or stop_s) or time.monotonic() - self._proved > FRESH_S:
            return False
        if self._proof["verdict"] in ("no gpu", "unknown"):
            return False
        idle_s = self._proof["idle_s"]
        if warn_s and idle_s >= warn_s and not self._warned:
            self._warned = True
            self._write("gpu-idle", idle_s=round(idle_s, 1), stop_s=stop_s)
        elif self._warned and idle_s < warn_s:
            self._warned = False
        return bool(stop_s) and idle_s >= stop_s

    def finish(self) -> None:
        """The last look, now that the script has ended."""
        self.hear()
        if self._sampler is not None:
            last = self._sampler.finish()
            self.hear()  # also the report, where the script was over before it
            self._proof, self._sampler = last or self._proof, None

    def told(self, ask: "Optional[Callable[[], Dict[str, Any]]]") -> "Dict[str, Any]":
        """What the last event says of the GPU; `ask`, unless None, asks the run's interpreter why it was not used."""
        if self._proof is None:
            return {}
        verdict = self._proof["verdict"]
        if ask is None or not is_asked_for(self._plan) or verdict not in ("not used", "idle", "no gpu"):
            return {"proof": self._proof}
        from jig.runner.gpu import cause

        reason, fix = cause.OTHERS.get(verdict) or cause.why(ask(), self._variables())
        return {"proof": self._proof, "cause": "%s. Fix: %s." % (reason[:1].upper() + reason[1:], fix)}

    def _variables(self) -> "Dict[str, str]":
        return dict({} if self._plan.get("container") else os.environ, **self._plan["variables"])

    def release(self) -> None:
        """Let others have the devices."""
        if self._lease is not None:
            self._lease.release()
            self._lease = None
