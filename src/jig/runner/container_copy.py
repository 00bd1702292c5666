"""A container that sees no folder of this machine: the run's files are copied in and out through the engine.

While it runs, a `docker exec` of init's `tail` sends what log and metrics grow by, from the bytes that are here.
"""

import contextlib
import os
import sys

assert sys.platform != "win32"  # before the imports, so that the type checker leaves them out on Windows

from jig.runner.container import HOME, INIT, RUN, SCRIPT_IMPORTS, WORK, Setup
from jig.runner.engine import EngineFailed, explain
from jig.runner.folder import INSIDE, WHO, runner_root
from jig.runner.tail import is_kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    import tarfile
    from typing import IO, Any, Callable, Iterator, List, Optional, Sequence, Set, Tuple

GROWING = ("output.", "metrics.", "spark.", "ranks.")
NOTES = ("outcome.json", "inside.json", "gpu-refused.json", "spark-refused.json", "ranks-refused.json")
ARRIVING = "arriving"  # where an output is until it is whole
TRIES = 20
ABSENT = ("Could not find the file", "No such container:path")


class _Patient:
    """A pipe of a docker program, as tarfile takes it: `heed` waits for it, and may break off."""

    def __init__(self, pipe: "Optional[IO[bytes]]", heed: "Callable[[List[int], List[int]], None]") -> None:
        if pipe is None:
            raise ValueError("a program was started without a pipe")
        self._pipe = pipe.fileno()
        self._heed = heed
        os.set_blocking(self._pipe, False)

    def write(self, data: bytes) -> int:
        rest = memoryview(data)
        while rest:
            self._heed([], [self._pipe])
            rest = rest[os.write(self._pipe, rest[:65536]) :]
        return len(data)

    def read(self, size: int) -> bytes:
        self._heed([self._pipe], [])
        return os.read(self._pipe, size)


class Copying:
    """The files of one container. `heed` waits for each piece, and may break off; `lost` says why some did not come."""

    def __init__(self, setup: Setup, heed: "Callable[[List[int], List[int]], None]") -> None:
        self.lost = ""
        self._failures = 0
        self._heed = heed
        self._setup = setup
        self._engine = setup.engine
        self._tail: "Optional[subprocess.Popen[bytes]]" = None
        self._heard = b""
        self._taken: "Set[str]" = set()

    def bring_in(self, words: "Sequence[str]") -> None:
        """Make the container, and put everything into it."""
        import subprocess

        self._setup.starter.need("create", *words)
        with self._docker("cp", "-", self._setup.name + ":/", stdin=subprocess.PIPE) as process:
            with contextlib.suppress(BrokenPipeError):  # docker says why
                self._pack(_Patient(process.stdin, self._heed))
            said = self._finish(process)
        if process.returncode:
            raise explain(said)

    @contextlib.contextmanager
    def _docker(self, *words: str, **pipes: int) -> "Iterator[subprocess.Popen[bytes]]":
        """A docker program, which ends with what is done with it, in whatever way."""
        import subprocess

        streams = dict({"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}, **pipes)
        environ = dict(os.environ, **self._engine.environ)
        process = subprocess.Popen(self._engine.argv(*words), env=environ, **streams)  # type: ignore[call-overload]
        try:
            yield process
        except BaseException:
            with contextlib.suppress(PermissionError):  # sudo's: it ends when its pipes do
                process.kill()
            raise
        finally:
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    pipe.close()

    def _finish(self, process: "subprocess.Popen[bytes]") -> str:
        """Wait for its end; returns what it complained of."""
        if process.stdin:
            process.stdin.close()
        said, pipe = b"", _Patient(process.stderr, self._heed)
        while True:
            data = pipe.read(65536)
            if not data:
                process.wait()
                return said.decode(errors="replace")
            said += data

    def _pack(self, stream: "Any") -> None:
        import tarfile

        folder = self._setup.folder.path
        uid, gid = self._setup.owner
        with tarfile.open(fileobj=stream, mode="w|") as archive:

            def own(entry: "tarfile.TarInfo") -> "tarfile.TarInfo":
                entry.uid, entry.gid, entry.uname, entry.gname = uid, gid, "", ""
                return entry

            def add(name: str, place: str, owner: int) -> None:
                entry = archive.gettarinfo(os.path.join(folder, name), place.lstrip("/"))
                entry.uid, entry.gid, entry.uname, entry.gname = owner, gid if owner else 0, "", ""
                with open(os.path.join(folder, name), "rb") as file:
                    archive.addfile(entry, file)

            def made(path: str) -> None:
                entry = own(tarfile.TarInfo(path.lstrip("/")))
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)

            for path in (RUN, HOME):
                made(path)
            archive.add(os.path.join(folder, "work"), WORK.lstrip("/"), filter=own)
            archive.add(os.path.join(runner_root(), "script"), SCRIPT_IMPORTS.lstrip("/"), filter=own)
            for name, place in ((WHO + "/passwd", "/etc/passwd"), (WHO + "/group", "/etc/group")):
                add(name, place, 0)
            add(INSIDE + "/nonce", RUN + "/nonce", uid)

    def attend(self, going: bool) -> None:
        """Take in what the tail has sent; start one where there is none."""
        import subprocess

        if self._tail is not None:
            self._hear()
            if self._tail is not None and self._tail.poll() is not None:
                self._hear()
                self._drop_tail()
        elif going:
            argv = self._engine.argv("exec", self._setup.name, self._setup.python, "-I", "-S", INIT, RUN, "tail")
            argv += ["%s=%d" % pair for pair in self._have()]
            self._heard = b""
            silent = subprocess.DEVNULL
            self._tail = subprocess.Popen(argv, stdin=silent, stdout=subprocess.PIPE, stderr=silent)
            assert self._tail.stdout is not None
            os.set_blocking(self._tail.stdout.fileno(), False)

    def _have(self) -> "Iterator[Tuple[str, int]]":
        for name in os.listdir(self._setup.folder.path):
            if name.startswith(GROWING):
                yield name, os.path.getsize(os.path.join(self._setup.folder.path, name))

    def _hear(self) -> None:
        assert self._tail is not None and self._tail.stdout is not None
        while self._tail is not None and self._tail.stdout is not None:
            data = self._tail.stdout.read(1 << 20)
            if not data:
                return
            self._heard += data
            while b"\n" in self._heard:
                head, _, rest = self._heard.partition(b"\n")
                if not head.startswith(b"jig: "):  # the engine's own words, when the container is not there yet
                    self._heard = rest
                    continue
                name, offset, size = _head(head)
                if not is_kept(name) or offset != dict(self._have()).get(name, 0):
                    self._drop_tail()  # the script can speak in its place: another one tells the truth
                    return
                if len(rest) < size:
                    break
                self._write(name, offset, rest[:size])
                self._heard = rest[size:]

    def _drop_tail(self) -> None:
        if self._tail is not None:
            with contextlib.suppress(PermissionError):  # sudo's: it ends when its pipe does
                self._tail.kill()
            if self._tail.stdout:
                self._tail.stdout.close()
            self._tail = None

    def _write(self, name: str, offset: int, data: bytes) -> None:
        path = os.path.join(self._setup.folder.path, name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(descriptor, data, offset)
        finally:
            os.close(descriptor)

    def bring_out(self) -> bool:
        """Fetch what the container left; True while it still runs, or nobody can say."""
        try:
            said = self._engine.call("inspect", "--format", "{{.State.Running}}", self._setup.name)
        except EngineFailed:
            return True
        if said.out.startswith(b"true"):
            return True
        try:
            return said.code == 0 and not all(self._fetch(place) for place in (RUN + "/.", WORK + "/outputs"))
        except OSError as error:  # a full disk here, say
            self.lost = str(error)
            return False

    def _fetch(self, place: str) -> bool:
        """Take in what `docker cp` sends of a folder; a folder that is not there is no fault. False: try again."""
        import subprocess
        import tarfile

        with self._docker("cp", self._setup.name + ":" + place, "-", stdout=subprocess.PIPE) as process:
            stream: "Any" = _Patient(process.stdout, self._heed)
            try:
                with tarfile.open(fileobj=stream, mode="r|") as archive:
                    for entry in archive:
                        self._take(archive, entry)
            except tarfile.ReadError:  # nothing came, or not all: docker says why
                pass
            said = self._finish(process)
        if process.returncode == 0 or any(text in said for text in ABSENT):
            return True
        self._failures += 1
        if self._failures == TRIES:
            self.lost = explain(said).reason
        return bool(self.lost)

    def _take(self, archive: "tarfile.TarFile", entry: "tarfile.TarInfo") -> None:
        """Only what a run has: its own files by their names, and what lies below outputs/."""
        name, folder = os.path.normpath(entry.name), self._setup.folder.path
        if name.split("/")[0] == "outputs":
            self._take_output(archive, entry, os.path.join(folder, "work", name))
        elif entry.isreg() and name in NOTES:
            with open(os.path.join(folder, INSIDE, name), "wb") as file:
                _copy(archive.extractfile(entry), file)
        elif entry.isreg() and is_kept(name) and name.startswith(GROWING):
            have = dict(self._have()).get(name, 0)
            with open(os.path.join(folder, name), "ab") as file:
                _copy(archive.extractfile(entry), file, skip=have)

    def _take_output(self, archive: "tarfile.TarFile", entry: "tarfile.TarInfo", target: str) -> None:
        if not self._is_within(target):
            return
        if entry.isdir():
            os.makedirs(target, exist_ok=True)
        elif target in self._taken:
            return
        elif entry.issym():
            self._make_way(target)
            os.symlink(entry.linkname, target)
        elif entry.islnk():
            first = os.path.join(self._setup.folder.work, os.path.normpath(entry.linkname))
            if self._is_within(first) and os.path.isfile(first) and not os.path.islink(first):
                self._make_way(target)
                os.link(first, target)
        elif entry.isreg():
            arriving = os.path.join(self._setup.folder.path, INSIDE, ARRIVING)
            with open(arriving, "wb") as file:
                _copy(archive.extractfile(entry), file)
            os.chmod(arriving, entry.mode & 0o777 | 0o600)
            os.utime(arriving, (entry.mtime, entry.mtime))
            self._make_way(target)
            os.rename(arriving, target)

    def _make_way(self, target: str) -> None:
        """What the project itself brought in this place was the script's to change."""
        self._taken.add(target)
        if os.path.lexists(target) and (os.path.islink(target) or not os.path.isdir(target)):
            os.unlink(target)

    def _is_within(self, path: str) -> bool:
        """Whether no link on the way leads out of the run's folder."""
        work, parent = self._setup.folder.work, os.path.dirname(path)
        return os.path.realpath(parent) == os.path.realpath(work) + parent[len(work) :]


def _head(line: bytes) -> "Tuple[str, int, int]":
    """Name, offset and size of a piece; a name that is none where the line is none."""
    words = line.decode("ascii", "replace").split(" ")[1:]
    if len(words) == 3 and words[1].isdigit() and words[2].isdigit():
        return words[0], int(words[1]), int(words[2])
    return "", 0, 0


def _copy(source: "Optional[IO[bytes]]", target: "IO[bytes]", skip: int = 0) -> None:
    """All of it but for the first bytes, which are here already."""
    while source is not None:
        data = source.read(1 << 20)
        if not data:
            return
        target.write(data[skip:])
        skip = max(0, skip - len(data))
