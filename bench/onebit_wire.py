"""onebit on processors: the codec on one core, and steps of four ranks on hosts of their own, whose links are shaped.

Bytes are those that leave a host by its interface. Needs root, for network namespaces and `tc`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import environments
from figure import Figure
from folders import SOURCE

RANKS, PORT = 4, 29507
HERE = os.path.dirname(os.path.abspath(__file__))


def measure() -> list[Figure]:
    """What `docs/benchmarks.md` says of it."""
    return [*codec(), *wire()]


def codec() -> list[Figure]:
    """Encoding on one core against a copy of as many bytes."""
    found = json.loads(_output([_python(), os.path.join(HERE, "onebit_cpu.py")], _environ()))
    encoded = "encode, one core", found["encode"]
    return [
        Figure("onebit", *encoded, "copy of as many bytes", found["copy"], bar=1 / 0.3),
        Figure("onebit", *encoded, "`numpy.packbits` alone", found["packbits"]),
        Figure("onebit", *encoded, "the same by PyTorch alone", found["encode_by_torch"], faster=True),
        Figure("onebit", "decode, one core", found["decode"], "copy of as many bytes", found["decode_copy"]),
    ]


def wire() -> list[Figure]:
    """Steps of a model of 25 million parameters."""
    found = {}
    for mbit, kinds in ((100, ("none", "fp16", "onebit")), (1000, ("none", "fp16", "powersgd-1", "onebit"))):
        with hosts(mbit) as names:
            for kind in kinds:
                found[mbit, kind] = step(names, kind, 2 if mbit == 100 and kind != "onebit" else 8)
    figures = []
    for mbit, other, label, bar in (
        (100, "none", "DDP", 5.0),
        (100, "fp16", "`fp16_compress_hook`", 2.5),
        (1000, "none", "DDP", 1.5),
        (1000, "fp16", "`fp16_compress_hook`", None),
        (1000, "powersgd-1", "PowerSGD, rank 1", 1.0),
    ):
        ours, theirs = found[mbit, "onebit"]["step_s"], found[mbit, other]["step_s"]
        figures.append(Figure("onebit", f"step, {mbit} Mbit/s", ours, label, theirs, bar, faster=True))
    slow, fast = found[100, "onebit"], found[1000, "onebit"]
    figures.append(Figure("onebit", "of it in the codec", fast["codec_s"], "step, 1000 Mbit/s", fast["step_s"]))
    all_reduce = 2 * (RANKS - 1) / RANKS * 4 * slow["parameters"]
    figures.append(Figure("onebit", "sent a step", slow["sent"], "all-reduce, fp32", all_reduce, 1 / 28, is_size=True))
    return figures


@contextmanager
def hosts(mbit: int) -> Iterator[list[str]]:
    """Names of network namespaces on one switch; each link carries so much, in either direction."""
    mark = f"ob{os.getpid() % 100000}"
    switch, names = f"{mark}s", [f"{mark}-{rank}" for rank in range(RANKS)]
    try:
        _ip("link", "add", switch, "type", "bridge")
        _ip("link", "set", switch, "up")
        for rank, name in enumerate(names):
            near = f"{mark}v{rank}"
            _ip("netns", "add", name)
            _ip("link", "add", near, "type", "veth", "peer", "name", "eth0", "netns", name)
            _ip("link", "set", near, "master", switch, "up")
            _ip("-n", name, "address", "add", f"10.79.0.{rank + 1}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "link", "set", "lo", "up")
            rate = ("tbf", "rate", f"{mbit}mbit", "burst", "256kb", "latency", "200ms")
            _run("tc", "qdisc", "add", "dev", near, "root", *rate)
            _run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "eth0", "root", *rate)
        yield names
    finally:
        for rank, name in enumerate(names):
            # A namespace that is removed takes its links along a little later, when the next one's have the same names.
            subprocess.run(["ip", "link", "del", f"{mark}v{rank}"], stderr=subprocess.DEVNULL)
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", switch], stderr=subprocess.DEVNULL)


def step(names: list[str], kind: str, steps: int) -> dict[str, float]:
    """What a step takes with one kind of exchange."""
    ranks = []
    for rank, name in enumerate(names):
        place = {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "MASTER_ADDR": "10.79.0.1", "MASTER_PORT": str(PORT)}
        program = _python(), "-W", "ignore", os.path.join(HERE, "onebit_step.py"), kind, str(steps)
        words = ["ip", "netns", "exec", name, *program]
        variables = {**_environ(), **place, "GLOO_SOCKET_IFNAME": "eth0"}
        ranks.append(subprocess.Popen(words, env=variables, stdout=subprocess.PIPE, text=True))
    output, *_ = [rank.communicate(timeout=900)[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        raise RuntimeError(f"a rank of the step-time benchmark failed, with {kind}")
    figures: dict[str, float] = json.loads(output)
    return figures


def _python() -> str:
    return environments.torch().program("python")


def _environ() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.path.join(SOURCE, "src")}


def _output(words: list[str], variables: dict[str, str]) -> str:
    return subprocess.check_output(words, env=variables, text=True)


def _ip(*words: str) -> None:
    _run("ip", *words)


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


def main() -> None:
    """A table of all kinds at some rates, also those that have no bar."""
    for mbit in [int(word) for word in sys.argv[1:]] or [100, 1000]:
        with hosts(mbit) as names:
            for kind in ("none", "fp16", "powersgd-1", "powersgd-2", "powersgd-4", "onebit"):
                found = step(names, kind, 2 if mbit < 500 and kind in ("none", "fp16") else 8)
                shown = f"{found['step_s']:8.3f} s a step   {found['sent'] / 1e6:8.2f} MB sent"
                print(f"{mbit:5} Mbit/s  {kind:10} {shown}   codec {found['codec_s']:.3f} s", flush=True)


if __name__ == "__main__":
    main()
