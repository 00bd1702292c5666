"""The files under /etc of a host: its accounts, and the little else that programs look for there."""

import ctypes
import secrets
import subprocess
from pathlib import Path

FIRST_USER = 2001
# What programs under /usr need from this machine; nothing that says who or where this machine is.
TAKEN = ("debian_version", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "login.defs", "os-release",
         "protocols", "python3", "security", "services", "terminfo", "timezone")  # fmt: skip
OWN = {
    "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n",
    "group": "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n",
    "passwd": "root:x:0:0:root:/root:/bin/bash\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "shadow": "root:*:19000:0:99999:7:::\nsshd:*:19000:0:99999:7:::\nnobody:*:19000:0:99999:7:::\n",
    "pam.d/sshd": "".join(
        f"{kind} required pam_unix.so nodelay\n" for kind in ("auth", "account", "password", "session")
    ),
}


# As Debian has it, for one person.
SUDOERS = """Defaults env_reset
Defaults secure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
{user} ALL=(ALL:ALL) NOPASSWD: ALL
"""


def lay_out(etc: Path, name: str) -> None:
    """Fill an empty /etc."""
    there = [f"/etc/{entry}" for entry in TAKEN if Path("/etc", entry).exists()]
    subprocess.run(["cp", "-a", *there, str(etc)], check=True)
    (etc / "pam.d").mkdir()
    (etc / "ssh").mkdir()
    for entry, text in OWN.items():
        put(etc / entry, text, 0o600 if entry == "shadow" else 0o644)
    put(etc / "hostname", f"{name}\n")
    put(etc / "machine-id", f"{secrets.token_hex(16)}\n")
    put(etc / "hosts", f"127.0.0.1 localhost\n127.0.1.1 {name}\n")


def put(place: Path, text: str, mode: int = 0o644) -> None:
    """Write a file that everybody there can read, whatever the umask is here."""
    place.write_text(text)
    place.chmod(mode)


def add(etc: Path, name: str, password: str, shell: str, home: str) -> int:
    """Add an account; its number is that of its group too."""
    number = FIRST_USER + sum(1 for fields in _entries(etc) if FIRST_USER <= int(fields[2]) < 60000)
    for entry, line in (
        ("passwd", f"{name}:x:{number}:{number}::{home}:{shell}"),
        ("group", f"{name}:x:{number}:"),
        ("shadow", f"{name}:{_hashed(password)}:19000:0:99999:7:::"),
    ):
        with open(etc / entry, "a") as file:
            file.write(f"{line}\n")
    return number


def find(etc: Path, name: str) -> "tuple[int, str]":
    """The number and the home of an account."""
    for fields in _entries(etc):
        if fields[0] == name:
            return int(fields[2]), fields[5]
    raise KeyError(f"the host has no user {name!r}; it has {', '.join(fields[0] for fields in _entries(etc))}")


def set_shell(etc: Path, name: str, shell: str) -> None:
    find(etc, name)
    entries = [[*fields[:6], shell] if fields[0] == name else fields for fields in _entries(etc)]
    (etc / "passwd").write_text("".join(":".join(fields) + "\n" for fields in entries))


def set_group(etc: Path, name: str, number: int, members: "tuple[str, ...]") -> None:
    others = [line for line in (etc / "group").read_text().splitlines() if not line.startswith(f"{name}:")]
    (etc / "group").write_text("".join(f"{line}\n" for line in (*others, f"{name}:x:{number}:{','.join(members)}")))


def _entries(etc: Path) -> "list[list[str]]":
    return [line.split(":") for line in (etc / "passwd").read_text().splitlines()]


def _hashed(password: str) -> str:
    crypt = ctypes.CDLL("libcrypt.so.1").crypt
    crypt.restype = ctypes.c_char_p
    return crypt(password.encode(), b"$6$rounds=1000$" + secrets.token_hex(8).encode()).decode()
