"""This computer: a machine reached by a pipe instead of by ssh."""

from __future__ import annotations

import os
import sys

from jig.errors import JigError
from jig.machines import Pipe, checked, pack
from jig.machines.spawn import spawn_piped
from jig.project import ComputeTarget
from jig.runner import wire
from jig.runner.folder import default_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class LocalMachine:
    """Runs the runner with this interpreter; short verbs are answered without starting a process."""

    name = "local"

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
        # A run that is submitted from within a run is not part of it: it must not carry the outer run's mark.
        environ = {name: value for name, value in os.environ.items() if name not in ("JIG_RUN_ID", "JIG_RUN_DIR")}
        return Pipe(*spawn_piped((sys.executable, "-I", "-S", runner, verb, *words), environ))

    def ask(self, verb: str, **request: Any) -> dict[str, Any]:
        """One request, one answer, from the same code that a runner elsewhere would run."""
        from jig.runner.verbs import answer

        try:
            return checked(answer(verb, {"home": self.home, **request}))
        except wire.Refused as refusal:
            return checked({"error": refusal.message, "hint": refusal.hint, "code": refusal.code})

    def script_path(self) -> str:
        """The folder that a script's `import jig` finds."""
        return os.path.join(self._pack(), "script")

    def _pack(self) -> str:
        self._installed = self._installed or pack.install(self.home or default_home())
        return self._installed


def machine(target: ComputeTarget | None = None) -> LocalMachine:
    """This computer; `jigHome:` in the .compute file moves where its runs live."""
    if target is not None and target.jig_home:
        return LocalMachine(os.path.abspath(os.path.expanduser(target.jig_home)))
    return LocalMachine(default_home())
