"""Asking the servers of wheels, all at once and not for long."""

import http.server
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from jig.environments import checks
from jig.environments.check.addresses import Answer
from tests.listener import Listener


class Server:
    """Answers by the path; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str, str]] = []
        self.release = threading.Event()
        self._listener = Listener(self.answer, protocol="HTTP/1.1")
        self.place, self.url = self._listener.place, self._listener.url

    def close(self) -> None:
        self.release.set()
        self._listener.close()

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        headers, path = request.headers, request.path.partition("?")[0]
        asked = (request.command, request.path, headers.get("Range", ""), headers.get("Authorization", ""))
        self.asked.append(asked)
        request.close_connection = True
        if path == "/slow.whl":
            self.release.wait(30)
        if path == "/garbage.whl":
            request.wfile.write(b"\x00\xffnot http at all\r\n\r\n")
            return
        status = {"/gone.whl": 404, "/broken.whl": 503, "/moved.whl": 302, "/round.whl": 302, "/away.whl": 302}.get(
            path, 200
        )
        if path == "/no-head.whl" and request.command == "HEAD":
            status = 405
        if path == "/secret.whl" and not request.path.endswith("?sig=right&x=%2F"):
            status = 403
        request.send_response(status, "\x1b[31mred" if status == 503 else None)
        target = {"/moved.whl": f"{self.url}/fine.whl", "/round.whl": "/round.whl", "/away.whl": "file:///etc/passwd"}
        if path in target:
            request.send_header("Location", target[path])
        if path == "/page.whl":
            request.send_header("Content-Type", "text/html; charset=utf-8")
        request.send_header("Content-Length", "0" if status >= 300 else "1000000000")
        request.end_headers()


@pytest.fixture
def server(no_settings) -> Iterator[Server]:
    with closing(Server()) as one:
        yield one


def test_asking_a_server(server):
    expected = {
        "fine.whl": Answer(200),
        "gone.whl": Answer(404),
        "broken.whl": Answer(503),
        "no-head.whl": Answer(200),
        "page.whl": Answer(200, is_page=True),
        "moved.whl": Answer(200),
        "round.whl": Answer(problem="it leads round in a circle, or away from the web"),
        "away.whl": Answer(problem="it leads round in a circle, or away from the web"),
        "garbage.whl": Answer(problem="it is no address, or what came back was not HTTP"),
        "secret.whl?sig=right&x=%2F": Answer(200),
        "secret.whl?sig=wrong": Answer(403),
        "with space%20and-ü.whl#sha256=00": Answer(200),
    }
    urls = [f"{server.url}/{path}" for path in expected]
    found = checks.ask(urls, deadline_s=20)
    assert found == dict(zip(urls, expected.values(), strict=True))
    assert [asked[:3] for asked in server.asked if asked[1] == "/no-head.whl"] == [
        ("HEAD", "/no-head.whl", ""),
        ("GET", "/no-head.whl", "bytes=0-0"),
    ]
    assert ("HEAD", "/with%20space%20and-%C3%BC.whl", "", "") in server.asked
    assert [asked[0] for asked in server.asked if asked[1] == "/fine.whl"] == ["HEAD", "HEAD"]


def test_a_login_goes_in_a_header_and_to_nobody_else(server):
    checks.ask([f"http://me:pass%20word@{server.place}/moved.whl"], deadline_s=20)
    assert server.asked == [("HEAD", "/moved.whl", "", "Basic bWU6cGFzcyB3b3Jk"), ("HEAD", "/fine.whl", "", "")]


def test_a_slow_server_does_not_keep_us(server):
    urls = [f"{server.url}/slow.whl", f"{server.url}/fine.whl"]
    started = time.monotonic()
    found = checks.ask(urls, deadline_s=0.5)
    assert 0.4 < time.monotonic() - started < 5
    assert found[urls[0]].status == 0 and found[urls[0]].may_pass
    assert found[urls[1]] == Answer(200)


def test_many_urls_are_asked_together(server):
    urls = [f"{server.url}/{number}.whl" for number in range(100)]
    assert checks.ask(urls, deadline_s=20) == dict.fromkeys(urls, Answer(200))
    assert checks.ask([]) == {}


def test_nobody_there_and_no_address(server):
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        urls = [f"http://127.0.0.1:{port}/x.whl", "http://127.0.0.1:port/x.whl", "http://[::bad/x.whl", "http:///x.whl"]
        found = list(checks.ask(urls, deadline_s=20).values())
    assert found[0] == Answer(problem="the connection was refused")
    no_address = Answer(problem="it is no address, or what came back was not HTTP")
    assert found[1:3] == [no_address, no_address]
    assert found[3].status == 0


def test_the_proxy_of_the_environment_is_used(server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url)
    assert checks.ask(["http://wheels.example/fine.whl"], deadline_s=20) == {
        "http://wheels.example/fine.whl": Answer(200)
    }
    assert [asked[:2] for asked in server.asked] == [("HEAD", "http://wheels.example/fine.whl")]


def test_what_a_server_says_becomes_findings(server, check):
    paths = ["fine-1-py3-none-any.whl", "gone.whl?sig=secret", "broken.whl", "page.whl", "slow.whl"]
    pip = [f"p{number} @ http://me:secret@{server.place}/{path}" for number, path in enumerate(paths)]
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}/q.tar.gz"
        found = check("python=3.11", pip=[*pip, f"q @ {nobody}"], ask=lambda urls: checks.ask(urls, 2))
    assert "secret" not in str(found)
    asked = [(severity, line, message) for severity, line, message, _ in found if "://" in message]
    place = f"http://***@{server.place}"
    assert asked[:3] == [
        ("error", 6, f"{place}/gone.whl answers 404 Not Found"),
        ("warning", 7, f"{place}/broken.whl answers 503 Service Unavailable"),
        ("error", 8, f"{place}/page.whl answers with a web page instead of a file"),
    ]
    assert asked[3][:2] == ("warning", 9) and asked[3][2].startswith(f"{place}/slow.whl does not answer: nothing came")
    assert asked[4:] == [("error", 10, f"{nobody} does not answer: the connection was refused")]
