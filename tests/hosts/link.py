"""The cable between a host and what it hangs on: this machine, or another host."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = "/proc/self/ns/net"
NUMBERS = itertools.count(os.getpid())  # a new one for each link: what an old test left open meets no new host
RELAY = Path(__file__).with_name("relay.py")


class Link:
    """A private pair of addresses. Packets go straight; while the link is slow or cut they go through a relay instead.

    The kernel's own delay line (netem) is not in every kernel; the relay needs only what any VPN program needs. Connections that are
    open live on when the road changes, as they would on a real network.
    """

    def __init__(self, far_pid: int, far: int, near: "int | None" = None, depth: int = 0) -> None:
        self._far, self._near = f"/proc/self/fd/{far}", HERE if near is None else f"/proc/self/fd/{near}"
        self._hold = tuple(end for end in (far, near) if end is not None)
        self.number = self._claim(far_pid)
        self.near_address = f"10.{77 + depth}.{self.number}.1"
        self.far_address = f"10.{77 + depth}.{self.number}.2"
        self._ip(
            self._near, f"address add {self.near_address}/30 dev jig-{self.number}", f"link set jig-{self.number} up"
        )
        self._ip(self._far, f"address add {self.far_address}/30 dev eth0", "link set eth0 up")
        self._relay: subprocess.Popen[bytes] | None = None
        self._slow: dict[str, float] = {}
        self._is_cut = False

    def _claim(self, far_pid: int) -> int:
        """The name of the near device is the claim to a number: two test runs on one machine never share one."""
        for _ in range(254):
            number = next(NUMBERS) % 254 + 1
            made = self._try_ip(self._near, f"link add jig-{number} type veth peer name eth0 netns {far_pid}")
            if made.returncode == 0:
                return number
            if "File exists" not in made.stderr:
                raise RuntimeError(f"cannot make a network link: {made.stderr.strip()}")
        raise RuntimeError("all 254 test networks of this machine are in use")

    def cut(self) -> None:
        self._is_cut = True
        self._take_road()

    def mend(self) -> None:
        self._is_cut = False
        self._take_road()

    def slow(self, delay_ms: float, loss_percent: float, rate_mbit: float) -> None:
        delay_s = delay_ms / 2000  # half of it each way
        self._slow = {"delay_s": delay_s, "loss": loss_percent / 100, "bytes_per_s": rate_mbit * 125_000}
        self._take_road()

    def fast(self) -> None:
        self._slow = {}
        self._take_road()

    def close(self) -> None:
        self._end_relay()
        self._try_ip(self._near, f"link delete jig-{self.number}")

    def _take_road(self) -> None:
        if not self._is_cut and not self._slow:
            self._end_relay()
            return
        settings = {"delay_s": 0.0, "loss": 0.0, "bytes_per_s": 0.0, **self._slow, "cut": self._is_cut}
        relay = self._relay or self._start_relay()
        relay.stdin.write(json.dumps(settings).encode() + b"\n")
        relay.stdin.flush()
        self._answer(relay, b"set\n")
        if self._relay is None:
            self._relay = relay
            self._divert(self._near, f"jig-slow-{self.number}", self.near_address, self.far_address)
            self._divert(self._far, "slow0", self.far_address, self.near_address)

    def _start_relay(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-I", "-S", str(RELAY), self._near, self._far, f"jig-slow-{self.number}", "slow0"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        relay = subprocess.Popen(command, pass_fds=self._hold, start_new_session=True, **pipes)
        self._answer(relay, b"ready\n")
        return relay

    def _answer(self, relay: "subprocess.Popen[bytes]", expected: bytes) -> None:
        line = relay.stdout.readline()
        if line != expected:
            raise RuntimeError(f"the relay of a slow link said {line!r} instead of {expected!r}")

    def _divert(self, namespace: str, device: str, own: str, other: str) -> None:
        self._ip(namespace, f"link set {device} txqueuelen 10000 up", f"route add {other}/32 dev {device} src {own}")

    def _end_relay(self) -> None:
        """Its devices go with it, and with them the diversion."""
        if self._relay is not None:
            self._relay.stdin.close()
            self._relay.wait(10)
            self._relay.stdout.close()
            self._relay = None

    def _ip(self, namespace: str, *lines: str) -> None:
        done = self._try_ip(namespace, *lines)
        if done.returncode != 0:
            raise RuntimeError(f"ip {lines} failed: {done.stderr.strip()}")

    def _try_ip(self, namespace: str, *lines: str) -> "subprocess.CompletedProcess[str]":
        enter = [] if namespace == HERE else ["nsenter", f"--net={namespace}"]
        command = [*enter, "ip", "-batch", "-"]
        text = "".join(f"{line}\n" for line in lines)
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=30, pass_fds=self._hold)
