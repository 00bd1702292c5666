"""Whatever is sent, by however many connections and in whatever order: each point is in the file once."""

import http.client
import json
import os
from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jig.runner.mlflow_door import MOST_STARTS
from tests.mlflow.conftest import PREFIX, Endpoint

NAMES = st.sampled_from(["loss", "a b", "é", '"', "x/y"])
VALUES = st.one_of(st.floats(), st.integers(-(2**70), 2**70))
POINTS = st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=4, unique_by=lambda point: point[0])
# A connection, a run, what is logged in one call, and whether the process that serves is killed before it answers.
CALLS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), POINTS, st.booleans()), max_size=25)


def plain(value: float) -> str:
    return repr(float(value)) if abs(value) < 1e308 or value != value else repr(float("inf") * (1 if value > 0 else -1))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(calls=CALLS)
def test_each_point_once(calls, tmp_path_factory):
    endpoint = Endpoint(tmp_path_factory.mktemp("run"))
    try:
        clients = [endpoint.client() for _ in range(4)]
        runs = [clients[0].create() for _ in range(3)]
        sent: Counter[tuple[str, str, int, str]] = Counter()
        for step, (connection, run, points, is_killed) in enumerate(calls):
            metrics = [{"key": name, "value": _json(value), "timestamp": 1700000000000 + step, "step": step}
                       for name, value in points]  # fmt: skip
            body = json.dumps({"run_id": runs[run], "metrics": metrics}).encode()
            post(clients[connection], body, endpoint if is_killed and endpoint.door._starts < MOST_STARTS else None)
            sent.update({(str(run or ""), name, step, plain(value)) for name, value in points})
        kept: Counter[tuple[str, str, int, str]] = Counter()
        for line in endpoint.lines():
            for name, value in line.get("values", {}).items():
                kept[line.get("run", ""), name, line["step"], plain(value)] += 1
        assert kept == sent
        reader = endpoint.client()
        for number, run in enumerate(runs):
            for name in {key[1] for key in sent if key[0] == str(number or "")}:
                said = reader.get("metrics/get-history", run_id=run, metric_key=name)["metrics"]
                mine = Counter({key[2:]: n for key, n in kept.items() if key[:2] == (str(number or ""), name)})
                assert Counter((point["step"], plain(float(point["value"]))) for point in said) == mine
    finally:
        endpoint.close()


def restart(endpoint: Endpoint) -> None:
    os.kill(endpoint.pid, 9)
    os.waitpid(endpoint.pid, 0)
    endpoint.door.missed(endpoint.pid)
    endpoint.start()


def post(client, body: bytes, killed: "Endpoint | None") -> None:
    """As MLflow's client does: what got no answer is sent again."""
    for _ in range(3):
        try:
            client.connection.request("POST", PREFIX + "runs/log-batch", body, client.headers)
            if killed is not None:
                restart(killed)
                killed = None
            answer = client.connection.getresponse()
            assert (answer.status, answer.read()) == (200, b"{}")
            return
        except (http.client.HTTPException, ConnectionError):
            client.connection.close()
    raise AssertionError("no answer")


def _json(value: float) -> object:
    if value != value or value in (float("inf"), float("-inf")):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value
