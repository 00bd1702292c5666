"""Whoever can reach the port: with a wrong token, another name, or nonsense; and clients that are slow, or many."""

import json
import os
import socket
import time
from pathlib import Path

import pytest

from tests.conftest import until
from tests.mlflow.conftest import PREFIX, Client, Endpoint
from tests.mounts import fill

SEARCH = PREFIX + "experiments/search"


def dial(endpoint) -> socket.socket:
    return socket.create_connection(("127.0.0.1", endpoint.port), timeout=20)


def heard(sock) -> bytes:
    """All that comes until the other side hangs up."""
    data = b""
    while True:
        piece = sock.recv(65536)
        if not piece:
            sock.close()
            return data
        data += piece


def head(endpoint, *lines: str, token: "str | None" = None, host: "str | None" = None) -> bytes:
    """The head of a request that asks for experiments."""
    own = [f"POST {SEARCH} HTTP/1.1", f"Host: {host or f'127.0.0.1:{endpoint.port}'}",
           f"Authorization: Bearer {token or endpoint.token}", *lines]  # fmt: skip
    return "\r\n".join([*own, "", ""]).encode()


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer jig-", "Basic amlnOmppZw==", "Bearer {}x", "{}"])
def test_a_wrong_token(endpoint, client, header):
    client.headers = {"Authorization": header.format(endpoint.token)} if header else {}
    status, body = client.raw("POST", PREFIX + "runs/create", b"{}")
    assert (status, json.loads(body)["error_code"]) == (401, "UNAUTHENTICATED")
    assert endpoint.token not in body.decode()
    assert endpoint.lines() == []


def test_the_users_own_name_and_password(tmp_path):
    """MLflow's client sends them before any token: from variables, or from its file."""
    endpoint = Endpoint(tmp_path / "run", MLFLOW_TRACKING_USERNAME="ada", MLFLOW_TRACKING_PASSWORD="pä:ss")
    client = endpoint.client()
    client.headers = {"Authorization": "Basic YWRhOnDDpDpzcw=="}
    assert client.create() == "proj_1"
    assert endpoint.close() == 0
    kept = tmp_path / ".mlflow/credentials"
    kept.parent.mkdir()
    kept.write_text("[mlflow]\nmlflow_tracking_username = ada\nmlflow_tracking_password = pä:ss\n")
    endpoint = Endpoint(tmp_path / "another", HOME=str(tmp_path), MLFLOW_TRACKING_TOKEN="their own")
    client = endpoint.client()
    assert client.create() == "proj_1"
    client.headers = {"Authorization": "Basic YWRhOnDDpDpzcw=="}
    assert client.create() == "proj_1-1"
    kept.write_text("nonsense")
    assert client.raw("POST", SEARCH, b"{}")[0] == 401
    assert endpoint.close() == 0


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{}", "127.0.0.1", "127.0.0.1:1", "[::1]:{}"])
def test_another_name(endpoint, host):
    """A page in a browser that was led to this address by a name of its own."""
    with dial(endpoint) as sock:
        sock.sendall(head(endpoint, "Content-Length: 0", host=host.format(endpoint.port)))
        answer = heard(sock)
    assert answer.startswith(b"HTTP/1.1 403 ") and b"PERMISSION_DENIED" in answer


def test_a_body_where_no_token_is_asked_for(endpoint):
    with dial(endpoint) as sock:
        sock.sendall(
            f"POST / HTTP/1.1\r\nHost: 127.0.0.1:{endpoint.port}\r\nContent-Length: {32 << 20}\r\n\r\n".encode()
        )
        assert sock.recv(100).startswith(b"HTTP/1.1 401 ")


def test_a_browser_at_the_address_that_the_client_prints(endpoint):
    client = Client(endpoint.port, "")
    client.headers = {}
    status, body = client.raw("GET", "/")
    client.connection.close()
    assert status == 200 and b"jig history" in body and b"proj_1" not in body


@pytest.mark.parametrize(
    "request_line",
    [b"\r\n\r\n", b"hello\r\n\r\n", b"GET / HTTP/2\r\n\r\n", b"GET /\r\n\r\n", b"\x16\x03\x01\r\n\r\n",
     b"POST / HTTP/1.1\r\nno colon\r\n\r\n", b"POST / HTTP/1.1\r\nHost : a\r\n\r\n",
     b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", b"A" * 70000],
)  # fmt: skip
def test_what_is_no_request(endpoint, client, request_line):
    with dial(endpoint) as sock:
        sock.sendall(request_line)
        answer = heard(sock)
    assert answer.startswith(b"HTTP/1.1 400 ") and b"BAD_REQUEST" in answer
    assert client.create() == "proj_1"


@pytest.mark.parametrize("line", ["Content-Length: -1", "Content-Length: x", "Content-Length: 99999999999999999999",
                                  "Transfer-Encoding: chunked"])  # fmt: skip
def test_a_body_without_a_length(endpoint, line):
    with dial(endpoint) as sock:
        sock.sendall(head(endpoint, line) + b"5\r\nhello\r\n0\r\n\r\n")
        assert heard(sock).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b"\xff\xfe", b'{"a": ' + b"[" * 100000, b'"text"', b"1" * 5000])
def test_a_body_that_is_no_object(endpoint, client, body):
    status, answer = client.raw("POST", PREFIX + "runs/create", body)
    assert (status, json.loads(answer)["error_code"]) == (400, "BAD_REQUEST")
    assert endpoint.lines() == []


def test_a_huge_body(endpoint, client):
    """It is refused before it has come, and the one who sends it hears why."""
    status, answer = client.raw("POST", SEARCH, b" " * (33 << 20))
    assert (status, json.loads(answer)["error_code"]) == (413, "RESOURCE_EXHAUSTED")
    with dial(endpoint) as sock:
        sock.sendall(head(endpoint, "Content-Length: 100000000000000"))
        assert sock.recv(100).startswith(b"HTTP/1.1 413 ")
    memory = Path(f"/proc/{endpoint.pid}/status").read_text()
    peak_kb = int(memory.partition("VmHWM:")[2].split()[0])
    assert peak_kb < 60 * 1024


def test_bodies_that_together_are_too_much(endpoint):
    waiting = []
    for _ in range(4):
        sock = dial(endpoint)
        sock.sendall(head(endpoint, f"Content-Length: {32 << 20}") + b"{")
        waiting.append(sock)
    time.sleep(0.2)
    with dial(endpoint) as sock:
        sock.sendall(head(endpoint, "Content-Length: 2") + b"{}")
        assert sock.recv(100).startswith(b"HTTP/1.1 429 ")
    for sock in waiting:
        sock.close()
    client = endpoint.client()

    def is_heard() -> bool:
        return client.raw("POST", SEARCH, b"{}")[0] == 200

    until(is_heard, what="room for others")


def test_a_slow_client_does_not_hold_up_others(endpoint, client):
    run = client.create()
    body = json.dumps({"run_id": run, "key": "slow", "value": 1, "timestamp": 1000}).encode()
    lines = (f"POST {PREFIX}runs/log-metric HTTP/1.1", f"Host: 127.0.0.1:{endpoint.port}",
             f"Authorization: Bearer {endpoint.token}", f"Content-Length: {len(body)}", "", "")  # fmt: skip
    whole = "\r\n".join(lines).encode() + body
    with dial(endpoint) as sock:
        for at in range(len(whole)):
            sock.sendall(whole[at : at + 1])
            if at % 40 == 0:
                client.post("runs/log-metric", run_id=run, key="quick", value=at, timestamp=1000)
        assert sock.recv(100).startswith(b"HTTP/1.1 200 ")
    values = [line["values"] for line in endpoint.told("values")]
    assert values[-1] == {"slow": 1.0} and len(values) == 2 + (len(whole) - 1) // 40


def test_one_that_does_not_read_its_answers(endpoint, client):
    run = client.create()
    for _ in range(20):
        points = [{"key": "m", "value": i, "timestamp": i, "step": i} for i in range(1000)]
        client.post("runs/log-batch", run_id=run, metrics=points)
    request = (f"GET {PREFIX}metrics/get-history?run_id={run}&metric_key=m HTTP/1.1\r\nHost: 127.0.0.1:{endpoint.port}"
               f"\r\nAuthorization: Bearer {endpoint.token}\r\n\r\n").encode()  # fmt: skip
    with dial(endpoint) as sock:
        sock.sendall(request * 50)  # 75 MB of answers
        time.sleep(0.5)
        assert client.create() == "proj_1-1"
        memory = Path(f"/proc/{endpoint.pid}/status").read_text()
        assert int(memory.partition("VmHWM:")[2].split()[0]) < 80 * 1024


def test_requests_that_come_at_once_are_answered_in_their_order(endpoint):
    one = head(endpoint, "Content-Length: 2") + b"{}"
    last = head(endpoint, "Content-Length: 2", "Connection: close") + b"{}"
    with dial(endpoint) as sock:
        sock.sendall(one * 3 + last)
        answer = heard(sock)
    assert answer.count(b"HTTP/1.1 200 OK") == 4


def test_one_that_waits_to_be_told_to_go_on(endpoint):
    with dial(endpoint) as sock:
        sock.sendall(head(endpoint, "Content-Length: 2", "Expect: 100-continue"))
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"{}")
        assert sock.recv(100).startswith(b"HTTP/1.1 200 OK")


def test_strangers_make_room(endpoint):
    """Three hundred connections of somebody without a token; the one that has it is served all the while."""
    client = endpoint.client()
    run = client.create()
    strangers = []
    for number in range(300):
        sock = dial(endpoint)
        sock.sendall(b"POST / HT")
        strangers.append(sock)
        if number % 50 == 0:
            client.post("runs/log-metric", run_id=run, key="a", value=number, timestamp=1)
    newcomer = endpoint.client()
    newcomer.post("runs/log-metric", run_id=run, key="a", value=-1, timestamp=2)
    client.post("runs/log-metric", run_id=run, key="a", value=-2, timestamp=3)
    assert len(os.listdir(f"/proc/{endpoint.pid}/fd")) < 270
    assert len(endpoint.told("values")) == 8
    for sock in strangers:
        sock.close()


def test_a_hundred_connections(endpoint):
    clients = [endpoint.client() for _ in range(100)]
    run = clients[0].create()
    for step in range(3):
        for client in clients:
            client.connection.request("POST", PREFIX + "runs/log-metric", json.dumps(
                {"run_id": run, "key": "a", "value": 1, "timestamp": step, "step": clients.index(client)}
            ), client.headers)  # fmt: skip
        assert [client.connection.getresponse().read() for client in clients] == [b"{}"] * 100
    assert len(endpoint.told("values")) == 300


def test_a_full_disk(small_disk, tmp_path):
    """What cannot be written is told in the script's log, once; its calls go on, and later ones are kept."""
    disk = small_disk("1m")
    endpoint = Endpoint(disk / "run")
    (endpoint.folder / "output.log").write_bytes(b"the script's\n" * 10)  # a page of its own
    client = endpoint.client()
    run = client.create()
    rest = fill(disk)
    for step in range(20):
        points = [{"key": f"metric {i}", "value": 1, "timestamp": 1, "step": step} for i in range(100)]
        client.post("runs/log-batch", run_id=run, metrics=points)
    rest.unlink()
    client.post("runs/log-metric", run_id=run, key="after", value=1, timestamp=1)
    last = json.loads((endpoint.folder / "metrics.jsonl").read_bytes().splitlines()[-1])
    assert last["values"] == {"after": 1.0}
    (complaint,) = (endpoint.folder / "output.log").read_text().splitlines()[10:]
    assert complaint.startswith(f"jig: METRICS ARE BEING LOST: {endpoint.folder}/metrics.jsonl: ")
    assert endpoint.close() == 0
