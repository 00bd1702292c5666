"""The other end of an export to MLflow: an interpreter that has mlflow, fed through a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from jig.errors import JigError, StoreError
from jig.runner.quick_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mlflow_side", "jig_to_mlflow.py")
# Each can be set by the person: to wait longer for a server, for example.
SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",  # who names one means it
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}
LAST_WORDS = 5


class Refused(StoreError):
    """MLflow would not take something."""


class Writer:
    """A conversation with MLflow. The address goes by the pipe: it may hold a password."""

    def __init__(self, uri: str, python: str | None) -> None:
        self.uri = uri
        self._python = os.path.expanduser(python) if python else sys.executable
        folder = _folder(uri)
        self._errors = tempfile.TemporaryFile()
        environ = {**SETTINGS, **{name: value for name, value in os.environ.items() if name != "PYTHONSTARTUP"}}
        try:
            self._process = subprocess.Popen(
                (self._python, PROGRAM),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environ,
            )
        except OSError as error:
            self._errors.close()
            raise JigError(
                f"{self._python} could not be started: {error.strerror}", "--python takes the path of an interpreter"
            ) from error
        self._send({"uri": uri, "folder": folder})

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *exc: object) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            try:
                if stream is not None:
                    stream.close()
            except BrokenPipeError:
                continue  # it left first
        self._process.wait()
        self._errors.close()

    def _send(self, told: dict[str, Any]) -> None:
        if self._process.stdin is None:
            raise ValueError("the pipe is closed")
        try:
            self._process.stdin.write(dumps(told).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return  # told by the answer that does not come

    def ask(self, what: str, **more: Any) -> dict[str, Any]:
        """One request, one answer; Refused when MLflow does not take it."""
        self._send({"ask": what, **more})
        line = self._process.stdout.readline() if self._process.stdout else b""
        if not line.endswith(b"\n"):
            raise StoreError(f"the export to {shown(self.uri)} broke off: {self._last_words()}", AGAIN)
        answer: dict[str, Any] = loads(line)
        if "missing" in answer:
            raise JigError(
                f"{self._python} has no mlflow: {answer['missing']}",
                "install it (pip install mlflow), or name an interpreter that has it:  --python PATH",
            )
        if "error" in answer:
            raise Refused(f"MLflow at {shown(self.uri)} says: {hidden(answer['error'], self.uri)}", AGAIN)
        return answer

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return hidden("\n".join(lines[-LAST_WORDS:]), self.uri) or "it ended without a word"


AGAIN = "the same command goes on where it stopped"


def _folder(uri: str) -> str:
    """Where MLflow is to stand: it puts the artifacts of a database file into the current folder, so beside that."""
    start = "sqlite:////" if os.name != "nt" else "sqlite:///"
    if not uri.startswith(start):
        return ""
    folder = os.path.dirname(uri.removeprefix("sqlite:///"))
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder} cannot be made: {error.strerror}", "name another place for the database") from error
    return folder


def _login(uri: str) -> str:
    """User and password in an address."""
    scheme, found, rest = uri.partition("://")
    return rest.split("/")[0].rpartition("@")[0] if found and not scheme.startswith(("sqlite", "file")) else ""


def hidden(text: str, uri: str) -> str:
    """A text without the login of the address."""
    login = _login(uri)
    if not login:
        return text
    secret = login.partition(":")[2]
    text = text.replace(login, "***")
    return text.replace(secret, "***") if secret else text


def shown(uri: str) -> str:
    """The address as it may be shown."""
    return hidden(uri, uri)
