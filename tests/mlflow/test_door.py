"""The variables that lead a script to its run's endpoint, and those that are left alone."""

import os
import time

import pytest

from jig.runner import mlflow_door
from tests.conftest import until
from tests.mlflow.conftest import Endpoint

URI, TOKEN = "MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_TOKEN"
OURS = {URI: "http://127.0.0.1:5000", "JIG_MLFLOW": "http://127.0.0.1:5000", TOKEN: "jig-1"}
AROUND = {URI: "http://127.0.0.1:4000", "JIG_MLFLOW": "http://127.0.0.1:4000", TOKEN: "jig-0"}


def told(**environ: str) -> "dict[str, str]":
    return mlflow_door.variables(environ, 5000, "jig-1")


def test_where_somebody_has_named_another_place():
    assert mlflow_door.is_wanted({})
    assert mlflow_door.is_wanted({URI: ""})
    assert not mlflow_door.is_wanted({URI: "https://mlflow.example"})
    assert not mlflow_door.is_wanted({URI: "sqlite:///a.db", "JIG_MLFLOW": "http://127.0.0.1:4000"})


def test_a_run_from_within_a_run_has_its_own():
    assert mlflow_door.is_wanted(AROUND)
    assert told(**AROUND) == OURS


def test_a_token_of_the_users_own_stays():
    assert told() == OURS
    assert told(MLFLOW_TRACKING_TOKEN="mine") == {URI: OURS[URI], "JIG_MLFLOW": OURS[URI]}


@pytest.mark.parametrize(
    ("environ", "added"),
    [
        ({"NO_PROXY": "a.example"}, {}),
        ({"http_proxy": "http://p"}, {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}),
        ({"HTTP_PROXY": "http://p", "NO_PROXY": "a.example"}, {"NO_PROXY": "a.example,127.0.0.1"}),
        (
            {"ALL_PROXY": "http://p", "no_proxy": "a", "NO_PROXY": "b"},
            {"no_proxy": "a,127.0.0.1", "NO_PROXY": "b,127.0.0.1"},
        ),
        ({"http_proxy": "http://p", "no_proxy": "*"}, {}),
        ({"http_proxy": "http://p", "no_proxy": "127.0.0.1,a"}, {}),
    ],
)
def test_a_proxy_is_not_asked(environ, added):
    assert told(**environ) == {**OURS, **added}


def test_the_socket_is_for_this_machine_only(endpoint):
    with open("/proc/net/tcp") as file:
        bound = [line.split()[1] for line in file if line.split()[1].endswith(f":{endpoint.port:04X}")]
    assert set(bound) == {f"0100007F:{endpoint.port:04X}"}


def test_the_token_is_in_no_argument(endpoint, client):
    client.create()
    with open(f"/proc/{endpoint.pid}/cmdline", "rb") as file:
        words = file.read()
    assert endpoint.token.encode() not in words
    assert b"proj_1" in words


def test_what_it_holds_open(endpoint, client):
    """Nothing of ours but the pipe, the socket and the metrics file."""
    client.create()
    places = {os.readlink(f"/proc/{endpoint.pid}/fd/{name}") for name in os.listdir(f"/proc/{endpoint.pid}/fd")}
    files = {place for place in places if place.startswith("/") and not place.startswith("/dev/")}
    assert {place for place in files if "run's" in place} == {str(endpoint.folder / "metrics.jsonl")}


def test_one_that_was_killed_is_followed_by_another(endpoint):
    client = endpoint.client()
    run, kid = client.create(run_name="first"), client.create(run_name="kid")
    client.post("experiments/create", name="tuning")
    client.post("logged-models", experiment_id="0", name="mine", source_run_id=kid)
    point = {"key": "loss", "value": 0.5, "timestamp": 1700000000000, "step": 1}
    client.post("runs/log-batch", run_id=kid, metrics=[point], params=[{"key": "lr", "value": "1"}])
    client.post("runs/update", run_id=kid, status="FINISHED", end_time=7)
    before = [client.get("runs/get", run_id=one) for one in (run, kid)]
    before.append(client.post("experiments/search"))
    before.append(client.post("logged-models/search", experiment_ids=["0"]))
    client = endpoint.follow()
    after = [client.get("runs/get", run_id=one) for one in (run, kid)]
    after.append(client.post("experiments/search"))
    after.append(client.post("logged-models/search", experiment_ids=["0"]))
    assert after == before
    client.post("runs/log-batch", run_id=kid, metrics=[point])  # whose answer was lost, and which is sent again
    assert endpoint.told("values") == [{"run": "1", "step": 1, "values": {"loss": 0.5}}]
    assert client.create() == "proj_1-2", "the one before has been heard of since"
    assert endpoint.follow().create() == "proj_1-2", "sent again, as nobody answered"
    assert [line["run"] for line in endpoint.told("status")] == ["1", "1", "2"]
    client = endpoint.follow()
    client.get("runs/get", run_id="proj_1-2")
    assert client.create() == "proj_1-3", "whoever knows the id has heard the answer"


def test_it_is_not_started_without_end(tmp_path):
    endpoint = Endpoint(tmp_path / "run")
    for _ in range(mlflow_door.MOST_STARTS):
        assert endpoint.said == []
        os.kill(endpoint.pid, 9)
        os.waitpid(endpoint.pid, 0)
        endpoint.door.missed(endpoint.pid)
        if endpoint.door.watched():
            endpoint.start()
    assert endpoint.said == ["the run's MLflow endpoint has ended 5 times, and is not started again"]
    with pytest.raises(ConnectionRefusedError):
        endpoint.client().create()


def test_it_ends_with_its_guard_and_not_before_its_clients(endpoint):
    client = endpoint.client()
    run = client.create()
    began = time.monotonic()
    endpoint.door.leave()
    client.post("runs/log-metric", run_id=run, key="late", value=1, timestamp=1000)
    assert endpoint.told("values") == [{"step": 0, "values": {"late": 1.0}}]
    client.connection.close()
    until(lambda: os.waitid(os.P_PID, endpoint.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT), what="its end")
    assert time.monotonic() - began < 0.7


def test_a_client_that_stays_does_not_keep_it(endpoint):
    client = endpoint.client()
    client.create()
    endpoint.door.leave()
    until(lambda: os.waitid(os.P_PID, endpoint.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT), timeout=3, what="its end")


def test_asked_to_end_by_a_signal_it_goes_on(endpoint, client):
    client.create()
    for number in (1, 2, 15):
        os.kill(endpoint.pid, number)
    assert client.create() == "proj_1-1"


def test_a_user_who_may_start_no_more_processes(tmp_path, monkeypatch):
    said = []
    door = mlflow_door.Door("proj_1", str(tmp_path), str(tmp_path), said.append)
    door.open({})

    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    door.answer("/nowhere")
    monkeypatch.undo()
    assert said == ["the run's MLflow endpoint could not be started: [Errno 11] Resource temporarily unavailable"]
    assert door.watched() == []
