"""How client and runner talk: one JSON request line in, marked JSON lines out, blobs as length-prefixed bytes.

Answers stand behind a marker, so that a banner or a chatty login profile on the way does no harm.
"""

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Dict, Iterator

MARK = b"jig:"
CHUNK = 1 << 16
LONGEST_LINE = 1 << 30


class Refused(Exception):
    """The runner will not do what it was asked; the message goes back to the client, with a hint."""

    def __init__(self, message: str, hint: str = "", code: str = "refused") -> None:
        Exception.__init__(self, message)
        self.message = message
        self.hint = hint
        self.code = code


def read_request(stream: "BinaryIO") -> "Dict[str, Any]":
    """The request line; EOFError when the client left before it was whole."""
    line = stream.readline(LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise EOFError("the client left before the request was whole")
    request = json.loads(line.decode())
    if not isinstance(request, dict):
        raise ValueError("a request is a JSON object")
    return request


def write_line(stream: "BinaryIO", value: "Dict[str, Any]") -> None:
    """A request."""
    stream.write(json.dumps(value).encode() + b"\n")
    stream.flush()


def write_answer(stream: "BinaryIO", value: "Dict[str, Any]") -> None:
    """An answer, behind the marker."""
    stream.write(MARK + json.dumps(value).encode() + b"\n")
    stream.flush()


def write_frame(stream: "BinaryIO", head: "Dict[str, Any]", body: bytes) -> None:
    """An answer with bytes behind it: `size` in the head says how many."""
    stream.write(MARK + json.dumps(head).encode() + b"\n" + body)
    stream.flush()


def read_answer(stream: "BinaryIO") -> "Dict[str, Any]":
    """The next answer, whatever else is printed around it; EOFError when none comes."""
    while True:
        line = stream.readline(LONGEST_LINE)
        if not line:
            raise EOFError("the runner ended without an answer")
        if line.startswith(MARK) and line.endswith(b"\n"):
            answer = json.loads(line[len(MARK) :].decode())
            if isinstance(answer, dict):
                return answer


def write_blob_head(stream: "BinaryIO", name: str, size: int) -> None:
    """Announce one blob; its bytes follow."""
    stream.write(("%s %d\n" % (name, size)).encode())


def write_blobs_end(stream: "BinaryIO") -> None:
    """Say that all blobs asked for are sent."""
    stream.write(b".\n")
    stream.flush()


def read_blob_head(stream: "BinaryIO") -> "tuple[str, int]":
    """Name and size of the next blob; the name is empty at the end."""
    line = stream.readline(200)
    if line == b".\n":
        return "", 0
    name, _, size = line.decode().rpartition(" ")
    if not line.endswith(b"\n") or not name:
        raise EOFError("the client left while files were being sent")
    return name, int(size)


def read_bytes(stream: "BinaryIO", size: int) -> "Iterator[bytes]":
    """Exactly `size` bytes, in pieces; EOFError when the client leaves before."""
    while size:
        piece = stream.read(min(CHUNK, size))
        if not piece:
            raise EOFError("the client left while files were being sent")
        size -= len(piece)
        yield piece
