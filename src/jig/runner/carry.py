"""Many connections over one pair of pipes: what a notebook's five channels need between two machines.

Both ends run this file: the client's, and in the run's place the one that `script/jig_kernel/relay.py` has beside it.
Each end may fall behind: of one connection no more than a window is on its way, so a reader that is slow, or stopped,
holds up its own connection and no other.
"""

import os
import select
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, Optional  # noqa: F401  # Dict: in a comment

OPEN, DATA, CLOSE, TAKEN, SIGNAL, READY = range(6)
HEAD = struct.Struct(">BII")  # what, of which connection, how many bytes follow
CHUNK = 1 << 16
WINDOW = 1 << 20


class Connection:
    """One of them, at this end."""

    def __init__(self, stream: "socket.socket") -> None:
        stream.setblocking(False)
        self.stream = stream
        self.unwritten = bytearray()  # came from the other end, and is not written yet
        self.on_its_way = 0  # sent to the other end, and not written there yet
        self.is_ending = False  # the other end has closed it


class Carrier:
    """One end: reads and writes the pipes' descriptors, and what is connected here.

    `connect(word)` gives a socket for a connection that the other end opens; OSError closes it there. `hear(what,
    data)` is told what is not about a connection.
    """

    def __init__(
        self,
        reading: int,
        writing: int,
        connect: "Callable[[bytes], socket.socket]",
        hear: "Callable[[int, bytes], None]",
    ) -> None:
        self._reading = reading
        self._writing = writing
        self._connect = connect
        self._hear = hear
        self._unread = bytearray()
        self._unwritten = bytearray()
        self._connections = {}  # type: Dict[int, Connection]
        self._last = 0

    def say(self, what: int, data: bytes = b"", number: int = 0) -> None:
        """Send something; it leaves with the next turns."""
        self._unwritten += HEAD.pack(what, number, len(data)) + data

    def open(self, stream: "socket.socket", word: bytes) -> None:
        """Carry this socket to what `word` names at the other end."""
        self._last += 1
        self._connections[self._last] = Connection(stream)
        self.say(OPEN, word, self._last)

    def turn(self, wait_s: float, also: "Iterable[Any]" = ()) -> "Optional[List[Any]]":
        """Move what can be moved; returns which of `also` can be read, or None when the other end is gone."""
        try:
            return self._turn(wait_s, list(also))
        except BrokenPipeError:
            return None

    def _turn(self, wait_s: float, also: "List[Any]") -> "Optional[List[Any]]":
        there = list(self._connections.items())
        sources = [one.stream for _, one in there if one.on_its_way < WINDOW and not one.is_ending]
        if len(self._unwritten) >= WINDOW:
            sources = []
        sinks = [one.stream for _, one in there if one.unwritten]  # type: List[Any]
        if self._unwritten:
            sinks.append(self._writing)
        readable, writable, _ = select.select([self._reading] + also + sources, sinks, [], wait_s)
        if self._writing in writable:
            self._write()
        for number, one in there:
            if one.stream in writable:
                self._give(number, one)
            if one.stream in readable and number in self._connections:
                self._take(number, one)
        if self._reading in readable and not self._read():
            return None
        return [one for one in also if one in readable]

    def _write(self) -> None:
        try:
            del self._unwritten[: os.write(self._writing, self._unwritten[:CHUNK])]
        except BlockingIOError:
            return

    def _read(self) -> bool:
        data = os.read(self._reading, CHUNK)
        self._unread += data
        while len(self._unread) >= HEAD.size:
            what, number, size = HEAD.unpack(self._unread[: HEAD.size])
            if len(self._unread) < HEAD.size + size:
                break
            body = bytes(self._unread[HEAD.size : HEAD.size + size])
            del self._unread[: HEAD.size + size]
            self._heard(what, number, body)
        return bool(data)

    def _heard(self, what: int, number: int, body: bytes) -> None:
        one = self._connections.get(number)
        if what == OPEN:
            try:
                self._connections[number] = Connection(self._connect(body))
            except OSError:
                self.say(CLOSE, number=number)
        elif what in (SIGNAL, READY):
            self._hear(what, body)
        elif one is None:  # closed here meanwhile
            return
        elif what == DATA:
            one.unwritten += body
            self._give(number, one)
        elif what == TAKEN:
            one.on_its_way -= int(body)
        elif what == CLOSE:
            one.is_ending = True
            self._give(number, one)

    def _give(self, number: int, one: Connection) -> None:
        """Write what came for this connection, as far as it is taken."""
        try:
            done = one.stream.send(one.unwritten) if one.unwritten else 0
        except (BlockingIOError, InterruptedError):
            done = 0
        except OSError:
            self._drop(number, one, tell=not one.is_ending)
            return
        del one.unwritten[:done]
        if one.is_ending and not one.unwritten:
            self._drop(number, one, tell=False)
        elif done:
            self.say(TAKEN, b"%d" % done, number)

    def _take(self, number: int, one: Connection) -> None:
        """Read what is to go to the other end."""
        try:
            data = one.stream.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            one.on_its_way += len(data)
            self.say(DATA, data, number)
        else:
            self._drop(number, one, tell=True)

    def _drop(self, number: int, one: Connection, tell: bool) -> None:
        self._connections.pop(number, None)
        one.stream.close()
        if tell:
            self.say(CLOSE, number=number)

    def close(self) -> None:
        """Hang up all of them here."""
        for one in self._connections.values():
            one.stream.close()
        self._connections.clear()
