"""The names that every reader and writer of a run agrees on: the run folder is the protocol."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

# Only a run in a container has this folder, which it sees as /jig, with a part in which init and guard know of each
# other, and the script's home.
BOX = "inside"
INSIDE, SCRIPT_HOME = BOX + "/run", BOX + "/home"
WHO = "who"  # and this one has the passwd and group files that it sees


def default_home() -> str:
    """Where jig keeps everything: $JIG_HOME, else ~/.jig."""
    return os.path.abspath(os.path.expanduser(os.environ.get("JIG_HOME") or "~/.jig"))


def expand_home(home: "Optional[str]") -> str:
    """The jig home that a request names (`~` allowed), else this machine's own."""
    return os.path.abspath(os.path.expanduser(home)) if home else default_home()


def runner_root() -> str:
    """The folder that this runner was unpacked into; what a script may import lies beside it."""
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def make_private(path: str) -> None:
    """Make a folder, and those above it that are missing, for this user's eyes only."""
    if os.path.isdir(path):
        return
    make_private(os.path.dirname(path))
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def make_own(path: str) -> None:
    """Make a private folder where anybody may write; one that somebody else made in our name is not to be trusted."""
    make_private(path)
    if os.lstat(path).st_uid != os.getuid() or os.path.islink(path):  # type: ignore[attr-defined,unused-ignore]
        raise PermissionError("%s belongs to somebody else" % path)


def is_held(path: str) -> bool:
    """Whether somebody holds the lock on this file. Where a script may have put a link or a pipe, nobody does."""
    from jig.system import lock

    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        return not lock(descriptor, wait=False)
    finally:
        os.close(descriptor)


def read_plain(path: str) -> bytes:
    """The beginning of a file where a script can put anything: a link, or a pipe that nobody writes to, is an error."""
    import stat

    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("%s is not a file" % path)
        return os.read(descriptor, 64 * 1024)
    finally:
        os.close(descriptor)


def is_run_id(name: str) -> bool:
    """Whether the name can be a run's: letters, digits, `-` and `_`, so that it is never a path or an option."""
    plain = all(c.isalnum() and ord(c) < 128 or c in "-_" for c in name)
    return 0 < len(name) <= 200 and name[0] not in "-_" and plain


class Home:
    """The folders of one jig home."""

    __slots__ = ("assets", "blobs", "envs", "mirror", "order", "path", "runner", "runs")

    def __init__(self, path: str) -> None:
        self.path = path
        self.runs = os.path.join(path, "runs")
        self.blobs = os.path.join(path, "blobs")
        self.assets = os.path.join(path, "assets")
        self.envs = os.path.join(path, "envs")
        self.runner = os.path.join(path, "runner")
        self.mirror = os.path.join(path, "mirror")
        self.order = os.path.join(path, "order")

    def run(self, run_id: str) -> "RunFolder":
        """The folder of a run; the id must be a valid one."""
        if not is_run_id(run_id):
            raise ValueError("not a run id: %r" % run_id)
        return RunFolder(os.path.join(self.runs, run_id))

    def local_state(self) -> str:
        """Where locks live: the home itself, or this machine's own disk when the home is on a network one."""
        from jig.system import is_network_disk

        if not is_network_disk(self.path):
            return self.path
        import zlib

        name = "jig-%d-%08x" % (os.getuid(), zlib.crc32(os.fsencode(self.path)))  # type: ignore[attr-defined,unused-ignore]
        place = os.path.join("/var/tmp", name)
        make_own(place)
        return place


class RunFolder:
    """The files of one run. Each has one writer and only grows."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def _at(self, *names: str) -> str:
        return os.path.join(self.path, *names)

    @property
    def id(self) -> str:
        """The run's id is its folder's name."""
        return os.path.basename(self.path)

    @property
    def plan(self) -> str:
        """What was decided (the client, once)."""
        return self._at("plan.json")

    @property
    def events(self) -> str:
        """Every state change, in order (the supervisor)."""
        return self._at("events.jsonl")

    @property
    def log(self) -> str:
        """The script's stdout and stderr, as bytes (the script itself)."""
        return self._at("output.log")

    @property
    def metrics(self) -> str:
        """What the script logged (the script)."""
        return self._at("metrics.jsonl")

    @property
    def prepare_log(self) -> str:
        """What building the environment printed (the supervisor)."""
        return self._at("prepare.log")

    @property
    def supervisor_log(self) -> str:
        """Tracebacks of the supervisor itself; normally empty."""
        return self._at("supervisor.log")

    @property
    def docker_log(self) -> str:
        """What the docker program said while it held the run's container (the guard)."""
        return self._at("docker.log")

    @property
    def stop(self) -> str:
        """The wish to end the run; holds the seconds of grace (a runner that was asked to)."""
        return self._at("stop")

    @property
    def reserve(self) -> str:
        """Space kept back so that the last event fits on a full disk."""
        return self._at("reserve")

    @property
    def work(self) -> str:
        """The frozen copy that the script runs in."""
        return self._at("work")

    @property
    def outputs(self) -> str:
        """What the script wrote for keeps."""
        return self._at("work", "outputs")

    def lock(self, home: Home) -> str:
        """Held by the supervisor while it lives."""
        state = home.local_state()
        return self._at("lock") if state == home.path else os.path.join(state, self.id + ".lock")
