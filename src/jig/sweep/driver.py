"""The program of a sweep: submits its points, keeps some of them going, and tells how they do, until all is done.

What is done is never remembered only here: each run says in its plan which point it is, so that this program may be
killed at any moment, and the next one goes on from the record.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import jig
from jig import machines
from jig.cli.terminal import printable
from jig.errors import JigError, MachineError
from jig.machines import RunnerMissing
from jig.machines.ssh import SshMachine
from jig.machines.ssh_errors import Unreachable
from jig.plan import Plan
from jig.project import Project
from jig.runner.blobs import BlobStore
from jig.runner.folder import Home, RunFolder, default_home
from jig.store.runs import read_plan
from jig.submit import Source, Teller, Wanted, submit
from jig.sweep import children, ending, gpus, policy, reading, report
from jig.sweep.children import DEFINITION, Child
from jig.sweep.fetching import Fetching
from jig.sweep.journal import Journal
from jig.sweep.options import Options
from jig.sweep.watch import Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.machines import Machine
    from jig.sweep.space import Point

FAILED, REFUSED, CANCELED = 1, 125, 143
FIRST_RETRY_S, LONGEST_RETRY_S = 2.0, 60.0
MOST_FAILURES = 3  # in a row, of a machine that answers and yet takes no run
GRACE_S = 10.0  # what a run gets to end by itself, unless whoever cancels the sweep is less patient
ENDS_S = 60.0
FETCH_S = 600.0
LONGEST_PAUSE_S = 0.5


def say(text: str) -> None:
    """One line of the sweep's log."""
    print(printable(text), flush=True)


class Driver:
    """One sweep, from its first point to its report."""

    def __init__(self, folder: RunFolder, options: Options) -> None:
        self._folder = folder
        self._options = options
        self._plan = Plan.from_json(read_plan(folder))
        self._home = Home(default_home())
        self._id = options.sweep or folder.id
        text = BlobStore(self._home.blobs).read(dict(self._plan.attachments)[DEFINITION]).decode("utf-8-sig")
        self._sweep = reading.read(text, self._plan.script)
        self._points = self._sweep.points(self._id)
        project = Project.find(folder.work)
        self._config = project.run_config(options.config)
        self._target = project.compute_target(options.target or self._config.target)
        self._told = threading.Event()
        self._away = ""  # why the machine cannot be asked; empty: it can
        self._retry_at, self._retry_s = 0.0, FIRST_RETRY_S
        self._failures = 0
        self._refusal: JigError | None = None
        self._warned: set[str] = set()
        self._logged = -1

    def _machine(self) -> Machine:
        return machines.for_target(self._target)  # a new one each time: it counts its own failures

    def run(self) -> int:
        """The whole sweep; returns its exit code."""
        signal.signal(signal.SIGTERM, lambda *_: self._told.set())
        for name in ("SIGINT", "SIGHUP"):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        journal = Journal(self._home.run(self._id), self._home)
        children.wait_for_arrivals(self._id)
        watch = Watch(self._sweep, self._points, journal, say)
        watch.adopt(children.find(self._id)[0])
        started, before_s = time.monotonic(), journal.elapsed_s()
        journal.write(began=self._folder.id, points=len(self._points))
        at_once = self._at_once()
        say(report.heading(self._sweep, len(self._points), at_once, self._target.name))
        if self._options.sweep:
            numbers = watch.numbers()
            say(f"going on with {self._id}: {numbers['done']:.0f} done, {numbers['running']:.0f} going")
        fetching = Fetching(self._machine, say)
        over = ""
        while not self._told.is_set():
            self._look(watch)
            elapsed_s = before_s + time.monotonic() - started
            following = policy.decide(self._sweep, watch.tries, len(self._points), at_once, time.time(), elapsed_s)
            if following.over and following.over != over:
                over = following.over
                say(f"no more points are begun: {over}")
            if following.end_going:
                self._end(watch, GRACE_S)
                continue
            for point in following.begin:
                if not self._begin(point, watch):
                    break
            self._fetch(watch, fetching)
            self._log(watch)
            if following.done or (self._refusal is not None and not watch.going):
                return self._finish(watch, fetching)
            self._told.wait(min(LONGEST_PAUSE_S, max(0.02, watch.due_s())))
        return self._cancel(watch)

    def _at_once(self) -> int:
        if self._options.at_once:
            return int(self._options.at_once)
        if self._sweep.at_once is not None:
            return self._sweep.at_once
        return gpus.room(self._machine, self._config)

    def _look(self, watch: Watch) -> None:
        if not self._may_ask():
            return
        try:
            watch.look(self._machine, self._be_back)
        except MachineError as error:
            self._be_away(error, len(watch.going))

    def _may_ask(self) -> bool:
        return not self._away or time.monotonic() >= self._retry_at

    def _be_away(self, error: JigError, going: int) -> None:
        """The machine cannot be asked: runs go on there, and it is tried again a little later each time."""
        if not self._away:
            runs = f"; {going} run" + ("s go" if going != 1 else " goes") + " on there" if going else ""
            say(f"{error.message}{runs}; trying again …")
        self._hang_up()
        self._away = error.message
        self._retry_at = time.monotonic() + self._retry_s
        self._retry_s = min(LONGEST_RETRY_S, self._retry_s * 1.5)

    def _hang_up(self) -> None:
        try:
            machine = self._machine()
        except MachineError:  # it was detached meanwhile: there is no connection
            return
        if isinstance(machine, SshMachine):
            machine.hang_up()

    def _be_back(self) -> None:
        if self._away:
            say(f"{self._target.name} can be reached again")
        self._away, self._retry_s = "", FIRST_RETRY_S

    def _begin(self, point: int, watch: Watch) -> bool:
        """Submit a point; False when that cannot be done now, or not at all."""
        if self._refusal is not None or self._told.is_set() or not self._may_ask():
            return False
        settings = self._points[point - 1]
        try:
            submitted = submit(self._wanted(point, settings), Teller(warn=self._warn))
        except (Unreachable, RunnerMissing) as error:
            self._be_away(error, len(watch.going))
            return False
        except JigError as error:
            self._failures += 1
            if type(error) is MachineError and self._failures < MOST_FAILURES:
                self._be_away(error, len(watch.going))
            else:
                self._refuse(error, bool(watch.going))
            return False
        submitted.held.drop()
        self._failures = 0
        self._be_back()
        watch.begin(Child(point, submitted.handle.run_id, RunFolder(submitted.handle.folder)))
        return True

    def _wanted(self, point: int, settings: Point) -> Wanted:
        plan, options = self._plan, self._options
        others = tuple((name, blob) for name, blob in plan.attachments if name != DEFINITION)
        return Wanted(
            folder=os.path.join(self._folder.work, os.path.dirname(plan.script)),
            run_config=options.config,
            script=self._sweep.script,
            arguments=self._sweep.words(settings),
            target=options.target or None,
            conda_file=options.conda or None,
            large=True,
            followed=False,
            params=tuple((setting.name, setting.value) for setting in settings),
            sweep=self._id,
            point=point,
            variables=self._sweep.variables(settings),
            source=Source(plan.project_root, plan.origin, others),
        )

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            say(f"warning: {text}")

    def _refuse(self, error: JigError, going: bool) -> None:
        self._refusal = error
        _complain(error.message, error.hint)
        say("no more points are begun" + ("; those that are going go on" if going else ""))

    def _fetch(self, watch: Watch, fetching: Fetching) -> None:
        for child in watch.ended:
            if self._target.address is not None:
                fetching.bring(child)
        watch.ended.clear()

    def _log(self, watch: Watch) -> None:
        if watch.changes != self._logged:
            self._logged = watch.changes
            jig.log(watch.numbers())

    def _end(self, watch: Watch, grace_s: float) -> None:
        """End the runs that are going, because it is enough; the next look finds that they have ended."""
        ending.tell([one.child for one in watch.going.values()], lambda child: self._machine(), grace_s)
        deadline = time.monotonic() + grace_s + ENDS_S
        while watch.going and time.monotonic() < deadline and not self._told.wait(0.05):
            self._look(watch)

    def _cancel(self, watch: Watch) -> int:
        """The sweep is to end. Its runs end with it, unless it is only this computer that is shut down."""
        if not os.path.exists(self._folder.stop):
            say(f"this computer is told to end; {len(watch.going)} runs are left going")
            say(f"to go on: jig sweep --resume {self._id}")
            return CANCELED
        grace_s = min(GRACE_S, self._grace_s())
        going = sorted((one.child for one in watch.going.values()), key=lambda child: child.point)
        machine = self._machine()
        left = ending.end(
            going, lambda child: machine, grace_s, grace_s + ENDS_S, lambda child, text: watch.tell(child.point, text)
        )
        say(f"canceled, with {len(going) - len(left)} runs; to go on: jig sweep --resume {self._id}")
        return CANCELED

    def _grace_s(self) -> float:
        try:
            with open(self._folder.stop) as file:
                return float(file.read())
        except (OSError, ValueError):
            return GRACE_S

    def _finish(self, watch: Watch, fetching: Fetching) -> int:
        self._fetch(watch, fetching)
        fetching.finish(FETCH_S, self._told.is_set)
        rows = report.rows(self._sweep, self._points, watch.tries, watch.known)
        print(f"\n{report.table(self._sweep, rows)}", flush=True)
        best = report.summary(self._sweep, self._points, watch.tries)
        if best:
            say(best)
        failed = next((row["run_id"] for row in rows if row["status"] == "Failed"), None)
        if failed:
            say(f"why one failed: jig logs {failed}")
        if self._refusal is not None:
            say(f"not every point has been run; to go on: jig sweep --resume {self._id}")
            return REFUSED
        return 0 if any(row["status"] == "Completed" for row in rows) else FAILED


def main(words: list[str]) -> int:
    """Run the sweep of the run that this process is the script of."""
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    folder = RunFolder(os.environ["JIG_RUN_DIR"])
    try:
        return Driver(folder, Options.read(words)).run()
    except JigError as error:
        _complain(error.message, error.hint)
        return error.exit_code
    except OSError as error:  # a full disk, or no more processes: what has been done is in the record
        _complain(str(error), f"when that is mended, go on:  jig sweep --resume {folder.id}")
        return REFUSED


def _complain(message: str, hint: str) -> None:
    say(f"error: {message}")
    if hint:
        say(f"hint: {hint}")
