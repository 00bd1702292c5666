"""Building an environment with uv: once, under a lock, aside, and renamed into place when it is whole."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from jig.runner import pip_settings
from jig.runner.environment import EnvironmentFailed, find_program, install_root, is_prepared
from jig.runner.folder import Home
from jig.runner.uv_output import Said, explain
from jig.system import end_with, lock, put_folder

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List

POLL_S = 0.1
CANCELED = "canceled"
# Variables that would lead uv away from the folder that is being built.
_MISLEADING = ("UV_PROJECT", "UV_SYSTEM_PYTHON", "UV_WORKING_DIR", "UV_WORKING_DIRECTORY")


def build(
    environment: "Dict[str, Any]",
    home: str,
    log_path: str,
    tell: "Callable[[str], None]",
    stopping: "Callable[[], bool]",
) -> None:
    """Build the environment, or wait for the process that does; raises EnvironmentFailed."""
    try:
        _Build(environment, home, log_path, tell, stopping).run()
    except pip_settings.PipSettingsUnreadable as error:
        raise EnvironmentFailed(str(error))
    except OSError as error:
        raise EnvironmentFailed("the environment could not be built under %s: %s" % (home, error))


class _Build:
    def __init__(
        self,
        environment: "Dict[str, Any]",
        home: str,
        log_path: str,
        tell: "Callable[[str], None]",
        stopping: "Callable[[], bool]",
    ) -> None:
        self._environment = environment
        self._home = home
        self._log_path = log_path
        self._tell = tell
        self._stopping = stopping
        self._place = install_root(home, environment["fingerprint"])
        # The host's name, because the lock is this machine's own where the home is on a disk that others see too.
        host = re.sub(r"[^A-Za-z0-9]", "_", os.uname().nodename)
        self._mark = ".building-%s-%s-" % (environment["fingerprint"], host)
        self._staging = os.path.join(os.path.dirname(self._place), "%s%d" % (self._mark, os.getpid()))

    def run(self) -> None:
        os.makedirs(os.path.dirname(self._place), exist_ok=True)
        with self._only_builder():
            if is_prepared(self._environment, self._home):
                return
            uv = find_uv(self._environment, self._home)
            for name in os.listdir(os.path.dirname(self._place)):
                if name.startswith(self._mark):  # whoever made it held this lock, and is dead
                    self._remove(os.path.join(os.path.dirname(self._place), name))
            os.mkdir(self._staging, 0o700)
            try:
                self._install(uv, os.path.join(self._staging, "env"))
                self._put_in_place(os.path.join(self._staging, "env"))
            finally:
                self._remove(self._staging)

    @contextlib.contextmanager
    def _only_builder(self) -> "Iterator[None]":
        state = Home(self._home).local_state()
        folder = os.path.dirname(self._place) if state == self._home else state
        path = os.path.join(folder, self._environment["fingerprint"] + ".lock")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not lock(descriptor, wait=False):
                self._tell("waiting for another run that builds this environment")
                while not lock(descriptor, wait=False):
                    self._stop_if_asked()
                    time.sleep(POLL_S)
            yield
        finally:
            os.close(descriptor)

    def _stop_if_asked(self) -> None:
        if self._stopping():
            raise EnvironmentFailed(CANCELED)

    def _install(self, uv: str, folder: str) -> None:
        environ = dict(os.environ)
        home_dir = os.path.expanduser("~")
        options = self._environment["options"]
        variables = pip_settings.uv_environment(environ, home_dir, options)
        for name in _MISLEADING:
            variables.pop(name, None)
        variables.update(storage(self._home, home_dir, environ))
        python = self._environment["python"]
        goal = "an environment with Python %s" % python if python else "an environment"
        self._tell("making " + goal)
        # Moved when it is whole, so its own programs must not know where they stand.
        command = ["venv", "--relocatable"] + (["--python=" + python] if python else [])
        self._uv([uv] + command + [folder], variables, "make " + goal)
        if not self._environment["requirements"]:
            return
        # A file that only we can read, not arguments: a URL may hold a password.
        lines = pip_settings.uv_lines(environ, home_dir, options) + list(self._environment["requirements"])
        requirements = os.path.join(self._staging, "requirements.txt")
        with open(os.open(requirements, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write("".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape"))
        self._tell("resolving")
        # Not --compile-bytecode: compiling all modules took four times what those in use take on their first import.
        command = ["pip", "install", "--python", os.path.join(folder, "bin", "python"), "-r", requirements]
        self._uv([uv] + command, variables, "install the packages")
        os.remove(requirements)

    def _uv(self, argv: "List[str]", variables: "Dict[str, str]", purpose: str) -> None:
        """Run uv to its end, telling what it says on the way."""
        with open(self._log_path, "ab") as log:
            log.seek(0, os.SEEK_END)
            said = Said(self._log_path, log.tell(), self._tell)
            process = subprocess.Popen(
                argv + ["--color", "never", "--no-progress"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd="/",  # uv takes settings from files in and above the folder it starts in
                env=variables,
                start_new_session=True,  # a group of its own, to end the compilers it starts too
                preexec_fn=end_with(os.getpid()),
            )
            try:
                while True:
                    try:
                        code = process.wait(POLL_S)
                        break
                    except subprocess.TimeoutExpired:
                        said.follow()
                        self._stop_if_asked()
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        said.follow()
        if code != 0:
            why = explain(said.text()) or ("it was ended by signal %d" % -code if code < 0 else "exit code %d" % code)
            raise EnvironmentFailed("uv could not %s: %s (the full log is %s)" % (purpose, why, self._log_path))

    def _put_in_place(self, folder: str) -> None:
        if os.path.lexists(self._place):  # its interpreter was removed from the machine: nobody can be using it
            os.rename(self._place, os.path.join(self._staging, "broken"))
        try:
            put_folder(folder, self._place)
        except OSError:
            if not is_prepared(self._environment, self._home):  # else another machine on this disk was faster
                raise

    def _remove(self, path: str) -> None:
        try:
            shutil.rmtree(path)
        except OSError as error:  # it is never used, so it may stay; the next build tries again
            with open(self._log_path, "ab") as log:
                log.write(os.fsencode("jig: could not remove %s: %s\n" % (path, error)))


def find_uv(environment: "Dict[str, Any]", home: str) -> str:
    """The uv program: the one that the client knows here, in the search path, or where installers put it."""
    places = (
        environment.get("uv_path") or "",
        find_program("uv", os.environ.get("PATH", os.defpath)),
        os.path.expanduser("~/.local/bin/uv"),
        os.path.join(home, "bin", "uv"),
    )
    for path in places:
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise EnvironmentFailed(
        "this machine has no uv, which builds environments: install it with `pip install --user uv` or "
        "`curl -LsSf https://astral.sh/uv/install.sh | sh`"
    )


def storage(home: str, home_dir: str, environ: "Dict[str, str]") -> "Dict[str, str]":
    """Where uv is to keep its downloads: on jig's disk when that is not the user's own.

    A home that was moved because of a small quota must take them along, and uv links files within one disk only.
    """
    if os.stat(home).st_dev == os.stat(home_dir).st_dev:
        return {}
    places = (
        ("UV_CACHE_DIR", "XDG_CACHE_HOME", "cache"),
        ("UV_PYTHON_INSTALL_DIR", "XDG_DATA_HOME", "python"),
    )
    return {
        name: os.path.join(home, "uv", folder)
        for name, general, folder in places
        if not environ.get(name) and not environ.get(general)
    }
