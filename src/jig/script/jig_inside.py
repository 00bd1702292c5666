"""What the first process of a run's container does: starts the script, takes in its orphans, obeys, ends with it.

It runs on the image's own Python, 3.5 or newer, and imports nothing that takes time. Orders come on stdin: first what
to start, as fields that end in a zero byte; then `stop SECONDS`. The end of stdin means that nobody owns the run.

    jig_init.py FOLDER                         run
    jig_init.py FOLDER tail NAME=OFFSET ...    send the run's files as they grow, where their folder is not mounted
"""

import _signal as signal
import os
import select
import sys
import time

LEFTOVER_GRACE_S = 1.0  # for what a script leaves running when it ends by itself
TOLD_GRACE_S = 8.0  # an engine that stops gives ten seconds
# Exit codes: the folder is not the run's; nobody said what to start; a GPU was asked for, and none is here.
NOT_OURS, NO_ORDERS, NO_GPU = 90, 91, 92
GPU = b"{gpu}"  # among the variables: the device files of which one must be here
LOOK_S = 0.05
CHUNK = 256 * 1024


class Init(object):
    """The run, seen from inside."""

    def __init__(self, folder):
        self._folder = folder
        self._heard = b""
        self._told = 0
        self._orphaned = False
        self._deadline = None
        self._script = 0
        self._door = None  # to the MLflow endpoint, where the script has one of ours

    def run(self):
        """Everything; returns the exit code."""
        held = self._lock()
        fields = self._read_fields()
        if fields is None:
            return NO_ORDERS
        nonce, argv, variables, work = fields
        try:
            with open(os.path.join(self._folder, "nonce")) as file:
                is_ours = file.read() == nonce
        except OSError:
            is_ours = False
        if not is_ours or held is None:
            return NOT_OURS
        if lacks_gpu(variables):
            return NO_GPU
        self._wake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        error = self._start(argv, self._with_door(merged(os.environb, variables), work), work)
        if error:
            return self._end({"error": error})
        try:
            self._write("inside.json", '{"pid": %d}' % self._script)
        except OSError as error:  # a full disk: the script need not write anything
            sys.stderr.write("%s\n" % error)
        status = self._wait()
        self._end_others()
        outcome = {}
        if os.WIFSIGNALED(status):
            outcome["signal"] = os.WTERMSIG(status)
        else:
            outcome["exit"] = os.WEXITSTATUS(status)
        if self._told:
            outcome["told"] = self._told
        if self._orphaned:
            outcome["orphaned"] = 1
        return self._end(outcome)

    def _lock(self):
        """Held as long as we live: the kernel says outside, engine or not, whether the run goes on."""
        import fcntl

        try:
            descriptor = os.open(os.path.join(self._folder, "lock"), os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.set_inheritable(descriptor, False)
        except OSError:
            return None
        return descriptor

    def _read_fields(self):
        """What to start: a nonce, words, variables and a folder; None when stdin ended."""
        while b"\n" not in self._heard:
            if not self._hear():
                return None
        size, _, self._heard = self._heard.partition(b"\n")
        while len(self._heard) < int(size):
            if not self._hear():
                return None
        fields, self._heard = self._heard[: int(size)].split(b"\0"), self._heard[int(size) :]
        words = int(fields[2])
        return fields[0].decode(), fields[3 : 3 + words], fields[3 + words : -1], fields[1]

    def _hear(self):
        data = os.read(0, 65536)
        self._heard += data
        return bool(data)

    def _on_signal(self, number, frame):
        self._told = number

    def _start(self, argv, variables, work):
        """Fork and exec the script; returns why that failed, or an empty string."""
        failed, tell = os.pipe()
        self._script = os.fork()
        if not self._script:
            self._become_script(argv, variables, work, tell)
        os.close(tell)
        with open(failed, "rb") as stream:
            return stream.read().decode(errors="replace")

    def _with_door(self, variables, work):
        """The script's variables with the way to its MLflow endpoint, unless they have one already."""
        import jig_door

        environ = {os.fsdecode(name): os.fsdecode(value) for name, value in variables.items()}
        if jig_door.is_wanted(environ):
            door = jig_door.Door(environ["JIG_RUN_ID"], self._folder, os.fsdecode(work), _say)
            try:
                added = door.open(environ)
            except OSError as error:
                _say("there is no MLflow endpoint in this run: %s" % error)
                return variables
            self._door = door
            variables.update((os.fsencode(name), os.fsencode(value)) for name, value in added.items())
        return variables

    def _become_script(self, argv, variables, work, tell):
        try:
            signal.set_wakeup_fd(-1)
            os.setsid()
            # Python ignores some of these; a script's pipelines and native programs expect the system's own behaviour.
            for name in ("SIGPIPE", "SIGXFSZ", "SIGINT", "SIGQUIT", "SIGHUP", "SIGCHLD", "SIGTERM"):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            null = os.open(os.devnull, os.O_RDONLY)
            log = os.path.join(self._folder, "output.log")
            out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            for descriptor, ours in ((0, null), (1, out), (2, out)):
                os.dup2(ours, descriptor)
            os.chdir(work)
            os.execve(argv[0], argv, variables)
        except OSError as error:
            name = error.filename or argv[0]
            name = os.fsdecode(name) if isinstance(name, (str, bytes)) else str(name)
            os.write(tell, ("%s: %s" % (name, error.strerror)).encode(errors="replace"))
        except BaseException as error:  # the boundary of this process: nothing may unwind into the init's frames
            os.write(tell, repr(error).encode(errors="replace"))
        os._exit(127)

    def _wait(self):
        """Until the script ends; returns its wait status."""
        watched = [0, self._wake]
        obeyed = 0
        while True:
            status = self._reap()
            if status is not None:
                return status
            if self._told and not obeyed:
                obeyed = self._told
                self._ask_to_end(TOLD_GRACE_S)
            left_s = None if self._deadline is None else max(0.0, self._deadline - time.monotonic())
            knocked = self._door.watched() if self._door else []
            ready = select.select(watched + knocked, [], [], left_s)[0]
            if self._wake in ready:
                os.read(self._wake, 512)
            if knocked and knocked[0] in ready:
                kept = sys._xoptions.get("pycache_prefix")  # where compiled files are, as for us
                options = ["-X", "pycache_prefix=" + kept] if kept else []
                self._door.answer(os.path.dirname(os.path.abspath(__file__)), options)
            if 0 in ready:
                if self._hear():
                    self._obey()
                else:
                    watched.remove(0)
                    self._orphaned = True
                    _everybody(signal.SIGKILL)
            if self._deadline is not None and time.monotonic() >= self._deadline:
                self._deadline = None
                _everybody(signal.SIGKILL)

    def _obey(self):
        lines = self._heard.split(b"\n")
        self._heard = lines.pop()
        for line in lines:
            self._ask_to_end(float(line.split()[1]))

    def _ask_to_end(self, grace_s):
        self._deadline = time.monotonic() + grace_s
        try:
            os.kill(self._script, signal.SIGTERM)
        except OSError:
            return

    def _reap(self):
        """The script's wait status once it has ended; other children are taken in on the way."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except OSError:
                return None
            if pid == self._script:
                return status
            if pid == 0:
                return None
            if self._door:
                self._door.missed(pid)

    def _end_others(self):
        """What the script left running."""
        if self._door:
            self._door.leave()
        grace_s = LEFTOVER_GRACE_S if self._deadline is None else max(0.0, self._deadline - time.monotonic())
        end = time.monotonic() + (0.0 if self._orphaned else grace_s)
        if _everybody(signal.SIGTERM if end > time.monotonic() else signal.SIGKILL):
            while self._others() and time.monotonic() < end:
                time.sleep(0.01)
            _everybody(signal.SIGKILL)

    def _others(self):
        """Whether anybody is left; the dead are taken in."""
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except OSError:
            return _everybody(0)
        return True

    def _write(self, name, text):
        place = os.path.join(self._folder, name)
        with open(place + ".new", "w") as file:
            file.write(text)
        os.rename(place + ".new", place)

    def _end(self, outcome):
        try:
            import json

            self._write("outcome.json", json.dumps(outcome))
        except OSError as error:  # a full disk, say: the exit code still tells
            sys.stderr.write("%s\n" % error)
        if "signal" in outcome:
            return 128 + outcome["signal"]
        return outcome.get("exit", 127)


def _say(text):
    sys.stderr.write(text + "\n")


def lacks_gpu(given):
    """Whether one of these device files was to be here, and none is: the engine may give none without a word."""
    wanted = [pair.partition(b"=")[2].split(b":") for pair in given if pair.startswith(GPU + b"=")]
    return bool(wanted) and not any(os.path.exists(node) for node in wanted[0])


def merged(own, given):
    """The image's variables and those that were given; our folders of programs and imports go where they belong."""
    variables = dict(own)
    given = dict(pair.split(b"=", 1) for pair in given)
    given.pop(GPU, None)
    programs, imports = given.pop(b"{programs}", b""), given.pop(b"{imports}", b"")
    variables.update(given)
    if programs:
        variables[b"PATH"] = programs + b":" + variables.get(b"PATH", os.defpath.encode())
    if imports:
        before = variables.get(b"PYTHONPATH")
        variables[b"PYTHONPATH"] = before + b":" + imports if before else imports
    return variables


def _everybody(number):
    """Send a signal to all but ourselves; False when nobody is there."""
    if os.getpid() != 1:  # never outside of a container
        return False
    try:
        os.kill(-1, number)
    except OSError:
        return False
    return True


def is_growing(folder, name):
    """Whether this is a log or a file of metrics, as jig names them; a script may have made anything else there."""
    start, _, rest = name.partition(".")
    rank, _, end = rest.rpartition(".")
    kinds = (("output", "log"), ("metrics", "jsonl"), ("spark", "jsonl"), ("ranks", "jsonl"))
    known = (start, end) in kinds and (not rank or rank.isdigit())
    return known and os.path.isfile(os.path.join(folder, name))


def tail(folder, have):
    """Send what is new in the run's files, each piece with its name and offset, until the run has ended."""
    ended = False
    while True:
        quiet = True
        for name in sorted(os.listdir(folder)):
            if not is_growing(folder, name):
                continue
            with open(os.path.join(folder, name), "rb") as file:
                file.seek(have.get(name, 0))
                data = file.read(CHUNK)
            if data:
                quiet = False
                sys.stdout.buffer.write(("jig: %s %d %d\n" % (name, have.get(name, 0), len(data))).encode() + data)
                have[name] = have.get(name, 0) + len(data)
        sys.stdout.buffer.flush()
        if quiet and ended:
            return
        ended = os.path.exists(os.path.join(folder, "outcome.json"))
        if quiet and not ended:
            time.sleep(LOOK_S)


def main(words):
    """What the words ask for."""
    if words[1:2] == ["tail"]:
        have = dict(word.split("=") for word in words[2:])
        tail(words[0], {name: int(offset) for name, offset in have.items()})
        return 0
    return Init(words[0]).run()
