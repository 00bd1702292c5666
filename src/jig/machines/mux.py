"""A command through a control connection that is open: asked of its owner in the words of ssh itself (PROTOCOL.mux).

Starting the ssh program for that takes some milliseconds, and every question to a machine would wait for it.
"""

from __future__ import annotations

import os
import sys

from jig.system import has_news

assert sys.platform != "win32"

import _socket  # noqa: E402  # the C module alone: `socket` takes 3 ms to import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HELLO, VERSION = 0x00000001, 4
NEW_SESSION, NO_ESCAPE = 0x10000002, 0xFFFFFFFF
OPENED, EXITED = 0x80000006, 0x80000004
HELLO_S = 2.0
LONGEST = 1 << 16  # of a message that somebody sends us
CUT = 255  # ssh's own exit code for a connection that is gone


def connect(path: str) -> _socket.socket | None:
    """A connection to the owner of that control connection, if it speaks as we do; a socket without one is removed."""
    owner, version = _met(path)
    if owner is not None and version != VERSION:  # ssh may know what to say to it
        owner.close()
        return None
    return owner


def is_served(path: str) -> bool:
    """Whether that control connection has an owner; a socket without one is removed."""
    owner, _ = _met(path)
    if owner is not None:
        owner.close()
    return owner is not None


def _met(path: str) -> tuple[_socket.socket | None, int]:
    """The owner, and the version of what it speaks."""
    if not os.path.exists(path):
        return None, 0
    ours = _socket.socket(_socket.AF_UNIX)
    ours.settimeout(HELLO_S)
    try:
        ours.connect(path)
        word, version = _message(ours, 2)  # at once; one that is stopped still lets us in, and stays mute
        if word == HELLO:
            ours.settimeout(None)
            return ours, version
    except OSError:
        pass  # nobody is there: the socket goes, below
    ours.close()
    try:
        os.unlink(path)
    except FileNotFoundError:
        return None, 0  # another command removed it first
    return None, 0


class Session:
    """A command on the other side, whose stdin, stdout and stderr are these three of ours."""

    def __init__(self, owner: _socket.socket, command: str, streams: tuple[int, int, int]) -> None:
        self._owner = owner
        self._streams = streams
        self._is_asked = True
        # All of them: the owner lets those through to the machine that ssh's configuration (SendEnv) names.
        variables = [name + b"=" + value for name, value in os.environb.items()]
        words = [NEW_SESSION, 0, b"", 0, 0, 0, 0, NO_ESCAPE, b"", os.fsencode(command), *variables]
        try:
            owner.sendall(_packed([HELLO, VERSION]) + _packed(words))
            for stream in streams:
                rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, stream.to_bytes(4, sys.byteorder))
                owner.sendmsg([b"\0"], [rights])
        except OSError:
            return  # it has gone this moment, which `refused` finds out

    def refused(self, within_s: float) -> tuple[int, int, int] | None:
        """The three descriptors when it has not begun there, for somebody else; None when it has. Waits for that."""
        if not self._is_asked:
            return None
        self._is_asked = False
        try:
            if has_news(self._owner.fileno(), within_s) and _message(self._owner, 1) == [OPENED]:
                self._let_go()
                return None
        except OSError:
            pass  # the owner has gone
        self._owner.close()
        return self._streams

    def wait(self) -> int:
        """Its exit code, when it has ended and all of its output is here."""
        code = CUT
        try:
            while True:
                told = _message(self._owner, 3)
                code = told[2] if told[0] == EXITED else code
        except OSError:  # the owner hangs up in the end
            return code

    def end(self) -> None:
        """Hang up."""
        self._owner.close()
        if self._is_asked:
            self._let_go()

    def _let_go(self) -> None:
        """Of the ends that are the other side's alone."""
        for stream in self._streams[:2]:
            os.close(stream)


def _packed(fields: list[Any]) -> bytes:
    """A message: numbers as they are, texts with their lengths."""
    body = b""
    for field in fields:
        body += _number(field) if isinstance(field, int) else _number(len(field)) + field
    return _number(len(body)) + body


def _number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def _message(owner: _socket.socket, numbers: int) -> list[int]:
    """The first numbers of the next message; ConnectionError when there is none."""
    size = int.from_bytes(_received(owner, 4), "big")
    if size > LONGEST:
        raise ConnectionError("that is no owner of a control connection")
    body = _received(owner, size)
    return [int.from_bytes(body[place : place + 4], "big") for place in range(0, 4 * numbers, 4)]


def _received(owner: _socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = owner.recv(size - len(data))
        if not piece:
            raise ConnectionError("the control connection has ended")
        data += piece
    return data
