"""Many connections over one pair of pipes: every byte arrives, and whoever is slow holds up nobody else."""

import os
import socket
import threading

import pytest

from jig.runner import carry
from tests.conftest import until


class Ends:
    """Two ends that turn, and `connect(word)`: a connection through both, as its two outer sockets."""

    def __init__(self) -> None:
        there, here = os.pipe(), os.pipe()
        self.heard, self._far = [], {}
        self._near = carry.Carrier(here[0], there[1], self._refuse, self._hear)
        self._other = carry.Carrier(there[0], here[1], self._connect, self._hear)
        self._orders, self._lock = [], threading.Lock()
        self._pipes, self._outer, self._over = (*there, *here), [], False
        self.threads = [threading.Thread(target=self._turn, args=(one,)) for one in (self._near, self._other)]
        for thread in self.threads:
            thread.start()

    def _refuse(self, word):
        raise ConnectionRefusedError

    def _hear(self, what, data):
        self.heard.append((what, data))

    def _connect(self, word):
        if word == b"nowhere":
            raise ConnectionRefusedError
        ours, self._far[word] = socket.socketpair()
        return ours

    def _turn(self, end):
        while not self._over and end.turn(0.01) is not None:
            with self._lock:
                orders, self._orders = (self._orders, []) if end is self._near else ([], self._orders)
            for order in orders:
                order()

    def do(self, order) -> None:
        with self._lock:
            self._orders.append(order)

    def connect(self, word: bytes) -> "tuple[socket.socket, socket.socket]":
        ours, theirs = socket.socketpair()
        self._outer.append(theirs)
        self.do(lambda: self._near.open(ours, word))
        if word == b"nowhere":
            return theirs, theirs
        return theirs, until(lambda: self._far.get(word), what="the connection")

    def say(self, what: int, data: bytes) -> None:
        self.do(lambda: self._near.say(what, data))

    def close(self) -> None:
        self._over = True
        for thread in self.threads:
            thread.join()
        for one in (self._near, self._other):
            one.close()
        for one in (*self._far.values(), *self._outer):
            one.close()
        for pipe in self._pipes:
            os.close(pipe)


@pytest.fixture
def ends():
    made = Ends()
    yield made
    made.close()


def receive(stream: socket.socket, size: int) -> bytes:
    stream.settimeout(20)
    data = b""
    while len(data) < size:
        data += stream.recv(1 << 20)
    return data


def test_every_byte_both_ways(ends):
    near, far = ends.connect(b"shell")
    sent = os.urandom(8 << 20)
    for one, other in ((near, far), (far, near)):
        writer = threading.Thread(target=one.sendall, args=(sent,))
        writer.start()
        assert receive(other, len(sent)) == sent
        writer.join()
    near.close()
    far.settimeout(20)
    assert far.recv(1) == b""


def test_a_reader_that_stopped_holds_up_nobody_else(ends):
    slow_near, slow_far = ends.connect(b"iopub")
    near, far = ends.connect(b"control")
    slow_far.setblocking(False)
    sent = 0
    while True:  # until nothing more is taken
        try:
            sent += slow_far.send(b"x" * 65536)
        except BlockingIOError:
            before = sent
            far.sendall(b"ping")
            assert receive(near, 4) == b"ping"
            near.sendall(b"pong")
            assert receive(far, 4) == b"pong"
            try:
                sent += slow_far.send(b"x" * 65536)
            except BlockingIOError:
                if sent == before:
                    break
    assert sent < 4 * carry.WINDOW, "what is on its way has a bound"
    slow_far.setblocking(True)
    assert receive(slow_near, sent) == b"x" * sent


def test_what_cannot_be_connected_is_closed(ends):
    near, _ = ends.connect(b"nowhere")
    near.settimeout(20)
    assert near.recv(1) == b""


def test_words_that_are_not_about_a_connection(ends):
    ends.say(carry.SIGNAL, b"2")
    until(lambda: ends.heard == [(carry.SIGNAL, b"2")])
