"""Attaching a machine: see its host key, log in once, leave a key of ours there, look around. All or nothing."""

from __future__ import annotations

import json
import os

from jig.errors import MachineError, UsageError
from jig.machines import host_key, ssh_command
from jig.machines.address import Address
from jig.machines.authorized_keys import KeyLine, Login, run, take_out, usual
from jig.machines.interrupts import Interrupts
from jig.machines.ssh import SshMachine
from jig.machines.ssh_errors import HostKeyChanged, KeyTooOpen, LoginRefused
from jig.machines.staging import Staging
from jig.system import host_name
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

WAYS = "--private-key-file FILE logs in with a key of yours; -k makes one and prints it, to be installed there by hand"


class Wish(Value):
    """How a person wants to reach a machine."""

    name: str
    address: Address
    password: str | None = None
    new_key_by_hand: bool = False
    private_key_file: str | None = None
    passphrase: str | None = None
    fingerprint: str | None = None
    accept_host_key: bool = False
    home: str | None = None
    container: dict[str, str] | None = None  # what containers there need; asked for when there are to be any

    def __repr__(self) -> str:
        return f"Wish({self.name!r}, {self.address})"  # the rest may be secret


class Person(Value):
    """Who is asked: about the host key, and for a password when nothing else works."""

    say: Callable[[str], None]
    warn: Callable[[str], None]
    confirm: Callable[[str], bool]
    ask_password: Callable[[str], str | None]


def attach(wish: Wish, person: Person, write: Callable[[], None]) -> dict[str, Any]:
    """Set up what this computer needs to reach the machine; returns what was found there ({} with a key by hand).

    `write` writes what else belongs to it, all or nothing. When anything fails, or is interrupted, all is undone.
    """
    with Interrupts() as interrupts, Staging(wish.address.folder) as staging:
        attempt = Attempt(wish, person, SshMachine(wish.name, wish.address, wish.home, folder=staging.folder))
        try:
            facts = attempt.look_around(staging.leftover_key)
            attempt.machine.hang_up()
            SshMachine(wish.name, wish.address).hang_up()  # a connection from before was let in by other keys
            interrupts.hold()
            staging.take_place()
            write()
        except BaseException:
            try:
                staging.give_back()
                attempt.undo()
            finally:
                interrupts.hold()
            raise
    return facts


class Attempt:
    """One attach on its way."""

    def __init__(self, wish: Wish, person: Person, machine: SshMachine) -> None:
        self.wish = wish
        self.person = person
        self.machine = machine
        self._line: KeyLine | None = None

    def look_around(self, leftover_key: str) -> dict[str, Any]:
        """Pin the host key, set up the login, and fill the machine's folder; returns what was found there."""
        self._pin()
        facts = self.machine.ask("doctor", container=self.wish.container)["doctor"] if self._log_in() else {}
        if facts:
            self._forget_old_keys(leftover_key)
        write_json(os.path.join(self.machine.folder, "facts.json"), facts)
        known = {"name": self.wish.name, **self.wish.address._asdict(), "home": self.wish.home}
        write_json(os.path.join(self.machine.folder, "machine.json"), known)
        return dict(facts)

    def undo(self) -> None:
        """Leave nothing there, and no connection; the folder here goes with the staging."""
        try:
            if self._line is not None:
                self._line.take_back(self.person.warn)
        finally:
            self.machine.hang_up()

    def _pin(self) -> None:
        """See the host key, have it accepted, and write it down for this machine alone."""
        wish, address = self.wish, self.wish.address
        line = host_key.see(address)
        found, kind = host_key.fingerprint(line), line.split()[1].removeprefix("ssh-")
        before = host_key.fingerprint_of_file(os.path.join(address.folder, "known_hosts"))
        if wish.fingerprint is not None and wish.fingerprint != found:
            raise HostKeyChanged(
                f"{address} shows another host key than expected\n"
                f"  expected  {wish.fingerprint}\n  found     {found} ({kind})",
                "somebody may stand between you and the machine; ask whoever runs it for the right fingerprint",
            )
        if wish.fingerprint is None and before != found:
            if before and wish.accept_host_key:
                raise HostKeyChanged(
                    f"{address} shows another host key than when it was attached before\n"
                    f"  before  {before}\n  found   {found} ({kind})",
                    "somebody may stand between you and the machine; or it was set up anew: ask whoever runs it, and "
                    "then name the right one with --fingerprint",
                )
            changed = f"\nIt was {before} when you attached it before: the machine was set up anew, or it is another.\n"
            question = (
                f"{address} shows the {kind} host key\n  {found}{changed if before else chr(10)}Is that the right one?"
            )
            if wish.accept_host_key:
                self.person.say(f"{address}: host key {found} accepted")
            elif not self.person.confirm(question):
                raise UsageError("the host key was not accepted", "compare it with what the machine's owner says")
        with open(self.machine.known_hosts, "w") as file:
            file.write(line + "\n")

    def _log_in(self) -> bool:
        """Let ssh log in from now on without asking; False when a key must first be installed by hand."""
        wish, address = self.wish, self.wish.address
        if self._earlier_key_works():
            given = {"password": wish.password, "private key": wish.private_key_file}
            for what in [what for what, value in given.items() if value is not None]:
                self.person.say(f"the key that jig made for {address} still works: the {what} was not needed")
            return True
        if wish.new_key_by_hand:
            self._offer_key()
            return False
        if wish.private_key_file is not None:
            self._log_in_with_key_file(wish.private_key_file)
            return True
        password = wish.password
        if password is None:
            failure = run(self.machine, usual(self.machine), "exit")
            if failure is None:
                return True  # the user's own keys, agent or configuration are enough, and stay what is used
            if not isinstance(failure, LoginRefused):
                raise failure
            if _takes_passwords(failure):
                password = self.person.ask_password(f"{address.user}'s password on {address.host}: ")
            if password is None and not isinstance(failure, KeyTooOpen):
                failure.hint = f"{'--password-stdin reads a password; ' if _takes_passwords(failure) else ''}{WAYS}"
            if password is None:
                raise failure
        self._log_in_with_password(password)
        return True

    def _earlier_key_works(self) -> bool:
        """Whether the key from an attach before is let in; if so it is kept."""
        import shutil

        before = self.wish.address.folder
        pair = ("key", "key.pub")
        if not all(os.path.exists(os.path.join(before, name)) for name in pair):
            return False
        for name in pair:
            shutil.copy2(os.path.join(before, name), self.machine.folder)
        os.chmod(self.machine.key, 0o600)  # whatever became of it
        failure = run(self.machine, usual(self.machine), "exit")
        if failure is None:
            if os.path.exists(os.path.join(before, "runner")):
                shutil.copy2(os.path.join(before, "runner"), self.machine.folder)
            return True
        if not isinstance(failure, LoginRefused):
            raise failure
        if not self.wish.new_key_by_hand:
            for name in pair:
                os.unlink(os.path.join(self.machine.folder, name))
        return False

    def _offer_key(self) -> None:
        """Print a public key for the person to install; one that was printed before is printed again."""
        if os.path.exists(self.machine.key):
            with open(self.machine.key + ".pub") as file:
                public = file.read().strip()
        else:
            public = self._make_key()
        address = self.wish.address
        self.person.say(
            f"append this line to ~/.ssh/authorized_keys of {address.user} on {address.host}:\n\n{public}\n"
        )
        self.person.say(f"then look around there:  jig computetarget check {self.wish.name}")

    def _log_in_with_key_file(self, named: str) -> None:
        path = os.path.abspath(os.path.expanduser(named))
        if not os.path.isfile(path):
            raise UsageError(f"there is no private key file {named}")
        # The first word on an option counts: ssh may ask for the passphrase, and for nothing else.
        asked = ("BatchMode=no", "PreferredAuthentications=publickey", "NumberOfPasswordPrompts=1")
        options = (*(word for option in asked for word in ("-o", option)), *ssh_command.own_key(path))
        failure = self._install_key(Login(options, self.wish.passphrase, path))
        if isinstance(failure, LoginRefused):
            failure.message = f"{self.wish.address} refused the key {named}: {failure.last}"
            if not isinstance(failure, KeyTooOpen):
                failure.hint = (
                    "its public half must be in ~/.ssh/authorized_keys there; one with a passphrase wants "
                    "--private-key-passphrase, or ssh-add and then no --private-key-file"
                )
        if failure is not None:
            raise failure

    def _log_in_with_password(self, password: str) -> None:
        # What a person set for other sessions must not keep ssh from asking.
        asked = ("BatchMode=no", "KbdInteractiveAuthentication=yes", "PasswordAuthentication=yes")
        order = "PreferredAuthentications=keyboard-interactive,password"
        chosen = (*asked, order, "PubkeyAuthentication=no", "NumberOfPasswordPrompts=1")
        failure = self._install_key(Login(tuple(word for option in chosen for word in ("-o", option)), password))
        if isinstance(failure, LoginRefused):
            if _takes_passwords(failure):
                failure.message = f"{self.wish.address} refused the password: {failure.last}"
                failure.hint = f"leave --password out to be asked, or pipe it in with --password-stdin; {WAYS}"
            else:
                failure.message = f"{self.wish.address} takes no passwords: {failure.last}"
                failure.hint = WAYS
        if failure is not None:
            raise failure

    def _install_key(self, login: Login) -> MachineError | None:
        """Log in once with what the person has and append a new key's line; from then on only that key is used."""
        self._line = KeyLine(self.machine, self._make_key(), login)
        failure = self._line.put_in()
        if failure is not None:
            return failure
        failure = run(self.machine, usual(self.machine), "exit")
        if failure is not None:
            raise MachineError(
                f"{self.machine.address} took the key but does not let it in: {failure.message}",
                "the permissions of ~ or ~/.ssh there may be too open, or sshd allows no keys",
            )
        return None

    def _make_key(self) -> str:
        """A key pair for this machine alone; returns the public line."""
        import subprocess

        here = "".join(c if c.isascii() and (c.isalnum() or c in ".-") else "_" for c in host_name())
        comment = f"{ssh_command.alias(self.machine.address)}-from-{here}"
        argv = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", self.machine.key)
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        except FileNotFoundError:
            raise MachineError("there is no ssh-keygen on this computer", "install OpenSSH's client") from None
        if done.returncode != 0:
            raise MachineError(f"no key could be made: {(done.stderr or done.stdout).strip()}")
        with open(self.machine.key + ".pub") as file:
            return file.read().strip()

    def _forget_old_keys(self, leftover_key: str) -> None:
        """Take out the lines of keys that this computer had for the login and does not keep."""
        lines = {leftover_key}
        earlier = os.path.join(self.wish.address.folder, "key.pub")
        if self._line is not None and os.path.exists(earlier):
            with open(earlier) as file:
                lines.add(file.read().strip())
        lines.discard("")
        failure = take_out(self.machine, usual(self.machine), lines) if lines else None
        if failure is not None:
            self.person.warn(f"an old line of jig's stays in ~/.ssh/authorized_keys there ({failure.message})")


def _takes_passwords(refused: LoginRefused) -> bool:
    """Whether the machine may let somebody in with a password, by the ways that ssh names in brackets."""
    ways = refused.last.rpartition("(")[2]
    return "password" in ways or "keyboard-interactive" in ways or not refused.last.endswith(").")


def write_json(path: str, value: object) -> None:
    """Write a file that others may be reading: they see the old one or the new one."""
    with open(path + ".new", "w") as file:
        json.dump(value, file, indent=1)
    os.replace(path + ".new", path)
