"""Whether a machine reaches what it needs: whom it asks, and how long it waits."""

import socket
import time
from contextlib import closing

import pytest

from jig.environments.uv import find_uv
from jig.runner import reach
from jig.runner.reach import out_of_reach, place_of, unreachable
from tests.package_settings import forget_settings


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """One whose user has set nothing."""
    forget_settings(monkeypatch, tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def open_port():
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port():
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return server.getsockname()[1]


@pytest.fixture
def silent_port():
    """One that takes no more connections, and refuses none."""
    server = socket.create_server(("127.0.0.1", 0), backlog=0)
    with closing(server), closing(socket.create_connection(server.getsockname())):
        yield server.getsockname()[1]


@pytest.mark.parametrize(
    ("url", "variables", "place"),
    [
        ("https://pypi.org/simple", {}, ("pypi.org", 443)),
        ("http://user:pw@host:8080/x.whl?sig=1", {}, ("host", 8080)),
        ("http://host/x", {"https_proxy": "http://p:1"}, ("host", 80)),
        ("https://host/x", {"https_proxy": "http://me:pw@p:3128"}, ("p", 3128)),
        ("https://host/x", {"HTTPS_PROXY": "p:3128"}, ("p", 3128)),
        ("https://host/x", {"ALL_PROXY": "socks5://p:1080"}, ("p", 1080)),
        ("https://host.lab.org/x", {"ALL_PROXY": "p:1", "NO_PROXY": "other, .lab.org"}, ("host.lab.org", 443)),
        ("https://host/x", {"ALL_PROXY": "p:1", "no_proxy": "*"}, ("host", 443)),
        ("https://ghost/x", {"ALL_PROXY": "p:1", "no_proxy": "host"}, ("p", 1)),
        ("file:///srv/x.conda", {"ALL_PROXY": "p:1"}, ("file:///srv/x.conda", 0)),
        ("https://host:port/simple", {}, ("https://host:port/simple", 0)),
        ("https://[host/simple", {}, ("https://[host/simple", 0)),
    ],
)
def test_whom_to_ask(url, variables, place):
    assert place_of(url, variables) == place


def test_all_at_once_and_not_for_long(open_port, closed_port, silent_port, tmp_path, monkeypatch):
    monkeypatch.setattr(reach, "DEADLINE_S", 0.5)
    here = tmp_path / "a file"
    here.write_text("")
    ports = [("127.0.0.1", port) for port in (open_port, closed_port, silent_port)]
    urls = [f"http://{host}:{port}/{name}" for host, port in ports for name in "ab"]
    urls += [here.as_uri(), "file:///nowhere/x", "http://no-such-host.invalid/x"]
    began_s = time.monotonic()
    gone = unreachable(urls, {})
    assert time.monotonic() - began_s < 1.5
    assert gone == {*ports[1:], ("file:///nowhere/x", 0), ("no-such-host.invalid", 80)}


def wanted(*requirements: str, options: "tuple[str, ...]" = (), **more) -> dict:
    return {
        "kind": "uv",
        "python": "",
        "requirements": list(requirements),
        "options": list(options),
        "uv_path": find_uv(),
        **more,
    }


def test_what_is_asked_for(open_port, closed_port, tmp_path):
    away, near = (f"http://127.0.0.1:{port}" for port in (closed_port, open_port))
    home = str(tmp_path)
    assert out_of_reach(wanted(options=(f"--index-url {away}/simple",)), home) == {}, "nothing is wanted from there"
    assert out_of_reach(wanted("six", options=(f"--index-url {near}/simple",)), home) == {}
    assert out_of_reach(wanted("six", options=("--no-index",)), home) == {}
    question = out_of_reach(wanted("six", options=(f"--index-url {away}/simple",)), home)
    assert sorted(question) == ["hosts", "pip"] and question["hosts"] == ["127.0.0.1"]
    assert sorted(question["pip"]) == ["libc", "machine", "python", "system"]
    assert [part.isdigit() for part in question["pip"]["python"].split(".")] == [True] * 3
    by_url = wanted(f"x @ {away}/x-1-py3-none-any.whl", options=("--no-index",))
    assert sorted(out_of_reach(by_url, home)) == ["hosts", "pip"]
    links = wanted("six", options=("--no-index", f"--find-links {away}/links"))
    assert sorted(out_of_reach(links, home)) == ["hosts", "pip"]


def test_conda_and_pip_are_told_apart(open_port, closed_port, tmp_path):
    away, near = (f"http://127.0.0.1:{port}" for port in (closed_port, open_port))
    records = [{"name": "python", "version": "3.9.1", "url": f"{away}/linux-64/python.conda"}]
    environment = wanted("six", options=(f"--index-url {near}/simple",), kind="conda", records=records)
    assert out_of_reach(environment, str(tmp_path)) == {"conda": True, "hosts": ["127.0.0.1"]}
    environment["options"] = [f"--index-url {away}/simple"]
    question = out_of_reach(environment, str(tmp_path))
    assert question["conda"] is True and question["pip"]["python"] == "3.9.1"
    records[0]["url"] = "file:///nowhere/python.conda"
    environment["requirements"] = []
    assert out_of_reach(environment, str(tmp_path)) == {"conda": True, "hosts": ["file:///nowhere/python.conda"]}


def test_an_index_of_uvs_own_settings_stands_for_the_usual_one(open_port, tmp_path):
    place = tmp_path / ".config/uv/uv.toml"
    place.parent.mkdir(parents=True)
    place.write_text(f'[[index]]\nurl = "http://127.0.0.1:{open_port}/simple"\n')
    assert out_of_reach(wanted("six"), str(tmp_path)) == {}


def test_a_python_that_is_not_there_is_left_to_the_builder(closed_port, tmp_path):
    environment = wanted("six", options=(f"--index-url http://127.0.0.1:{closed_port}/simple",), python="3.99")
    assert out_of_reach(environment, str(tmp_path)) == {}


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("3.11.2", "", True),
        ("3.11.2", "3.11", True),
        ("3.11.2", "3", True),
        ("3.11.2", "3.1", False),
        ("3.11.2", "3.11.2", True),
        ("3.11.2", "3.11.3", False),
        ("3.11.2", ">=3.9,<3.12", True),
        ("3.11.2", ">=3.9,<3.11", False),
        ("3.11.2", "<=3.11.2", True),
        ("3.11.0", "<=3.11", True),
        ("3.11.2", ">3.11.2", False),
        ("3.11.2", "==3.11.*", True),
        ("3.11.2", "!=3.11.*", False),
        ("3.11.2", "~=3.9", True),
        ("3.11.2", "~=3.9.1", False),
        ("3.11.2", "pypy", False),
        ("", "3.11", False),
    ],
)
def test_whether_a_python_is_the_one_that_is_wanted(version, wanted, fits):
    assert reach.fits(version, wanted) is fits


def test_what_is_asked_for_an_image(open_port, closed_port, tmp_path):
    """Wheels are for what is inside, which is looked at only when wheels are to be fetched."""
    facts = {"libc": "glibc 2.17", "pythons": {"python3": {"path": "/usr/bin/python3", "version": "3.6.8"}}}
    looks = []

    def inside():
        looks.append(1)
        return facts

    def ask(port, python=""):
        options = [f"--index-url http://127.0.0.1:{port}/simple"]
        wanted = {"kind": "uv", "python": python, "requirements": ["alpha"], "options": options}
        return out_of_reach(wanted, str(tmp_path), inside)

    assert ask(open_port) == {} and looks == []
    question = ask(closed_port)
    assert question == {
        "pip": {**reach.about_system(), "libc": "glibc 2.17", "python": "3.6.8"},
        "hosts": ["127.0.0.1"],
    }
    assert ask(closed_port, "3.9")["pip"]["python"] == "3.9", "uv would bring it"
    assert ask(closed_port, ">=3.9") == {}
