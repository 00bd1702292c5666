"""A kernel as Jupyter starts one: `python -m jig.notebook.kernel PROJECT CONFIG CONNECTION_FILE`.

It submits a run whose script is the kernel, and carries what Jupyter and the kernel say to each other between the ports
here and the sockets there. Whichever end is gone, the run ends: its supervisor sees that nobody is connected.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

from jig import submit as pipeline
from jig.errors import JigError
from jig.follow import Quiet, follow
from jig.project import Project
from jig.runner import carry, events
from jig.runner.folder import RunFolder
from jig.store import runs
from jig.system import end_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from jig.submit import Submitted

assert sys.platform != "win32"

CHANNELS = ("shell", "iopub", "stdin", "control", "hb")
RELAY = "jig:jig_kernel/relay.py"
LOOK_S = 1.0
LAST_S = 3.0  # for the run's last event; Jupyter waits five seconds for our end
STOP_S = 10.0
GRACE_S = 2.0
NEVER, GONE = "the kernel did not come up", "the kernel has ended"


def main(words: list[str]) -> int:
    """Be the kernel of a run configuration until it ends; 1 when it never was one."""
    root, config, file = words
    parent = os.getppid()
    if (ends_with := end_with(parent)) is not None:
        ends_with()
    with open(file) as stream:
        connection = json.load(stream)
    for name in [name for name in os.environ if name.startswith(("JPY_", "JUPYTER_"))]:
        del os.environ[name]  # Jupyter's own affairs: no run is to see them
    kernel = Kernel(root, config, connection, parent)
    try:
        return kernel.run()
    except JigError as error:
        kernel.tell(f"error: {error.message}")
        if error.hint:
            kernel.tell(f"hint: {error.hint}")
    return 1


class Kernel:
    """The one that Jupyter has started."""

    def __init__(self, root: str, config: str, connection: dict[str, Any], parent: int) -> None:
        self._root = root
        self._config = config
        self._connection = connection
        self._parent = parent
        self._log = b""
        self._told = ""
        self._wake, wake = socket.socketpair()
        for one in (self._wake, wake):
            one.setblocking(False)
        self._waker = wake
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, self._on_interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _leave)
        self._interrupts = 0
        self._ended_there = False
        self._ready = False
        self._way_said = ""

    def tell(self, text: str) -> None:
        """Say something where the Jupyter server says what it does."""
        if text != self._told:
            self._told = text
            from jig.cli.terminal import printable

            sys.stderr.write(f"[{self._config}] {printable(text, keep=chr(10))}\n")
            sys.stderr.flush()

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupts += 1

    def run(self) -> int:
        """Submit, carry, and see the run end."""
        listening = self._listen()
        submitted = pipeline.submit(self._wanted(), pipeline.Teller(self.tell, self.tell))
        submitted.held.drop()
        try:
            self._wait(submitted)
            self._carry(submitted.handle.run_id, listening)
            return self._last(submitted)
        finally:
            self._give_back(submitted)

    def _listen(self) -> dict[socket.socket, str]:
        """Take the ports at once: Jupyter connects to them as soon as we were started."""
        listening = {}
        for channel in CHANNELS:
            try:
                one = socket.create_server((self._connection["ip"], self._connection[f"{channel}_port"]))
            except OSError as error:
                raise JigError(f"a port that Jupyter chose was taken: {error}", "start the kernel again") from error
            one.setblocking(False)
            listening[one] = channel
        return listening

    def _wanted(self) -> pipeline.Wanted:
        project = Project.find(self._root)
        config = project.run_config(self._config)
        managed = project.compute_target(config.target).managed
        order = {"key": self._connection["key"], "scheme": self._connection["signature_scheme"], "managed": managed}
        return pipeline.Wanted(folder=self._root, run_config=self._config, kernel=json.dumps(order))

    def _wait(self, submitted: Submitted) -> None:
        """Until the run is at work; what is done for that is told."""
        self.tell(f"run {submitted.handle.run_id}")
        for item in self._follow(submitted, submitted.pipe):
            if not isinstance(item, dict):
                continue
            if item["event"] == "running":
                return
            if item["event"] == "note":
                self.tell(item["text"])
            elif item["event"] == runs.WAITING:
                self.tell(f"queued, {runs.waiting(item)}")
        raise self._failure(submitted)

    def _follow(self, submitted: Submitted, pipe: Any = None) -> Any:
        folder = RunFolder(submitted.handle.folder)
        for item in follow(folder, submitted.machine.feed(folder, pipe)):
            if isinstance(item, bytes):
                self._log = (self._log + item)[-4096:]
            yield item

    def _failure(self, submitted: Submitted) -> JigError:
        """Why there is no kernel: what the run's end says, after what it printed."""
        printed = self._log.decode(errors="replace").strip()
        if printed:
            self.tell(printed)
        run = runs.fold(events.read(RunFolder(submitted.handle.folder).events))
        more = f"more of it:  jig history info -r {submitted.handle.run_id}"
        return JigError(f"{GONE if self._ready else NEVER}: {run.why}", f"{run.fix}\n{more}" if run.fix else more)

    def _carry(self, run_id: str, listening: dict[socket.socket, str]) -> None:
        """Until the kernel, Jupyter, or the way between them is gone."""

        def hear(what: int, data: bytes) -> None:
            self._ready = True
            self.tell("ready")

        words = (sys.executable, "-m", "jig", "shell", "-r", run_id, "--", RELAY)
        said = tempfile.TemporaryFile()
        way = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, start_new_session=True
        )
        assert way.stdin is not None and way.stdout is not None
        ends = (way.stdout.fileno(), way.stdin.fileno())
        for end in ends:
            os.set_blocking(end, False)
        carrier = carry.Carrier(*ends, _nothing, hear)
        try:
            while os.getppid() == self._parent:
                waiting = carrier.turn(LOOK_S, (self._wake, *(listening if self._ready else ())))
                if waiting is None:
                    self._ended_there = True
                    return
                for one in waiting:
                    self._accept(carrier, one, listening)
                if self._ready and self._interrupts:
                    self._interrupts = 0
                    carrier.say(carry.SIGNAL)
        finally:
            carrier.close()
            _hang_up(way)
            with said:
                said.seek(0)
                self._way_said = said.read().decode(errors="replace").strip()

    def _accept(self, carrier: carry.Carrier, one: socket.socket, listening: dict[socket.socket, str]) -> None:
        try:
            if one is self._wake:
                one.recv(4096)
            else:
                carrier.open(one.accept()[0], listening[one].encode())
        except OSError:  # it was gone before we came
            return

    def _last(self, submitted: Submitted) -> int:
        """How the run ended, when that is known soon: it is on its way home as the record of any run."""
        until = time.monotonic() + LAST_S
        for item in self._follow(submitted):
            if isinstance(item, dict) and item["event"] in events.FINAL:
                if item["event"] == "failed":
                    raise self._failure(submitted)
                break
            if isinstance(item, Quiet) and time.monotonic() > until:
                break
        if self._way_said:  # a line that broke, say; of a run that failed its own end tells more
            self.tell(self._way_said)
        return 0

    def _give_back(self, submitted: Submitted) -> None:
        """End the run where it goes on. One whose kernel has ended, or that is out of reach, ends by itself."""
        from jig.errors import MachineError

        run_id, machine = submitted.handle.run_id, submitted.machine
        tracked = submitted.handle.plan.tracked
        try:
            if not (tracked and self._ended_there):
                machine.ask("stop", run=run_id, grace_s=GRACE_S, timeout_s=STOP_S)
            if not tracked:
                machine.ask("remove", run=run_id)
        except MachineError:
            return
        finally:
            if machine.remote and not tracked:
                import shutil

                shutil.rmtree(submitted.handle.folder, ignore_errors=True)  # the copy here


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _nothing(word: bytes) -> socket.socket:
    raise ConnectionRefusedError


def _hang_up(way: subprocess.Popen[bytes]) -> None:
    """The relay ends when it hears nobody any more."""
    assert way.stdin is not None and way.stdout is not None
    way.stdin.close()
    way.stdout.close()
    try:
        way.wait(LAST_S)
    except subprocess.TimeoutExpired:
        way.kill()
        way.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
