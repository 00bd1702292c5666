"""What tests see: a computer with an OpenSSH server, on which everything can go wrong on request."""

import os
import secrets
import shlex
import subprocess
from pathlib import Path

from tests.hosts import accounts, systemd
from tests.hosts.machine import Machine
from tests.hosts.sshd import Sshd, is_sshd
from tests.system_packages import need

# Files that each shell reads even for a command without a terminal.
PROFILES = (".bashrc", ".cshrc", ".zshenv", ".config/fish/config.fish")
WRONG_CLOCK = Path(__file__).with_name("wrong_clock.c")
PLACES = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/usr/games")


class Host:
    """One machine reached over SSH. A `user` of None means the host's own user; methods return when the change is in force."""

    user = "ada"

    def __init__(self, name: str, folder: Path, behind: "Host | None" = None, **settings: object) -> None:
        """The settings are sshd's, as in `configure`."""
        self.name = name
        self._small_homes: set[str] = set()
        # Unlike anything else on this machine, so that a leak can be searched for; and awkward to quote.
        self.password = f'it\'s "{secrets.token_hex(8)}" $HOME \\ é'
        self._machine = Machine(name, folder, behind._machine if behind else None)
        try:
            self._sshd = Sshd(self._machine, settings)
            self.add_user(self.user, self.password)
            self._sshd.start()
        except BaseException:
            self._machine.close()
            raise
        if behind:
            with open(behind._machine.etc / "hosts", "a") as hosts:
                hosts.write(f"{self.address} {name}\n")

    def close(self) -> None:
        """Take it away with everything that runs on it."""
        self._machine.close()

    @property
    def address(self) -> str:
        """Its address, as reached from this machine, or from the host that it stands behind."""
        return self._machine.link.far_address

    @property
    def near_address(self) -> str:
        """The address under which the host reaches the other end of its link: a server here can listen on it."""
        return self._machine.link.near_address

    @property
    def port(self) -> int:
        """22, until `configure(Port=…)`."""
        return self._sshd.port

    @property
    def home(self) -> Path:
        """The user's home as seen from this machine."""
        return self.home_of(self.user)

    @property
    def root(self) -> Path:
        """Its whole file tree as seen from this machine; ask anew after a reboot."""
        return self._machine.root

    @property
    def var(self) -> Path:
        """Its /var as seen from this machine, on the disk that holds it."""
        return self._machine.folder / "var"

    @property
    def enter(self) -> "list[str]":
        """The words before a command that is to run there as root, with this process for its parent; ask anew after a reboot."""
        return self._machine.enter

    def home_of(self, user: str) -> Path:
        _, inside = accounts.find(self._machine.etc, user)
        return (self.root if inside in self._small_homes else self._machine.folder) / inside.lstrip("/")

    # People

    def add_user(self, name: str, password: str, shell: str = "/bin/bash", home: "str | None" = None) -> None:
        """Add an account, with its home under /home; `home` may hold spaces."""
        inside = home or f"/home/{name}"
        if not inside.startswith("/home/"):
            raise ValueError(f"the home {inside!r} of {name} is not under /home/, which is the host's disk for homes")
        number = accounts.add(self._machine.etc, name, password, shell, inside)
        place = self._machine.folder / inside.lstrip("/")
        place.mkdir(parents=True)
        place.chmod(0o755)
        os.chown(place, number, number)

    def authorize(self, public_key: str, user: "str | None" = None) -> None:
        """Let the key in."""
        known = self.home_of(user or self.user) / ".ssh/authorized_keys"
        before = known.read_text() if known.exists() else ""
        self.write(".ssh/authorized_keys", f"{before}{public_key.strip()}\n", user, mode=0o600)
        known.parent.chmod(0o700)

    def add_group(self, name: str, number: int, *members: str) -> None:
        """Add a group of people, who belong to it from their next login on; or say anew who belongs to it."""
        accounts.set_group(self._machine.etc, name, number, members)

    def allow_sudo(self, user: "str | None" = None) -> None:
        """Let a user do everything by sudo, without being asked for a password."""
        need("sudo")
        accounts.put(self._machine.etc / "pam.d/sudo", accounts.OWN["pam.d/sshd"])
        accounts.put(self._machine.etc / "sudoers", accounts.SUDOERS.format(user=user or self.user), 0o440)

    def forget_keys(self, user: "str | None" = None) -> None:
        """Let no key in any more."""
        (self.home_of(user or self.user) / ".ssh/authorized_keys").unlink(missing_ok=True)

    def shell(self, path: str, user: "str | None" = None) -> None:
        """Give the user another login shell."""
        accounts.set_shell(self._machine.etc, user or self.user, path)

    def chatter(self, text: str, user: "str | None" = None) -> None:
        """Make the user's profile print on standard output, in bash, csh, zsh and fish, also for a command without a terminal."""
        accounts.put(self._machine.etc / "chatter", text)
        for name in PROFILES:
            self.write(name, "cat /etc/chatter\n", user)

    def write(self, name: str, content: "str | bytes", user: "str | None" = None, mode: int = 0o644) -> Path:
        """Write a file in the user's home, who owns it and the folders on the way; the path is that seen from here."""
        number, _ = accounts.find(self._machine.etc, user or self.user)
        home = self.home_of(user or self.user)
        place = home / name
        for folder in reversed([part for part in place.parents if home in part.parents]):
            if not folder.is_dir():
                folder.mkdir()
                folder.chmod(0o755)
                os.chown(folder, number, number)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        place.chmod(mode)
        os.chown(place, number, number)
        return place

    # The server

    def configure(self, **settings: object) -> None:
        """Change settings of sshd_config (None: back to OpenSSH's own, a list: several lines) and restart. Sessions stay open."""
        self._sshd.set(settings)
        self.restart_sshd()

    def start_sshd(self) -> None:
        self._sshd.start()

    def stop_sshd(self) -> None:
        """No new connections (refused); open sessions go on."""
        self._sshd.stop()

    def restart_sshd(self) -> None:
        """As an upgrade of the package does it: open sessions go on."""
        self._sshd.stop()
        self._sshd.start()

    def kill_sshd(self) -> None:
        """Kill the listener and every session; what they started goes on."""
        self._sshd.kill()

    def sshd_log(self) -> str:
        """What the server has logged so far."""
        return self._sshd.log()

    def commands(self) -> int:
        """How many commands and shells were started over SSH so far."""
        return self.sshd_log().count("Starting session")

    def new_host_key(self) -> None:
        """Change all of the host's keys."""
        self._sshd.make_keys()
        self.restart_sshd()

    def host_key(self) -> str:
        """Its public key, `ssh-ed25519 AAAA…`."""
        text = (self._machine.etc / "ssh/ssh_host_ed25519_key.pub").read_text()
        return " ".join(text.split()[:2])

    def host_fingerprint(self) -> str:
        """`SHA256:…` of its ed25519 key."""
        key = self._machine.etc / "ssh/ssh_host_ed25519_key.pub"
        said = subprocess.run(["ssh-keygen", "-lf", str(key)], check=True, capture_output=True, text=True)
        return said.stdout.split()[1]

    def banner(self, text: str) -> None:
        """Print a text before login (ssh shows it on stderr), and again from the user's profile (on stdout)."""
        accounts.put(self._machine.etc / "banner", text)
        self.configure(Banner="/etc/banner")
        self.chatter(text)

    # The network

    def cut(self) -> None:
        """Drop every packet, both ways, without a word: what is connected becomes half-open."""
        self._machine.link.cut()

    def mend(self) -> None:
        self._machine.link.mend()

    def slow(self, delay_ms: float = 50, loss_percent: float = 0.0, rate_mbit: float = 0.0) -> None:
        """Add `delay_ms` to each round trip, lose that share of the packets each way, and let no more than the rate through (0: no limit)."""
        self._machine.link.slow(delay_ms, loss_percent, rate_mbit)

    def fast(self) -> None:
        self._machine.link.fast()

    # The computer

    def reboot(self) -> None:
        """Kill every process at once; the disks and the network stay, /tmp and /run are empty, the boot id is new and sshd is up.

        Its kernel still says goodbye on open connections. `cut(); reboot(); mend()` is a power failure, without any goodbye.
        """
        self._machine.reboot()
        self._sshd.start()

    def boot_systemd(self, **logind: object) -> None:
        """Reboot, from now on with systemd, which is told of every login; the settings are those of logind.conf."""
        need(*systemd.PACKAGES)
        self._machine.boot_systemd(logind)
        self._sshd.set({"UsePAM": True})
        self._sshd.start()

    def freeze(self) -> None:
        """Stop every process: its kernel still takes what is sent, and nobody answers."""
        self._machine.inside("/bin/bash", "-c", "kill -STOP -1")

    def thaw(self) -> None:
        self._machine.inside("/bin/bash", "-c", "kill -CONT -1")

    def boot_id(self) -> str:
        return (self.root / "proc/sys/kernel/random/boot_id").read_text().strip()

    def run(self, command: str, user: "str | None" = None, timeout_s: float = 60) -> "subprocess.CompletedProcess[str]":
        """Run a bash command there without ssh, in the user's home (`user="root"` for root), until its output is closed."""
        return self._machine.inside("/bin/bash", "-c", f"cd\n{command}", user=user or self.user, timeout_s=timeout_s)

    def processes(self) -> "list[str]":
        """Command lines of all living processes there, without the first one and without sshd's listener and sessions."""
        return [shlex.join(words) for words in self._machine.processes().values() if not is_sshd(words)]

    def home_disk(self, size: str = "8m", user: "str | None" = None) -> None:
        """Move the user's home, with what is in it, to a small disk of its own, which survives a reboot."""
        number, inside = accounts.find(self._machine.etc, user or self.user)
        options = f"size={size},uid={number},gid={number},mode=755"
        self._machine.must("mount", "-t", "tmpfs", "-o", options, "home", "/mnt")
        self._machine.must("cp", "-a", f"{inside}/.", "/mnt")
        self._machine.must("mount", "--move", "/mnt", inside)
        self._small_homes.add(inside)

    def set_clock(self, offset: "str | None") -> None:
        """Put the clock of processes that start from now on wrong, e.g. `-3h` or `+2d` (s, m, h, d); None puts it right."""
        preload, library = self._machine.etc / "ld.so.preload", self._machine.etc / "wrong_clock.so"
        preload.unlink(missing_ok=True)
        if offset is not None:
            need("gcc", "libc6-dev")
            seconds = int(offset[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[offset[-1]]
            command = ["gcc", "-shared", "-fPIC", f"-DOFFSET_S={seconds}LL", "-o", str(library), str(WRONG_CLOCK)]
            subprocess.run(command, check=True, umask=0o022)
            accounts.put(preload, "/etc/wrong_clock.so\n")

    def without(self, program: str) -> None:
        """Take a program away; the name may be a pattern, as in `python3*`."""
        places = [place for place in PLACES if (self.root / place.lstrip("/")).is_dir()]
        self._machine.must("find", *places, "-maxdepth", "1", "-name", program, "-delete")

    def install(self, program: str, text: str) -> None:
        """Put a script of yours into /usr/local/bin, e.g. an `nvidia-smi`."""
        place = self.root / "usr/local/bin" / program
        place.write_text(text)
        place.chmod(0o755)
