"""What the application's own JVM can be asked: PySpark's driver has a gateway there, which speaks Py4J's lines."""

import os
import re
import socket

PORT, SECRET = b"PYSPARK_GATEWAY_PORT=", b"PYSPARK_GATEWAY_SECRET="
ANSWER_S = 5.0
ESCAPED = re.compile(r"\\(.)")
PLAIN = {"n": "\n", "r": "\r"}


class NoAnswer(Exception):
    """The gateway is gone, or has something else of that name."""


class Gateway(object):
    """One connection; what is answered is a number, a truth, a text, None, or the name of an object there."""

    def __init__(self, port, secret):
        try:
            self._connection = socket.create_connection(("127.0.0.1", port), ANSWER_S)
        except OSError as error:
            raise NoAnswer(str(error))
        self._answers = self._connection.makefile("rb")
        try:
            if secret:
                self._ask("A", secret)
        except NoAnswer:
            self.close()
            raise

    def close(self):
        """Let the connection go."""
        self._answers.close()
        self._connection.close()

    def singleton(self, name):
        """What Scala calls an object."""
        return self._ask("r", "m", name + "$", "MODULE$", "e")

    def call(self, there, method, *numbers):
        """What a method of an object answers."""
        return self._ask("c", there, method, *(["i%d" % number for number in numbers] + ["e"]))

    def option(self, there, method, *numbers):
        """What is in Scala's Option, or None."""
        answer = self.call(there, method, *numbers)
        held = self.call(answer, "get") if self.call(answer, "isDefined") else None
        self.drop(answer)
        return held

    def array(self, there, method):
        """The elements of an array."""
        answer = self.call(there, method)
        held = [self._ask("a", "g", answer, "i%d" % index, "e") for index in range(self._ask("a", "e", answer, "e"))]
        self.drop(answer)
        return held

    def drop(self, there):
        """Let go of an object, which the gateway would keep for us."""
        self._ask("m", "d", there, "e")

    def _ask(self, *words):
        try:
            self._connection.sendall(("\n".join(words) + "\n").encode())
            answer = self._answers.readline().decode()
        except (OSError, ValueError) as error:
            raise NoAnswer(str(error))
        if answer[:2] != "!y" or answer[-1] != "\n":
            raise NoAnswer(answer)
        kind, said = answer[2:3], answer[3:-1]
        if kind in ("i", "L"):
            return int(said)
        if kind == "b":
            return said == "true"
        if kind == "s":
            return ESCAPED.sub(lambda found: PLAIN.get(found.group(1), found.group(1)), said)
        return said if kind not in ("n", "v") else None


def find(run_id):
    """The gateway of this run's driver, whose variables have its port and secret; None while there is none."""
    own = b"JIG_RUN_ID=" + run_id.encode()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/environ" % name, "rb") as file:
                variables = file.read().split(b"\0")
        except OSError:  # somebody else's, or it has ended
            continue
        if own in variables:
            ports = [line[len(PORT) :] for line in variables if line.startswith(PORT)]
            secrets = [line[len(SECRET) :].decode() for line in variables if line.startswith(SECRET)]
            if ports and ports[0].isdigit():
                return Gateway(int(ports[0]), secrets[0] if secrets else "")
    return None
