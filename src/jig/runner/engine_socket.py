"""Asking the engine about images over its socket: as `docker image inspect` does, without starting a program for it.

The program takes 10 to 20 ms to start, and this question is on the path of every run. Where the engine is not reached
by a socket of this machine that we may use, nothing is answered here, and the program asks.
"""

import os
import sys

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, List, Optional, Sequence

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@")


class Silent(Exception):
    """The engine took the question and has not answered."""


def socket_path(address: str) -> str:
    """The socket of that address, where it is one of this machine that we may use; else empty."""
    path = address[len("unix://") :] if address.startswith("unix://") else ""
    return path if path and os.access(path, os.R_OK | os.W_OK) else ""


def ask_images(address: str, names: "Sequence[str]", timeout_s: float) -> "Optional[bytes]":
    """What the engine says of each image that it has, a line of JSON each; None where the program must ask."""
    path = socket_path(address)
    if not path or not all(_PLAIN.issuperset(name) for name in names):
        return None
    connections: "List[Any]" = []
    answers = []
    try:
        for name in names:  # all at once: the engine answers them side by side
            connections.append(request(path, "GET /images/%s/json HTTP/1.0" % name, "", b"", timeout_s))
        for connection in connections:
            head, _, body = _heard(connection).partition(b"\r\n\r\n")
            status = head.split(b" ")[1:2]
            if status == [b"200"]:
                answers.append(body.strip().replace(b"\n", b" "))
            elif status != [b"404"]:
                return None
    except OSError:  # nobody listens: the program says so in words that we know
        return None
    finally:
        for connection in connections:
            connection.close()
    return b"\n".join(answers)


def _heard(connection: "Any") -> bytes:
    """All that comes, to the end."""
    heard: "List[bytes]" = []
    try:
        while True:
            data = connection.recv(65536)
            if not data:
                return b"".join(heard)
            heard.append(data)
    except OSError as error:
        if error.errno is None:  # a time limit that has passed, and no fault of the system's
            raise Silent
        raise


def request(path: str, line: str, heads: str, body: bytes, timeout_s: "Optional[float]") -> "Any":
    """A connection on which the question was sent."""
    import _socket  # the C module alone: `socket` takes 5 ms to import

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout_s)
        connection.connect(path)
        connection.sendall(("%s\r\nHost: docker\r\n%s\r\n" % (line, heads)).encode() + body)
    except _socket.timeout:
        connection.close()
        raise Silent
    except BaseException:
        connection.close()
        raise
    return connection
