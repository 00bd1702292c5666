"""The supervisor: owns a run from the answer to the client until its last event, alone."""

import os
import select
import sys
import time

assert sys.platform != "win32"  # before the imports, so that the type checker leaves them out on Windows

from jig.runner import environment, guard, manifest, ranks, spark, tree
from jig.runner.folder import INSIDE, runner_root
from jig.runner.gpu import VISIBLE, interpreter
from jig.runner.gpu.care import LEASED, Care
from jig.runner.taking_in import TakenIn
from jig.system import inherit_orphans
from jig.system import quick_signal as signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Union

    from jig.runner.container import Begun, Ready
    from jig.runner.hold import Hold


TICK_S = 1.0
FULL_BYTES = 64 * 1024
UNTRACKED_WAIT_S = 30.0
SHARE_VARIABLE = "AZUREML_NATIVE_SHARE_DIRECTORY"


class Supervisor:
    """Prepares, runs and ends one run."""

    def __init__(self, taken: TakenIn) -> None:
        self._taken = taken
        self._plan = taken.plan
        self._folder = taken.folder
        self._disk_was_full = False
        self._running: "Dict[str, Any]" = {}  # what the event of that name tells
        self._hold: "Optional[Hold]" = None  # for a run that is only a place for shells
        self._environment: "Optional[int]" = None  # open while we live: nobody removes what the script uses
        self._care = Care(taken.plan, taken.folder, taken.events.write)
        self._gpu_told: "Dict[str, Any]" = {}  # what the last event says of it
        self._ranks = ranks.Heard(taken.plan, taken.folder.path, taken.events.write)
        self._gpus_elsewhere = False
        self._idle = False
        self._ask_interpreter: "Callable[[], Dict[str, Any]]" = dict
        os.environ[tree.RUN_VARIABLE] = self._folder.id  # so that a program that builds the environment carries it too
        inherit_orphans()  # the guard does so too; this is for the case that the guard is killed
        self._wake, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        signal.set_wakeup_fd(self._wake_write)
        self._told_to_end = False
        signal.signal(signal.SIGTERM, self._on_term)
        for name in ("SIGINT", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_IGN)

    def _on_term(self, *_: object) -> None:
        self._told_to_end = True

    def stopping(self) -> bool:
        """Whether somebody wants the run to end: the stop file is the wish, the signal only wakes us."""
        if self._hold is not None:
            self._hold.look()
        return self._told_to_end or os.path.exists(self._folder.stop)

    def run(self) -> None:
        """The whole life of the run."""
        write = self._taken.events.write
        try:
            write("preparing", pid=os.getpid(), platform=environment.platform_name())
            ready = self._taken.container
            watch = self._prepare_container(ready) if ready else self._prepare_process()
            if watch is None:
                return self._end("canceled", reason="canceled")
            self._taken.using.release()
            outcome = self._run_script(watch)
            self._care.finish()
            if outcome.get("guard") == "killed":
                outcome["survivors"] = tree.end_below(os.getpid(), 0.0)
            self._care.release()
            # A script that failed has its own reason why it did not get as far as the GPU.
            well = outcome.get("exit") == 0 and not outcome["stopped"]
            self._gpu_told = self._care.told(self._ask_interpreter if well else None)
            self._end_by(outcome)
        except environment.NotStarted as error:
            self._end("failed", reason="not-started", **_told(error))
        except environment.EnvironmentFailed as error:
            if self.stopping():
                self._end("canceled", reason="canceled")
            else:
                self._end("failed", reason="environment-failed", **_told(error))
        except OSError as error:
            reason = "disk-full" if self._disk_full() else "not-started"
            self._end("failed", reason=reason, detail=str(error))
        finally:
            self._care.release()
            if not self._plan.get("tracked", True):
                self._forget()

    def _lay_out(self) -> None:
        os.makedirs(self._folder.work, exist_ok=True)
        manifest.lay_out(self._taken.entries, self._taken.store, self._folder.work)
        os.makedirs(self._folder.outputs, exist_ok=True)

    def _prepare_process(self) -> "Optional[guard.Watch]":
        """What the guard is to run; None when somebody wants the run to end."""
        self._lay_out()
        if self.stopping():
            return None
        python, self._environment = environment.ensure_held(
            self._taken.request["environment"],
            self._taken.home.path,
            self._folder.prepare_log,
            self._note,
            self.stopping,
        )
        devices = self._care.lease(self.stopping, self._pause)
        if devices is None:
            return None
        argv = [python if word == "{python}" else word for word in self._plan["argv"]]
        environ = self._environ(python)
        if devices:
            from jig.runner.gpu.lease import variables

            environ.update(variables(devices))
            environ[LEASED] = environ[VISIBLE]
        scripts = os.path.join(runner_root(), "script")
        self._ask_interpreter = lambda: interpreter.ask(python, scripts, self._folder.work, environ)
        self._running = {"argv": argv}
        argv = spark.started(self._plan, python, scripts, ranks.started(self._plan, python, scripts, argv))
        argv = interpreter.guarded(self._plan, python, scripts, argv)
        return lambda orders, tell: guard.ProcessWatch(orders, tell, argv, environ, self._folder).run()

    def _prepare_container(self, ready: "Ready") -> "Optional[guard.Watch]":
        from jig.runner import container_watch

        self._gpus_elsewhere = ready.way is not None and not ready.leases()
        begun = self._taken.begun or self._begin_container(ready)
        if begun is None:
            return None
        begun.check()
        setup = begun.setup
        self._ask_interpreter = setup.ask_interpreter
        self._running = {"argv": setup.argv(), "image": begun.made.id, "gpu": ready.way.name if ready.way else ""}
        setup.lay_out = self._lay_out
        if self.stopping():
            setup.take_back()
            return None
        return lambda orders, tell: container_watch.ContainerWatch(orders, tell, setup).run()

    def _begin_container(self, ready: "Ready") -> "Optional[Begun]":
        """Make the image, and wait for devices; None when somebody wants the run to end."""
        from jig.runner import image
        from jig.runner.container import Begun

        request = self._taken.request
        made = image.ensure(ready.look, request["environment"], self._folder.prepare_log, self._note, self.stopping)
        devices = self._care.lease(self.stopping, self._pause) if ready.leases() else []
        if devices is None:
            return None
        ready.give(devices)
        return Begun(self._taken, ready, lambda: made)

    def _pause(self, seconds: float) -> None:
        """Wait, but not when somebody wants something."""
        if select.select([self._wake], [], [], seconds)[0]:
            os.read(self._wake, 512)

    def _note(self, text: str) -> None:
        self._taken.events.write("note", text=text)

    def _run_script(self, watch: "guard.Watch") -> "Dict[str, Any]":
        if self._taken.request.get("hold"):
            from jig.runner.hold import Hold

            self._hold = Hold(self._taken.home, self._folder)
        watcher = guard.start(watch, not_ours=(self._taken.lock, self._wake, self._wake_write))
        self._taken.events.write("running", **self._running)
        self._care.start(watcher.pid, self._gpus_elsewhere)
        grace_s, is_kept = None, False
        while True:
            ready = select.select([watcher.fileno(), self._wake] + self._care.descriptors(), [], [], TICK_S)[0]
            if not is_kept:  # not before: the first moments belong to the script, and to its engine
                is_kept = True
                self._keep_record()
            if self._wake in ready:
                os.read(self._wake, 512)
            self._care.hear()
            self._ranks.look()
            if self._hold is None:  # a person in a shell may think for as long as they like
                self._idle = self._idle or self._care.is_idle_too_long()
            if (self.stopping() or self._idle) and grace_s != self._grace_s():
                grace_s = self._grace_s()  # a second cancel may be less patient than the first
                watcher.stop(grace_s)
            self._disk_was_full = self._disk_was_full or self._disk_full()
            if watcher.fileno() in ready:
                outcome = watcher.outcome()
                while watcher.notes:
                    self._note(watcher.notes.pop(0))
                if outcome is not None:
                    if self._hold is not None:
                        self._hold.close()
                    outcome["stopped"] = grace_s is not None
                    return outcome

    def _keep_record(self) -> None:
        """What the environment really has becomes part of the run's record."""
        if self._taken.request["environment"]["kind"] == "user":
            return
        from jig.runner import env_record

        if "image" in self._running:
            path = env_record.of_image(self._taken.home.path, self._running["image"])
        else:
            path = env_record.of_folder(os.path.dirname(os.path.dirname(self._running["argv"][0])))
        try:
            env_record.keep(path, self._folder.path)
        except OSError as error:  # a full disk is told by what needs it more
            self._note("which packages the run has is not kept: %s" % error)

    def _environ(self, python: str) -> "Dict[str, str]":
        """What the script sees: this machine's environment, the run configuration's variables, and ours."""
        share = os.path.expanduser(self._plan["share"])
        try:
            os.makedirs(share, exist_ok=True)
        except OSError as error:
            self._taken.events.write("note", text="there is no share folder: %s" % error)
        environ = dict(os.environ)
        kind = self._taken.request["environment"]["kind"]
        if kind != "user":  # the programs of the environment come first, as where a person has activated it
            programs = os.path.dirname(python)
            environ["PATH"] = programs + os.pathsep + environ.get("PATH", os.defpath)
            environ["CONDA_PREFIX" if kind == "conda" else "VIRTUAL_ENV"] = os.path.dirname(programs)
        environ.update(script_variables(self._taken.request, share, self._folder.path))
        script_path = os.path.join(runner_root(), "script")
        before = environ.get("PYTHONPATH")
        environ["PYTHONPATH"] = before + os.pathsep + script_path if before else script_path
        return environ

    def _grace_s(self) -> float:
        try:
            with open(self._folder.stop) as file:
                return float(file.read())
        except (OSError, ValueError):  # told by a signal alone, or the file is being written this instant
            return float(self._plan["stop_grace_s"])

    def _end_by(self, outcome: "Dict[str, Any]") -> None:
        """Write the last event for what the guard reported."""
        code = outcome.get("exit")
        number = outcome.get("signal")
        fields = {}  # type: Dict[str, Any]
        if outcome.get("survivors"):
            fields["survivors"] = outcome["survivors"]
        self._ranks.look()
        fields.update(self._ranks.exchange())
        if number is not None:
            fields["signal"] = signal_name(number)
            code = 128 + number
        if "error" in outcome:
            if outcome.get("hint"):
                fields["hint"] = outcome["hint"]
            reason = "disk-full" if self._disk_full() else "not-started"
            return self._end("failed", reason=reason, detail=outcome["error"], **fields)
        if outcome.get("guard") == "killed" and self._taken.container:
            from jig.runner.container import sweep

            sweep(self._folder.id)
        folder = os.path.join(self._folder.path, INSIDE if self._taken.container else "")
        if code == interpreter.REFUSED and interpreter.requires(self._plan):
            refused = interpreter.refusal(folder, self._plan["variables"])
            if refused:
                return self._end("failed", reason="gpu-refused", exit_code=code, **refused)
        if outcome["stopped"]:
            asked = self._told_to_end or os.path.exists(self._folder.stop)
            reason = "canceled" if os.path.exists(self._folder.stop) else "machine-shutdown"
            reason = reason if asked else "gpu-idle"
            return self._end("canceled", reason=reason, exit_code=code, **fields)
        if outcome.get("guard") == "killed":
            return self._end("failed", reason="guard-killed", exit_code=137, **fields)
        if "lost" in outcome:
            reason = "disk-full" if self._disk_full() else "not-copied"
            return self._end("failed", reason=reason, detail=outcome["lost"], exit_code=code or 1, **fields)
        if code == 0:
            return self._end("completed", reason="exited", exit_code=0, **fields)
        if "engine" in outcome:
            return self._end("failed", reason="engine-stopped", detail=outcome["engine"], exit_code=code, **fields)
        failure = self._ranks.failure()
        fields.update(failure)
        if outcome.get("out_of_memory"):
            return self._end("failed", reason="out-of-memory", exit_code=code, **fields)
        if self._disk_was_full or self._disk_full():
            return self._end("failed", reason="disk-full", exit_code=code, **fields)
        told = ranks.refusal(self._plan, code, folder) or spark.end(self._plan, code or 0, folder, self._folder.log)
        if told:
            unstarted = told["reason"] in ("spark-refused", "ranks-refused")
            return self._end("failed", exit_code=None if unstarted else code, **dict(fields, **told))
        if failure:
            return self._end("failed", reason="rank-failed", exit_code=code, **fields)
        if self._plan.get("spark") and number is None and code is not None and code > 128:
            number = code - 128  # of the script, which Java had started
            fields["signal"] = signal_name(number)
        return self._end("failed", reason="exited" if number is None else "killed", exit_code=code, **fields)

    def _disk_full(self) -> bool:
        try:
            disk = os.statvfs(self._folder.path)
        except FileNotFoundError:  # the script removed its own run folder
            return False
        # On a disk that counts no inodes (some network and copy-on-write ones) the number is 0 and means nothing.
        return disk.f_bavail * disk.f_frsize < FULL_BYTES or (disk.f_files > 0 and disk.f_favail == 0)

    def _end(self, event: str, **fields: "Any") -> None:
        try:
            fields["log_size"] = os.path.getsize(self._folder.log)
        except FileNotFoundError:
            fields["log_size"] = 0
        fields.update(self._gpu_told)
        self._taken.events.write(event, **fields)

    def _forget(self) -> None:
        """An untracked run leaves nothing: its reader removes the folder, or we do when nobody reads."""
        deadline = time.monotonic() + (UNTRACKED_WAIT_S if self._taken.request.get("followed") else 0)
        while os.path.exists(self._folder.path) and time.monotonic() < deadline:
            time.sleep(0.05)
        import shutil

        shutil.rmtree(self._folder.path, ignore_errors=True)


def script_variables(request: "Dict[str, Any]", share: str, run_folder: str) -> "Dict[str, str]":
    """What every script is given, wherever it runs: the run configuration's variables, and ours."""
    plan = request["plan"]
    variables = {"PYTHONUNBUFFERED": "1"}
    variables.update(plan["variables"])
    variables.update(request.get("secrets", {}))
    if share:
        variables[SHARE_VARIABLE] = share.rstrip("/") + "/"
    variables["JIG_RUN_DIR"] = run_folder
    variables["JIG_PROJECT"] = plan["project"]
    variables[tree.RUN_VARIABLE] = plan["run_id"]
    return variables


def _told(error: "Union[environment.EnvironmentFailed, environment.NotStarted]") -> "Dict[str, str]":
    return {"detail": error.reason, "hint": error.hint} if error.hint else {"detail": error.reason}


def signal_name(number: int) -> str:
    """The name of a signal, as SIGKILL."""
    from signal import Signals

    try:
        return Signals(number).name
    except ValueError:
        return "signal %d" % number


def main(taken: TakenIn) -> None:
    """Run the supervisor in this process, which belongs to nobody else; ends the process."""
    null = os.open(os.devnull, os.O_RDWR)
    errors = os.open(taken.folder.supervisor_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for descriptor, ours in ((0, null), (1, null), (2, errors)):
        os.dup2(ours, descriptor)
    os.chdir("/")
    try:
        Supervisor(taken).run()
    except Exception:  # the supervisor's boundary: a bug in jig must still end the run with its reason
        import traceback

        traceback.print_exc()
        taken.events.write("failed", reason="internal-error", detail=traceback.format_exc(limit=-1), log_size=0)
    sys.stderr.flush()
    os._exit(0)
