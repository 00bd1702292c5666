"""Logging in with what a person has, to put our key's line into the account's authorized_keys, or to take it out."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess

from jig.errors import MachineError
from jig.machines import ssh_command
from jig.machines.askpass import answering
from jig.machines.ssh_errors import HostKeyChanged, LoginRefused, Unreachable, explain
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jig.machines.ssh import SshMachine

LOGIN_S = 60
UNDO_S = 20
ENDING_S = 3
# Both are read by sh from its stdin, so that the login's own shell does not matter.
PUT_IN = """umask 077
mkdir -p .ssh
line=%s
touch .ssh/authorized_keys
[ -z "$(tail -c 1 .ssh/authorized_keys)" ] || echo >> .ssh/authorized_keys
grep -qxF "$line" .ssh/authorized_keys || printf '%%s\\n' "$line" >> .ssh/authorized_keys
"""
# Written aside and renamed, so that a full disk costs nobody the other keys; a link stays one. No grep: what it takes
# for binary, such as a comment in another encoding, it leaves out.
TAKE_OUT = """umask 077
file=.ssh/authorized_keys
[ -f "$file" ] || exit 0
file=$(readlink -f "$file") || file=.ssh/authorized_keys
new=$file.jig-$$
found=
trap 'rm -f "$new"' EXIT
cp -p "$file" "$new" || exit 1
while IFS= read -r line || [ -n "$line" ]; do
    case $line in
        %s) found=yes ;;
        *) printf '%%s\\n' "$line" || exit 1 ;;
    esac
done < "$file" > "$new"
[ -z "$found" ] || mv -f "$new" "$file"
"""


class Login(Value):
    """A way to log in: ssh's options, and the one secret that it will ask for; of a key file, its passphrase."""

    options: tuple[str, ...]
    secret: str | None = None
    key_file: str = ""

    def __repr__(self) -> str:
        return f"Login({self.options}, {'[REDACTED]' if self.secret is not None else None}, {self.key_file!r})"


def usual(machine: SshMachine) -> Login:
    """How this computer logs in to an attached machine: with our key, or with the person's own where there is none."""
    return Login(ssh_command.own_key(machine.key) if os.path.exists(machine.key) else ssh_command.any_key())


class KeyLine:
    """The line of a key that was made just now: whatever there is of it in authorized_keys, we put there."""

    def __init__(self, machine: SshMachine, public: str, login: Login) -> None:
        self._machine = machine
        self._login = login
        self.public = public
        self._may_be_there = False

    def put_in(self) -> MachineError | None:
        """Append it; the reason when that fails."""
        self._may_be_there = True
        failure = run(self._machine, self._login, "exec sh", PUT_IN % shlex.quote(self.public))
        if isinstance(failure, LoginRefused | HostKeyChanged):
            self._may_be_there = False
        return failure

    def take_back(self, warn: Callable[[str], None]) -> None:
        """Take it out again, if it may be there; the person is told when that fails, or is interrupted."""
        if not self._may_be_there:
            return
        failed = "interrupted"
        try:
            for login in (usual(self._machine), self._login):
                failure = take_out(self._machine, login, (self.public,))
                if failure is None:
                    failed = ""
                    return
                failed = failure.message
                if isinstance(failure, Unreachable):
                    return
        finally:
            if failed:
                warn(f"{left_behind(self._machine, self.public, 'may be')}\n({failed})")


def left_behind(machine: SshMachine, public: str, stays: str = "stays") -> str:
    """Where the line of our key is, for a person who is to remove it."""
    there = f"~/.ssh/authorized_keys of {machine.address.user} on {machine.address.host}"
    return f"the line of jig's key {stays} in {there}, until you remove it there:\n{public}"


def take_out(machine: SshMachine, login: Login, lines: Iterable[str]) -> MachineError | None:
    """Remove lines from authorized_keys, and nothing else; the reason when that fails."""
    pattern = " | ".join(shlex.quote(line) for line in lines)
    return run(machine, login, "exec sh", TAKE_OUT % pattern, UNDO_S)


def run(
    machine: SshMachine, login: Login, remote: str, script: str = "", timeout_s: float = LOGIN_S
) -> MachineError | None:
    """Log in and run one command there, past any kept connection; the reason when that fails."""
    argv = ssh_command.command(machine.address, machine.known_hosts, login.options, "", remote)
    asked_as = f"{machine.address.user}@{ssh_command.alias(machine.address)}"
    secret = login.secret
    asking = contextlib.nullcontext(dict(os.environ)) if secret is None else answering(secret, asked_as, login.key_file)
    with asking as environ:
        pipe = subprocess.PIPE
        with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=environ, start_new_session=True) as child:
            try:
                out, errors = child.communicate(script.encode(), timeout=timeout_s)
            except subprocess.TimeoutExpired:
                by_hand = f"try what it asks for:  {shlex.join(('ssh', *argv[argv.index('--') + 1 : -1]))}"
                return MachineError(f"{machine.address} did not finish the login within {timeout_s} s", by_hand)
            except BaseException:
                # What has begun there goes on without us: only when it has ended can it be undone.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.communicate(timeout=ENDING_S)
                raise
            finally:
                child.kill()
    if child.returncode == 0:
        return None
    said = errors.decode(errors="replace")
    if child.returncode == 255:
        return explain(machine.name, 255, said, machine.fingerprint(), machine.address)
    told = [line.strip() for line in (said + out.decode(errors="replace")).splitlines() if line.strip()]
    return MachineError(
        f"{machine.address} let us in and failed: {told[0] if told else f'exit code {child.returncode}'}"
    )
