"""Every figure of `docs/benchmarks.md`, measured now: one line each, exit code 1 when a bar is missed."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys

import building
import containers
import environments
import listing
import logging_cost
import mlflow_face
import onebit_wire
import plot
import printing
import sampling
import snapshots
import spark
import ssh
import submit
import timing
import version
import workbench

TYPE_CHECKING = False
if TYPE_CHECKING:
    from figure import Figure

FIGURES = {
    "submit": submit.measure,
    "version": version.measure,
    "log": logging_cost.measure,
    "plot": plot.measure,
    "mlflow": mlflow_face.measure,
    "listing": listing.measure,
    "snapshot": snapshots.measure,
    "printing": printing.measure,
    "building": building.measure,
    "ssh": ssh.measure,
    "containers": containers.measure,
    "spark": spark.measure,
    "sampling": sampling.measure,
    "onebit": onebit_wire.measure,
    "workbench": workbench.measure,
}


def main() -> int:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=FIGURES, help="measure this figure; may be given again")
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    asked = parser.parse_args()
    names = asked.only or list(FIGURES)
    warning = timing.busy()
    if warning:
        print(warning, file=sys.stderr)
    on = measured_on(names)
    print(", ".join(on), flush=True)
    found: list[Figure] = []
    for name in names:
        for figure in measured(name):
            found.append(figure)
            print(figure.line(), flush=True)
    if asked.json:
        figures = [{**figure._asdict(), "ratio": figure.ratio, "ok": figure.ok} for figure in found]
        with open(asked.json, "w") as file:
            json.dump({"on": on, "warning": warning, "figures": figures}, file, indent=1)
            file.write("\n")
    return 0 if all(figure.ok for figure in found) else 1


def measured(name: str) -> list[Figure]:
    """The figures of this name; one that misses its bar is measured once more before that is believed."""
    first = FIGURES[name]()
    if all(figure.ok for figure in first):
        return first
    for figure in first:
        if not figure.ok:
            print(f"missed, measuring once more: {figure.line()}", file=sys.stderr, flush=True)
    return [before if before.ok else again for before, again in zip(first, FIGURES[name](), strict=True)]


def measured_on(names: list[str]) -> list[str]:
    """What the figures depend on: the machine, and the versions that are compared."""
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    peers = [environments.mlflow(), environments.guild()] if {"submit", "listing"} & set(names) else []
    peers += [environments.mlflow(), environments.trackio(), environments.wandb()] if "log" in names else []
    peers += [environments.mlflow()] if "mlflow" in names else []
    compared = dict.fromkeys((environments.jig(), *peers))
    return [machine, f"Python {platform.python_version()}", *(venv.version() for venv in compared)]


if __name__ == "__main__":
    sys.exit(main())
