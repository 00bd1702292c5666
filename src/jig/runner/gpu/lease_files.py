"""Where runs wait for devices: a folder that every user of the machine can write in, with one ticket for each run.

A ticket is a file with a growing number for a name. Its run holds it locked, so it counts as long as the run lives.
Whoever decides something holds the folder itself locked: a lock of a file could be lost by replacing the file. What
others wrote is read as something that anybody may have written. Who wrote it is told by the file's owner alone.
"""

import errno
import os
import stat
import sys
import time

assert sys.platform != "win32"  # before the imports, so that the type checker leaves them out on Windows

from jig.runner.gpu.lease_ticket import Ticket, parse, user_name
from jig.runner.quick_json import dumps
from jig.system import is_network_disk, lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional

# Not /dev/shm: what a user has there is removed by systemd when that user logs out, and runs outlive a logout.
PARENTS = ("/var/tmp", "/tmp")
NAME = "jig-gpu"
FOLDER_MODE = 0o1777
TICKET_MODE = 0o1644  # on a file the sticky bit says to systemd that it is not to be cleaned up, however old
TICKET_BYTES = 4096  # as long from the beginning, so that noting the devices needs no room on a disk
READ_BYTES = 64 * 1024
DIGITS = 18
LOCK_LIMIT_S = 0.25
ASLEEP_S = 60.0  # a run that waits asks every second


class LeaseRefused(Exception):
    """Waiting would be in vain. `reason` is one sentence; `hint` says what to do."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__("%s: %s" % (reason, hint) if hint else reason)
        self.reason = reason
        self.hint = hint


def place() -> str:
    """The folder; a rule that has the same result for every user of the machine."""
    for parent in PARENTS:
        try:
            mode = os.stat(parent).st_mode
        except OSError:
            continue
        if stat.S_ISDIR(mode) and mode & FOLDER_MODE == FOLDER_MODE and not is_network_disk(parent):
            return os.path.join(parent, NAME)
    raise LeaseRefused(
        "GPUs cannot be shared out: %s is a folder of this machine's own disk in which every user can write"
        % ("neither %s nor %s" % PARENTS if len(PARENTS) == 2 else "none of " + ", ".join(PARENTS)),
        "an administrator can put that right: chmod 1777 %s" % PARENTS[0],
    )


def open_folder(make: bool) -> "Optional[Folder]":
    """The folder, made where it is missing and `make` is on; LeaseRefused when it is not to be trusted."""
    path = place()
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    while True:
        try:
            folder = Folder(path, os.open(path, flags))
            break
        except FileNotFoundError:
            if not make:
                return None
            _make(path)
        except OSError as error:
            raise _not_ours(path, error)
    try:
        folder.check()
    except BaseException:
        folder.close()
        raise
    return folder


def _make(path: str) -> None:
    before = os.umask(0)  # it has its mode from the first moment: another user may look at any
    try:
        os.mkdir(path, FOLDER_MODE)
    except FileExistsError:
        return  # another run made it in this moment
    finally:
        os.umask(before)


def _not_ours(path: str, error: OSError) -> LeaseRefused:
    hint = "an administrator can remove it, and the next run makes it anew: rm -r %s" % path
    try:
        owner = "that belongs to %s" % user_name(os.lstat(path).st_uid)
    except OSError:
        owner = "that cannot be looked at"
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return LeaseRefused("GPUs cannot be shared out: %s is not a folder, but something %s" % (path, owner), hint)
    if isinstance(error, PermissionError):
        return LeaseRefused(
            "GPUs cannot be shared out: %s is a folder %s and is closed to others" % (path, owner), hint
        )
    return LeaseRefused("GPUs cannot be shared out: %s: %s" % (path, error.strerror), hint)


class Folder:
    """The folder, open. All that is done in it goes through the descriptor: its path may be given to something else."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def close(self) -> None:
        """Close it, which also frees its lock."""
        os.close(self._descriptor)

    def check(self) -> None:
        """LeaseRefused where the folder's mode lets users remove each other's tickets, and is not ours to set."""
        facts = os.fstat(self._descriptor)
        if stat.S_IMODE(facts.st_mode) == FOLDER_MODE:
            return
        if facts.st_uid == os.getuid():
            os.fchmod(self._descriptor, FOLDER_MODE)
            return
        raise LeaseRefused(
            "GPUs cannot be shared out: %s, which belongs to %s, has the mode %o and not %o"
            % (self.path, user_name(facts.st_uid), stat.S_IMODE(facts.st_mode), FOLDER_MODE),
            "its owner or an administrator can put that right: chmod %o %s" % (FOLDER_MODE, self.path),
        )

    def take(self) -> bool:
        """Lock the folder, until it is closed; False when somebody else keeps it locked, or it is gone."""
        deadline = time.monotonic() + LOCK_LIMIT_S
        while not lock(self._descriptor, wait=False):
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.005)
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.lstat(self.path))
        except FileNotFoundError:  # cleaned up in this moment: the next look makes it anew
            return False

    def locked_by(self) -> str:
        """Who keeps the folder locked, in words."""
        facts = os.fstat(self._descriptor)
        ours = "%02x:%02x:%d" % (os.major(facts.st_dev), os.minor(facts.st_dev), facts.st_ino)
        try:
            with open("/proc/locks") as file:
                lines = [line.split() for line in file]
            pid = next(int(words[4]) for words in lines if words[1] == "FLOCK" and words[5] == ours)
            return "process %d of %s" % (pid, user_name(os.stat("/proc/%d" % pid).st_uid))
        except (OSError, StopIteration):  # freed by now, or a process that cannot be seen from here
            return "another process"

    def tickets(self, sweep: bool) -> "List[Ticket]":
        """Those of living runs, in order. `sweep` (only with the folder locked) removes dead ones that are ours."""
        found = []
        for name in os.listdir(self._descriptor):
            if _is_number(name):
                ticket = self._read(name, sweep)
                if ticket is not None:
                    found.append(ticket)
        return sorted(found, key=lambda ticket: ticket.number)

    def _read(self, name: str, sweep: bool) -> "Optional[Ticket]":
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            descriptor = os.open(name, flags, dir_fd=self._descriptor)
        except OSError:  # gone by now, or nothing that a run of jig has put there
            return None
        try:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                return None
            if lock(descriptor, shared=True, wait=False):  # shared: two who look at once do not see each other
                if sweep:
                    self._remove(name)
                return None
            text = os.read(descriptor, READ_BYTES)
        finally:
            os.close(descriptor)
        ticket = parse(int(name), facts.st_uid, text)
        if ticket is not None:
            ticket.asleep = ticket.waits and time.time() - facts.st_mtime > ASLEEP_S
        return ticket

    def _remove(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self._descriptor)
        except (FileNotFoundError, PermissionError):
            return  # another user's: that one's next run removes it

    def add(self, ticket: Ticket, living: "List[Ticket]") -> "Optional[int]":
        """Put the ticket behind the living ones. Its locked descriptor, or None when somebody else has locked it."""
        ticket.number = 1 + max([0] + [other.number for other in living])
        taken = set(os.listdir(self._descriptor))
        while str(ticket.number) in taken:
            ticket.number += 1
        if not _is_number(str(ticket.number)):
            raise LeaseRefused(
                "GPUs cannot be shared out: a ticket of %s in %s has the last number that there is"
                % (living[-1].user if living else "somebody", self.path),
                "its owner or an administrator can remove it: rm %s" % os.path.join(self.path, str(10**DIGITS - 1)),
            )
        name = str(ticket.number)
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=self._descriptor)
        try:
            if lock(descriptor, wait=False):
                os.fchmod(descriptor, TICKET_MODE)  # whatever the umask is: others must see whether we live
                write(descriptor, ticket)
                return descriptor
        except BaseException:
            self._remove(name)
            os.close(descriptor)
            raise
        self._remove(name)
        os.close(descriptor)
        return None

    def has(self, number: int, descriptor: int) -> bool:
        """Whether this ticket is still there: an administrator may have removed it."""
        try:
            there = os.stat(str(number), dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(descriptor))


def _is_number(name: str) -> bool:
    return 0 < len(name) <= DIGITS and name[0] != "0" and all(c in "0123456789" for c in name)


def write(descriptor: int, ticket: Ticket) -> None:
    """Note what the ticket says, in one write."""
    said = {name: getattr(ticket, name) for name in ("run", "pid", "want", "among", "uuids", "since")}
    text = dumps(said).encode().ljust(TICKET_BYTES - 1) + b"\n"
    if os.pwrite(descriptor, text, 0) != len(text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.ftruncate(descriptor, len(text))


def remove(path: str, descriptor: int) -> None:
    """Take our own ticket away, if it is still the one at this path."""
    try:
        if os.path.samestat(os.lstat(path), os.fstat(descriptor)):
            os.unlink(path)
    except OSError:
        return  # the folder was taken away, or closed to us. What frees the devices is the lock, and that goes now.
