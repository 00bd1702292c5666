"""A machine to reach over SSH: a real OpenSSH server on the loopback, with a login of its own where it can."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from folders import SOURCE, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

USER = f"jig-bench-{os.getpid()}"  # another benchmark may run, or one may have been killed
STARTS_WITHIN_S = 10.0
CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile {folder}/pid
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
"""


class Server(NamedTuple):
    """A server that listens, and the login that may use it."""

    folder: str
    user: str
    home: str
    port: int

    @property
    def address(self) -> str:
        """As `jig computetarget attach --address` takes it."""
        return f"127.0.0.1:{self.port}"

    @property
    def ssh(self) -> tuple[str, ...]:
        """The start of a bare ssh command, without the login's name; nobody's configuration is read."""
        chosen = ("IdentitiesOnly=yes", "BatchMode=yes", "LogLevel=ERROR", f"UserKnownHostsFile={self.folder}/known")
        options = [word for one in (*chosen, "StrictHostKeyChecking=accept-new") for word in ("-o", one)]
        return ("ssh", "-F", "none", "-i", f"{self.folder}/key", "-p", str(self.port), *options)

    @property
    def login(self) -> str:
        """The login's name, as ssh takes it."""
        return f"{self.user}@127.0.0.1"

    @contextlib.contextmanager
    def behind(self, delay_ms: int) -> Iterator[Server]:
        """The same server, as it is seen over a network with this round trip."""
        argv = (sys.executable, os.path.join(SOURCE, "bench", "delay.py"), str(self.port), str(delay_ms))
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as relay:
            try:
                yield self._replace(port=int(relay.stdout.readline() if relay.stdout else ""))
            finally:
                relay.terminate()

    def let_in(self, public_key: str) -> None:
        """Let another key in."""
        with open(f"{self.folder}/authorized_keys", "a") as file:
            file.write(public_key)

    def run(self, command: str) -> None:
        """Run a command there, untimed."""
        subprocess.run((*self.ssh, self.login, command), stdin=subprocess.DEVNULL, check=True)


@contextlib.contextmanager
def server(**variables: str) -> Iterator[Server]:
    """A server for as long as it is needed. Root makes a user for it; anybody else logs in as himself.

    Logins have these variables.
    """
    _need("openssh-server", "openssh-client", "rsync")
    folder = tempfile.mkdtemp(prefix="jig-bench-")
    os.chmod(folder, 0o755)
    made = False
    try:
        if os.getuid() == 0:
            # Not locked, as a new user would be, and without a password.
            argv = ("useradd", "-m", "-d", f"{folder}/home", "-s", "/bin/bash", "-p", "*", USER)
            subprocess.run(argv, check=True)
            made = True
            os.makedirs("/run/sshd", exist_ok=True)
        login = pwd.getpwnam(USER) if made else pwd.getpwuid(os.getuid())
        found = Server(folder, login.pw_name, login.pw_dir, _free_port())
        process = _start(found, variables)
        try:
            yield found
        finally:
            process.terminate()
            process.wait()
    finally:
        if made:
            _remove_user()
        shutil.rmtree(folder)


def _start(found: Server, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    for name in ("host_key", "key"):
        argv = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{found.folder}/{name}")
        subprocess.run(argv, check=True)
    shutil.copyfile(f"{found.folder}/key.pub", f"{found.folder}/authorized_keys")
    given = "".join(f"SetEnv {name}={value}\n" for name, value in variables.items())
    write(f"{found.folder}/sshd_config", CONFIG.format(port=found.port, folder=found.folder) + given)
    program = shutil.which("sshd", path=os.environ.get("PATH", os.defpath) + ":/usr/sbin") or "sshd"
    argv = (program, "-D", "-f", f"{found.folder}/sshd_config", "-E", f"{found.folder}/log")
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
    end = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < end:
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", found.port)):
            return process
        time.sleep(0.02)
    process.terminate()
    with open(f"{found.folder}/log") as file:
        raise SystemExit(f"sshd did not start:\n{file.read()}")


def _remove_user() -> None:
    """Remove the user that was made; what it still runs, connections that are kept open included, is ended first."""
    number = str(pwd.getpwnam(USER).pw_uid)
    end = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < end:
        found = subprocess.run(("pgrep", "-U", number), capture_output=True, text=True).stdout.split()
        if not found:
            break
        for word in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(word), signal.SIGKILL)
        time.sleep(0.05)
    subprocess.run(("userdel", USER), check=True, stderr=subprocess.DEVNULL)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def _need(*packages: str) -> None:
    if SOURCE not in sys.path:
        sys.path.append(SOURCE)
    from tests.system_packages import need

    need(*packages)
