"""The cost of one metric against a JSON line that is written and flushed, and the proof that a kill loses none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BAR = 1.2
CALLS = 10_000
ROUNDS = 15
KILLED_AFTER = (1, 2, 1000)

KILLED = """
import os, signal, sys
import jig
for number in range(int(sys.argv[1])):
    jig.log("loss", number * 0.5)
os.kill(os.getpid(), signal.SIGKILL)
"""


def cost() -> tuple[float, float]:
    """Microseconds of one `jig.log` of a scalar and of its floor: the best of several rounds, taken in turns."""
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "floor.jsonl"), "a") as floor_file:
        os.environ["JIG_RUN_DIR"] = folder
        import jig  # imported here: it looks for the run folder when it first writes

        def floor(value: float) -> None:
            floor_file.write(json.dumps({"time": time.time(), "values": {"loss": value}}) + "\n")
            floor_file.flush()

        def metric(value: float) -> None:
            jig.log("loss", value)

        rounds = [(_round(metric), _round(floor)) for _ in range(ROUNDS)]
        with open(os.path.join(folder, "metrics.jsonl")) as kept:
            lines = sum(1 for _ in kept)
        if lines != CALLS * ROUNDS:
            raise SystemExit(f"{CALLS * ROUNDS} calls left {lines} lines")
    return min(pair[0] for pair in rounds), min(pair[1] for pair in rounds)


def _round(call: Callable[[float], None]) -> float:
    values = [number * 0.1234 for number in range(CALLS)]
    start = time.perf_counter()
    for value in values:
        call(value)
    return (time.perf_counter() - start) / CALLS * 1e6


def lines_after_kill(count: int) -> int:
    """How many whole lines a script has left that killed itself right after its `count`-th call."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(count)], env={**os.environ, "JIG_RUN_DIR": folder}, check=False
        )
        if done.returncode != -signal.SIGKILL:
            raise SystemExit(f"the script ended with {done.returncode}, and not by the kill")
        with open(os.path.join(folder, "metrics.jsonl")) as kept:
            return len([json.loads(line) for line in kept])


def main() -> int:
    """Print both figures; 1 when one of them misses its bar."""
    metric_us, floor_us = cost()
    ratio = metric_us / floor_us
    print(f"metric call: {metric_us:.1f} µs, floor {floor_us:.1f} µs, ratio {ratio:.2f} (bar {BAR})")
    kept = [lines_after_kill(count) for count in KILLED_AFTER]
    print(f"metrics after kill -9: {sum(kept)} of {sum(KILLED_AFTER)} kept")
    return 0 if ratio <= BAR and tuple(kept) == KILLED_AFTER else 1


if __name__ == "__main__":
    sys.exit(main())
