"""Runs every test but the soaks in two processes; the few that fail are asked once more, one at a time, and named.

Tests here start engines, servers, browsers and virtual networks beside each other, and some wait for what takes its
time on a busy machine. One that fails again fails the run; so do more than a few, or an end that is not about tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PYTEST = (sys.executable, "-m", "pytest", "-m", "not soak")
TOGETHER = ("--numprocesses", "2", "--dist", "loadfile")
FAILED = Path(".pytest_cache/v/cache/lastfailed")
TESTS_FAILED = 1  # pytest's exit code
FEW = 6


def main() -> int:
    """The exit code of `make test`."""
    FAILED.unlink(missing_ok=True)
    code = subprocess.call((*PYTEST, *TOGETHER))
    failed = sorted(json.loads(FAILED.read_text())) if code == TESTS_FAILED and FAILED.exists() else []
    if not 0 < len(failed) <= FEW:
        return code
    print(f"\n{len(failed)} failed beside others; once more, alone:", *failed, sep="\n  ", flush=True)
    code = subprocess.call((*PYTEST, "--last-failed"))
    if code == 0:
        print("\nUNSTEADY, passed only alone:", *failed, sep="\n  ", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
