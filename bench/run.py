"""Every figure of `docs/benchmarks.md`, measured now: one line each, exit code 1 when a bar is missed."""

from __future__ import annotations

import argparse
import json
import platform
import sys

import environments
import listing
import logging_cost
import printing
import snapshots
import submit
import timing
import version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from figure import Figure

FIGURES = {
    "submit": submit.measure,
    "version": version.measure,
    "log": logging_cost.measure,
    "listing": listing.measure,
    "snapshot": snapshots.measure,
    "printing": printing.measure,
}


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=FIGURES, help="measure this figure; may be given again")
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    wanted = parser.parse_args()
    warning = timing.busy()
    if warning:
        print(warning, file=sys.stderr)
    found: list[Figure] = []
    for name in wanted.only or FIGURES:
        for figure in measured(FIGURES[name]):
            found.append(figure)
            print(figure.line(), flush=True)
    if wanted.json:
        with open(wanted.json, "w") as file:
            json.dump(report(found, warning), file, indent=1)
            file.write("\n")
    return 0 if all(figure.ok for figure in found) else 1


def measured(measure: Callable[[], list[Figure]]) -> list[Figure]:
    """The figures; one that misses its bar is measured once more before that is believed."""
    first = measure()
    if all(figure.ok for figure in first):
        return first
    return [before if before.ok else again for before, again in zip(first, measure(), strict=True)]


def report(found: list[Figure], warning: str) -> dict[str, object]:
    """The figures as plain data, with what they were measured on."""
    return {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "warning": warning,
        "jig": environments.jig().version("jig-workbench"),
        "figures": [{**figure._asdict(), "ratio": figure.ratio, "ok": figure.ok} for figure in found],
    }


if __name__ == "__main__":
    sys.exit(main())
