"""Devices for a run, without a server: first come, first served, all that are wanted or none.

The lease is a lock on the run's ticket. The guard inherits it, and nothing else does: when the supervisor is killed the
devices stay taken until the guard has ended the script, and then the kernel frees them.
"""

import os
import sys
import time

assert sys.platform != "win32"  # before the imports, so that the type checker leaves them out on Windows

from jig.runner.gpu import VISIBLE, lease_files, lease_rules
from jig.runner.gpu.lease_files import LeaseRefused
from jig.runner.gpu.lease_ticket import Ticket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Union

    from jig.runner.gpu.lease_files import Folder

__all__ = ["Lease", "LeaseRefused", "Waiting", "holders", "variables"]

UNWELL_S = 60.0  # for a driver that answered when the run began to wait


class Waiting:
    """Not yet: why, and the place in the line of those who want the same devices (0 of 0 while it is not known)."""

    __slots__ = ("of", "position", "reason")

    def __init__(self, reason: str, position: int, of: int) -> None:
        self.reason = reason
        self.position = position
        self.of = of

    def __repr__(self) -> str:
        return "Waiting(%r, %d, %d)" % (self.reason, self.position, self.of)


class Lease:
    """One run's wish for devices, until it is released or all who hold its descriptor are dead."""

    def __init__(self, run_id: str, want: int, shared: bool) -> None:
        self.descriptor: "Optional[int]" = None
        self._want = want
        self._shared = shared
        self._visible = os.environ.get(VISIBLE)  # an administrator's or a scheduler's word
        self._mine = Ticket(0, run_id, os.getuid(), os.getpid(), want, [], [], 0.0)
        self._path = ""
        self._unwell_since: "Optional[float]" = None
        self._position, self._of = 0, 0

    def ask(self, look: "Dict[str, Any]") -> "Union[List[str], Waiting]":
        """The devices, or why not yet. Never blocks, and is to be called every second. LeaseRefused: it is in vain."""
        if self._mine.uuids:
            return self._mine.uuids
        try:
            return self._ask(look)
        except LeaseRefused:
            self.release()
            raise
        except OSError as error:
            self.release()
            raise LeaseRefused("the ticket for a GPU could not be written in %s: %s" % (lease_files.place(), error))

    def _ask(self, look: "Dict[str, Any]") -> "Union[List[str], Waiting]":
        devices = lease_rules.candidates(look["devices"], self._visible)
        if len(devices) < self._want:
            return self._too_few(look, len(devices))
        self._unwell_since = None
        folder = lease_files.open_folder(make=True)
        assert folder is not None
        try:
            if not folder.take():
                return self._not_now("the line for GPUs is kept locked by %s" % folder.locked_by())
            return self._decide(folder, devices)
        finally:
            folder.close()

    def _too_few(self, look: "Dict[str, Any]", left: int) -> Waiting:
        """A driver that stops answering is waited for when it answered before; all else will not change."""
        wanted = lease_rules.count(self._want)
        if look["error"]:
            now = time.monotonic()
            self._unwell_since = self._unwell_since or now
            if self.descriptor is not None and now - self._unwell_since < UNWELL_S:
                return self._not_now(look["error"])
            raise LeaseRefused("%s wanted: %s" % (wanted, look["error"]), look["hint"])
        there = len(look["devices"])
        if there < self._want:
            raise LeaseRefused(
                "%s wanted: this machine has %s" % (wanted, lease_rules.count(there) if there else "none"),
                "ask for fewer (`Gpus` in the run configuration), or choose another target",
            )
        raise LeaseRefused(
            "%s wanted: of the %d here, %s=%s leaves %d" % (wanted, there, VISIBLE, self._visible, left),
            "that is set in the environment on the machine: by a scheduler, or by a profile of the login",
        )

    def _decide(self, folder: "Folder", devices: "List[Dict[str, Any]]") -> "Union[List[str], Waiting]":
        mine, tickets = self._mine, folder.tickets(sweep=True)
        among = [device["uuid"] for device in devices]
        if self.descriptor is not None and not folder.has(mine.number, self.descriptor):
            os.close(self.descriptor)
            self.descriptor = None
        if self.descriptor is None:
            mine.among, mine.since = among, time.time()
            self.descriptor = folder.add(mine, tickets)
            if self.descriptor is None:
                return self._not_now("the ticket for a GPU is kept locked by another process")
            self._path = os.path.join(folder.path, str(mine.number))
        elif mine.among != among:
            mine.among = among
            lease_files.write(self.descriptor, mine)
        chosen = lease_rules.choose(mine, tickets, devices, self._shared)
        if chosen:
            mine.uuids, mine.since = chosen, time.time()
            lease_files.write(self.descriptor, mine)
            return chosen
        os.utime(self.descriptor)  # awake
        self._position = len(lease_rules.before(mine, tickets)) + 1
        self._of = len(lease_rules.rivals(mine, tickets)) + 1
        return self._not_now(lease_rules.why_waiting(mine, tickets, devices, self._shared))

    def _not_now(self, reason: str) -> Waiting:
        return Waiting(reason, self._position, self._of)

    def release(self) -> None:
        """Give the devices back, or leave the line; for a run whose processes have ended. May be called twice."""
        if self.descriptor is not None:
            lease_files.remove(self._path, self.descriptor)
            os.close(self.descriptor)
            self.descriptor = None
        self._mine.uuids = []


def holders() -> "List[Dict[str, Any]]":
    """Every living run of this machine, of all users, that holds devices or waits for some, in the order of asking."""
    folder = lease_files.open_folder(make=False)
    if folder is None:
        return []
    try:
        folder.take()  # where it cannot be had, a ticket that is written in this moment is missing from the list
        return [
            {
                "run": ticket.run,
                "user": ticket.user,
                "pid": ticket.pid,
                "want": ticket.want,
                "uuids": ticket.uuids,
                "since": ticket.since,
                "waiting": ticket.waits,
            }
            for ticket in folder.tickets(sweep=False)
        ]
    finally:
        folder.close()


def variables(devices: "List[Dict[str, Any]]") -> "Dict[str, str]":
    """What tells a framework its devices: indices, which every framework reads; for parts of a card only uuids do."""
    by_uuid = any(device["parent"] is not None for device in devices)
    words = [device["uuid"] if by_uuid else str(device["index"]) for device in devices]
    return {VISIBLE: ",".join(words), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
