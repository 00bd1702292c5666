"""Attaching a machine: see its host key, log in once, leave a key of ours there, look around. All or nothing."""

from __future__ import annotations

import json
import os

from jig.errors import MachineError, UsageError
from jig.machines import host_key, ssh_command
from jig.machines.address import Address
from jig.machines.askpass import answering
from jig.machines.ssh import SshMachine
from jig.machines.ssh_errors import HostKeyChanged, explain
from jig.runner.folder import make_private
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LOGIN_S = 60
# Read by sh from its stdin, so that the login's own shell does not matter. The line is ours: a key and a plain comment.
INSTALL_KEY = b"""umask 077
mkdir -p .ssh
line='%s'
touch .ssh/authorized_keys
[ -z "$(tail -c 1 .ssh/authorized_keys)" ] || echo >> .ssh/authorized_keys
grep -qxF "$line" .ssh/authorized_keys || printf '%%s\\n' "$line" >> .ssh/authorized_keys
"""


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


class Person(Value):
    """Who is asked: about the host key, and for a password when nothing else works."""

    say: Callable[[str], None]
    confirm: Callable[[str], bool]
    ask_password: Callable[[str], str | None]


def attach(wish: Wish, person: Person) -> dict[str, Any]:
    """Set up what this computer needs to reach the machine; returns what was found there ({} with a key by hand)."""
    staged = f"{wish.address.folder}.new-{os.getpid()}"
    make_private(staged)
    machine = SshMachine(wish.name, wish.address, wish.home, folder=staged)
    try:
        _pin(wish, machine, person)
        logged_in = _log_in(wish, machine, person)
        facts = machine.ask("probe")["probe"] if logged_in else {}
        _write_json(os.path.join(staged, "facts.json"), facts)
        known = {"name": wish.name, **wish.address._asdict(), "home": wish.home}
        _write_json(os.path.join(staged, "machine.json"), known)
        machine.hang_up()
        _replace(staged, wish.address.folder)
    except BaseException:
        import shutil

        machine.hang_up()
        shutil.rmtree(staged, ignore_errors=True)
        raise
    return dict(facts)


def _pin(wish: Wish, machine: SshMachine, person: Person) -> None:
    """See the host key, have it accepted, and write it down for this machine alone."""
    line = host_key.see(wish.address)
    found = host_key.fingerprint(line)
    before = host_key.fingerprint_of_file(os.path.join(wish.address.folder, "known_hosts"))
    if wish.fingerprint is not None and wish.fingerprint != found:
        raise HostKeyChanged(
            f"{wish.address} shows another host key than expected\n  expected  {wish.fingerprint}\n  found     {found}",
            "somebody may stand between you and the machine; ask whoever runs it for the right fingerprint",
        )
    if wish.fingerprint is None and before != found:
        kind = line.split()[1].removeprefix("ssh-")
        changed = f"\nIt was {before} when you attached it before: the machine was set up anew, or it is another.\n"
        question = (
            f"{wish.address} shows the {kind} host key\n  {found}{changed if before else chr(10)}Is that the right one?"
        )
        if wish.accept_host_key:
            person.say(f"{wish.address}: host key {found} accepted")
        elif not person.confirm(question):
            raise UsageError("the host key was not accepted", "compare it with what the machine's owner says")
    with open(machine.known_hosts, "w") as file:
        file.write(line + "\n")


def _log_in(wish: Wish, machine: SshMachine, person: Person) -> bool:
    """Make sure that ssh can log in from now on without asking; False when a key must first be installed by hand."""
    if wish.new_key_by_hand:
        public = _make_key(machine)
        if _try(machine, ssh_command.own_key(machine.key)) is None:
            return True
        person.say(
            f"append this line to ~/.ssh/authorized_keys of {wish.address.user} on {wish.address.host}:\n\n{public}\n"
        )
        person.say(f"then look around there:  jig computetarget check {wish.name}")
        return False
    if wish.private_key_file is not None:
        path = os.path.abspath(os.path.expanduser(wish.private_key_file))
        with_key = ("-i", path, "-o", "IdentitiesOnly=yes", "-o", "NumberOfPasswordPrompts=1")
        _install_key(machine, with_key, wish.passphrase)
        return True
    password = wish.password
    if password is None:
        failure = _try(machine, ssh_command.any_key())
        if failure is None:
            return True  # the user's own keys, agent or configuration are enough, and stay what is used
        password = person.ask_password(f"{wish.address.user}'s password on {wish.address.host}: ")
        if password is None:
            raise failure
    by_password = ("-o", "PreferredAuthentications=keyboard-interactive,password", "-o", "PubkeyAuthentication=no")
    _install_key(machine, (*by_password, "-o", "NumberOfPasswordPrompts=1"), password)
    return True


def _make_key(machine: SshMachine) -> str:
    """A key pair for this machine alone; returns the public line. One that is there from before is kept."""
    import shutil
    import subprocess

    earlier = os.path.join(machine.address.folder, "key")
    if os.path.exists(earlier):
        for suffix in ("", ".pub"):
            shutil.copy2(earlier + suffix, machine.key + suffix)
    else:
        comment = f"jig-{machine.address.slug}"
        argv = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", machine.key)
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with open(machine.key + ".pub") as file:
        return file.read().strip()


def _install_key(machine: SshMachine, auth: tuple[str, ...], secret: str | None) -> None:
    """Log in once with what the person has and append our key's line; from then on only that key is used."""
    public = _make_key(machine)
    failure = _run(machine, auth, "exec sh", INSTALL_KEY % public.encode(), secret)
    if failure is not None:
        raise failure
    failure = _try(machine, ssh_command.own_key(machine.key))
    if failure is not None:
        raise MachineError(
            f"{machine.address} took the key but does not let it in: {failure.message}",
            "the permissions of ~ or ~/.ssh there may be too open, or sshd allows no keys",
        )


def _try(machine: SshMachine, auth: tuple[str, ...]) -> MachineError | None:
    """Whether a login works; the reason when not."""
    return _run(machine, auth, "exit", b"", None)


def _run(
    machine: SshMachine, auth: tuple[str, ...], remote: str, sent: bytes, secret: str | None
) -> MachineError | None:
    import contextlib
    import subprocess

    argv = ssh_command.command(machine.address, machine.known_hosts, auth, "", remote)
    login = f"{machine.address.user}@{ssh_command.alias(machine.address)}"
    key_file = auth[1] if auth[0] == "-i" else ""
    asking = answering(secret, login, key_file) if secret is not None else contextlib.nullcontext(dict(os.environ))
    with asking as environ:
        try:
            done = subprocess.run(
                argv, input=sent, capture_output=True, env=environ, timeout=LOGIN_S, start_new_session=True
            )
        except subprocess.TimeoutExpired:
            return MachineError(f"{machine.address} did not finish the login within {LOGIN_S} s")
    if done.returncode == 0:
        return None
    return explain(machine.name, done.returncode, done.stderr.decode(errors="replace"), machine.fingerprint())


def _write_json(path: str, value: object) -> None:
    with open(path, "w") as file:
        json.dump(value, file, indent=1)


def _replace(staged: str, place: str) -> None:
    """Put the new folder where the old one was, if any."""
    import shutil

    old = f"{place}.old-{os.getpid()}"
    if os.path.isdir(place):
        os.rename(place, old)
    os.rename(staged, place)
    shutil.rmtree(old, ignore_errors=True)
