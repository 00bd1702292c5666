"""The protocol by hand: what each call answers, and the line that it leaves."""

import json

import pytest

from tests.mlflow.conftest import PREFIX, Failed


def test_the_first_run_is_the_jig_run_and_the_next_are_nested_in_it(endpoint, client):
    first = client.post("runs/create", experiment_id="0", user_id="ada", start_time="1700000000123",
                        tags=[{"key": "mlflow.user", "value": "ada"}])["run"]  # fmt: skip
    assert first["info"] == {
        "run_id": "proj_1",
        "run_uuid": "proj_1",
        "run_name": "proj_1",
        "experiment_id": "0",
        "user_id": "ada",
        "status": "RUNNING",
        "start_time": 1700000000123,
        "artifact_uri": "file://" + str(endpoint.work / "outputs").replace("%", "%25").replace(" ", "%20")
        .replace("'", "%27").replace("#", "%23"),
        "lifecycle_stage": "active",
    }  # fmt: skip
    kid = client.post("runs/create", experiment_id="0", run_name="kid",
                      tags=[{"key": "mlflow.parentRunId", "value": "proj_1"}])["run"]["info"]  # fmt: skip
    below = client.post("runs/create", experiment_id="0",
                        tags=[{"key": "mlflow.parentRunId", "value": "proj_1-1"}])["run"]["info"]  # fmt: skip
    assert (kid["run_id"], kid["run_name"], below["run_id"]) == ("proj_1-1", "kid", "proj_1-2")
    assert kid["artifact_uri"].endswith("/outputs/nested/1")
    client.post("runs/update", run_id="proj_1-2", status="FAILED", end_time=1700000001000)
    about = [{key: line[key] for key in ("run", "name", "status", "parent") if key in line}
             for line in endpoint.told("status")]  # fmt: skip
    assert about == [
        {"run": "1", "name": "kid", "status": "RUNNING", "parent": ""},
        {"run": "2", "name": "proj_1-2", "status": "RUNNING", "parent": "1"},
        {"run": "2", "status": "FAILED"},
    ]


def test_metrics_become_lines_of_the_series(endpoint, client):
    run = client.create()
    nested = client.create()
    client.post("runs/log-metric", run_id=run, key="loss", value=0.5, timestamp="1700000000123", step="3")
    client.post("runs/log-metric", run_uuid=nested, key='a "b"\n', value="-Infinity", timestamp=1700000000124)
    points = [{"key": key, "value": value, "timestamp": 1700000000125, "step": step}
              for step in (1, 2) for key, value in (("x", 1), ("y", "NaN"))]  # fmt: skip
    client.post("runs/log-batch", run_id=run, metrics=[*points, points[0]])
    expected = (
        '{"time": 1700000000.123, "step": 3, "values": {"loss": 0.5}}\n'
        '{"time": 1700000000.124, "run": "1", "step": 0, "values": {"a \\"b\\"\\n": -Infinity}}\n'
        '{"time": 1700000000.125, "step": 1, "values": {"x": 1.0, "y": NaN}}\n'
        '{"time": 1700000000.125, "step": 2, "values": {"x": 1.0, "y": NaN}}\n'
        '{"time": 1700000000.125, "step": 1, "values": {"x": 1.0}}\n'
    )
    text = (endpoint.folder / "metrics.jsonl").read_text()
    assert "".join(line for line in text.splitlines(True) if '"values"' in line) == expected
    found = client.get("runs/get", run_id=run)["run"]["data"]["metrics"]
    assert found == [
        {"key": "loss", "value": 0.5, "timestamp": 1700000000123, "step": 3},
        {"key": "x", "value": 1.0, "timestamp": 1700000000125, "step": 2},
        {"key": "y", "value": "NaN", "timestamp": 1700000000125, "step": 2},
    ]
    (only,) = client.get("runs/get", run_id=nested)["run"]["data"]["metrics"]
    assert (only["key"], only["value"]) == ('a "b"\n', "-Infinity")


def test_what_the_script_logs_itself_is_seen_too(endpoint, client):
    run = client.create()
    with open(endpoint.folder / "metrics.jsonl", "a") as file:
        file.write('{"time": 1.5, "values": {"own": 2, "text": "no number"}}\n{"time": 2.5, "values": {"own": 3}}\n')
        file.write('{"time": 3, "params": {"lr": 0.1, "deep": [1]}}\n{"time": 3, "tags": {"a": "b", "c": null}}\n')
        file.write('cut sho\n[]\n{"time": 4, "values": 7}\n{"time": 9, "va')
        file.flush()
        assert client.get("runs/get", run_id=run)["run"]["data"]["params"] == [
            {"key": "deep", "value": "[1]"},
            {"key": "lr", "value": "0.1"},
        ]
        client.post("runs/log-metric", run_id=run, key="own", value=4, timestamp=9000, step=7)
    data = client.get("runs/get", run_id=run)["run"]["data"]
    assert data["metrics"] == [{"key": "own", "value": 4.0, "timestamp": 9000, "step": 7}]
    assert {"key": "a", "value": "b"} in data["tags"]
    points = client.get("metrics/get-history", run_id=run, metric_key="own")["metrics"]
    assert [(point["step"], point["timestamp"], point["value"]) for point in points] == [
        (0, 1500, 2.0),
        (1, 2500, 3.0),
        (7, 9000, 4.0),
    ]


def test_parameters_do_not_change(endpoint, client):
    run = client.create()
    client.post("runs/log-parameter", run_id=run, key="lr", value="0.1")
    client.post("runs/log-parameter", run_id=run, key="lr", value="0.1")
    with pytest.raises(Failed) as failed:
        client.post("runs/log-parameter", run_id=run, key="lr", value="0.2")
    assert (failed.value.status, failed.value.code) == (400, "INVALID_PARAMETER_VALUE")
    assert failed.value.message == (
        "Changing param values is not allowed. Param with key='lr' was already logged with value='0.1' for run "
        "ID='proj_1'. Attempted logging new value '0.2'."
    )
    pairs = [{"key": "new", "value": "1"}, {"key": "lr", "value": "9"}]
    with pytest.raises(Failed, match="Params were already logged"):
        client.post("runs/log-batch", run_id=run, params=pairs)
    assert endpoint.told("params") == [{"params": {"lr": 0.1}}]


def test_tags(endpoint, client):
    run = client.create(run_name="first")
    client.post("runs/set-tag", run_id=run, key="a", value="1")
    client.post("runs/log-batch", run_id=run, tags=[{"key": "b", "value": "2"}])
    client.post("runs/delete-tag", run_id=run, key="a")
    with pytest.raises(Failed, match="No tag with name: a"):
        client.post("runs/delete-tag", run_id=run, key="a")
    assert endpoint.told("tags") == [
        {"tags": {"mlflow.runName": "first"}},
        {"tags": {"a": "1"}},
        {"tags": {"b": "2"}},
        {"tags": {"a": None}},
    ]
    client.post("runs/set-tag", run_id=run, key="mlflow.runName", value="second")
    assert client.get("runs/get", run_id=run)["run"]["info"]["run_name"] == "second"


def test_what_a_client_says_of_the_end_is_kept_as_a_tag(endpoint, client):
    run = client.create()
    info = client.post("runs/update", run_id=run, status="FAILED", end_time=5000)["run_info"]
    assert (info["status"], info["end_time"]) == ("FAILED", 5000)
    client.post("runs/update", run_id=run, status="RUNNING")
    info = client.post("runs/update", run_id=run, status="FINISHED", end_time=6000)["run_info"]
    assert (info["status"], info["end_time"]) == ("FINISHED", 6000)
    tags = [line["tags"] for line in endpoint.told("tags") if "mlflow.status" in line["tags"]]
    assert tags == [{"mlflow.status": "FAILED"}, {"mlflow.status": None}]


def test_deleted_runs(client):
    run, kid = client.create(), client.create()
    client.post("runs/delete", run_id=kid)
    with pytest.raises(Failed, match="must be in the 'active' state. Current state is deleted"):
        client.post("runs/log-metric", run_id=kid, key="a", value=1, timestamp=1)

    def listed(view: str) -> "list[str]":
        found = client.post("runs/search", experiment_ids=["0"], run_view_type=view).get("runs", [])
        return [one["info"]["run_id"] for one in found]

    assert (listed("ACTIVE_ONLY"), listed("DELETED_ONLY"), sorted(listed("ALL"))) == ([run], [kid], [run, kid])
    client.post("runs/restore", run_id=kid)
    assert sorted(listed("ACTIVE_ONLY")) == [run, kid]


def test_experiments(endpoint, client):
    with pytest.raises(Failed) as failed:
        client.get("experiments/get-by-name", experiment_name="tuning")
    assert (failed.value.status, failed.value.code) == (404, "RESOURCE_DOES_NOT_EXIST")
    number = client.post("experiments/create", name="tuning", tags=[{"key": "a", "value": "b"}])["experiment_id"]
    assert number == "1"
    with pytest.raises(Failed) as failed:
        client.post("experiments/create", name="tuning")
    assert failed.value.code == "RESOURCE_ALREADY_EXISTS"
    found = client.get("experiments/get-by-name", experiment_name="tuning")["experiment"]
    assert (found["experiment_id"], found["lifecycle_stage"]) == ("1", "active")
    assert found["tags"] == [{"key": "a", "value": "b"}]
    client.post("experiments/set-experiment-tag", experiment_id="1", key="c", value="d")
    client.post("experiments/delete-experiment-tag", experiment_id="1", key="a")
    client.post("experiments/update", experiment_id="1", new_name="better")
    found = client.get("experiments/get", experiment_id="1")["experiment"]
    assert (found["name"], found["tags"]) == ("better", [{"key": "c", "value": "d"}])
    client.post("experiments/delete", experiment_id="1")
    names = [one["name"] for one in client.post("experiments/search", view_type="ACTIVE_ONLY")["experiments"]]
    assert names == ["Default"]
    client.post("experiments/restore", experiment_id="1")
    listed = client.post("experiments/search", filter="name LIKE 'bet%'", order_by=["name ASC"])["experiments"]
    assert [one["name"] for one in listed] == ["better"]
    run = client.post("runs/create", experiment_id="1")["run"]
    assert run["info"]["experiment_id"] == "1"
    assert {"key": "mlflow.experiment", "value": "better"} in run["data"]["tags"]
    elsewhere = client.post("runs/create", experiment_id="4711")["run"]["info"]
    assert elsewhere["experiment_id"] == "4711", "a script that names the number of another server runs here too"


def test_datasets_and_models_that_went_in_and_came_out(client):
    run = client.create()
    dataset = {"name": "iris", "digest": "d1", "source_type": "code", "source": "{}", "schema": "s", "profile": "p"}
    given = {"tags": [{"key": "mlflow.data.context", "value": "train"}], "dataset": dataset}
    client.post("runs/log-inputs", run_id=run, datasets=[given], models=[{"model_id": "m-1"}])
    client.post("runs/log-inputs", run_id=run, datasets=[given])
    client.post("runs/outputs", run_id=run, models=[{"model_id": "m-2", "step": 3}])
    found = client.get("runs/get", run_id=run)["run"]
    assert found["inputs"] == {"dataset_inputs": [given], "model_inputs": [{"model_id": "m-1"}]}
    assert found["outputs"] == {"model_outputs": [{"model_id": "m-2", "step": 3}]}
    assert len(client.post("runs/search", experiment_ids=["0"], filter="datasets.name = 'iris'")["runs"]) == 1


def test_what_a_model_is_logged_with_is_no_point_again(endpoint, client):
    """MLflow's `log_model` sends what the run has at its step once more, with the model's id."""
    run = client.create()
    nan = {"key": "nan", "value": "NaN", "timestamp": 1500, "step": 0}
    points = [{"key": "loss", "value": 1.0 / (step + 1), "timestamp": 1000 + step, "step": step} for step in range(5)]
    client.post("runs/log-batch", run_id=run, metrics=[nan, *points])
    before = endpoint.told("values")
    models = [
        client.post("logged-models", experiment_id="0", name="mine", source_run_id=run)["model"]["info"]["model_id"]
        for _ in range(3)
    ]
    for model in models:
        again = client.get("metrics/get-history", run_id=run, metric_key="loss")["metrics"]
        again = [dict(point, model_id=model) for point in [*again, nan] if point["step"] == 0]
        client.post("runs/log-batch", run_id=run, metrics=again)
        found = client.get(f"logged-models/{model}")["model"]["data"]["metrics"]
        assert [(one["key"], one["value"], one["run_id"]) for one in found] == [("loss", 1.0, run), ("nan", "NaN", run)]
    assert endpoint.told("values") == before
    one = {"key": "loss", "value": 0.25, "timestamp": 1000, "step": 0, "model_id": models[0]}
    client.post("runs/log-batch", run_id=run, metrics=[one])  # another one of the same moment
    assert endpoint.told("values") == [*before, {"step": 0, "values": {"loss": 0.25}, "model": models[0]}]
    said = [client.get(f"logged-models/{model}") for model in models]
    client = endpoint.follow()
    assert [client.get(f"logged-models/{model}") for model in models] == said


def test_logged_models(endpoint, client):
    run = client.create()
    asked = {"experiment_id": "0", "name": "mine", "source_run_id": run, "params": [{"key": "k", "value": "v"}]}
    first = client.post("logged-models", **asked)["model"]["info"]
    second = client.post("logged-models", **asked)["model"]["info"]
    assert first["artifact_uri"].endswith("/outputs/mine") and second["artifact_uri"].endswith("/outputs/mine-2")
    assert sorted(place.name for place in (endpoint.work / "outputs").iterdir()) == ["mine", "mine-2"]
    place = f"logged-models/{first['model_id']}"
    client.call("PATCH", place, model_id=first["model_id"], status="LOGGED_MODEL_READY")
    client.call("PATCH", place + "/tags", tags=[{"key": "a", "value": "1"}, {"key": "b/c", "value": "2"}])
    client.call("DELETE", place + "/tags/b/c")
    client.post(place + "/params", params=[{"key": "l", "value": "w"}])
    client.post("runs/log-batch", run_id=run,
                metrics=[{"key": "acc", "value": 0.5, "timestamp": 1, "step": 2, "model_id": first["model_id"],
                          "dataset_name": "d", "dataset_digest": "x"}])  # fmt: skip
    found = client.get(place)["model"]
    assert (found["info"]["status"], found["info"]["tags"]) == ("LOGGED_MODEL_READY", [{"key": "a", "value": "1"}])
    assert found["data"]["params"] == [{"key": "k", "value": "v"}, {"key": "l", "value": "w"}]
    (point,) = found["data"]["metrics"]
    assert (point["key"], point["value"], point["run_id"]) == ("acc", 0.5, run)
    search = {"experiment_ids": ["0"], "order_by": [{"field_name": "metrics.acc", "ascending": False}]}
    models = client.post("logged-models/search", filter="name = 'mine'", **search)["models"]
    assert [one["info"]["model_id"] for one in models] == [first["model_id"], second["model_id"]]
    client.call("DELETE", f"logged-models/{second['model_id']}")
    with pytest.raises(Failed, match="not found"):
        client.get(f"logged-models/{second['model_id']}")
    assert client.get(f"logged-models/{second['model_id']}", allow_deleted="true")["model"]
    with pytest.raises(Failed, match="Invalid model name"):
        client.post("logged-models", experiment_id="0", name="../../out")


def test_artifacts_are_listed(endpoint, client):
    run = client.create()
    outputs = endpoint.work / "outputs"
    (outputs / "deep").mkdir()
    (outputs / "deep/a.txt").write_text("abc")
    (endpoint.folder / "secret").write_text("")
    said = client.get("artifacts/list", run_id=run)
    assert said["files"] == [{"path": "deep", "is_dir": True}]
    assert client.get("artifacts/list", run_id=run, path="deep")["files"] == [
        {"path": "deep/a.txt", "is_dir": False, "file_size": 3}
    ]
    assert client.get("artifacts/list", run_id=run, path="none")["files"] == []
    (outputs / "way").symlink_to(endpoint.folder)
    for path in ("../..", "/etc", "deep/../../..", "way"):
        with pytest.raises(Failed, match="Invalid path"):
            client.get("artifacts/list", run_id=run, path=path)


def test_a_long_series_comes_in_pages(client):
    run = client.create()
    for start in range(0, 30000, 1000):
        points = [
            {"key": "m", "value": i, "timestamp": 1700000000000 + i, "step": i} for i in range(start, start + 1000)
        ]
        client.post("runs/log-batch", run_id=run, metrics=points)
    found, token = [], None
    while token != "":
        page = client.get("metrics/get-history", run_id=run, metric_key="m", max_results=7000, page_token=token or "")
        found += page["metrics"]
        token = page.get("next_page_token", "")
        assert len(page["metrics"]) == 7000 or not token
    assert [(point["step"], point["value"]) for point in found] == [(i, float(i)) for i in range(30000)]
    whole = client.get("metrics/get-history", run_id=run, metric_key="m")
    assert len(whole["metrics"]) == 25000 and whole["next_page_token"]
    bulk = client.get("metrics/get-history-bulk-interval", run_ids=[run], metric_key="m", max_results=10,
                      start_step=100, end_step=199)["metrics"]  # fmt: skip
    steps = [point["step"] for point in bulk]
    assert steps == [100, 111, 122, 133, 144, 155, 166, 177, 188, 199]
    assert {point["run_id"] for point in bulk} == {run}
    with pytest.raises(Failed, match="Invalid page token"):
        client.get("metrics/get-history", run_id=run, metric_key="m", page_token="nonsense")
    with pytest.raises(Failed, match="Invalid page token"):
        client.get("metrics/get-history", run_id=run, metric_key="m", page_token="\u00b2.0")


@pytest.mark.parametrize(
    ("method", "path", "words"),
    [
        ("POST", "/api/2.0/mlflow/registered-models/create", "`jig history promote -r RUN -ap outputs/model -n NAME`"),
        ("POST", "/api/3.0/mlflow/traces", "no traces"),
        ("PUT", "/api/2.0/mlflow-artifacts/artifacts/a", "straight into the run's outputs/"),
        ("GET", "/version", "jig answers what logs and finds runs"),
        ("GET", PREFIX + "runs/create", "jig answers what logs and finds runs"),
    ],
)
def test_what_is_not_offered(client, method, path, words):
    status, body = client.raw(method, path)
    said = json.loads(body)
    assert (status, said["error_code"]) == (404, "ENDPOINT_NOT_FOUND")
    assert words in said["message"]


@pytest.mark.parametrize(
    ("path", "fields", "message"),
    [
        ("runs/log-metric", {"key": "a", "value": 1}, "Missing value for required parameter 'run_id'"),
        ("runs/log-metric", {"run_id": "none", "key": "a", "value": 1}, "Run with id=none not found"),
        ("runs/log-metric", {"run_id": "proj_1", "value": 1}, "Missing value for required parameter 'key'"),
        ("runs/log-metric", {"run_id": "proj_1", "key": "a"}, "Got invalid value None for metric 'a'"),
        ("runs/log-metric", {"run_id": "proj_1", "key": "a", "value": "x"}, "Invalid value 'x' for parameter 'value'"),
        ("runs/log-metric", {"run_id": "proj_1", "key": "a", "value": 1, "step": "x"}, "for parameter 'step'"),
        ("runs/log-metric", {"run_id": "proj_1", "key": "a", "value": 1, "step": 1 << 70}, "for parameter 'step'"),
        ("runs/log-batch", {"run_id": "proj_1", "metrics": {"a": 1}}, "for parameter 'metrics'"),
        ("runs/log-batch", {"run_id": "proj_1", "params": [{"value": "x"}]}, "required parameter 'key'"),
        (
            "runs/log-metric",
            {"run_id": "proj_1", "key": "a", "value": 1, "model_id": {"a": 1}},
            "for parameter 'model_id'",
        ),
        ("runs/log-inputs", {"run_id": "proj_1", "datasets": [{"dataset": "x"}]}, "for parameter 'dataset'"),
        ("runs/log-model", {"run_id": "proj_1", "model_json": "[" * 5000}, "Malformed model info"),
        ("logged-models", {"experiment_id": "0", "name": "\ud800"}, "Invalid model name"),
        ("runs/set-tag", {"run_id": "proj_1", "key": ["a"], "value": "x"}, "for parameter 'key'"),
        ("runs/update", {"run_id": "proj_1", "status": "DONE"}, "Unknown run status: DONE"),
        ("runs/search", {"experiment_ids": ["0"], "max_results": 0}, "'max_results'"),
        ("runs/search", {"experiment_ids": ["0"], "page_token": "x"}, "Invalid page token"),
        ("runs/search", {"experiment_ids": ["0"], "run_view_type": "SOME"}, "Invalid view type"),
    ],
)
def test_requests_that_make_no_sense(endpoint, client, path, fields, message):
    with pytest.raises(Failed) as failed:
        client.post(path, **fields)
    assert message in failed.value.message
    assert failed.value.status in (400, 404)
    assert endpoint.lines() == []


def test_what_mlflow_has_no_numbers_for(endpoint, client):
    """A script may log a step between two others, and whole numbers without end; MLflow's client refuses both."""
    run = client.create()
    with open(endpoint.folder / "metrics.jsonl", "a") as file:
        file.write(
            '{"time": 1, "step": 2.5, "values": {"a": 1}}\n{"time": 2, "step": 1%s, "values": {"b": 1}}\n' % ("0" * 30)
        )
        file.write('{"time": 3, "values": {"c": 1%s}}\n{"time": 4, "values": {"d": 4}}\n' % ("0" * 400))
    found = {one["key"]: one["step"] for one in client.get("runs/get", run_id=run)["run"]["data"]["metrics"]}
    assert found == {"a": 2, "b": (1 << 63) - 1, "d": 0}
    points = client.get("metrics/get-history", run_id=run, metric_key="a")["metrics"]
    assert [(point["step"], point["value"]) for point in points] == [(2, 1.0)]
    assert client.get("metrics/get-history", run_id=run, metric_key="c")["metrics"] == []
    last = (1 << 63) - 1
    client.post("runs/log-metric", run_id=run, key="late", value=1, timestamp=last, step=last)
    (late,) = client.get("metrics/get-history", run_id=run, metric_key="late")["metrics"]
    assert (late["timestamp"], late["step"]) == (last, last), "read back from seconds, which a float has not exactly"
    client.post("runs/log-parameter", run_id=run, key="deep", value="[" * 5000)
