"""An endpoint without a run around it, and a client that speaks its protocol by hand."""

import http.client
import json
import os
import sys
import time
from pathlib import Path

import pytest

import jig
from jig.runner.mlflow_door import Door
from tests.mlflow import venvs

SCRIPTS = Path(jig.__file__).parent / "script"
sys.path.append(str(SCRIPTS))  # as for the process that serves

# Another interpreter can be named, to serve on every version that an image may have.
PYTHON = os.environ.get("JIG_TEST_PYTHON", sys.executable)
PREFIX = "/api/2.0/mlflow/"


class Failed(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, said: "dict[str, str]") -> None:
        Exception.__init__(self, status, said)
        self.status, self.code, self.message = status, said["error_code"], said["message"]


class Client:
    """One connection that stays open, as that of MLflow's own client."""

    def __init__(self, port: int, token: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.headers = {"Authorization": f"Bearer {token}"}

    def raw(self, method: str, path: str, body: "bytes | None" = None, **headers: str) -> "tuple[int, bytes]":
        self.connection.request(method, path, body, {**self.headers, **headers})
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def call(self, method: str, path: str, /, **fields: object) -> "dict[str, object]":
        status, body = self.raw(method, PREFIX + path, json.dumps(fields).encode())
        said = json.loads(body)
        if status != 200:
            raise Failed(status, said)
        return said

    def post(self, path: str, /, **fields: object):
        return self.call("POST", path, **fields)

    def get(self, path: str, /, **fields: object):
        from urllib.parse import urlencode

        status, body = self.raw("GET", f"{PREFIX}{path}?{urlencode(fields, doseq=True)}")
        said = json.loads(body)
        if status != 200:
            raise Failed(status, said)
        return said

    def create(self, **fields: object) -> str:
        """The id of a new run."""
        return self.post("runs/create", experiment_id="0", start_time=1000, **fields)["run"]["info"]["run_id"]


class Endpoint:
    """A guard's door, opened by this process."""

    def __init__(self, folder: Path, **environ: str) -> None:
        self.folder, self.work = folder, folder / "work"
        (self.work / "outputs").mkdir(parents=True)
        (folder / "output.log").touch()
        self.said, self.clients = [], []
        self.door = Door("proj_1", str(folder), str(self.work), self.said.append)
        self.variables = self.door.open(environ)
        self.token = self.variables.get("MLFLOW_TRACKING_TOKEN") or environ["MLFLOW_TRACKING_TOKEN"]
        self.port = int(self.variables["MLFLOW_TRACKING_URI"].rpartition(":")[2])
        self.start()

    def start(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "executable", PYTHON)
            self.door.answer(str(SCRIPTS))
        self.pid = self.door._server

    def client(self) -> Client:
        self.clients.append(Client(self.port, self.token))
        return self.clients[-1]

    def follow(self) -> Client:
        """Kill the process that serves, and start the next one, as a guard does; a client of that."""
        assert self.door.watched() == []
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        self.door.missed(self.pid)
        assert self.door.watched() != []
        self.start()
        return self.client()

    def lines(self) -> "list[dict[str, object]]":
        """The metrics file, whole; what is no line of JSON is an error."""
        return [json.loads(line) for line in (self.folder / "metrics.jsonl").read_bytes().split(b"\n") if line]

    def told(self, *keys: str) -> "list[dict[str, object]]":
        """The lines with one of these keys, without their times."""
        lines = [line for line in self.lines() if any(key in line for key in keys)]
        return [{key: value for key, value in line.items() if key != "time"} for line in lines]

    def close(self) -> int:
        """Leave, as a guard does at the run's end; returns how the process ended."""
        self.door.leave()
        self.door._listener.close()
        for client in self.clients:
            client.connection.close()
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return status
            time.sleep(0.002)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)
        raise AssertionError("the process that serves did not end")


@pytest.fixture
def endpoint(tmp_path):
    found = Endpoint(tmp_path / "a run's 100% 'folder' #1")
    yield found
    assert found.close() == 0


@pytest.fixture
def client(endpoint):
    return endpoint.client()


@pytest.fixture(scope="session")
def mlflow3():
    return venvs.python_with("mlflow3")


@pytest.fixture(scope="session")
def mlflow2():
    return venvs.python_with("mlflow2")


@pytest.fixture(scope="session")
def lightning():
    return venvs.python_with_lightning()
