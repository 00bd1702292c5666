"""Files that are fetched here for a machine: which, from where, with which login, and what happens when they do not come."""

import base64
import hashlib
import http.server
import os
import threading
import time
from contextlib import contextmanager

import pytest

from jig.environments import Environment, download, fetch, fetch_pip
from jig.environments.download import Wanted
from jig.environments.fetch_pip import login, uv_platform
from jig.errors import PackagesError
from tests.listener import Listener


@pytest.mark.parametrize(
    ("machine", "platform"),
    [
        (("linux", "x86_64", "glibc 2.36"), "x86_64-manylinux_2_36"),
        (("linux", "x86_64", "glibc 2.27"), "x86_64-manylinux_2_17"),
        (("linux", "aarch64", "glibc 2.28"), "aarch64-manylinux_2_28"),
        (("linux", "x86_64", "glibc 3.1"), "x86_64-manylinux_2_40"),
        (("linux", "x86_64", ""), "x86_64-unknown-linux-musl"),
        (("darwin", "arm64", ""), "aarch64-apple-darwin"),
    ],
)
def test_the_machine_as_uv_calls_it(machine, platform):
    assert uv_platform(*machine) == platform


@pytest.mark.parametrize("machine", [("linux", "ppc64le", "glibc 2.36"), ("linux", "x86_64", "glibc 2.12")])
def test_a_machine_that_uv_does_not_know(machine):
    with pytest.raises(PackagesError, match="wheels for linux .* cannot be chosen from here"):
        uv_platform(*machine)


def test_the_best_of_the_wheels_that_fit():
    names = ["cp39-abi3-manylinux_2_34_x86_64", "cp311-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64"]
    names += ["cp311-abi3-manylinux_2_28_x86_64", "cp311-abi3-manylinux_2_9_x86_64"]
    wheels = [{"url": f"https://h/x-1.0-{name}.whl", "hashes": {"sha256": name}} for name in names]
    assert fetch_pip._best({"name": "x", "wheels": wheels}) == (f"https://h/x-1.0-{names[2]}.whl", names[2])
    archive = {"path": "/w/x-1.0-py3-none-any.whl", "hashes": {"sha256": "ab"}}
    assert fetch_pip._best({"name": "x", "archive": archive}) == ("/w/x-1.0-py3-none-any.whl", "ab")
    with pytest.raises(PackagesError, match="x exists as source only"):
        fetch_pip._best({"name": "x", "sdist": {}})


def test_pip_packages_for_a_python_that_uv_does_not_serve():
    there = {"python": "3.5.2", "system": "linux", "machine": "x86_64", "libc": "glibc 2.36"}
    with pytest.raises(PackagesError, match="pip packages for Python 3.5.2 cannot be chosen from here"):
        fetch.fetch(Environment("conda", requirements=("six",)), [], {"hosts": ["h"], "pip": there}, lambda text: None)


def test_the_login_of_an_index_is_for_its_host():
    indexes = ["https://plain/simple", "lab=https://me:p%40ss@host:8443/simple/"]
    assert login("https://host:8443/files/x.whl", indexes) == "Basic " + base64.b64encode(b"me:p@ss").decode()
    assert login("https://host/files/x.whl", indexes) == login("https://plain/x.whl", indexes) == ""


class Server:
    """Serves one file, and does what it is told before: a status, a redirect, half of the file, silence."""

    def __init__(self, body: bytes) -> None:
        self.body, self.todo, self.logins = body, [], []
        self.silence, self.arrived = threading.Event(), threading.Event()
        self.url = ""

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        self.logins.append(request.headers.get("Authorization"))
        how = self.todo.pop(0) if self.todo else None
        if how == "silence":
            self.arrived.set()
            self.silence.wait(30)
        request.send_response(how if isinstance(how, int) else 302 if isinstance(how, str) and "://" in how else 200)
        if isinstance(how, str) and "://" in how:
            request.send_header("Location", how)
        request.send_header("Content-Length", str(len(self.body)))
        request.end_headers()
        request.wfile.write(self.body[: len(self.body) // 2] if how == "half" else self.body)


@contextmanager
def serving(body: bytes):
    server = Server(body)
    listener = Listener(server.answer)
    server.url = listener.url
    try:
        yield server
    finally:
        server.silence.set()
        listener.close()


@pytest.fixture
def server(no_settings):
    with serving(b"the bytes of a file" * 1000) as server:
        yield server


def of(server: Server, **more) -> Wanted:
    sha256 = hashlib.sha256(server.body).hexdigest()
    return Wanted(**{"name": "f.whl", "url": f"{server.url}/f.whl?sig=secret", "sha256": sha256, **more})


def get(*wanted: Wanted) -> "list[str]":
    told: list[str] = []
    download.download(wanted, told.append)
    return told


def left() -> "list[str]":
    return os.listdir(download.folder())


def test_it_comes_once(server):
    one = of(server)
    assert get(one) == ["fetching: 0 of 1 files, 0.0 MiB"]
    assert get(one, one) == [] and len(server.logins) == 1
    with open(download.place(one.sha256), "rb") as file:
        assert file.read() == server.body


@pytest.mark.parametrize("how", [503, "half"])
def test_what_may_pass_is_tried_again(server, how):
    server.todo = [how, how]
    get(of(server))
    assert len(server.logins) == 3 and left() == [of(server).sha256]


@pytest.mark.parametrize(
    ("todo", "times", "why"), [([404], 1, "404 Not Found"), ([500] * 3, 3, "500 Internal Server Error")]
)
def test_what_does_not_come_is_named_without_its_secrets(server, todo, times, why):
    server.todo = todo
    with pytest.raises(PackagesError) as failed:
        get(of(server))
    assert str(failed.value) == f"{server.url}/f.whl?*** could not be fetched: {why}"
    assert len(server.logins) == times and left() == []


def test_another_file(server):
    with pytest.raises(PackagesError) as failed:
        get(of(server, sha256="ab" * 32))
    found = hashlib.sha256(server.body).hexdigest()
    expected = f"is another file than it was: its SHA-256 is {found}, and not {'ab' * 32}"
    assert str(failed.value) == f"{server.url}/f.whl?*** {expected}"
    assert left() == []


def test_a_login_is_for_one_host_only(server):
    with serving(server.body) as other:
        server.todo = [f"{other.url}/f.whl"]
        get(of(server, login="Basic abc"))
        assert (server.logins, other.logins) == (["Basic abc"], [None])


def test_a_stored_login(server, monkeypatch, tmp_path):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    get(of(server))
    assert server.logins == ["Basic " + base64.b64encode(b"me:secret").decode()]


def test_whoever_gives_up_does_not_wait(server):
    with serving(b"another") as other:
        server.todo, other.todo = ["silence"], [404]
        began_s = time.monotonic()
        with pytest.raises(PackagesError, match="404"):
            get(of(server), of(other))
        assert time.monotonic() - began_s < 5 and left() == []


def test_a_file_of_this_computer_and_old_ones_go(tmp_path):
    (tmp_path / "a file.conda").write_bytes(b"x")
    sha256 = hashlib.sha256(b"x").hexdigest()
    get(Wanted("a", (tmp_path / "a file.conda").as_uri(), sha256))
    month_ago = time.time() - download.KEPT_S - 1
    os.utime(download.place(sha256), (month_ago, month_ago))
    get(Wanted("b", str(tmp_path / "a file.conda"), hashlib.sha256(b"x").hexdigest()))
    assert left() == [sha256], "wanted again, it is fetched again"
