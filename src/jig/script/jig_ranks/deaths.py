"""Which rank failed first, and with which words: the others' errors follow from that one.

torchrun looks at its processes ten times a second, so that of two that end within that time it cannot tell. Here a
thread waits for each, without taking its status away from torchrun.
"""

import os
import signal
import threading
import time

from jig_ranks.last_words import last_words

# What a rank says whose peer has gone.
LOST_PEER = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Connection refused",
    "Broken pipe",
    "recvValue failed",
    "remote process exited or there was a network error",
    "ncclRemoteError",
    "NCCL communicator was aborted",
    "Timed out waiting",
    "Socket Timeout",
)
LOOK_S = 0.02
SIZES_S, LONGEST_SIZES_S, PATIENT_AFTER = 0.1, 5.0, 200


class Death(object):
    """One rank's end: exit code, negative for a signal; None while only its error is known."""

    def __init__(self, rank, pid, restart, start):
        self.rank, self.pid, self.restart, self.start = rank, pid, restart, start
        self.at = None
        self.code = None
        self.error = ""

    def wait(self):
        """Until the process ends; its status is left to who started it."""
        try:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        except (AttributeError, OSError):  # torchrun was faster, or this system cannot wait so
            found = None
        self.at = self.at or time.monotonic()
        if found is not None:
            self.code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def weight(self):
        """The first by this is the one to blame: one that failed by itself, then those that lost a peer."""
        follows = 2 if self.code == -signal.SIGTERM and not self.error else 0
        if any(mark in self.error for mark in LOST_PEER):
            follows = 1
        return follows, self.at or 0.0, self.rank


def culprit(deaths):
    """The one to blame among those that ended, None where all ended well."""
    failed = [death for death in deaths if death.error or death.code not in (None, 0)]
    return min(failed, key=Death.weight) if failed else None


class Watch(object):
    """Reads what the ranks write down, waits for each, and notes how long their logs are."""

    def __init__(self, record, folder, restarts):
        self._record, self._folder, self._restarts = record, folder, restarts
        self._deaths, self._waiting = {}, []
        self._restart = 0
        self._sizes, self._written, self._sized_at = {}, 0, 0.0
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self):
        """Begin."""
        self._thread.start()

    def _run(self):
        while not self._over.wait(LOOK_S):
            self._look()

    def _look(self):
        with self._lock:
            for said in self._record.new():
                self._take(said)
            now = time.monotonic()
            slower = min(LONGEST_SIZES_S, SIZES_S * (1 + self._written // PATIENT_AFTER))
            if now - self._sized_at > slower:
                self._sized_at = now
                self._note_sizes()

    def _take(self, said):
        if "pid" in said:
            death = Death(said["rank"], said["pid"], said["restart"], said["from"])
            if death.restart > self._restart:
                self._tell_restart(death.restart)
            self._deaths[(death.restart, death.rank)] = death
            thread = threading.Thread(target=death.wait, daemon=True)
            thread.start()
            self._waiting.append(thread)
        elif "error" in said:
            death = self._deaths.get((self._restart, said["rank"]))
            if death is not None:
                death.error, death.at = said["error"], said["at"]

    def _tell_restart(self, restart):
        blamed = self._of_now()
        self._restart = restart
        about = self._about(blamed) if blamed is not None else {}
        self._record.write(again=restart, of=self._restarts, **about)

    def _of_now(self):
        return culprit([death for (restart, _), death in self._deaths.items() if restart == self._restart])

    def _about(self, death):
        said = last_words(self._log(death.rank), death.start, "[rank%d]: " % death.rank)
        about = {"rank": death.rank, "said": said, "error": death.error}
        if death.code is not None and death.code < 0:
            about["signal"] = -death.code
        else:
            about["exit"] = death.code if death.code is not None else 1
        return {"failed": about}

    def _log(self, rank):
        return os.path.join(self._folder, "output.%d.log" % rank)

    def _note_sizes(self):
        """How long each log is: so that whoever reads them later knows what came before what."""
        grown = {}
        for name in ["output.log"] + ["output.%d.log" % rank for rank in {rank for _, rank in self._deaths}]:
            try:
                size = os.stat(os.path.join(self._folder, name)).st_size
            except OSError:
                continue
            if size != self._sizes.get(name, 0):
                grown[name] = self._sizes[name] = size
        if grown:
            self._written += 1
            self._record.write(sizes=grown)

    def end(self, codes):
        """After the last attempt: write down who failed first, and return its exit code as a shell tells it.

        `codes` are the exit codes that torchrun has of the ranks that it saw fail.
        """
        self._over.set()
        self._thread.join()
        self._look()
        for thread in self._waiting:
            thread.join(1.0)
        with self._lock:
            for (restart, rank), death in self._deaths.items():
                if restart == self._restart and death.code is None and rank in codes:
                    death.code = codes[rank]
            self._note_sizes()
            blamed = self._of_now()
            if blamed is None or not codes:
                return 1
            about = self._about(blamed)
            self._record.write(**about)
        failed = about["failed"]
        return 128 + failed["signal"] if "signal" in failed else failed["exit"] or 1
