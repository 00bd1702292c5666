"""What watching a run takes of one core, without a driver and with one of two devices; that driver is pretended."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys

from environments import jig
from figure import Figure
from folders import SOURCE, fresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BAR, SHARE = 1.0, 0.005
LASTS_S, WORKERS = 20, 8
# A script with workers, as one that loads data has them; and the sampler's processor time, its start not counted.
CODE = """
import json, os, subprocess, sys, time
from jig.runner.folder import RunFolder
from jig.runner.gpu import sampler

folder, lasts_s, workers = sys.argv[1], float(sys.argv[2]), sys.argv[3]
script = "import subprocess, time; [subprocess.Popen(['sleep', '600']) for _ in range(%s)]; time.sleep(600)" % workers
guard = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
heard = sampler.start(RunFolder(folder), "bench_1", guard.pid, [])
samples = []
for wait_s in (1.5, lasts_s):
    time.sleep(wait_s)
    used_ns = int(open("/proc/%d/schedstat" % heard.pid).read().split()[0])
    samples.append((used_ns / 1e9, sum("proof" in message for message in heard.messages())))
devices = len(heard.finish(5.0)["devices"])
os.killpg(guard.pid, 9)
print(json.dumps([samples[1][0] - samples[0][0], samples[1][1], devices]))
"""


def measure() -> list[Figure]:
    """Two lines. SystemExit where samples were left out, which would make any figure a good one."""
    figures = []
    for name, driver, devices in (("no driver", contextlib.nullcontext(), 0), ("two devices", pretended(), 2)):
        with driver:
            argv = (jig().program("python"), "-c", CODE, fresh("sampling"), str(LASTS_S), str(WORKERS))
            used_s, samples, seen = json.loads(subprocess.check_output(argv, env=jig().environ(), text=True))
        if seen != devices or not LASTS_S - 2 <= samples <= LASTS_S + 2:
            raise SystemExit(f"sampling, {name}: {samples} samples of {seen} devices in {LASTS_S} s")
        limit = f"{SHARE:.1%} of {LASTS_S} s"
        figures.append(Figure("sampling", f"processor time, {name}", used_s, limit, SHARE * LASTS_S, BAR))
    return figures


@contextlib.contextmanager
def pretended() -> Iterator[None]:
    """Let this machine have a driver, for this process and what it starts."""
    if SOURCE not in sys.path:
        sys.path.append(SOURCE)
    from tests.engines.gpu import Driver
    from tests.hosts.folders import own_folder

    if os.geteuid() != 0:
        raise SystemExit("the figures `sampling` pretend a driver, which only root may: name others with --only")
    with own_folder() as folder, Driver(folder / "gpu").here():
        yield
