"""Whose gateway is asked, and what answers there that is none; the real one is asked by every run in `test_local.py`."""

import contextlib
import os
import socketserver
import subprocess
import sys
import threading

import pytest

from jig.machines.pack import ROOT

sys.path.append(os.path.join(ROOT, "script"))  # as the process of a run finds it

from jig_spark import gateway  # noqa: E402


class Said(socketserver.StreamRequestHandler):
    """Answers each line that was asked, with what the test wants."""

    answer = b""

    def handle(self):
        with contextlib.suppress(ConnectionError):  # who asks goes away at an answer that makes no sense
            while self.answer and self.rfile.readline():
                self.wfile.write(self.answer)


@pytest.fixture
def listening():
    """A server that answers so, for the rest of the test: its port."""
    servers = []

    def listen(answer: bytes) -> int:
        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), type("Here", (Said,), {"answer": answer}))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server.server_address[1]

    yield listen
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def driver():
    """A process that has these variables."""
    started = []

    def start(**variables: str) -> None:
        started.append(subprocess.Popen(["sleep", "60"], env=variables))

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_the_gateway_is_that_of_this_run(listening, driver):
    yes = listening(b"!ybtrue\n")
    driver(JIG_RUN_ID="proj_2", PYSPARK_GATEWAY_PORT=str(yes))
    driver(JIG_RUN_ID="proj_1")
    assert gateway.find("proj_1") is None
    driver(JIG_RUN_ID="proj_1", PYSPARK_GATEWAY_PORT=str(yes), PYSPARK_GATEWAY_SECRET="s")
    found = gateway.find("proj_1")
    assert found is not None and found.call("o1", "isStopped") is True
    found.close()


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n", b"!xspy4j.Py4JException: no\n", b"\xff\xfe\n"])
def test_what_is_no_answer(listening, answer):
    there = None
    with pytest.raises(gateway.NoAnswer):
        there = gateway.Gateway(listening(answer), "secret")
    assert there is None


def test_nobody_listens(driver, listening):
    port = listening(b"")
    driver(JIG_RUN_ID="proj_1", PYSPARK_GATEWAY_PORT="0")
    with pytest.raises(gateway.NoAnswer):
        gateway.find("proj_1")
    there = gateway.Gateway(port, "")
    with pytest.raises(gateway.NoAnswer):
        there.call("o1", "isStopped")
    there.close()


@pytest.mark.parametrize(
    ("said", "value"),
    [
        (b"!yi-5\n", -5),
        (b"!yL7000000000\n", 7000000000),
        (b"!ybfalse\n", False),
        (b"!ysa\\nb\\\\n\\r\xc3\xbc\n", "a\nb\\n\r\xfc"),
        (b"!yn\n", None),
        (b"!yro12\n", "o12"),
    ],
)
def test_what_an_answer_means(listening, said, value):
    there = gateway.Gateway(listening(said), "")
    assert there.call("o1", "name") == value
    there.close()
