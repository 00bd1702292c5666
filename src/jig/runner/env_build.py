"""Building an environment, of any kind: once, under a lock, aside, and renamed into place when it is whole."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

from jig.runner import env_record, env_store, pip_settings
from jig.runner.blobs import BlobStore
from jig.runner.env_cache import lock_path, locked, remove, staging_mark
from jig.runner.environment import BUILT, EnvironmentFailed, find, install_root, platform_name
from jig.runner.folder import Home
from jig.runner.quick_json import dumps_lines
from jig.system import end_with, put_folder

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Tuple

POLL_S = 0.1
PROGRESS_S = 2.0  # each is a line in the run's record
CANCELED = "canceled"
CHANGED = "the environment was changed after it was built: it is built again"
WAITING = "waiting for another run that builds this environment"


def build(
    environment: "Dict[str, Any]",
    home: str,
    log_path: str,
    tell: "Callable[[str], None]",
    stopping: "Callable[[], bool]",
) -> None:
    """Build the environment, or wait for the process that does; raises EnvironmentFailed."""
    carry_out(Build(environment, home, log_path, tell, stopping, install_root(home, environment)))


def carry_out(making: "Build") -> None:
    """Run a build to its end; raises EnvironmentFailed."""
    try:
        making.run()
    except pip_settings.PipSettingsUnreadable as error:
        raise EnvironmentFailed(str(error))
    except OSError as error:
        raise EnvironmentFailed("the environment could not be built under %s: %s" % (making.home, error))
    finally:
        making.close()


class Build:
    """An environment in the making: where it grows, where it will stand, what it says, how long each step takes."""

    def __init__(
        self,
        environment: "Dict[str, Any]",
        home: str,
        log_path: str,
        tell: "Callable[[str], None]",
        stopping: "Callable[[], bool]",
        root: str,
    ) -> None:
        self.environment = environment
        self.home = home
        self.log_path = log_path
        self.tell = tell
        self.steps: "List[Tuple[str, float]]" = []
        self.installed: "List[str]" = []  # the pip packages, with their versions
        self._stopping = stopping
        self._told_s = time.monotonic()
        self._log: "Any" = None
        self._root = root
        mark = staging_mark(os.path.basename(root))
        self.staging = os.path.join(os.path.dirname(root), "%s%d" % (mark, os.getpid()))
        self.place = root  # where it will stand
        self.folder = os.path.join(self.staging, "env")  # where it grows, as the programs that make it see it
        self.where = "this machine"  # what it is made in, in words
        self.linked = self.folder  # where conda packages are linked, on this machine

    def run(self) -> None:
        """Everything, but for nothing when another process has built it meanwhile."""
        with locked(lock_path(self.home, os.path.basename(self._root)), waiting=self._wait()):
            if self.stands():
                return
            began_s = time.monotonic()
            self.sweep()
            self.choose_place()
            os.mkdir(self.staging, 0o700)
            try:
                from importlib import import_module

                about = import_module(BUILT[self.environment["kind"]]).install(self)
                self.finish(about, began_s)
            finally:
                self.clear()
        took = ["%s %.1f" % step for step in self.steps if step[1] >= 0.05]
        total_s = time.monotonic() - began_s
        self.tell("environment ready in %.1f s%s" % (total_s, ": " + ", ".join(took) if took else ""))

    def stands(self) -> bool:
        """Whether there is nothing to build."""
        return bool(find(self.environment, self.home))

    def finish(self, about: "Dict[str, Any]", began_s: float) -> None:
        """Have what was made take its place."""
        self._note(about, time.monotonic() - began_s)
        self._put_in_place()

    def clear(self) -> None:
        """Leave nothing behind but what stands in its place."""
        self._remove(self.staging)

    def close(self) -> None:
        """Let go of the log."""
        if self._log:
            self._log.close()

    def log(self, data: bytes = b"") -> "Any":
        """Append to the log, which is returned, unbuffered."""
        if not self._log:
            self._log = open(self.log_path, "ab", buffering=0)
        self._log.write(data)
        return self._log

    def progress(self, text: str) -> None:
        """Tell how far it is, now and then."""
        if time.monotonic() - self._told_s >= PROGRESS_S:
            self._told_s = time.monotonic()
            self.tell(text)

    @contextlib.contextmanager
    def step(self, name: str) -> "Iterator[None]":
        """Measure a step, without those within it."""
        began_s, before = time.monotonic(), len(self.steps)
        yield
        within_s = sum(took_s for _, took_s in self.steps[before:])
        self.steps.append((name, max(0.0, time.monotonic() - began_s - within_s)))

    def stop_if_asked(self) -> None:
        """Give up when somebody wants that."""
        if self._stopping():
            raise EnvironmentFailed(CANCELED)

    @property
    def moves(self) -> bool:
        """Whether it grows elsewhere than where it will stand, so that nothing in it may know its own place."""
        return self.folder != self.place

    def seen(self, text: str) -> str:
        """The text with this machine's files called as the programs that make the environment see them."""
        return text

    def read(self, name: str) -> str:
        """A small file of the environment."""
        with open(os.path.join(self.folder, name)) as file:
            return file.read()

    def inside(
        self, argv: "List[str]", variables: "Dict[str, str]", hear: "Callable[[bytes], None]", programs: str = ""
    ) -> int:
        """As `child`, but where the environment will be used; the programs of one folder come before all others."""
        if programs:
            variables = dict(variables, PATH=programs + os.pathsep + variables.get("PATH", os.defpath))
        return self.child(argv, variables, hear)

    def child(
        self,
        argv: "List[str]",
        variables: "Dict[str, str]",
        hear: "Callable[[bytes], None]",
        ask: bytes = b"",
        apart: bool = False,
    ) -> int:
        """Run a program to its end and return its exit code, negative for a signal.

        `hear` gets what it prints, and `ask` is written to its stdin. What it prints to stderr goes to the log when
        `apart` is set, and to `hear` too when it is not.
        """
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log() if apart else subprocess.STDOUT,
            cwd="/",  # uv takes settings from files in and above the folder it starts in
            env=variables,
            start_new_session=True,  # a group of its own, to end the compilers it starts too
            preexec_fn=end_with(os.getpid()),
        )
        try:
            self._talk(process, hear, ask)
            return process.wait()
        finally:
            if process.poll() is None:
                with contextlib.suppress(PermissionError):  # it runs as root, by sudo: it ends by itself
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()

    def _talk(self, process: "subprocess.Popen[bytes]", hear: "Callable[[bytes], None]", ask: bytes) -> None:
        """Until the program has ended, whoever else may still hold its end of the pipe."""
        if process.stdin is None or process.stdout is None:
            raise ValueError("a program was started without pipes")
        entry, exit, rest = process.stdin.fileno(), process.stdout.fileno(), memoryview(ask)
        os.set_blocking(entry, False)
        os.set_blocking(exit, False)
        while True:
            self.stop_if_asked()
            if not rest and not process.stdin.closed:
                process.stdin.close()
            writing = [] if process.stdin.closed else [entry]
            ended = process.poll() is not None
            ready = select.select([exit], writing, [], 0 if ended else POLL_S)
            if ready[1]:
                try:
                    rest = rest[os.write(entry, rest[:65536]) :]
                except BrokenPipeError:  # it did not want to know; its exit code says why
                    rest = rest[:0]
            if ready[0]:
                heard = os.read(exit, 65536)
                if not heard:
                    return
                hear(heard)
            elif ended:
                return

    def _wait(self) -> "Callable[[], bool]":
        told: "List[str]" = []

        def wait() -> bool:
            if not told:
                told.append(WAITING)
                self.tell(WAITING)
            self.stop_if_asked()
            time.sleep(POLL_S)
            return True

        return wait

    def choose_place(self) -> None:
        """Decide where it will stand: one that was changed keeps its place while a run uses it."""
        places = env_store.places(self._root)
        for place in places:
            changed = env_store.is_changed(place)
            if changed and place == self._root:
                self.tell(CHANGED)
            if not changed or not env_store.in_use(place):
                self.place = place
                return
        raise EnvironmentFailed(
            "%d runs that go on have changed this environment, each its own: wait until one ends" % len(places)
        )

    def sweep(self) -> None:
        """Remove what killed builds of the same environment have left."""
        parent, mark = os.path.split(self.staging.rstrip("0123456789"))
        for name in os.listdir(parent):
            if name.startswith(mark):  # whoever made it held this lock, and is dead
                self._remove(os.path.join(parent, name))

    def _note(self, about: "Dict[str, Any]", seconds: float) -> None:
        about = dict(
            {"kind": self.environment["kind"], "fingerprint": self.environment["fingerprint"], "built": time.time()},
            **about,
        )
        about["seconds"] = dict([("total", round(seconds, 3))] + [(name, round(took, 3)) for name, took in self.steps])
        with open(os.path.join(self.folder, env_store.USED), "wb"):
            pass
        env_record.write(env_record.of_folder(self.folder), self.record(about, platform_name()))
        about.update(env_store.watch(self.folder))
        with open(os.path.join(self.folder, env_store.ABOUT), "w") as file:
            file.write(dumps_lines(about))

    def record(self, about: "Dict[str, Any]", platform: str, **more: "Any") -> str:
        """What has come to be, package by package."""
        told = {name: self.environment[name] for name in ("kind", "fingerprint")}
        told.update(more, python=about["python"])
        return env_record.make(told, platform, self.installed, self.environment.get("records") or [])

    def _put_in_place(self) -> None:
        if find(self.environment, self.home):  # another machine on this disk was faster, and may use its own already
            return
        with contextlib.suppress(FileNotFoundError):  # changed, and nobody uses it; or it has no interpreter any more
            os.rename(self.place, os.path.join(self.staging, "before"))
        try:
            put_folder(self.folder, self.place)
        except OSError:
            if not find(self.environment, self.home):  # else it came in this very moment
                raise

    def _remove(self, path: str) -> None:
        try:
            remove(path)
        except OSError as error:  # it is never used, so it may stay; the next build tries again
            self.log(os.fsencode("jig: could not remove %s: %s\n" % (path, error)))

    def brought(self) -> str:
        """A folder with the files that the client has sent because this machine reaches no index; empty when none."""
        if "brought" not in self.environment:
            return ""
        folder = os.path.join(self.staging, "brought")
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
            for name, blob in self.environment["brought"]:
                self.lay_out(folder, name, blob)
        return folder

    def lay_out(self, folder: str, name: str, blob: str) -> str:
        """Put a file that came from the client into a folder; returns its path."""
        path = os.path.join(folder, os.path.basename(name))
        try:
            BlobStore(Home(self.home).blobs).copy_out(blob, path, 0o600)
        except FileNotFoundError:
            raise EnvironmentFailed("%s, which came with the run, is no longer on this machine: submit again" % name)
        return path

    def brought_wheels(self) -> str:
        """The same folder where pip packages come from it alone; empty where this machine reaches their index."""
        return self.brought() if "pip" in self.environment.get("brought_for", ("conda", "pip")) else ""
