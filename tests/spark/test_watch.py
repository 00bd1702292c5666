"""Which of the pages on this machine is that of the run's own Spark: others have ports there too."""

import contextlib
import json
import os
import socketserver
import sys
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler

from jig.machines.pack import ROOT

sys.path.append(os.path.join(ROOT, "script"))  # as the process of a run finds it

from jig_spark import watch  # noqa: E402


class Page(BaseHTTPRequestHandler):
    """The part of Spark's page that is asked."""

    run = ""

    def do_GET(self):
        about = {"sparkProperties": [["spark.jig.run", self.run]]}
        data = json.dumps(about if self.path.endswith("/environment") else [{"id": self.run, "name": "n"}]).encode()
        self.send_response(200 if self.run else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Mine(Page):
    run = "proj_1"


class Theirs(Page):
    run = "proj_2"


class Shell(socketserver.StreamRequestHandler):
    """No HTTP at all."""

    def handle(self):
        self.wfile.write(b"SSH-2.0-x\r\n")
        self.rfile.read()


class Odd(Page):
    run = "odd"

    def do_GET(self):
        self.path = "/environment"
        super().do_GET()


def listen(handlers):
    """A server for each at ports that follow one another; a port of nobody's for None."""
    for first in range(20000, 30000, 50):
        servers = []
        try:
            for place, handler in enumerate(handlers, first):
                servers += [socketserver.ThreadingTCPServer(("127.0.0.1", place), handler)] if handler else []
        except OSError:
            for server in servers:
                server.server_close()
            continue
        return first, servers
    raise AssertionError("no ports are free")


def test_other_programs_do_not_end_the_search(monkeypatch):
    monkeypatch.setenv("JIG_RUN_ID", "proj_1")
    first, servers = listen([Page, None, Shell, Odd, Theirs, Mine])
    with contextlib.ExitStack() as stack:
        for server in servers:
            server.daemon_threads = True
            stack.enter_context(server)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            stack.callback(server.shutdown)
        assert watch._find(HTTPConnection, first) == (first + 5, "proj_1", "n")
        assert watch._find(HTTPConnection, first + 6) is None
