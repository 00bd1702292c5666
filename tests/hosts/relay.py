"""The slow or cut road between two network namespaces: a process that hands packets over late, or not at all.

Run as a program with the paths of the two namespaces and the names of the two devices to make there. Each line on standard input
is a JSON object of settings (delay_s, loss, bytes_per_s, cut) and is answered by a line. The devices go when this process ends.
"""

import ctypes
import errno
import fcntl
import json
import os
import random
import select
import struct
import sys
import time
from collections import deque

NEW_NETWORK = 0x40000000  # CLONE_NEWNET
SET_INTERFACE = 0x400454CA  # TUNSETIFF
PLAIN_PACKETS = 0x1001  # IFF_TUN | IFF_NO_PI
LONGEST = 65536
IN_FLIGHT = 20_000  # packets on the way in one direction; what comes on top is dropped, as a router does


def device(namespace: str, name: str) -> int:
    """A network device of the namespace, whose packets are read and written here."""
    with open(namespace) as place:
        if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), NEW_NETWORK) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {namespace}")
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, SET_INTERFACE, struct.pack("16sH22x", name.encode(), PLAIN_PACKETS))
    return end


class Lane:
    """One direction: packets and the moment each of them is due."""

    def __init__(self, source: int, sink: int) -> None:
        self.source, self.sink = source, sink
        self.packets: deque[tuple[float, bytes]] = deque()
        self.free_at = 0.0

    def take(self, settings: dict) -> None:
        """Read what has come, and drop or schedule it."""
        for _ in range(64):
            try:
                packet = os.read(self.source, LONGEST)
            except BlockingIOError:
                return
            if settings["cut"] or random.random() < settings["loss"] or len(self.packets) >= IN_FLIGHT:
                continue
            now = time.monotonic()
            if settings["bytes_per_s"]:
                self.free_at = max(self.free_at, now) + len(packet) / settings["bytes_per_s"]
            self.packets.append((max(self.free_at, now) + settings["delay_s"], packet))

    def give(self) -> None:
        """Hand over what is due."""
        while self.packets and self.packets[0][0] <= time.monotonic():
            try:
                os.write(self.sink, self.packets.popleft()[1])
            except OSError as error:
                if error.errno != errno.EIO:  # that device is not up yet: the packet is lost
                    raise


def main(near: str, far: str, near_name: str, far_name: str) -> None:
    ends = device(near, near_name), device(far, far_name)
    lanes = {ends[0]: Lane(*ends), ends[1]: Lane(*reversed(ends))}
    settings = {"delay_s": 0.0, "loss": 0.0, "bytes_per_s": 0.0, "cut": False}
    print("ready", flush=True)
    while True:
        due = [lane.packets[0][0] for lane in lanes.values() if lane.packets]
        wait_s = max(0.0, min(due) - time.monotonic()) if due else None
        for source in select.select([0, *lanes], [], [], wait_s)[0]:
            if source != 0:
                lanes[source].take(settings)
                continue
            line = sys.stdin.buffer.raw.readline()
            if not line:
                return
            settings = json.loads(line)
            if settings["cut"]:
                for lane in lanes.values():
                    lane.packets.clear()
            print("set", flush=True)
        for lane in lanes.values():
            lane.give()


if __name__ == "__main__":
    main(*sys.argv[1:])
