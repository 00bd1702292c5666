"""`docker run` for the words that jig uses, over the engine's socket: as the program does it, without starting that.

The program takes 15 to 20 ms to start, which every run would wait for. Words that are not known here, and engines that
are not reached by a socket of this machine, are left to the program.
"""

import os
import select
import sys

assert sys.platform != "win32"  # before the imports, so that the type checker leaves them out on Windows

from jig.runner.engine_socket import Silent, request, socket_path
from jig.runner.quick_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

REFUSED = 125  # the program's own exit code when the engine does not do it
HEAD_S = 1.0  # engines before 17.06 tell everything in the end
LOST = "docker: error waiting for container: unexpected EOF"
# Option → where it goes: in the container's settings, or, with a dot, in those of its host.
_TEXTS = {"--workdir": "WorkingDir", "--user": "User", "--network": ".NetworkMode", "--runtime": ".Runtime"}
_LISTS = {"--env": "Env", "-e": "Env", "--group-add": ".GroupAdd", "--security-opt": ".SecurityOpt"}


def settings(words: "List[str]") -> "Optional[Tuple[str, Dict[str, Any]]]":
    """The container's name and what the engine is asked for; None where a word is not known."""
    host: "Dict[str, Any]" = {"LogConfig": {}, "Mounts": [], "NetworkMode": "default"}
    asked: "Dict[str, Any]" = {"HostConfig": host, "Labels": {}, "OpenStdin": True, "StdinOnce": True}
    asked.update(dict.fromkeys(("AttachStdin", "AttachStdout", "AttachStderr"), True))
    name, place = "", 0
    while words[place].startswith("-"):
        option, equals, value = words[place].partition("=")
        place += 1
        if option in ("--interactive", "--sig-proxy"):
            continue
        if not equals:
            value = words[place]
            place += 1
        if option == "--name":
            name = value
        elif option == "--label":
            asked["Labels"].update([value.split("=", 1)])
        elif option == "--log-driver":
            host["LogConfig"]["Type"] = value
        elif option == "--shm-size":
            host["ShmSize"] = int(value)
        elif option == "--entrypoint":
            asked["Entrypoint"] = [value]
        elif option == "--mount" and '"' not in value:
            fields = dict(field.partition("=")[::2] for field in value.split(","))
            mount: "Dict[str, Any]" = {"Type": fields["type"], "Source": fields["src"], "Target": fields["dst"]}
            host["Mounts"].append(dict(mount, ReadOnly="readonly" in fields))
        elif option in _TEXTS:
            key = _TEXTS[option]
            (host if key[0] == "." else asked)[key.lstrip(".")] = value
        elif option in _LISTS:
            key = _LISTS[option]
            (host if key[0] == "." else asked).setdefault(key.lstrip("."), []).append(value)
        else:
            return None
    asked["Image"], asked["Cmd"] = words[place], words[place + 1 :]
    return name, asked


def ask(words: "List[str]", address: str) -> "Optional[Asked]":
    """Ask the engine to make the container, and do not wait; None when nothing was asked: the program is to do it."""
    path, asked = socket_path(address), settings(words)
    if not path or asked is None:
        return None
    try:
        return Asked(path, _post(path, "/containers/create?name=" + asked[0], dumps(asked[1])))
    except (OSError, Silent):  # nobody listens any more: the program says so in words that we know
        return None


class Asked:
    """A container that the engine was asked to make."""

    def __init__(self, path: str, connection: "Any") -> None:
        self._path = path
        self._connection = connection

    def fileno(self) -> int:
        """Of the connection on which the answer comes; any process that has it may go on."""
        return int(self._connection.fileno())

    def close(self) -> None:
        """Leave it to another process that has the connection."""
        self._connection.close()

    def wait(self) -> "Tuple[int, bytes]":
        """The engine's answer."""
        try:
            return _answer(_all(self._connection))
        finally:
            self._connection.close()

    def run(self) -> int:
        """Run it to its end between our stdin, stdout and stderr; returns the exit code as docker gives it."""
        try:
            status, said = self.wait()
            if status != 201:
                return _refused(said)
            return _Attached(self._path, "/containers/%s" % loads(said)["Id"]).run()
        except (OSError, Silent, ValueError, KeyError):  # it hung up, in the middle of an answer perhaps
            os.write(2, (LOST + "\n").encode())
            return REFUSED


def _post(path: str, place: str, body: str = "") -> "Any":
    with_body = "Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body.encode())
    return request(path, "POST %s HTTP/1.0" % place, with_body, body.encode(), None)


def _all(connection: "Any") -> bytes:
    heard: "List[bytes]" = []
    while True:
        data = connection.recv(65536)
        if not data:
            return b"".join(heard)
        heard.append(data)


def _answer(heard: bytes) -> "Tuple[int, bytes]":
    head, _, body = heard.partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    if len(words) < 2:
        raise OSError("the engine has hung up")
    return int(words[1]), body


def _refused(said: bytes) -> int:
    """Say what the engine said, in the program's words."""
    try:
        text = str(loads(said)["message"])
    except (ValueError, KeyError, TypeError):
        text = said.decode(errors="replace")
    os.write(2, ("docker: Error response from daemon: %s.\n" % text).encode())
    return REFUSED


class _Attached:
    """A container that was made, with our three streams at its own."""

    def __init__(self, path: str, place: str) -> None:
        self._path = path
        self._place = place
        self._heard = b""

    def run(self) -> int:
        """Attach, start, and pass everything on until it ends."""
        up = "Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n"
        streams = "/attach?stream=1&stdin=1&stdout=1&stderr=1"
        stream = request(self._path, "POST %s%s HTTP/1.1" % (self._place, streams), up, b"", None)
        while b"\r\n\r\n" not in self._heard:
            data = stream.recv(65536)
            if not data:
                raise OSError("the engine has hung up")
            self._heard += data
        head, _, self._heard = self._heard.partition(b"\r\n\r\n")
        if head.split(b" ")[1] not in (b"101", b"200"):
            return _refused(self._heard)
        wait = request(self._path, "POST %s/wait?condition=next-exit HTTP/1.0" % self._place, "", b"", None)
        # The head of its answer comes as soon as the engine waits: from then on it misses no end.
        told = [wait.recv(65536)] if select.select([wait], [], [], HEAD_S)[0] else []
        status, said = Asked(self._path, _post(self._path, self._place + "/start")).wait()
        if status not in (204, 304):
            return _refused(said)
        status, said = _answer(self._pass_on(stream, wait, told))
        return int(loads(said)["StatusCode"])

    def _pass_on(self, stream: "Any", wait: "Any", told: "List[bytes]") -> bytes:
        """Until the engine has told of the end; returns all that."""
        watched: "List[Any]" = [0, stream, wait]
        while wait in watched:
            ready = select.select(watched, [], [])[0]
            if 0 in ready:
                data = os.read(0, 65536)
                if data:
                    stream.sendall(data)
                else:
                    watched.remove(0)
                    stream.shutdown(1)
            if stream in ready and not self._hear(stream):
                watched.remove(stream)
            if wait in ready:
                told.append(wait.recv(65536))
                if not told[-1]:
                    watched.remove(wait)
        while stream in watched and self._hear(stream):
            continue
        return b"".join(told)

    def _hear(self, stream: "Any") -> bool:
        """Take the stream's pieces apart: each has a head with the number of its stream, and its size."""
        data = stream.recv(65536)
        self._heard += data
        while len(self._heard) >= 8:
            size = int.from_bytes(self._heard[4:8], "big")
            if len(self._heard) < 8 + size:
                break
            os.write(2 if self._heard[0] == 2 else 1, self._heard[8 : 8 + size])
            self._heard = self._heard[8 + size :]
        return bool(data)
