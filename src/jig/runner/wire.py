"""How client and runner talk: one JSON request line in, marked JSON lines out, blobs as length-prefixed bytes.

Answers stand on lines of their own behind a marker that the client chose, so that a banner, a chatty login profile or
anything else that is printed on the way does no harm.
"""

from jig.runner.quick_json import dumps, loads
from jig.system import has_news

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Dict, Iterator, Tuple

MARK = b"jig:"  # until a request brings its own
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
    request = loads(line.decode())
    if not isinstance(request, dict):
        raise ValueError("a request is a JSON object")
    global _mark
    _mark = request.get("mark", "").encode() or _mark
    return request


def has_left(stream: "BinaryIO") -> bool:
    """Whether the client has hung up; asked while it waits for us, and so has nothing to say. Not on Windows."""
    return has_news(stream.fileno(), 0.0)


_mark = MARK


def write_line(stream: "BinaryIO", value: "Dict[str, Any]") -> None:
    """A request."""
    stream.write(dumps(value).encode() + b"\n")
    stream.flush()


def write_answer(stream: "BinaryIO", value: "Dict[str, Any]") -> None:
    """An answer, behind the marker."""
    stream.write(b"\n" + _mark + dumps(value).encode() + b"\n")
    stream.flush()


def write_frame(stream: "BinaryIO", head: "Dict[str, Any]", body: bytes) -> None:
    """An answer with bytes behind it: `size` in the head says how many."""
    stream.write(b"\n" + _mark + dumps(head).encode() + b"\n" + body)
    stream.flush()


def read_answer(stream: "BinaryIO", mark: bytes = MARK) -> "Dict[str, Any]":
    """The next answer, whatever else is printed around it; EOFError when none comes."""
    while True:
        line = stream.readline(LONGEST_LINE)
        if not line:
            raise EOFError("the runner ended without an answer")
        if line.startswith(mark) and line.endswith(b"\n"):
            answer = loads(line[len(mark) :].decode())
            if isinstance(answer, dict):
                return answer


def write_blob(stream: "BinaryIO", name: str, size: int, pieces: "Iterator[bytes]", packed: bool = False) -> None:
    """Send one blob; packed, each piece travels compressed behind its own length."""
    stream.write(("%s %d %s\n" % (name, size, "packed" if packed else "plain")).encode())
    for piece in pieces:
        if packed:
            import zlib

            piece = zlib.compress(piece, 1)
            stream.write(b"%d\n" % len(piece))
        stream.write(piece)


def write_blobs_end(stream: "BinaryIO") -> None:
    """Say that all blobs asked for are sent."""
    stream.write(b".\n")
    stream.flush()


def read_blob(stream: "BinaryIO") -> "Tuple[str, Iterator[bytes]]":
    """The next blob's name and its bytes in pieces; the name is empty at the end."""
    line = stream.readline(200)
    if line == b".\n":
        return "", iter(())
    words = line.decode().split()
    if not line.endswith(b"\n") or len(words) != 3:
        raise EOFError("the client left while files were being sent")
    pieces = read_packed(stream, int(words[1])) if words[2] == "packed" else read_bytes(stream, int(words[1]))
    return words[0], pieces


def read_packed(stream: "BinaryIO", size: int) -> "Iterator[bytes]":
    """Exactly `size` bytes that travel compressed, in pieces; EOFError when the client leaves before."""
    import zlib

    while size:
        line = stream.readline(20)
        if not line.endswith(b"\n"):
            raise EOFError("the client left while files were being sent")
        piece = zlib.decompress(b"".join(read_bytes(stream, int(line))))
        if not piece or len(piece) > size:
            raise ValueError("a blob is not of the size that was announced")
        size -= len(piece)
        yield piece


def read_bytes(stream: "BinaryIO", size: int) -> "Iterator[bytes]":
    """Exactly `size` bytes, in pieces; EOFError when the client leaves before."""
    while size:
        piece = stream.read(min(CHUNK, size))
        if not piece:
            raise EOFError("the client left while files were being sent")
        size -= len(piece)
        yield piece
