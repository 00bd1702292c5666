"""Files by their SHA-256, downloaded once and kept for a month after they were last wanted."""

from __future__ import annotations

import os

from jig.environments import without_secrets
from jig.errors import PackagesError
from jig.runner.folder import default_home, make_private
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    import threading
    from collections.abc import Callable, Iterable, Sequence
    from typing import IO

AT_ONCE = 4
TRIES = 3
TIMEOUT_S = 30
TELL_S = 2.0
KEPT_S = 30 * 86400.0
_MIB = 1024 * 1024


class Wanted(Value):
    """A file to have here."""

    name: str
    url: str  # or a path of this computer
    sha256: str
    size: int = 0  # when it is known
    login: str = ""  # the header `Authorization`


def folder() -> str:
    """Where they are kept."""
    return os.path.join(default_home(), "cache", "files")


def place(sha256: str) -> str:
    """Where the file with this hash is, if it is here."""
    return os.path.join(folder(), sha256)


def download(wanted: Iterable[Wanted], tell: Callable[[str], None]) -> None:
    """Have all of these files here; PackagesError names the first that cannot be had."""
    make_private(folder())
    _forget_old()
    absent = [one for one in {one.sha256: one for one in wanted}.values() if not _is_here(one)]
    if not absent:
        return
    import threading
    from collections import deque
    from contextlib import suppress
    from queue import SimpleQueue

    progress, leaving = _Progress(absent, tell), threading.Event()
    ends: SimpleQueue[BaseException | None] = SimpleQueue()
    todo = deque(absent)

    def work() -> None:
        with suppress(IndexError):  # all are taken
            while not leaving.is_set():
                ends.put(_get(todo.popleft(), progress, leaving))

    for _ in range(min(AT_ONCE, len(absent))):
        threading.Thread(target=work, daemon=True).start()  # else Ctrl-C would wait for a server that does not answer
    try:
        for _ in absent:
            if (error := ends.get()) is not None:
                raise error
    finally:
        leaving.set()
        for one in absent:
            with suppress(FileNotFoundError):
                os.unlink(_aside(one))


def _aside(one: Wanted) -> str:
    """Where a file grows until it is whole."""
    return f"{place(one.sha256)}.{os.getpid()}"


def _is_here(one: Wanted) -> bool:
    """Whether the file is here, whole: a power cut may have torn it."""
    import hashlib

    path = place(one.sha256)
    try:
        with open(path, "rb") as file:
            whole = hashlib.file_digest(file, "sha256").hexdigest() == one.sha256
    except FileNotFoundError:
        return False
    if whole:
        os.utime(path)
    return whole


def _forget_old() -> None:
    import time

    for name in os.listdir(folder()):
        path = os.path.join(folder(), name)
        try:
            if time.time() - os.stat(path).st_mtime > KEPT_S:
                os.unlink(path)
        except FileNotFoundError:
            continue  # another command removed it first


class _Progress:
    """How much has come, told now and then; several threads add to it."""

    def __init__(self, wanted: Sequence[Wanted], tell: Callable[[str], None]) -> None:
        from threading import Lock

        self._of, self._tell, self._lock = len(wanted), tell, Lock()
        self._of_bytes = sum(one.size for one in wanted) if all(one.size for one in wanted) else 0
        self._files, self._bytes, self._told_s = 0, 0, 0.0

    def add(self, size: int, files: int = 0) -> None:
        """So much more is here."""
        import time

        with self._lock:
            self._bytes, self._files = self._bytes + size, self._files + files
            if time.monotonic() - self._told_s >= TELL_S:
                self._told_s = time.monotonic()
                of_bytes = f" of {self._of_bytes / _MIB:.1f}" if self._of_bytes else ""
                self._tell(f"fetching: {self._files} of {self._of} files, {self._bytes / _MIB:.1f}{of_bytes} MiB")


def _get(one: Wanted, progress: _Progress, leaving: threading.Event) -> BaseException | None:
    """Have one file here; returns the error when that cannot be."""
    from http.client import HTTPException
    from urllib.error import HTTPError

    for left in reversed(range(TRIES)):
        try:
            _try(one, progress, leaving)
            break
        except (OSError, HTTPException) as error:
            final = isinstance(error, HTTPError) and error.code < 500
            if final or not left or leaving.wait(0.2):
                code = f"{error.code} " if isinstance(error, HTTPError) else ""
                why = getattr(error, "reason", None) or error
                return PackagesError(f"{without_secrets(one.url)} could not be fetched: {code}{why}")
        except BaseException as error:  # whoever waits for the file gets it, and raises it
            return error
    return None


def _try(one: Wanted, progress: _Progress, leaving: threading.Event) -> None:
    import hashlib
    from contextlib import closing, suppress

    aside, digest, size = _aside(one), hashlib.sha256(), 0
    try:
        with closing(_open(one)) as source, open(aside, "wb") as file:
            while data := source.read(1 << 18):
                if leaving.is_set():
                    raise OSError("given up")
                digest.update(data)
                size += file.write(data)
                progress.add(len(data))
            if rest := getattr(source, "length", 0):  # a connection that ends early is no error to the library
                raise OSError(f"the connection ended {rest} bytes too early")
        if digest.hexdigest() != one.sha256:
            raise PackagesError(
                f"{without_secrets(one.url)} is another file than it was: "
                f"its SHA-256 is {digest.hexdigest()}, and not {one.sha256}",
                "if whoever serves it has replaced it, make the lock again:  jig environment lock",
            )
        os.replace(aside, place(one.sha256))
    except BaseException:
        progress.add(-size)
        with suppress(FileNotFoundError):
            os.unlink(aside)
        raise
    progress.add(0, files=1)


def _open(one: Wanted) -> IO[bytes]:
    """The file's bytes, to be read."""
    from urllib.parse import urlsplit
    from urllib.request import HTTPSHandler, Request, build_opener, url2pathname

    scheme = urlsplit(one.url).scheme
    if scheme not in ("http", "https"):
        return open(url2pathname(urlsplit(one.url).path) if scheme == "file" else one.url, "rb")
    request = Request(one.url)
    if login := one.login or _stored_login(urlsplit(one.url).hostname or ""):
        request.add_unredirected_header("Authorization", login)  # it is for that host only
    answer: IO[bytes] = build_opener(HTTPSHandler(context=_certificates())).open(request, timeout=TIMEOUT_S)
    return answer


def _stored_login(host: str) -> str:
    """What ~/.netrc has for a host, as pip, uv and conda use it too."""
    import netrc
    from base64 import b64encode

    try:
        found = netrc.netrc(os.environ.get("NETRC") or None).authenticators(host)
    except (OSError, netrc.NetrcParseError):
        return ""
    return "Basic " + b64encode(f"{found[0]}:{found[2]}".encode()).decode() if found else ""


def _certificates() -> ssl.SSLContext:
    """Whom to trust: as pip and uv are told."""
    import ssl

    from jig.runner import pip_settings

    variables = pip_settings.uv_environment(dict(os.environ), os.path.expanduser("~"))
    return ssl.create_default_context(
        cafile=variables.get("SSL_CERT_FILE") or None, capath=variables.get("SSL_CERT_DIR") or None
    )
