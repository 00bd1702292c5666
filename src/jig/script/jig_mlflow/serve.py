"""The process that serves: one thread, many connections, for as long as the run has a guard."""

import json
import os
import selectors
import socket
import time

from jig_mlflow.answer import ABOUT, answer, explain
from jig_mlflow.connection import Connection
from jig_mlflow.failure import Refused
from jig_mlflow.gate import Gate
from jig_mlflow.record import Record

LIFE = 0  # the pipe whose other end the guard has
MOST_CONNECTIONS = 256
MOST_HELD = 128 << 20  # of bodies that are on their way, together
STUCK_S = 60.0  # for a client in the middle of something that neither sends nor takes
LINGER_S = 0.8  # when the run ends, for what is connected; the guard kills what is left a little later
CHUNK = 1 << 18


class Client(object):
    """A connection with its socket."""

    def __init__(self, sock, admit):
        self.sock = sock
        self.talk = Connection(lambda request, size: admit(self, request, size))
        self.moved = time.monotonic()
        self.is_known = False  # it has shown the token


class Serving(object):
    """All that this process does."""

    def __init__(self, listener, record, gate):
        self._listener = listener
        self._record = record
        self._gate = gate
        self._clients = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ, None)
        self._selector.register(LIFE, selectors.EVENT_READ, None)
        self._leave_at = None

    def run(self):
        """Until the guard has closed its end, and nobody is connected any more."""
        while self._leave_at is None or (self._clients and time.monotonic() < self._leave_at):
            for key, events in self._selector.select(self._wait_s()):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj == LIFE:
                    if not os.read(LIFE, 4096):
                        self._selector.unregister(LIFE)
                        self._leave_at = time.monotonic() + LINGER_S
                elif key.fd in self._clients:
                    self._attend(self._clients[key.fd], events)
            self._drop_stuck()

    def _wait_s(self):
        if self._leave_at is not None:
            return max(0.0, self._leave_at - time.monotonic())
        return STUCK_S / 4 if any(not client.talk.is_idle for client in self._clients.values()) else None

    def _accept(self):
        try:
            sock = self._listener.accept()[0]
        except OSError:  # it has left already, or there are no descriptors: then the oldest makes room
            self._make_room(len(self._clients))
            return
        self._make_room(MOST_CONNECTIONS)
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._clients[sock.fileno()] = Client(sock, self._admit)
        self._selector.register(sock, selectors.EVENT_READ, None)

    def _make_room(self, most):
        """Strangers leave first, then who has been quiet longest."""
        if self._clients and len(self._clients) >= most:
            self._close(min(self._clients.values(), key=lambda one: (one.is_known, not one.talk.is_idle, one.moved)))

    def _admit(self, client, request, size):
        """Whether this head may have a body, and an answer."""
        if request.target == "/" and not size:
            return
        self._gate.check(request.headers.get(b"host", b""), request.headers.get(b"authorization", b""))
        client.is_known = True
        if sum(one.talk.held for one in self._clients.values()) + size > MOST_HELD:
            raise Refused("REQUEST_LIMIT_EXCEEDED", "too much is being logged at once: try again")

    def _attend(self, client, events):
        client.moved = time.monotonic()
        if events & selectors.EVENT_READ:
            data = self._receive(client)
            if data is None:
                return
            if not data:
                self._close(client)
                return
            client.talk.take(data)
        self._answer(client)
        if self._send(client):
            talk = client.talk
            wanted = (selectors.EVENT_READ if talk.is_listening else 0) | (selectors.EVENT_WRITE if talk.unsent else 0)
            if wanted != self._selector.get_key(client.sock).events:
                self._selector.modify(client.sock, wanted, None)
        else:
            self._close(client)

    def _receive(self, client):
        """What has come; nothing when the client is gone, None when there was nothing to come."""
        try:
            return client.sock.recv(CHUNK)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _answer(self, client):
        """Everything that has come in whole."""
        talk = client.talk
        while True:
            try:
                request = talk.next()
            except Refused as refused:
                talk.answer(refused.status, explain(refused.code, refused.message), keep=False)
                return
            if request is None:
                return
            keep = request.headers[b"connection"] != b"close"
            if request.target == "/":
                talk.answer(200, ABOUT, keep=False, kind="text/plain; charset=utf-8")
            else:
                status, body = answer(self._record, request)
                talk.answer(status, body, keep)

    def _send(self, client):
        """What the client takes now; False when it is to be closed."""
        talk = client.talk
        try:
            while talk.unsent:
                sent = client.sock.send(talk.unsent)
                del talk.unsent[:sent]
                if not talk.unsent:
                    self._answer(client)  # what was held back until now
        except BlockingIOError:
            return True
        except OSError:
            return False
        return not talk.is_over

    def _drop_stuck(self):
        now = time.monotonic()
        for client in list(self._clients.values()):
            if not client.talk.is_idle and now - client.moved > STUCK_S:
                self._close(client)

    def _close(self, client):
        del self._clients[client.sock.fileno()]
        self._selector.unregister(client.sock)
        client.sock.close()


def complain(folder):
    """Says, once, in the script's own log that lines are being lost; the answer to the client does not tell."""
    said = []

    def say(reason):
        if not said:
            said.append(reason)
            text = "jig: METRICS ARE BEING LOST: %s/metrics.jsonl: %s; the script goes on\n" % (folder, reason)
            log = os.open(os.path.join(folder, "output.log"), os.O_WRONLY | os.O_APPEND)
            try:
                os.write(log, text.encode("utf-8", "replace"))
            except OSError:  # the same full disk: there is no one left to tell
                said.pop()
            finally:
                os.close(log)

    return say


def main(listener):
    """Serve the run that standard input tells of."""
    heard = b""
    while b"\n" not in heard:
        data = os.read(LIFE, 65536)
        if not data:
            return
        heard += data
    told = json.loads(heard.decode())
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, fileno=listener)
    sock.setblocking(False)
    record = Record(told["run"], told["folder"], told["work"], complain(told["folder"]), told["again"])
    Serving(sock, record, Gate(told)).run()
