"""The server for a long time: pages that come and go, runs that log and end, a log that grows; its memory stays what it is.

JIG_SOAK_MIN is how many minutes; ten when not given.
"""

import os
import time

import pytest
from playwright.sync_api import expect

from tests.conftest import call
from tests.workbench.conftest import ready

MINUTES = float(os.environ.get("JIG_SOAK_MIN", "10"))
WARM_UP = 0.25  # of it: caches fill, modules are loaded
GROWTH_KIB = 24 << 10  # in the rest, at most
SCRIPT = """\
import time, jig.track as track
began, step = time.monotonic(), 0
while time.monotonic() - began < 12:
    track.log(loss=1 / (1 + step), accuracy=step)
    print("\\n".join(f"step {step} line {n} \\x1b[32mok\\x1b[0m" for n in range(100)), flush=True)
    step += 1
    time.sleep(0.1)
"""


def memory_kib(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


@pytest.mark.soak
@pytest.mark.timeout(MINUTES * 60 + 600)
def test_memory_stays_flat(serve, browse, project):
    project.write("talk.py", SCRIPT)
    first = call("submit", "-c", "local", "talk.py").run_id
    server = serve(project.path)
    page = browse(server)
    began, seen, rounds = time.monotonic(), [], 0
    while (passed := time.monotonic() - began) < MINUTES * 60:
        run = call("submit", "-a", "-c", "local", "talk.py").run_id
        for path in ("/", "/files", "/targets", "/history", f"/compare?runs={first},{run}",
                     *(f"/runs/{run}?tab={tab}" for tab in ("log", "curves", "summary", "outputs", "timeline"))):  # fmt: skip
            page.goto(server.root + path)
            ready(page)
            page.wait_for_timeout(1500)
        expect(page.locator(".jig-run-head .jig-state")).to_contain_text("Completed", timeout=60_000)
        rounds += 1
        seen.append((passed, memory_kib(server.process.pid)))
        print(f"{passed:6.0f} s, {rounds} rounds: {seen[-1][1] / 1024:.1f} MiB", flush=True)
    warm = [size for passed, size in seen if passed >= MINUTES * 60 * WARM_UP]
    half = len(warm) // 2
    assert half, "too short to tell"
    growth = sorted(warm[half:])[len(warm[half:]) // 2] - sorted(warm[:half])[half // 2]
    print(
        f"{rounds} rounds in {MINUTES:g} min: {warm[0] / 1024:.1f} to {warm[-1] / 1024:.1f} MiB, medians of halves {growth} KiB apart"
    )
    assert growth < GROWTH_KIB
