"""Starting and ending: the address, the port, what is left behind."""

import json
import os
import signal
import socket
import stat
import sys

import pytest

from jig.cli.workbench import origin
from tests.conftest import call
from tests.workbench.test_guard import cookie_of, get


def test_it_prints_the_address_and_ends_quietly(serve, project):
    server = serve(project.path)
    assert server.line == f"jig Workbench: http://127.0.0.1:{server.port}/?token={server.token}\n"
    assert get(server, Cookie=cookie_of(server))[0] == 200
    assert server.end() == 0


def test_each_start_has_its_own_token_and_open_pages_go_on(serve, project):
    first = serve(project.path)
    cookie = cookie_of(first)
    first.end()
    second = serve(project.path)
    assert second.port == first.port  # that of last time, because it was free
    assert second.token != first.token
    assert get(second, f"/?token={first.token}")[0] == 403
    assert get(second, Cookie=cookie)[0] == 200
    assert serve(project.path).port != first.port


def test_what_is_kept_is_for_this_user_only(serve, project, jig_home):
    serve(project.path)
    place = jig_home / "workbench.json"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert json.loads(place.read_text())["recent"] == [str(project.path)]
    assert sorted(name for name in os.listdir(jig_home) if name.startswith("workbench")) == ["workbench.json"]
    assert not list(project.path.glob(".nicegui"))


def test_a_file_that_makes_no_sense_is_as_good_as_none(serve, jig_home):
    jig_home.mkdir()
    (jig_home / "workbench.json").write_text('{"recent": 3, "dark": "x", "port": -1, "key": "short"}')
    server = serve()
    assert get(server, Cookie=cookie_of(server))[0] == 200


def test_a_port_that_is_taken(project):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = call("workbench", "--no-browser", "--port", str(port))
    assert said.code == 125
    assert said.err.startswith(f"error: the Workbench cannot listen on 127.0.0.1:{port}: ")
    assert "hint: leave --port out" in said.err


def test_other_computers_only_when_that_is_understood(cli):
    said = cli("workbench", "--no-browser", "--host", "0.0.0.0")
    assert said.code == 2
    assert "--i-understand" in said.err


def test_a_port_is_a_number(cli):
    for port in ("0", "65536", "http", "-1", "٣"):
        said = cli("workbench", "--no-browser", f"--port={port}")
        assert (said.code, said.err.splitlines()[0]) == (2, f"error: --port cannot be {port!r}")


@pytest.mark.parametrize(
    "written", ["gpu.example.org", "ftp://a", "https://a/x", "https://u@a", "https://a:x", "https://a b", ""]
)
def test_what_a_proxy_shows_is_the_start_of_an_address(cli, written):
    said = cli("workbench", "--no-browser", f"--origin={written}")
    assert (said.code, said.err.splitlines()[0]) == (2, f"error: --origin cannot be {written!r}")
    assert "hint: write it as https://gpu.example.org" in said.err


def test_an_address_is_compared_as_a_browser_writes_it():
    assert origin("HTTPS://GPU.Example.org:443/") == "https://gpu.example.org"
    assert origin("http://[::1]:9000") == "http://[::1]:9000"
    assert origin("https://a:80") == "https://a:80"


def test_a_folder_that_is_no_project(cli, tmp_path):
    said = cli("workbench", "--no-browser", "--project", str(tmp_path))
    assert said.code == 2
    assert "is a project: none has `aml_config/`" in said.err


def test_without_the_extra_it_says_the_line_that_installs_it(cli, monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    said = cli("workbench")
    assert said.code == 125
    assert said.err == "error: the Workbench is not installed\n\nhint: pip install 'jig-workbench[app]'\n"


def test_the_browser_gets_no_token_on_its_command_line(project, tmp_path, monkeypatch, jig_home):
    """It is given a private file, which leads on."""
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {seen}.new; mv {seen}.new {seen}\n')
    browser.chmod(0o755)
    from tests.conftest import environ, until

    env = environ(BROWSER=str(browser))
    import subprocess

    process = subprocess.Popen(
        [sys.executable, "-m", "jig", "workbench"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        until(seen.exists, what="the browser")
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    place = jig_home / "workbench.html"
    assert seen.read_text() == f"file://{place}"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    url = out.decode().split(": ", 1)[1].strip()
    assert f'content="0;url={url}"' in place.read_text()
    assert err.decode() == "Ctrl-C ends it; runs go on.\n"
