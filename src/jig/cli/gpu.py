"""`jig gpu`: the GPUs of a machine now, and who has them."""

from __future__ import annotations

import os
import sys

from jig.cli.grammar import Command, Option
from jig.cli.options import CONFIG, FOR_PROGRAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from jig.cli.grammar import Args
    from jig.machines import Machine

EVERY_S = 2.0


def gpu(args: Args) -> int:
    """Tell what the GPUs do, once or until Ctrl-C."""
    from jig.cli.show import show
    from jig.cli.terminal import printable
    from jig.errors import UsageError

    config, output, query = args.text("config"), args.text("output"), args.text("query")
    machine = _machine(config)
    if output or query:
        if args.flag("watch"):
            raise UsageError("--watch draws for a person, and -o writes for a program", "leave one of them out")
        found = machine.ask("gpu")
        show({**found["look"], "holders": found["holders"]}, output=output, query=query)
        return 0
    if args.flag("watch"):
        return _watch(machine, config)
    found = machine.ask("gpu")
    _write(text(found, config))
    if found.get("trouble"):
        print(f"warning: who has leases cannot be told: {printable(found['trouble'])}", file=sys.stderr)
    return 0


def _machine(config: str | None) -> Machine:
    """The machine of a run configuration's target; this one when none is named, also outside a project."""
    from jig import machines
    from jig.machines import local
    from jig.project import Project

    if config is None:
        return local.machine()
    project = Project.find(os.getcwd())
    return machines.for_target(project.compute_target(project.run_config(config.removesuffix(".runconfig")).target))


def _watch(machine: Machine, config: str | None) -> int:
    """The same again and again; Ctrl-C is how it is meant to end. Without a driver there is nothing to watch."""
    import time

    from jig.cli import gpu_text
    from jig.cli.terminal import is_terminal

    drawn = is_terminal(sys.stdout)
    try:
        while True:
            found = machine.ask("gpu")
            lines = text(found, config)
            head = f"{machine.name} at {time.strftime('%H:%M:%S')}"
            _write([head, *lines] if drawn else [head, *lines, ""], "\x1b[H\x1b[J" if drawn else "")
            if not gpu_text.has_driver(found["look"]):
                return 0
            time.sleep(EVERY_S)
    except KeyboardInterrupt:
        return 0


def _write(lines: list[str], before: str = "") -> None:
    from jig.cli.terminal import printable

    sys.stdout.write(before + "".join(printable(line) + "\n" for line in lines))
    sys.stdout.flush()


def text(found: Mapping[str, Any], config: str | None = None) -> list[str]:
    """The answer of a machine as lines to read."""
    from jig.cli import gpu_text

    look, holders, now = found["look"], found["holders"], found["time"]
    if not look["devices"]:
        lines = gpu_text.nothing(look)
        if not gpu_text.has_driver(look):
            doctor = "jig doctor" + (f" -c {config}" if config else "")
            lines.append(f"fix: {look['hint']}; `{doctor}` tells more")
    else:
        lines = [f"driver {look['driver']}" + (f", CUDA {look['cuda']}" if look.get("cuda") else "")]
        for device in look["devices"]:
            lines += _device(device, [holder for holder in holders if device["uuid"] in held(holder)], now)
        lines += gpu_text.complaint(look)
    return lines + waiting_lines(holders, now)


def waiting_lines(holders: Sequence[Mapping[str, Any]], now: float) -> list[str]:
    """The runs that wait for devices, in their order."""
    lines, waiting = [], [holder for holder in holders if holder["waiting"]]
    for place, holder in enumerate(waiting, 1):
        wish = f"{holder['want']} GPU" + ("s" if holder["want"] != 1 else "")
        lines.append(f"waiting for {wish}, {place} of {len(waiting)}: {_holder(holder, now)}")
    return lines


def held(holder: Mapping[str, Any]) -> list[str]:
    """The devices that a run has."""
    return [] if holder["waiting"] else list(holder["uuids"] or ())


def _device(device: Mapping[str, Any], holders: list[Mapping[str, Any]], now: float) -> list[str]:
    from jig.cli.gpu_text import gib, number

    total, free = number(device["memory_bytes"]), number(device["free_bytes"])
    used = "unknown" if total is None or free is None else gib(total - free)
    busy = number(device.get("busy_percent"))
    numbers = [f"memory {used} of {gib(total)}", *([] if busy is None else [f"busy {busy:.0f} %"])]
    numbers += power_and_heat(device)
    if device.get("ecc_errors"):
        numbers.append(f"{device['ecc_errors']} memory errors that could not be corrected")
    lines = [f"GPU {device['index']}: {device['name']}, {device['uuid']}", "  " + ", ".join(numbers)]
    return lines + device_lines(device, holders, now)


def power_and_heat(device: Mapping[str, Any]) -> list[str]:
    """What it takes and how warm it is, where it tells."""
    from jig.cli.gpu_text import number

    told = ((form, number(device.get(key))) for form, key in (("{:.0f} W", "power_w"), ("{:.0f} °C", "temperature_c")))
    return [form.format(value) for form, value in told if value is not None]


def device_lines(device: Mapping[str, Any], holders: Sequence[Mapping[str, Any]], now: float) -> list[str]:
    """Who has it, and whose processes are on it."""
    lines = [f"  leased by {_holder(holder, now)}" for holder in holders]
    processes = device["processes"]
    if processes is None:
        lines.append("  whose processes are on it cannot be seen from here")
    elif not processes and not holders:
        lines.append("  free")
    return lines + [f"  {_process(process)}" for process in processes or ()]


def _holder(holder: Mapping[str, Any], now: float) -> str:
    from jig.cli.gpu_text import number, whole_time

    since = number(holder.get("since"))
    return f"{holder['run']} of {holder['user']}" + (f", for {whole_time(max(0.0, now - since))}" if since else "")


def _process(process: Mapping[str, Any]) -> str:
    from jig.cli.gpu_text import gib

    what = f"process {process['pid']}: {process['command'] or '?'} of {process['user'] or '?'}"
    run = f", run {process['run']}" if process.get("run") else ""
    return what + run + (f", {gib(process['memory_bytes'])}" if process.get("memory_bytes") is not None else "")


COMMAND = Command(
    "gpu",
    "Show a machine's GPUs, and who has them.\n\n"
    "Memory, load, power and temperature of each; the runs that lease it, by id, and other processes on it, by user; "
    "then the runs that wait, in their order.",
    gpu,
    (
        Option(
            CONFIG.names,
            "config",
            "The machine of this run configuration; this one when not given.",
            "NAME",
            complete="runconfig",
        ),
        Option(("--watch",), "watch", "Look again every two seconds, until Ctrl-C."),
        *FOR_PROGRAMS,
    ),
    (),
    ("jig gpu", "jig gpu -c my_dsvm --watch", "jig gpu -o json"),
)
