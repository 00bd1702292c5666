"""This computer: a machine reached by a pipe instead of by ssh."""

from __future__ import annotations

import os
import sys
import time

from jig.errors import JigError
from jig.machines import Pipe, Refusal, checked, pack
from jig.project import ComputeTarget
from jig.runner import wire
from jig.runner.folder import Home, RunFolder, default_home
from jig.spawn import spawn_piped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


LOOK_AFTER_S = 0.5  # a run that says nothing for this long is asked whether it lives


class LocalMachine:
    """Runs the runner with this interpreter; short verbs are answered without starting a process."""

    name = "local"
    remote = False
    is_attached = True

    def __init__(self, home: str) -> None:
        if os.pathsep in home:
            raise JigError(
                f"the jig home {home} holds a {os.pathsep!r}, which search paths cannot", "set another JIG_HOME"
            )
        self.home: str | None = home
        self._installed = ""

    def open(self, verb: str, *words: str) -> Pipe:
        """Start a runner and talk to it."""
        runner = os.path.join(self._pack(), "jig", "runner", "__main__.py")
        # A run that is submitted from within a run, or its shell, is not part of it: it must not carry the outer marks.
        marks = ("JIG_RUN_ID", "JIG_RUN_DIR", "JIG_SHELL", "JIG_SHELL_MARK")
        environ = {name: value for name, value in os.environ.items() if name not in marks}
        return Pipe(*spawn_piped((sys.executable, "-I", "-S", runner, verb, *words), environ))

    def ask(self, verb: str, **request: Any) -> dict[str, Any]:
        """One request, one answer, from the same code that a runner elsewhere would run."""
        from jig.runner.verbs import answer

        try:
            return checked(answer(verb, {"home": self.home, **request}))
        except wire.Refused as refusal:
            return checked({"error": refusal.message, "hint": refusal.hint, "code": refusal.code})

    def enter(self, run: str, words: tuple[str, ...], terminal: bool) -> int:
        """Be where a run is, at this terminal, until the shell or the command there ends; returns its exit code."""
        if sys.platform != "win32":
            from jig.runner.shell import enter

            try:
                return enter(Home(self.home or default_home()), run, words, terminal, self._pack())
            except wire.Refused as refusal:
                raise Refusal(refusal.message, refusal.hint, refusal.code) from None
        raise JigError("this version of jig does not run scripts on Windows itself", "submit to another machine")

    def runs_folder(self) -> str:
        """The runs' own folders."""
        return Home(self.home or default_home()).runs

    def forget_runner(self) -> bool:
        """It is looked for at every start."""
        return False

    def fits_programs(self) -> bool:
        """They are the same."""
        return True

    def current_runner(self) -> str:
        """The name of the runner that this installation of jig uses."""
        return os.path.basename(self._pack())

    def feed(self, folder: RunFolder, pipe: Pipe | None = None) -> Nearby:
        """Nothing need be brought: the run's files are here."""
        return Nearby(self, folder)

    def _pack(self) -> str:
        self._installed = self._installed or pack.install(self.home or default_home())
        return self._installed


class Nearby:
    """Following a run whose files are here: a pause, and now and then a look whether it lives."""

    def __init__(self, machine: LocalMachine, folder: RunFolder) -> None:
        self._machine = machine
        self._folder = folder
        self._looked_at = time.monotonic()
        self.gone = False

    def wait(self, seconds: float) -> list[str]:
        """Sleep; a run that says nothing is asked whether it lives, and a dead one is written down as lost."""
        time.sleep(seconds)
        if time.monotonic() - self._looked_at > LOOK_AFTER_S:
            self.gone = self._machine.ask("status", run=self._folder.id)["status"] == "absent"
            self._looked_at = time.monotonic()
        return []

    def close(self) -> None:
        """There is nothing to stop."""


def machine(target: ComputeTarget | None = None) -> LocalMachine:
    """This computer; `jigHome:` in the .compute file moves where its runs live."""
    if target is not None and target.jig_home:
        return LocalMachine(os.path.abspath(os.path.expanduser(target.jig_home)))
    return LocalMachine(default_home())
