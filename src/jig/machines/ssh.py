"""A machine reached over SSH with a user account and nothing else: no root, no daemon, no open port."""

from __future__ import annotations

import contextlib
import json
import os
import sys

from jig.errors import MachineError
from jig.machines import Pipe, RunnerMissing, checked, pack, ssh_command
from jig.machines.address import Address
from jig.machines.spawn import spawn_piped
from jig.machines.ssh_errors import Unreachable, explain
from jig.project import ComputeTarget
from jig.runner.folder import make_own

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.runner.folder import RunFolder

MASTER_S = 30


class SshMachine:
    """The runner there is started by ssh; one control connection serves the commands that follow."""

    remote = True

    def __init__(self, name: str, address: Address, home: str | None = None, folder: str | None = None) -> None:
        self.name = name
        self.address = address
        self.home = home
        self.folder = folder or address.folder

    @property
    def known_hosts(self) -> str:
        """The pinned host key."""
        return os.path.join(self.folder, "known_hosts")

    @property
    def key(self) -> str:
        """Our own key for this machine; not there when the user's own keys are used."""
        return os.path.join(self.folder, "key")

    def current_runner(self) -> str:
        """The name of the runner that this version of jig uses there."""
        return pack.content_id()

    def runs_folder(self) -> str:
        """Where this computer keeps its copies of the machine's runs."""
        from jig.runner.folder import default_home

        return os.path.join(default_home(), "mirror", self.address.slug)

    def _auth(self) -> tuple[str, ...]:
        return ssh_command.own_key(self.key) if os.path.exists(self.key) else ssh_command.any_key()

    def open(self, verb: str, *words: str) -> Pipe:
        """Start a runner there and talk to it; the runner is brought along first when this version is not there."""
        if not os.path.exists(self.known_hosts):
            raise MachineError(
                f"{self.name} ({self.address}) is not attached on this computer",
                f"attach it once:  jig computetarget attach remote -n {self.name} -a … -u {self.address.user}",
            )
        self._connect()
        if not self._has_runner():
            self._bring_runner()
        return self._start(self._runner(pack.content_id()), verb, *words)

    def _runner(self, folder: str) -> str:
        # Plain characters only, relative to the login's home: every shell reads this the same way.
        scope = "systemd-run --user --scope --quiet " if self.facts().get("logout") == "scope" else ""
        return f"exec {scope}python3 -I -S .jig/runner/{folder}/jig/runner/__main__.py"

    def _start(self, *words: str) -> SshPipe:
        argv = ssh_command.command(self.address, self.known_hosts, self._auth(), self._control(), " ".join(words))
        errors = os.memfd_create("ssh") if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_RDWR)
        return SshPipe(*spawn_piped((_program(), *argv[1:]), os.environ, errors), errors, self)

    def ask(self, verb: str, **request: Any) -> dict[str, Any]:
        """One request, one answer."""
        for attempt in range(2):
            pipe = self.open(verb)
            try:
                pipe.send({"home": self.home, **request})
                return pipe.answer()
            except RunnerMissing:
                self.forget_runner()
                if attempt:
                    raise
            finally:
                pipe.close()
        raise MachineError(f"the runner on {self.name} cannot be set up")

    # The control connection

    def _control(self) -> str:
        """The control connection's socket; empty where there can be none, or where somebody else rules."""
        if os.name == "nt":
            return ""
        path = ssh_command.control_path(self.address, self.key)
        try:
            make_own(os.path.dirname(path))
        except OSError:
            return ""
        return path

    def _connect(self) -> None:
        """Have a control connection; its absence only costs time."""
        control = self._control()
        if not control or _listens(control):
            return
        import subprocess
        import tempfile

        argv = ssh_command.master(self.address, self.known_hosts, self._auth(), control)
        quiet = subprocess.DEVNULL
        # Its streams are not ours: a connection that stays would keep `$(jig …)` from ending.
        with tempfile.TemporaryFile() as errors:
            try:
                done = subprocess.run(
                    argv, stdin=quiet, stdout=quiet, stderr=errors, timeout=MASTER_S, start_new_session=True
                )
            except subprocess.TimeoutExpired:
                raise Unreachable(f"{self.name} did not let us in within {MASTER_S} s") from None
            errors.seek(0)
            said = errors.read().decode(errors="replace")
        if done.returncode != 0 and "ControlPath" not in said and "control socket" not in said.lower():
            raise explain(self.name, done.returncode, said, self.fingerprint())

    def hang_up(self) -> None:
        """Let go of the control connection, so that the next command opens a new one; who still uses it may go on."""
        control = self._control()
        if control and os.path.exists(control):
            import subprocess

            quiet = subprocess.DEVNULL
            with contextlib.suppress(subprocess.TimeoutExpired):  # one that does not even hear this loses its socket
                subprocess.run(ssh_command.leave(self.address, control), stdout=quiet, stderr=quiet, timeout=5)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(control)

    # The runner there

    def _has_runner(self) -> bool:
        try:
            with open(os.path.join(self.folder, "runner")) as file:
                return file.read() == pack.content_id()
        except FileNotFoundError:
            return False

    def forget_runner(self) -> bool:
        """Bring the runner again with the next command; False when it was not thought to be there anyway."""
        try:
            os.unlink(os.path.join(self.folder, "runner"))
        except FileNotFoundError:
            return False
        return True

    def fits_programs(self) -> bool:
        """Whether programs of this computer run there."""
        import platform

        return bool(self.facts().get("platform") == f"{sys.platform} {platform.machine()}")

    def _bring_runner(self) -> None:
        """Unpack the runner aside, then let it give itself its name."""
        import subprocess

        name = pack.content_id()
        aside = f"{name}.{os.urandom(4).hex()}"
        argv = ssh_command.command(self.address, self.known_hosts, self._auth(), self._control(), "exec tar -xzf -")
        done = subprocess.run(argv, input=pack.archive(f".jig/runner/{aside}"), capture_output=True)
        if done.returncode != 0:
            raise explain(self.name, done.returncode, done.stderr.decode(errors="replace"), self.fingerprint())
        pipe = self._start(self._runner(aside), "settle")
        try:
            pipe.send({"name": name})
            pipe.answer()
        finally:
            pipe.close()
        with open(os.path.join(self.folder, "runner"), "w") as file:
            file.write(name)

    def fingerprint(self) -> str:
        """The pinned host key's fingerprint."""
        from jig.machines.host_key import fingerprint_of_file

        return fingerprint_of_file(self.known_hosts)

    def facts(self) -> dict[str, Any]:
        """What was found there when it was attached or checked last."""
        try:
            with open(os.path.join(self.folder, "facts.json")) as file:
                found: dict[str, Any] = json.load(file)
        except (OSError, ValueError):
            return {}
        return found

    def feed(self, folder: RunFolder) -> Any:
        """Brings the run's new bytes home while somebody follows it."""
        from jig.machines.mirror import Feed

        return Feed(self, folder)


class SshPipe(Pipe):
    """A pipe whose silence can be explained by what ssh printed."""

    def __init__(self, pid: int, to_runner: int, from_runner: int, errors: int, machine: SshMachine) -> None:
        super().__init__(pid, to_runner, from_runner)
        self._errors = errors
        self._machine = machine
        self._code: int | None = None

    def answer(self) -> dict[str, Any]:
        """The next answer; when none comes, the reason that ssh gave."""
        from jig.runner import wire

        try:
            return checked(wire.read_answer(self.read, self.mark))
        except EOFError:
            raise self.failure() from None

    def failure(self) -> MachineError:
        """Why the conversation ended."""
        code = self._wait()
        os.lseek(self._errors, 0, os.SEEK_SET)
        said = os.read(self._errors, 1 << 16).decode(errors="replace")
        return explain(self._machine.name, code, said, self._machine.fingerprint())

    def _wait(self) -> int:
        if self._code is None:
            try:
                self._code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
            except ChildProcessError:
                self._code = 255
        return self._code

    def close(self) -> None:
        """Hang up and let the process go; one that does not end by itself is ended."""
        import signal

        for stream in (self.write, self.read):
            try:
                stream.close()
            except BrokenPipeError:
                continue
        if self._code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGTERM)  # it may be waiting for a network that does not answer
            self._wait()
        os.close(self._errors)


def _listens(control: str) -> bool:
    """Whether a connection stands behind the socket; one that its owner left behind is removed."""
    if sys.platform == "win32" or not os.path.exists(control):
        return False
    import socket

    with socket.socket(socket.AF_UNIX) as ours:
        ours.settimeout(2.0)
        try:
            ours.connect(control)
            if ours.recv(4):  # its owner says hello at once; one that is stopped still lets us in, and stays mute
                return True
        except OSError:
            pass  # nobody is there: the socket goes, below
    with contextlib.suppress(FileNotFoundError):
        os.unlink(control)
    return False


def _program() -> str:
    """The full path of the user's ssh."""
    import shutil

    found = shutil.which("ssh")
    if found is None:
        raise MachineError("there is no ssh program on this computer", "install OpenSSH's client")
    return found


def attached(slug: str) -> SshMachine:
    """The machine that this computer knows by the name of its folder."""
    from jig.runner.folder import default_home

    path = os.path.join(default_home(), "machines", slug, "machine.json")
    try:
        with open(path) as file:
            known = json.load(file)
    except FileNotFoundError:  # detached: its runs can be read here, but it cannot be asked
        return SshMachine(slug, Address("", slug))
    return SshMachine(known["name"], Address(known["user"], known["host"], known["port"]), known["home"])


def machine(target: ComputeTarget) -> SshMachine:
    """The machine of a .compute file."""
    return SshMachine(target.name, Address.parse(target.username or "", target.address or ""), target.jig_home)
