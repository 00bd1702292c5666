"""How to reach a computer: one method matters, opening a duplex pipe to a runner verb there."""

from __future__ import annotations

import os

from jig.errors import MachineError
from jig.project import ComputeTarget
from jig.runner import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Protocol

    from jig.runner.folder import RunFolder
else:
    Protocol = object  # `typing` costs 3 ms to import

KINDS = {
    "local": "jig.machines.local",
    "localdocker": "jig.machines.local",
    "remote": "jig.machines.ssh",
    "remotedocker": "jig.machines.ssh",
    "cluster": "jig.machines.ssh",
}
HERE = "jig.machines.local"  # a driver on this computer, of a cluster that is reached by its master alone


class Pipe:
    """An open conversation with a runner."""

    def __init__(self, pid: int, to_runner: int, from_runner: int) -> None:
        self._pid = pid
        self.mark = b"jig-" + os.urandom(6).hex().encode() + b":"
        self.write: BinaryIO = os.fdopen(to_runner, "wb")
        self.read: BinaryIO = os.fdopen(from_runner, "rb")

    def send(self, request: dict[str, Any]) -> None:
        """Send the request line; a runner that is already gone is told by the answer that does not come."""
        try:
            wire.write_line(self.write, {**request, "mark": self.mark.decode()})
        except BrokenPipeError:
            return

    def answer(self) -> dict[str, Any]:
        """The next answer; MachineError for a refusal, and when the runner ends without one."""
        try:
            answer = wire.read_answer(self.read, self.mark)
        except EOFError as error:
            raise MachineError("the runner ended without an answer", "what it printed stands above") from error
        except (ValueError, RecursionError):
            raise Nonsense from None
        return checked(answer)

    def close(self) -> None:
        """Hang up and let the process go."""
        for stream in (self.write, self.read):
            try:
                stream.close()
            except BrokenPipeError:
                continue  # the runner left first; the descriptor is closed all the same
        try:
            os.waitpid(self._pid, 0)
        except ChildProcessError:
            return  # whoever started us ignores its children's ends, and the kernel took it in already


def checked(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer itself, or the refusal it holds as an error."""
    if "error" in answer:
        raise Refusal(answer["error"], answer.get("hint", ""), answer.get("code", ""))
    return answer


class Nonsense(MachineError):
    """An answer that no runner of jig's gives."""

    def __init__(self) -> None:
        super().__init__("the machine sent something that makes no sense", "is jig there of another kind?")


class RunnerMissing(MachineError):
    """The runner that should be there is not; it is brought again."""


class Refusal(MachineError):
    """A runner that answered no; `code` tells which no."""

    def __init__(self, message: str, hint: str, code: str) -> None:
        super().__init__(message, hint)
        self.code = code


class Machine(Protocol):
    """A computer that runs can be on."""

    name: str
    home: str | None
    remote: bool

    @property
    def is_attached(self) -> bool:
        """Whether it can be asked at all."""

    def open(self, verb: str, *words: str) -> Pipe:
        """Start a runner there and talk to it."""

    def ask(self, verb: str, **request: Any) -> dict[str, Any]:
        """One request, one answer."""

    def enter(self, run: str, words: tuple[str, ...], terminal: bool) -> int:
        """Be where a run is, at this terminal, until the shell or the command there ends; returns its exit code."""

    def current_runner(self) -> str:
        """The name of the runner that this version of jig uses there."""

    def forget_runner(self) -> bool:
        """Bring the runner again with the next command; False when that would change nothing."""

    def fits_programs(self) -> bool:
        """Whether programs of this computer run there."""

    def runs_folder(self) -> str:
        """Where this computer reads that machine's runs: their own folders, or copies of them."""

    def feed(self, folder: RunFolder, pipe: Pipe | None = None) -> Feed:
        """What brings a run's new bytes into its folder here while somebody follows it; `pipe` brings them already."""


class Feed(Protocol):
    """The pauses of somebody who follows a run: each brings what is new, if it must be brought."""

    gone: bool  # there is no such run any more

    def wait(self, seconds: float) -> list[str]:
        """Wait until something may be new; returns what the person should be told."""

    def close(self) -> None:
        """Stop bringing."""


def for_target(target: ComputeTarget) -> Machine:
    """The machine that this target runs on."""
    from importlib import import_module

    if target.address is not None:
        from jig.machines.ssh_errors import check_attached

        check_attached(target)
    module = HERE if target.kind == "cluster" and target.address is None else KINDS[target.kind]
    machine: Machine = import_module(module).machine(target)
    return machine
