"""What a host gets from outside beyond its own link: folders of this machine, and cables to other hosts."""

import ctypes
import os
import subprocess
from pathlib import Path

from tests.hosts.host import Host

OPEN_TREE, MOVE_MOUNT = 428, 429  # the same numbers on every kind of processor
CLONE, CLOSE_ON_EXEC, RECURSIVE, HERE = 1, os.O_CLOEXEC, 0x8000, -100
# A folder of one file tree cannot be bound into another by `mount`: a descriptor of it can be carried there and put down.
PUT_DOWN = f"""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
os.makedirs(sys.argv[2], exist_ok=True)
if libc.syscall({MOVE_MOUNT}, int(sys.argv[1]), b"", {HERE}, os.fsencode(sys.argv[2]), 4):
    sys.exit(os.strerror(ctypes.get_errno()))
"""


def bring(host: Host, folder: Path, place: Path, read_only: bool = True) -> None:
    """Let the host see a folder of this machine at a place of its own, unless it does already."""
    if os.path.ismount(host.root / str(place).lstrip("/")):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    tree = libc.syscall(OPEN_TREE, HERE, os.fsencode(folder), CLONE | CLOSE_ON_EXEC | RECURSIVE)
    if tree < 0:
        raise OSError(ctypes.get_errno(), f"cannot take hold of {folder} for a host")
    try:
        _must(*host.enter, "/usr/bin/python3", "-c", PUT_DOWN, str(tree), str(place), pass_fds=(tree,))
    finally:
        os.close(tree)
    if read_only:
        _must(*host.enter, "mount", "-o", "remount,bind,ro", str(place))


def connect(one: Host, other: Host) -> None:
    """A cable between two hosts, which from now on reach each other at the addresses that they have already."""
    cable = f"to-{other.name}", f"to-{one.name}"
    _ip(one, f"link add {cable[0]} type veth peer name {cable[1]} netns {_init(other)}")
    for host, device, to in ((one, cable[0], other), (other, cable[1], one)):
        _ip(host, f"link set {device} up", f"route add {to.address}/32 dev {device} src {host.address}")


def reach_here(host: Host, address: str) -> None:
    """Let the host reach an address of this machine that is not at the end of its own link."""
    _ip(host, f"route replace {address}/32 via {host.near_address} dev eth0")


def know(hosts: "list[Host]") -> None:
    """Each host knows the names of all, its own included, as machines of a cluster do."""
    names = "".join(f"{host.address} {host.name}\n" for host in hosts)
    for host in hosts:
        (host.root / "etc/hosts").write_text(f"127.0.0.1 localhost\n{names}")


def _net(host: Host) -> "list[str]":
    """Only the network is the host's: process numbers are those of this machine."""
    return ["nsenter", f"--target={_init(host)}", "--net", "--"]


def _init(host: Host) -> str:
    """The number of its first process, as seen from here."""
    return host.root.parent.name


def _ip(host: Host, *lines: str) -> None:
    _must(*_net(host), "ip", "-batch", "-", input="".join(f"{line}\n" for line in lines))


def _must(*words: str, **options) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, umask=0o022, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} failed: {done.stdout}{done.stderr}")
