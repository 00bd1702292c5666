"""A client's connection: bytes in, requests out; answers in, bytes out. HTTP/1.1 as far as MLflow's client uses it."""

from jig_mlflow.failure import Refused

MOST_HEAD = 64 * 1024
MOST_BODY = 32 << 20
MOST_DROPPED = 256 << 20
MOST_UNSENT = 1 << 20  # while a client leaves so much unread, it is not listened to
REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
           413: "Payload Too Large", 429: "Too Many Requests", 500: "Internal Server Error",
           501: "Not Implemented"}  # fmt: skip
TOO_LARGE = "a request may have %d bytes, and this one has %d"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Request(object):
    """A request, whole."""

    def __init__(self, method, target, headers):
        self.method = method
        self.target = target
        self.headers = headers
        self.body = b""


class Connection(object):
    """What has come in and not been used, and what has not been sent.

    `admit` is asked about each head, before anything of a body is kept, with the size of it.
    """

    def __init__(self, admit):
        self._admit = admit
        self._come = bytearray()
        self.unsent = bytearray()
        self._request = None
        self._size = 0
        self._dropped = 0  # bytes of a refused body that are still to come
        self.is_ending = False  # as soon as all is sent
        self.held = 0  # how much of the memory that all share is for our body

    def take(self, data):
        """What the client has sent."""
        if self._dropped:
            used = min(self._dropped, len(data))
            self._dropped -= used
            data = data[used:]
        self._come += data

    @property
    def is_listening(self):
        """Whether more is wanted now."""
        return len(self.unsent) < MOST_UNSENT and (not self.is_ending or self._dropped > 0)

    @property
    def is_idle(self):
        """Whether nothing has been begun."""
        return self._request is None and not self._come and not self.unsent

    @property
    def is_over(self):
        """Whether it can be closed: everything is said, and nothing more will be heard."""
        return self.is_ending and not self.unsent and not self._dropped

    def next(self):
        """The next request that is whole, or None. Refused for what is none; then the connection is to end."""
        if self.is_ending or len(self.unsent) >= MOST_UNSENT:
            return None
        if self._request is None:
            end = self._come.find(b"\r\n\r\n")
            if end < 0 and len(self._come) <= MOST_HEAD:
                return None
            if not 0 <= end <= MOST_HEAD:
                raise self._end(Refused("BAD_REQUEST", "the head of a request is longer than %d bytes" % MOST_HEAD))
            head = bytes(self._come[:end])
            del self._come[: end + 4]
            self._begin(head)
        if len(self._come) < self._size:
            return None
        request, self._request = self._request, None
        request.body = bytes(self._come[: self._size])
        del self._come[: self._size]
        return request

    def _begin(self, head):
        request = parse(head)
        headers = request.headers
        length = headers.get(b"content-length", b"0")
        if b"transfer-encoding" in headers or not length.isdigit() or len(length) > 18:
            raise self._end(Refused("BAD_REQUEST", "a body must come whole, and with its length"))
        self._size = int(length)
        try:
            if self._size > MOST_BODY:
                raise Refused("RESOURCE_EXHAUSTED", TOO_LARGE % (MOST_BODY, self._size))
            self._admit(request, self._size)
        except Refused:
            # A client that is still sending would not hear the answer if we hung up.
            left = self._size - len(self._come)
            self._dropped = left if 0 < left < MOST_DROPPED else 0
            self._end(None)
            raise
        self._request = request
        self.held = self._size
        if headers.get(b"expect", b"").lower() == b"100-continue" and len(self._come) < self._size:
            self.unsent += CONTINUE

    def _end(self, refused):
        """Nothing more is understood of what comes."""
        self.is_ending = True
        del self._come[:]
        return refused

    def answer(self, status, body, keep=True, kind="application/json"):
        """Say it; `keep` the connection, unless nothing can follow."""
        self.held = 0
        self.is_ending = self.is_ending or not keep
        head = "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n" % (
            status, REASONS[status], kind, len(body), "Connection: close\r\n" if self.is_ending else "",
        )  # fmt: skip
        self.unsent += head.encode() + body


def parse(head):
    """The request that a head begins; Refused when it begins none."""
    lines = head.split(b"\r\n")
    words = lines[0].split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        raise Refused("BAD_REQUEST", "this is no request of HTTP/1.1")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(b":")
        name = name.lower()
        if (
            not colon
            or name != name.strip()
            or name in headers
            and name in (b"content-length", b"host", b"authorization")
        ):
            raise Refused("BAD_REQUEST", "this is no request of HTTP/1.1")
        headers[name] = value.strip()
    kept = headers.get(b"connection", b"").lower()
    headers[b"connection"] = kept or (b"close" if words[2] == b"HTTP/1.0" else b"keep-alive")
    return Request(words[0].decode("ascii", "replace"), words[1].decode("ascii", "replace"), headers)
