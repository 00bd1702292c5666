"""A real server for a project, and a real Chromium in front of it.

`serve(folder)` starts `jig workbench` as a process; `page` is a browser's page that is logged in at one for `project`.
Whatever the browser complains about, and any request to another host, fails the test.
"""

import asyncio
import signal
import subprocess
import sys
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import system_packages
from tests.conftest import environ, until

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
SIZE = {"width": 1280, "height": 720}
LINE = "jig Workbench: "
NETWORK = "ERR_NETWORK_CHANGED"  # the browser gave up loading: hosts of other tests came or went


class Server:
    """A `jig workbench` that runs."""

    def __init__(self, words: "tuple[str, ...]", cwd: Path, log: Path) -> None:
        self.log = log
        env = environ()
        env.pop("PYTEST_CURRENT_TEST", None)  # the framework would take it for a test of itself
        began = time.monotonic()
        with open(log, "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jig", "workbench", "--no-browser", *words],
                stdout=subprocess.PIPE, stderr=errors, env=env, cwd=cwd,
            )  # fmt: skip
        self.line = self.process.stdout.readline().decode()
        self.start_s = time.monotonic() - began
        assert self.line.startswith(LINE), self.line + log.read_text()
        self.url = self.line.removeprefix(LINE).strip()  # with the token
        parts = urllib.parse.urlsplit(self.url)
        self.port, self.address = parts.port, parts.netloc
        self.token = urllib.parse.parse_qs(parts.query)["token"][0]
        self.root = f"http://{self.address}"

    def end(self, number: int = signal.SIGINT) -> int:
        """Ctrl-C, and the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


@pytest.fixture
def serve(tmp_path):
    """serve(folder or None, "--port", "8080") → Server; what it wrote to stderr must be the one line on Ctrl-C."""
    started = []

    def start(folder: "Path | None" = None, *words: str) -> Server:
        words = (*(("--project", str(folder)) if folder else ()), *words)
        started.append(Server(words, tmp_path, tmp_path / f"server-{len(started)}.log"))
        return started[-1]

    yield start
    for server in started:
        server.end()
    assert {server.log.read_text() for server in started} <= {"Ctrl-C ends it; runs go on.\n"}


@pytest.fixture(scope="session")
def chromium():
    """A browser for all tests; each page has a profile of its own."""
    system_packages.need("chromium")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=20_000)  # a run begins and ends in less, also on a busy machine
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium, serve):
    """browse(server, "/path") → a page of a fresh profile, logged in; browse.complaints is what must stay empty.

    It asks for `serve` so that pages are closed before their server: one left alone complains.
    """
    opened, found = [], []

    def open_page(server: Server, path: str = "/"):
        context = chromium.new_context(viewport=SIZE, reduced_motion="reduce")
        opened.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda m: found.append(f"console: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: found.append(f"script: {error}"))
        page.on("request", lambda request: found.extend(_elsewhere(request.url, server)))
        url = f"{server.root}{path}{'&' if '?' in path else '?'}token={server.token}"
        for _ in range(5):
            before = len(found)
            page.goto(url)
            page.wait_for_load_state("load")
            if not any(NETWORK in one for one in found[before:]):
                break
            del found[before:]  # what it says of half a page; a fault of ours is there again at the next one
        ready(page)
        return page

    open_page.complaints = found
    yield open_page
    for context in opened:
        context.close()
    assert [one for one in found if NETWORK not in one] == []


def _elsewhere(url: str, server: Server) -> "list[str]":
    parts = urllib.parse.urlsplit(url)
    return [] if parts.scheme in ("data", "blob") or parts.netloc == server.address else [f"asked elsewhere: {url}"]


def ready(page) -> None:
    """Wait until the page is drawn and its socket is open: a click before that goes nowhere."""
    from playwright.sync_api import TimeoutError

    try:
        page.wait_for_selector("#main", timeout=10_000)
    except TimeoutError:  # half of its files are missing when the network changed meanwhile
        page.reload()
        page.wait_for_selector("#main")
    until(lambda: page.evaluate("window.socket?.connected === true"), what="the page's socket")


def in_a_loop(coroutine):
    """What it gives, in a loop of its own: the browser's driver has one in this thread."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def fill(field, text: str) -> None:
    """Type into a field until it holds it: on a busy machine the browser may give what is typed to nobody."""
    from playwright.sync_api import expect

    for _ in range(3):
        field.fill(text)
        field.page.wait_for_timeout(100)
        if field.input_value() == text:
            return
    expect(field).to_have_value(text)


@pytest.fixture
def server(serve, project):
    """A server with `project` (see tests/conftest.py) open."""
    return serve(project.path)


@pytest.fixture
def page(browse, server):
    """The first page of `server`, in a browser that is logged in."""
    return browse(server)
