"""A machine reached over SSH with a user account and nothing else: no root, no daemon, no open port."""

from __future__ import annotations

import os
import sys

from jig.errors import MachineError
from jig.machines import Nonsense, Pipe, RunnerMissing, checked, pack, ssh_command
from jig.machines.address import Address
from jig.machines.ssh_errors import Detached, Unreachable, explain
from jig.project import ComputeTarget
from jig.runner.folder import make_own
from jig.runner.quick_json import dumps, loads
from jig.spawn import spawn_between, spawn_piped
from jig.system import has_news
from jig.system import quick_signal as signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.runner.folder import RunFolder

LET_IN_S = 30.0
SCOPE = "systemd-run --user --scope --quiet "
MOST_TRIES = 10


class SshMachine:
    """The runner there is started by ssh; one control connection serves the commands that follow."""

    remote = True

    def __init__(self, name: str, address: Address, home: str | None = None, folder: str | None = None) -> None:
        self.name = name
        self.address = address
        self.home = home
        self.folder = folder or address.folder
        self._alone = False  # whether this command goes without a control connection
        self._crowded = False  # whether it was found too busy just now, so that the command is to be tried again
        self._tries = 0

    @property
    def known_hosts(self) -> str:
        """The pinned host key."""
        return os.path.join(self.folder, "known_hosts")

    @property
    def key(self) -> str:
        """Our own key for this machine; not there when the user's own keys are used."""
        return os.path.join(self.folder, "key")

    @property
    def is_attached(self) -> bool:
        """Whether this computer knows it."""
        return os.path.exists(self.known_hosts)

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
        if not self.is_attached:
            if not self.address.user:
                raise Detached(
                    f"the machine that had this run, {self.address.host}, is not attached on this computer any more",
                    "attach it again, under any name:  jig computetarget attach remote -n NAME -a HOST -u USER",
                )
            where = f"-n {self.name} -a {self.address.place} -u {self.address.user}"
            raise Detached(
                f"{self.name} ({self.address}) is not attached on this computer",
                f"attach it once:  jig computetarget attach remote {where}",
            )
        folder = self._known_runner()
        while not folder:
            try:
                folder = self._bring_runner()
            except RunnerMissing:  # not this time: others were faster, or it was too busy
                if not self.forget_runner():
                    raise
        scoped = verb == "supervise" and self.known_facts().get("logout") == "scope"  # only a run outlives the login
        return self._start(self._runner(folder, SCOPE if scoped else ""), verb, *words)

    def _runner(self, folder: str, scope: str = "") -> str:
        # Plain characters only, relative to the login's home: every shell reads this the same way.
        return f"exec {scope}python3 -I -S .jig/runner/{folder}/jig/runner/__main__.py"

    def _start(self, *words: str) -> SshPipe:
        """Start a command there; we do not wait until it is let in, and have other things to do meanwhile."""
        control, remote = self._control(), " ".join(words)
        argv = ssh_command.command(self.address, self.known_hosts, self._auth(), control, remote)
        errors = os.memfd_create("ssh") if hasattr(os, "memfd_create") else os.open(os.devnull, os.O_RDWR)
        if sys.platform != "win32" and control:
            from jig.machines import mux

            if (owner := mux.connect(control)) is not None:
                (theirs_in, to_runner), (from_runner, theirs_out) = os.pipe(), os.pipe()
                session = mux.Session(owner, remote, (theirs_in, theirs_out, errors))
                return SshPipe(0, to_runner, from_runner, errors, self, control, argv, session)
        try:
            pid, to_runner, from_runner = spawn_piped(argv, os.environ, errors)
        except FileNotFoundError:
            os.close(errors)
            raise MachineError("there is no ssh program on this computer", "install OpenSSH's client") from None
        return SshPipe(pid, to_runner, from_runner, errors, self, control)

    def ask(self, verb: str, **request: Any) -> dict[str, Any]:
        """One request, one answer."""
        while True:
            pipe = self.open(verb)
            try:
                pipe.send({"home": self.home, **request})
                return pipe.answer()
            except RunnerMissing:
                if not self.forget_runner():
                    raise
            finally:
                pipe.close()

    # The control connection

    def _control(self) -> str:
        """The control connection's socket; empty where there can be none, or where somebody else rules."""
        if os.name == "nt" or self._alone:
            return ""
        path = ssh_command.control_path(self.address, self.key)
        try:
            make_own(os.path.dirname(path))
        except OSError:
            return ""
        return path

    def hang_up(self) -> None:
        """Let go of the control connection, so that the next command opens a new one; who still uses it may go on."""
        control = self._control()
        if control and os.path.exists(control):
            import contextlib
            import subprocess

            quiet = subprocess.DEVNULL
            with contextlib.suppress(subprocess.TimeoutExpired):  # one that does not even hear this loses its socket
                subprocess.run(ssh_command.leave(self.address, control), stdout=quiet, stderr=quiet, timeout=5)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(control)

    # The runner there

    def _known_runner(self) -> str:
        """The folder of this version's runner there; empty when it must be brought."""
        try:
            with open(os.path.join(self.folder, "runner")) as file:
                there, _, brought_from = file.read().partition(" ")
        except FileNotFoundError:
            return ""
        if brought_from == pack.stat_key():  # the same installation: no file of it need be read
            return there
        if there != pack.content_id():
            return ""
        self._note_runner()
        return there

    def _note_runner(self) -> str:
        with open(os.path.join(self.folder, "runner"), "w") as file:
            file.write(f"{pack.content_id()} {pack.stat_key()}")
        return pack.content_id()

    def forget_runner(self) -> bool:
        """Bring the runner again with the next command; False when trying once more would not help."""
        self._tries += 1
        if self._tries >= MOST_TRIES:
            return False
        if self._crowded:  # it is there: only the way to it was not free
            import time

            self._crowded = False
            time.sleep(self._tries * (0.05 + 0.1 * os.urandom(1)[0] / 255))  # not all of us at once again
            return True
        try:
            os.unlink(os.path.join(self.folder, "runner"))
        except FileNotFoundError:
            return False
        return True

    def fits_programs(self) -> bool:
        """Whether programs of this computer run there."""
        import platform

        return bool(self.known_facts().get("platform") == f"{sys.platform} {platform.machine()}")

    def _bring_runner(self) -> str:
        """Unpack the runner aside, then let it give itself its name, which is returned."""
        import subprocess

        name = pack.content_id()
        aside = f"{name}.{os.urandom(4).hex()}"
        argv = ssh_command.command(self.address, self.known_hosts, self._auth(), self._control(), "exec tar -xzf -")
        done = subprocess.run(argv, input=pack.archive(f".jig/runner/{aside}"), capture_output=True)
        if done.returncode != 0:
            raise self.failure(done.returncode, done.stderr)
        pipe = self._start(self._runner(aside), "settle")
        try:
            pipe.send({"name": name})
            pipe.answer()
        finally:
            pipe.close()
        return self._note_runner()

    def failure(self, code: int, said: bytes) -> MachineError:
        """What a failed ssh means."""
        lines = said.decode(errors="replace").splitlines(True)
        # That several commands connect at once, each by itself, is no failure.
        text = "".join(line for line in lines if not line.startswith(("ControlSocket", "mux_client")))
        if "connect to new control master" in text:  # others took the sessions that it allows on one connection
            self._alone = self._crowded = True
            return RunnerMissing(f"{self.name} allows too few sessions on one connection")
        behind_another = "UNKNOWN port" in text  # a jump host hung up: that may mean anything
        if "kex_exchange_identification" in text and not behind_another and self._tries < MOST_TRIES:
            self._crowded = True  # it takes only so many new connections at once (MaxStartups)
            return RunnerMissing(f"{self.name} hung up before it said who it is")
        return explain(self.name, code, text, self.fingerprint(), self.address)

    def fingerprint(self) -> str:
        """The pinned host key's fingerprint."""
        from jig.machines.host_key import fingerprint_of_file

        return fingerprint_of_file(self.known_hosts)

    def facts(self) -> dict[str, Any]:
        """What was found there when it was attached or checked last."""
        try:
            with open(os.path.join(self.folder, "facts.json")) as file:
                found: dict[str, Any] = loads(file.read())
        except (OSError, ValueError):
            return {}
        return found

    def look_around(self) -> dict[str, Any]:
        """Find out what there is, and remember it."""
        found: dict[str, Any] = self.ask("probe")["probe"]
        self.remember(found)
        return found

    def remember(self, found: dict[str, Any]) -> None:
        """Keep what was found there."""
        with open(os.path.join(self.folder, "facts.json"), "w") as file:
            file.write(dumps(found))

    def known_facts(self) -> dict[str, Any]:
        """What was found there; one whose key was installed by hand may never have been looked at."""
        return self.facts() or self.look_around()

    def enter(self, run: str, words: tuple[str, ...], terminal: bool) -> int:
        """Be where a run is, at this terminal, until the shell or the command there ends; returns its exit code."""
        from jig.machines.ssh_shell import attend

        asked = {"home": self.home, "run": run, "words": list(words), "terminal": terminal}
        remote = f"{self._runner(self._known_runner())} shell {dumps(asked).encode().hex()}"

        def argv(*first: str) -> tuple[str, ...]:
            return ssh_command.command(self.address, self.known_hosts, self._auth(), self._control(), remote, first)

        return attend(self.name, argv, self._control(), terminal)

    def feed(self, folder: RunFolder, pipe: Pipe | None = None) -> Any:
        """Brings the run's new bytes home while somebody follows it."""
        from jig.machines.mirror import Feed

        return Feed(self, folder, pipe)


class SshPipe(Pipe):
    """A pipe whose silence can be explained by what ssh printed.

    What starts the command there is a session of the control connection, or else the ssh program, with this pid; `argv`
    is that program's, for a session that is refused.
    """

    def __init__(
        self,
        pid: int,
        to_runner: int,
        from_runner: int,
        errors: int,
        machine: SshMachine,
        control: str = "",
        argv: tuple[str, ...] = (),
        session: Any = None,
    ) -> None:
        super().__init__(pid, to_runner, from_runner)
        self._control = control  # until the first answer
        self._errors = errors
        self._machine = machine
        self._argv = argv
        self._session = session
        self._code: int | None = None

    def send(self, request: dict[str, Any]) -> None:
        """Send the request line; where the control connection had no room for us, ssh itself goes the long way."""
        refused = self._session.refused(LET_IN_S) if self._session is not None else None
        if refused is not None:
            self._session = None
            self._pid = spawn_between(self._argv, os.environ, refused)
            for stream in refused[:2]:
                os.close(stream)
        super().send(request)

    def answer(self) -> dict[str, Any]:
        """The next answer; when none comes, the reason that ssh gave."""
        from jig.runner import wire

        self._wait_until_let_in()
        try:
            return checked(wire.read_answer(self.read, self.mark))
        except EOFError:
            raise self.failure() from None
        except (ValueError, RecursionError):
            raise Nonsense from None

    def _wait_until_let_in(self) -> None:
        """A machine that accepts a connection and then says nothing is not waited for."""
        control, self._control = self._control, ""
        if control and not has_news(self.read.fileno(), LET_IN_S) and not os.path.exists(control):
            raise Unreachable(f"{self._machine.name} did not let us in within {LET_IN_S:.0f} s")

    def failure(self) -> MachineError:
        """Why the conversation ended."""
        code = self._wait()
        os.lseek(self._errors, 0, os.SEEK_SET)
        return self._machine.failure(code, os.read(self._errors, 1 << 16))

    def _wait(self) -> int:
        if self._code is None:
            self._code = _exit_code(self._pid) if self._session is None else self._session.wait()
        return self._code

    def close(self) -> None:
        """Hang up and let the process go; one that does not end by itself is ended."""
        for stream in (self.write, self.read):
            try:
                stream.close()
            except BrokenPipeError:
                continue
        if self._session is not None:
            self._session.end()
        elif self._code is None:
            try:
                os.kill(self._pid, signal.SIGTERM)  # it may be waiting for a network that does not answer
            except ProcessLookupError:
                self._code = 255  # whoever started us ignores its children's ends, and the kernel took it in already
            self._wait()
        os.close(self._errors)


def _exit_code(pid: int) -> int:
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return 255


def attached(slug: str) -> SshMachine:
    """The machine that this computer knows by the name of its folder."""
    from jig.runner.folder import default_home

    path = os.path.join(default_home(), "machines", slug, "machine.json")
    try:
        with open(path) as file:
            known = loads(file.read())
    except FileNotFoundError:  # detached: its runs can be read here, but it cannot be asked
        return SshMachine(slug, Address("", slug))
    return SshMachine(known["name"], Address(known["user"], known["host"], known["port"]), known["home"])


def machine(target: ComputeTarget) -> SshMachine:
    """The machine of a .compute file."""
    return SshMachine(target.name, Address.parse(target.username or "", target.address or ""), target.jig_home)
