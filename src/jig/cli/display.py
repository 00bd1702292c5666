"""Showing a run as it goes: the script's bytes as they are, jig's own words between them, a summary at the end."""

from __future__ import annotations

import os
import sys
import time

from jig.cli import gpu_text, ranks_text
from jig.cli.terminal import StatusLine, box, cut, human_bytes, human_duration, is_terminal, plain, printable, width_of
from jig.errors import StoreError
from jig.follow import Quiet, follow
from jig.runner import events
from jig.runner.gpu import is_asked_for
from jig.store import runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from jig.cli.pages import Pages
    from jig.machines import Machine, Pipe
    from jig.runner.folder import RunFolder

STATUS_AFTER_S = 0.5
SECOND_INTERRUPT_S = 2.0
MOST_METRICS = 20  # that a summary names
LONGEST_VALUE = 40  # of a text among them


class Display:
    """Writes to stdout what the script printed and, at a terminal, a status line below it while nothing comes."""

    def __init__(self) -> None:
        self._terminal = is_terminal(sys.stdout)
        self._line = StatusLine(sys.stdout)
        self._at_line_start = True
        self._state = "queued"
        self._since = time.monotonic()
        self._leased: list[str] = []
        self._work = ""  # what the run's Spark is at
        self.wants_gpu = False  # whether it is worth telling that there is none
        self.doubts: Callable[[dict[str, Any]], list[str]] = lambda look: []  # what does not fit the run, of a look
        self.sees_gpu = True
        self.page: Callable[[int], str] = lambda port: ""  # where a page of the run's machine can be seen from here

    def say(self, text: str) -> None:
        """One line of jig's own, never in the middle of the script's line."""
        self._line.clear()
        if not self._at_line_start:
            sys.stdout.write("\n")
            self._at_line_start = True
        sys.stdout.write(printable(text) + "\n")
        sys.stdout.flush()

    def _show_bytes(self, data: bytes) -> None:
        self._line.clear()
        write_bytes(data)
        self._at_line_start = data.endswith(b"\n")

    def show(self, item: dict[str, Any] | bytes | Quiet) -> None:
        """One item of `follow`."""
        if isinstance(item, bytes):
            self._show_bytes(item)
        elif isinstance(item, Quiet):
            # A progress bar without a line end owns the last line: leave it alone.
            if self._terminal and self._at_line_start and item.seconds > STATUS_AFTER_S:
                lasts, work = human_duration(time.monotonic() - self._since), printable(item.bar) or self._work
                self._line.show(f"… {self._state} for {lasts}" + (f"  {work}" if work else ""))
        elif item["event"] == "note":
            self.say(f"jig: {item['text']}")
        elif item["event"] in runs.STATES:
            self._be(item["event"], item)
        elif item["event"] == "spark":
            self._show_spark(item)
        elif item["event"] in ("ranks", "rank-restart"):
            self.say(f"jig: {ranks_text.told(item)}")
        else:
            self._show_gpu(item)

    def _be(self, state: str, event: dict[str, Any]) -> None:
        """From this event on the status line tells this state."""
        ago_s = max(0.0, time.time() - event["time"])
        self._state, self._since = state, time.monotonic() - ago_s

    def _show_spark(self, told: dict[str, Any]) -> None:
        """What the run's Spark tells: a line of its own for what is new, the status line for how far it is."""
        from jig.cli import spark_text

        if "note" in told:
            self.say(f"jig: {told['note']}")
        if "ui" in told and (address := self.page(told["ui"])):
            self.say(f"jig: Spark's page: {address}")
        elif "page" in told:
            self.say(f"jig: Spark's page: {told['page']}")
        if "stages" in told:
            self._work = spark_text.work(told)

    def _show_gpu(self, event: dict[str, Any]) -> None:
        """What happens around the run's GPUs."""
        kind = event["event"]
        if kind == runs.WAITING:
            told = f"queued, {runs.waiting(event)}"
            if told != self._state:
                self.say(f"jig: {told}")
            if not self._state.startswith("queued, "):  # it has waited since the first of these
                self._be(told, event)
            self._state = told
        elif kind == "leased":
            self._leased = list(map(str, event.get("uuids") or ()))
            self.say(f"jig: {gpu_text.leased(event)}")
            self._be("preparing", event)
        elif kind == "gpu" and self.sees_gpu:
            look = event.get("look") or {}
            for line in gpu_text.report(look, self.wants_gpu, self._leased):
                self.say(line)
            for doubt in self.doubts(look) if self.wants_gpu and look.get("devices") else ():
                self.say(f"jig: WARNING: {doubt}")
        elif kind == "gpu-idle":
            self.say(f"jig: {gpu_text.idle(event)}")

    def finish(self) -> None:
        """Leave the terminal with the cursor at the start of a line."""
        self._line.clear()
        if not self._at_line_start:
            sys.stdout.write("\n")
            sys.stdout.flush()


def write_all(read: Callable[[], bytes]) -> bool:
    """Write what is read until there is nothing more; whether there was anything."""
    printed = False
    while data := read():
        write_bytes(data)
        printed = True
    return printed


def write_bytes(data: bytes) -> None:
    """Write bytes to stdout as they are, also when somebody made it non-blocking."""
    sys.stdout.flush()
    view, out = memoryview(data), sys.stdout.fileno()
    while view:
        try:
            view = view[os.write(out, view) :]
        except BlockingIOError:
            import select

            select.select([], [out], [])


def watch(
    folder: RunFolder,
    machine: Machine,
    display: Display,
    opening: tuple[str, ...] = (),
    ready: Callable[[], None] = lambda: None,
    pipe: Pipe | None = None,
    rank: int | None = None,
) -> runs.Run | None:
    """Show the run until it ends; None when it was left going. A second Ctrl-C soon after the first cancels it.

    `ready` is called when the opening has been said: from then on a Ctrl-C is ours. `pipe` brings the run already.
    Of a run of several processes all are shown, or one `rank`.
    """
    pages: Pages | None = None
    try:
        for text in opening:
            display.say(text)
        ready()
        plan = _plan(folder)
        display.wants_gpu, display.sees_gpu = is_asked_for(plan), not gpu_text.is_out_of_reach(plan)
        spark, sampled = bool(plan.get("spark")), gpu_text.is_sampled(plan)
        if spark:
            from jig.cli.pages import Pages

            pages = Pages(machine, folder.id, plan)
            display.page = pages.address
        shown = ranks_text.shown(folder, plan, rank)
        for item in follow(folder, machine.feed(folder, pipe), report_first=sampled, spark=spark, **shown):
            if isinstance(item, dict) and item["event"] in events.FINAL:
                break
            display.show(item)
    except KeyboardInterrupt:
        if not _leave(folder, machine, display):
            return None
    finally:
        if pages is not None:
            pages.close()
    display.finish()
    if not os.path.exists(folder.plan):
        raise StoreError(f"the folder of the run {folder.id} is gone", "its script, or somebody else, removed it")
    return runs.fold(events.read(folder.events))


def _plan(folder: RunFolder) -> dict[str, Any]:
    """The plan as far as it is here: a copy of a run elsewhere may not have it yet."""
    try:
        return runs.read_plan(folder)
    except (OSError, ValueError):
        return {}


def _leave(folder: RunFolder, machine: Machine, display: Display) -> bool:
    """After Ctrl-C: say how to come back; True when the second one asked to cancel and the run has ended."""
    try:
        display.say("jig: the run goes on; press Ctrl-C again within 2 s to cancel it")
        display.say(f"  follow: jig logs -f {folder.id}")
        display.say(f"  cancel: jig cancel {folder.id}")
        time.sleep(SECOND_INTERRUPT_S)
    except KeyboardInterrupt:
        display.say("jig: canceling …")
        return cancel(folder, machine, None)
    return False


def cancel(folder: RunFolder, machine: Machine, grace_s: float | None) -> bool:
    """End the run and wait until nothing of it is left; True when it has ended."""
    grace_s = runs.read_plan(folder)["stop_grace_s"] if grace_s is None else grace_s
    if machine.remote:
        return _cancel_there(folder, machine, grace_s)
    answer = machine.ask("stop", run=folder.id, grace_s=grace_s, timeout_s=grace_s + 60.0)
    return bool(answer["status"] == "ended")


def _cancel_there(folder: RunFolder, machine: Machine, grace_s: float) -> bool:
    """End a run on another machine; one that cannot be reached is tried until it can, or until the next command."""
    from jig.machines import mirror
    from jig.machines.ssh import SshMachine
    from jig.machines.ssh_errors import Unreachable

    if not isinstance(machine, SshMachine):
        raise TypeError("only a machine over SSH is remote")
    mirror.wish(folder, grace_s)
    told, wait_s = False, 1.0
    while True:
        try:
            ended = mirror.bring(machine, folder) != "going"
            if ended and mirror.is_final(folder):
                mirror.bring_outputs(machine, folder)
            return ended
        except Unreachable as error:
            if not told:
                print(f"jig: {error.message}; trying until it can be reached (Ctrl-C leaves it to a later command)")
                told = True
            machine.hang_up()
            time.sleep(wait_s)
            wait_s = min(10.0, wait_s * 1.5)


def ending(run: runs.Run) -> str:
    """The state, and why where that says more."""
    plain_end = run.reason in ("canceled", "") or run.state == "Completed"
    return run.state if plain_end else f"{run.state}: {run.why}"


def summary(folder: RunFolder, run: runs.Run, metrics: dict[str, Any]) -> str:
    """The end of a run for a person: a box at a terminal, plain lines in a pipe."""
    rows = [("RunId", folder.id), ("Status", ending(run))]
    if run.fix:
        rows.append(("Fix", run.fix))
    if run.duration_s is not None:
        rows.append(("Duration", human_duration(run.duration_s)))
    if verdict := gpu_text.verdict(run.proof):
        rows.append(("GPU", verdict))
    if run.exchange:
        from jig.store.exchange import total

        rows.append(("Exchange", ranks_text.exchange(total(run.exchange))))
    scalars = [f"{name} {_short(value)}" for name, value in metrics.items() if not isinstance(value, (list, dict))]
    if scalars:
        more = f" and {len(scalars) - MOST_METRICS} more" if len(scalars) > MOST_METRICS else ""
        rows.append(("Metrics", ", ".join(scalars[:MOST_METRICS]) + more))
    outputs = [name for name in runs.attachments(folder) if name.startswith("outputs" + os.sep)]
    if outputs:
        sizes = sum(os.path.getsize(os.path.join(folder.work, name)) for name in outputs)
        shown = ", ".join(outputs[:5]) + (f" and {len(outputs) - 5} more" if len(outputs) > 5 else "")
        rows.append(("Outputs", f"{shown} ({human_bytes(sizes)})"))
    if run.survivors:
        rows.append(("Survivors", "processes that would not end: " + ", ".join(map(str, run.survivors))))
    if run.reason in ("environment-failed", "internal-error"):
        log = folder.prepare_log if run.reason == "environment-failed" else folder.supervisor_log
        if os.path.exists(log) and log not in run.why:
            rows.append(("Log", log))
    loud = "".join(f"{line}\n" for line in accusation(run))
    if is_terminal(sys.stdout):
        return box("Execution Details", rows, width_of(sys.stdout)) + "\n" + loud
    return f"\nExecution Details\n=================\n{plain(rows)}\n{loud}"


def accusation(run: runs.Run) -> list[str]:
    """An empty line and the loud paragraph about a GPU that was not used, or a rank that failed; else nothing."""
    lines = gpu_text.accusation(run, min(width_of(sys.stdout), 100))
    return [*(["", *lines] if lines else []), *ranks_text.accusation(run)]


def _short(value: Any) -> str:
    """A value of one line: a number of four digits, the beginning of a text."""
    return f"{value:.4g}" if isinstance(value, float) else cut(str(value), LONGEST_VALUE)
