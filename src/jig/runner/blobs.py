"""Content-addressed files: a blob's name is the SHA-256 of its bytes. Copied in and out, never hard-linked."""

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Iterator, List, Sequence, Tuple, Union

CHUNK = 1 << 20
LARGE = 1 << 20
MANY = 500
SHARDS = 256


class _Hashing:
    """How many bytes were hashed so far, and with what."""

    size = 0
    new = None  # type: Any


def sha256(size: int, data: bytes = b"") -> "Any":
    """A SHA-256 to feed about `size` bytes to. OpenSSL's is fastest, but takes 3 ms to load: not for a few lines."""
    before, _Hashing.size = _Hashing.size, _Hashing.size + size
    if _Hashing.new is None or before < LARGE <= _Hashing.size:
        _Hashing.new = _python_sha256() if _Hashing.size < LARGE else _openssl_sha256()
    return _Hashing.new(data)


def _python_sha256() -> "Any":
    for name in ("_sha2", "_sha256"):  # since 3.12 and before
        try:
            return __import__(name).sha256
        except ImportError:
            continue
    return _openssl_sha256()


def _openssl_sha256() -> "Any":
    import hashlib

    return hashlib.sha256


class BlobStore:
    """The blobs under one jig home."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._made = False

    def place(self, name: str) -> str:
        """Where the blob of this name is or would be."""
        if len(name) != 64 or name.strip("0123456789abcdef"):
            raise ValueError("not a blob name: %r" % name)
        return self.path + os.sep + name[:2] + os.sep + name[2:]

    def has(self, name: str, size: int = -1) -> bool:
        """Whether the blob is here, whole (a size that differs means a write that a power cut tore)."""
        try:
            found = os.stat(self.place(name)).st_size
        except FileNotFoundError:
            return False
        return size in (-1, found)

    def read(self, name: str) -> bytes:
        """The blob's bytes; FileNotFoundError when it is not here, whole."""
        with open(self.place(name), "rb") as file:
            data = file.read()
        if sha256(len(data), data).hexdigest() != name:
            raise self._damaged(name)
        return data

    def _damaged(self, name: str) -> FileNotFoundError:
        """Take away a blob that a power cut tore, so that it is asked for again; returns the error to raise."""
        os.unlink(self.place(name))
        return FileNotFoundError(errno.ENOENT, "the stored file was damaged and is gone; submit again", name)

    def put(self, data: bytes) -> str:
        """Store bytes; returns their name."""
        name = str(sha256(len(data), data).hexdigest())
        if not self.has(name, len(data)):
            aside = self._aside()
            try:
                with open(aside, "wb", buffering=0) as file:
                    _write_all(file, data)
                self._settle(aside, name)
            except BaseException:
                _remove(aside)
                raise
        return name

    def add(self, chunks: "Iterator[bytes]", expect: str = "") -> "Tuple[str, int]":
        """Store a stream; returns name and size. ValueError when it is not the blob that was expected."""
        digest, size, aside = sha256(LARGE), 0, self._aside()
        try:
            with open(aside, "wb", buffering=0) as file:
                for chunk in chunks:
                    digest.update(chunk)
                    size += len(chunk)
                    _write_all(file, chunk)
            name = digest.hexdigest()
            if expect and name != expect:
                raise ValueError("the content is %s, not %s" % (name, expect))
            self._settle(aside, name)
        except BaseException:
            _remove(aside)
            raise
        return name, size

    def _aside(self) -> str:
        """Where a blob grows until it is whole."""
        if not self._made:
            os.makedirs(self.path, exist_ok=True)
            self._made = True
        return os.path.join(self.path, ".new-%d-%s" % (os.getpid(), os.urandom(6).hex()))

    def _settle(self, aside: str, name: str) -> None:
        place = self.place(name)
        try:
            os.replace(aside, place)
        except FileNotFoundError:  # the first of its shard
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.replace(aside, place)

    def copy_out(self, name: str, destination: "Union[str, bytes]", mode: int) -> None:
        """Write the blob's bytes to a new file with this mode; FileNotFoundError when they are not the right ones."""
        with open(self.place(name), "rb", buffering=0) as source:
            digest = sha256(os.fstat(source.fileno()).st_size)
            target = os.open(destination, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with open(target, "wb", buffering=0, closefd=False) as file:
                    while True:
                        chunk = source.read(CHUNK)
                        if not chunk:
                            break
                        digest.update(chunk)
                        _write_all(file, chunk)
                if digest.hexdigest() != name:
                    raise self._damaged(name)
                if hasattr(os, "fchmod"):
                    os.fchmod(target, mode)
            finally:
                os.close(target)

    def names(self) -> "Iterator[str]":
        """Every blob that is here."""
        for shard in _listing(self.path):
            if len(shard) == 2:
                for rest in _listing(os.path.join(self.path, shard)):
                    yield shard + rest

    def lock_path(self) -> str:
        """Held shared by those who rely on blobs, exclusively by the one who removes some."""
        return os.path.join(self.path, ".lock")


def _remove(aside: str) -> None:
    if os.path.exists(aside):
        os.unlink(aside)


def _write_all(file: "BinaryIO", data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _listing(path: str) -> "List[str]":
    try:
        return os.listdir(path)
    except FileNotFoundError:
        return []


class UsingBlobs:
    """While this is held no blob is collected (or, with `alone`, none is relied upon by anybody else)."""

    def __init__(self, store: BlobStore, alone: bool = False, wait: bool = True) -> None:
        from jig.system import lock

        os.makedirs(store.path, exist_ok=True)
        self._file = os.open(store.lock_path(), os.O_RDWR | os.O_CREAT, 0o644)
        self.held = lock(self._file, shared=not alone, wait=wait)

    def release(self) -> None:
        """Let go."""
        os.close(self._file)

    def __enter__(self) -> "UsingBlobs":
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


def missing(store: BlobStore, wanted: "Sequence[Tuple[str, int]]") -> "List[str]":
    """Which of these (name, size) are not here, each once.

    Of many only their names are looked up, by folder, where that is quicker: a torn one is found out when it is read.
    """
    few = len(wanted) < MANY
    if few or len(_listing(os.path.dirname(store.place(wanted[0][0])))) * SHARDS > 8 * len(wanted):
        return sorted({name for name, size in wanted if not store.has(name, size)})
    return sorted({name for name, _ in wanted}.difference(store.names()))
