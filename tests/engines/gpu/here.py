"""Mounts that this test alone sees, with all that it starts: so that this machine seems to have a driver."""

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

CLONE_NEWNS, CLONE_FS = 0x20000, 0x200
# /dev and /proc/driver as they are, and from now on writable by this test; and libraries are found in one more folder.
SCRIPT = """
set -e
mount --make-rslave /
mount -t tmpfs here "$1"
mkdir "$1/files" "$1/work" "$1/dev"
mount -t overlay -o "lowerdir=/dev,upperdir=$1/files,workdir=$1/work" dev "$1/dev"
for name in pts shm; do ! mountpoint -q /dev/$name || mount --rbind /dev/$name "$1/dev/$name"; done
mount --rbind "$1/dev" /dev
mount -t tmpfs driver /proc/driver
printf '%s\\n' "$2" "include /etc/ld.so.conf" > "$1/ld.so.conf"
/sbin/ldconfig -X -f "$1/ld.so.conf" -C "$1/ld.so.cache"
mount --bind "$1/ld.so.cache" /etc/ld.so.cache
"""


@contextlib.contextmanager
def own_devices(folder: Path, libraries: Path) -> Iterator[None]:
    """Put this thread into mounts of its own, and back; they are gone with the last process that was started meanwhile."""
    libc = ctypes.CDLL(None, use_errno=True)
    before, folder_before = os.open("/proc/thread-self/ns/mnt", os.O_RDONLY), os.getcwd()
    try:
        if libc.unshare(CLONE_NEWNS):
            raise OSError(ctypes.get_errno(), "no mounts of its own")
        try:
            subprocess.run(["/bin/sh", "-c", SCRIPT, "sh", folder, libraries], check=True)
            yield
        finally:
            libc.unshare(CLONE_FS)  # threads that were started meanwhile stay where they are
            if libc.setns(before, CLONE_NEWNS):
                raise OSError(ctypes.get_errno(), "no way back to this machine's mounts")
            os.chdir(folder_before)
    finally:
        os.close(before)
