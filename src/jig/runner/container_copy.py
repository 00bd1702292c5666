"""A container that sees no folder of this machine: the run's files are copied in and out through the engine.

While it runs, a `docker exec` of init's `tail` sends what log and metrics grow by, from the bytes that are here.
"""

import contextlib
import os
import sys

assert sys.platform != "win32"  # before the imports, so that the type checker leaves them out on Windows

from jig.runner.container import HOME, RUN, WORK, Setup
from jig.runner.engine import EngineFailed, explain
from jig.runner.folder import INSIDE, runner_root
from jig.runner.tail import is_kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    import tarfile
    from typing import IO, Any, Iterator, Optional, Sequence, Tuple

GROWING = ("output.", "metrics.")
PACK = "/jig/pack"
INIT = PACK + "/script/jig_init.py"


class Copying:
    """The files of one container."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._engine = setup.engine
        self._tail: "Optional[subprocess.Popen[bytes]]" = None
        self._heard = b""

    def bring_in(self, words: "Sequence[str]") -> None:
        """Make the container, and put everything into it."""
        import subprocess

        self._setup.starter.need("create", *words)
        argv = self._engine.argv("cp", "-", self._setup.name + ":/")
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stdin is not None
        stdin, process.stdin = process.stdin, None
        with contextlib.suppress(BrokenPipeError), stdin:  # docker says why
            self._pack(stdin)
        said = process.communicate()[1].decode(errors="replace")
        if process.returncode:
            raise explain(said)

    def _pack(self, stream: "Any") -> None:
        import tarfile

        folder = self._setup.folder.path
        uid, gid = self._setup.owner
        with tarfile.open(fileobj=stream, mode="w|") as archive:

            def own(entry: "tarfile.TarInfo") -> "tarfile.TarInfo":
                entry.uid, entry.gid, entry.uname, entry.gname = uid, gid, "", ""
                return entry

            def made(path: str) -> None:
                entry = own(tarfile.TarInfo(path.lstrip("/")))
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)

            for path in (RUN, HOME, RUN + "/" + INSIDE):
                made(path)
            archive.add(os.path.join(folder, "work"), WORK.lstrip("/"), filter=own)
            archive.add(os.path.join(runner_root(), "script"), (PACK + "/script").lstrip("/"), filter=own)
            for name, place in (("passwd", "/etc/passwd"), ("group", "/etc/group"), ("nonce", RUN + "/inside/nonce")):
                entry = archive.gettarinfo(os.path.join(folder, INSIDE, name), place.lstrip("/"))
                entry.uid = entry.gid = 0
                entry.uname = entry.gname = ""
                with open(os.path.join(folder, INSIDE, name), "rb") as file:
                    archive.addfile(entry, file)

    def attend(self, going: bool) -> None:
        """Take in what the tail has sent; start one where there is none."""
        import subprocess

        if self._tail is not None:
            self._hear()
            if self._tail.poll() is not None:
                self._hear()
                self._tail = None
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
        while True:
            data = self._tail.stdout.read(1 << 20)
            if not data:
                return
            self._heard += data
            while b"\n" in self._heard:
                head, _, rest = self._heard.partition(b"\n")
                if not head.startswith(b"jig: "):  # the engine's own words, when the container is not there yet
                    self._heard = rest
                    continue
                name, offset, size = head.decode().split(" ")[1:]
                if len(rest) < int(size):
                    break
                self._write(name, int(offset), rest[: int(size)])
                self._heard = rest[int(size) :]

    def _write(self, name: str, offset: int, data: bytes) -> None:
        if not is_kept(name):
            raise ValueError("%r is not a file of a run" % name)
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
        if said.code == 0:
            for place in (RUN + "/.", WORK + "/outputs"):
                self._fetch(place)
        return False

    def _fetch(self, place: str) -> None:
        """Take in what `docker cp` sends of a folder; one that is not there is no fault."""
        import subprocess
        import tarfile

        argv = self._engine.argv("cp", self._setup.name + ":" + place, "-")
        silent = subprocess.DEVNULL
        process = subprocess.Popen(argv, stdin=silent, stdout=subprocess.PIPE, stderr=silent)
        assert process.stdout is not None
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for entry in archive:
                    self._take(archive, entry)
        except tarfile.ReadError:  # nothing came
            return
        finally:
            process.stdout.close()
            process.wait()

    def _take(self, archive: "tarfile.TarFile", entry: "tarfile.TarInfo") -> None:
        """Only what a run has: its own files by their names, and what lies below outputs/."""
        name, folder = os.path.normpath(entry.name), self._setup.folder.path
        if name.split("/")[0] == "outputs":
            self._take_output(archive, entry, os.path.join(folder, "work", name))
        elif entry.isreg() and name in (INSIDE + "/outcome.json", INSIDE + "/inside.json"):
            with open(os.path.join(folder, name), "wb") as file:
                _copy(archive.extractfile(entry), file)
        elif entry.isreg() and is_kept(name) and name.startswith(GROWING):
            have = dict(self._have()).get(name, 0)
            with open(os.path.join(folder, name), "ab") as file:
                _copy(archive.extractfile(entry), file, skip=have)

    def _take_output(self, archive: "tarfile.TarFile", entry: "tarfile.TarInfo", target: str) -> None:
        parent = os.path.dirname(target)
        if (
            os.path.realpath(parent)
            != os.path.realpath(self._setup.folder.work) + parent[len(self._setup.folder.work) :]
        ):
            return  # a link on the way leads elsewhere
        if entry.isdir():
            os.makedirs(target, exist_ok=True)
        elif os.path.lexists(target):
            return
        elif entry.issym():
            os.symlink(entry.linkname, target)
        elif entry.isreg():
            with open(target, "wb") as file:
                _copy(archive.extractfile(entry), file)
            os.chmod(target, entry.mode & 0o777 | 0o600)


def _copy(source: "Optional[IO[bytes]]", target: "IO[bytes]", skip: int = 0) -> None:
    """All of it but for the first bytes, which are here already."""
    while source is not None:
        data = source.read(1 << 20)
        if not data:
            return
        target.write(data[skip:])
        skip = max(0, skip - len(data))
