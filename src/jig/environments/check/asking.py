"""Looks at addresses on the web, all at once and not for long. Imported when there is something to ask."""

from __future__ import annotations

import errno
import socket
import threading
import time
import urllib.error
import urllib.request
from base64 import b64encode
from http.client import HTTPException
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from jig.environments.check.addresses import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

AT_ONCE = 16


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Goes on asking in the way it began; the library would fetch where it was told to look."""

    def redirect_request(self, req: urllib.request.Request, *rest: Any) -> urllib.request.Request | None:
        new = super().redirect_request(req, *rest)
        if new is not None:
            new.method = req.get_method()
        return new


def look(urls: Sequence[str], deadline_s: float) -> dict[str, Answer]:
    """What each address answers. Returns when all have answered, at the latest after `deadline_s`."""
    until = time.monotonic() + deadline_s
    opener = _opener()
    waiting, found = list(reversed(urls)), dict[str, Answer]()

    def work() -> None:
        while waiting and time.monotonic() < until:
            try:
                url = waiting.pop()
            except IndexError:  # another thread was quicker
                return
            found[url] = _ask(opener, url, until)

    # Daemons, for a name server that does not answer cannot be hurried, and must not keep the command from ending.
    threads = [threading.Thread(target=work, daemon=True) for _ in urls[:AT_ONCE]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    late = Answer(problem=f"nothing came within {deadline_s:g} s", may_pass=True)
    return {url: found.get(url, late) for url in urls}


def _opener() -> urllib.request.OpenerDirector:
    """Opens http and https by the proxies and certificates of the environment, and nothing else: no file, no ftp."""
    import ssl  # here: where a Python has none, this module must still be importable

    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    return opener


def _ask(opener: urllib.request.OpenerDirector, url: str, until: float) -> Answer:
    """HEAD; where that is refused, the first byte, for some servers let files be fetched but not looked at."""
    answer = _request(opener, url, "HEAD", until)
    if answer.status >= 400:
        answer = _request(opener, url, "GET", until)
    return answer


def _request(opener: urllib.request.OpenerDirector, url: str, method: str, until: float) -> Answer:
    try:
        request = _prepared(url, method)
        with opener.open(request, timeout=max(0.01, until - time.monotonic())) as response:
            kind = response.headers.get_content_type()
            has_type = response.headers.get("content-type") is not None
            return Answer(response.status, is_page=has_type and kind in ("text/html", "application/xhtml+xml"))
    except urllib.error.HTTPError as error:
        error.close()
        if error.code < 400:
            return Answer(problem="it leads round in a circle, or away from the web")
        return Answer(error.code)
    except urllib.error.URLError as error:
        return _unanswered(error.reason if isinstance(error.reason, Exception) else error)
    except (OSError, HTTPException, ValueError) as error:
        return _unanswered(error)


def _prepared(url: str, method: str) -> urllib.request.Request:
    """The request; user and password go into a header, which no redirection passes on."""
    parts = urlsplit(url)
    login, _, place = parts.netloc.rpartition("@")
    path = quote(parts.path, safe="/%:=&;~+,!$'()*@")
    request = urllib.request.Request(
        urlunsplit((parts.scheme, place, path or "/", quote(parts.query, safe="/%:=&;~+,!$'()*@?"), "")),
        headers={"User-Agent": "jig", "Accept": "*/*", "Accept-Encoding": "identity"},
        method=method,
    )
    if method == "GET":
        request.add_header("Range", "bytes=0-0")
    if login:
        word = b64encode(unquote(login).encode()).decode("ascii")
        request.add_unredirected_header("Authorization", f"Basic {word}")
    return request


def _unanswered(error: Exception) -> Answer:
    """The reason in words; none of them comes from the other side."""
    import ssl

    match error:
        case socket.gaierror(errno=socket.EAI_NONAME):
            return Answer(problem="no machine has that name")
        case socket.gaierror():
            return Answer(problem="names cannot be looked up from here", may_pass=True)
        case TimeoutError():
            return Answer(problem="nothing came in time", may_pass=True)
        case ConnectionRefusedError():
            return Answer(problem="the connection was refused")
        case ssl.SSLError():
            return Answer(problem="no secure connection could be made from here", may_pass=True)
        case OSError(errno=errno.ENETUNREACH | errno.EHOSTUNREACH):
            return Answer(problem="there is no way to it from here", may_pass=True)
        case ValueError() | HTTPException():
            return Answer(problem="it is no address, or what came back was not HTTP")
    return Answer(problem="no connection could be made from here", may_pass=True)
