"""`jig history`: the record, its JSON keys, artifacts, deletion."""

import json
import os

import pytest

TUTORIAL = """
from azureml.logging import get_azureml_logger
import jig, sys
logger = get_azureml_logger()
logger.log("Regularization Rate", float(sys.argv[1])).wait()
for step in range(3):
    jig.log("loss", 1.0 / (step + 1), step=step)
logger.log("Accuracy", 0.6792452830188679)
logger.log("Precision", [0.5, 1.0])
logger.log("model", "logistic")
logger.log("status", "a metric that has a key's name")
open("outputs/model.pkl", "wb").write(b"\\x80model")
logger.upload("notes/read me.txt", "hello")
"""
# Keys of the original product's `history last`, and what jig adds.
ORIGINAL = {
    "attachments", "created_utc", "description", "duration", "end_time_utc", "experiment_id", "heartbeat_enabled",
    "hidden", "name", "parent_run_id", "properties", "run_id", "run_number", "script_name", "start_time_utc", "status",
    "target", "user_id", "arguments",
}  # fmt: skip
GPU = {"gpu", "gpu_s", "gpu_peak_memory_bytes", "gpu_busy_percent"}
SAID = {"params", "tags", "note", "archived", "run_name", "sweep", "reproduces"}
ADDED = {"reason", "exit_code", "run_configuration", "snapshot_id", "metrics", "exchange"} | GPU | SAID


@pytest.fixture
def three(project, cli):
    project.write("train.py", TUTORIAL)
    project.write("fails.py", "raise SystemExit(4)")
    ids = [cli("submit", "-c", "local", "train.py", rate).run_id for rate in ("0.01", "10")]
    ids.append(cli("submit", "-c", "local", "fails.py").run_id)
    return ids


def test_the_record_of_a_run(three, cli, jig_home):
    record = cli("history", "info", "-r", three[0]).json()
    metrics = {"Regularization Rate": 0.01, "loss": 1 / 3, "Accuracy": 0.6792452830188679, "model": "logistic"}
    assert set(record) == ORIGINAL | ADDED | set(metrics)
    assert {name: record[name] for name in metrics} == metrics
    assert record["metrics"]["Precision"] == [0.5, 1.0]
    assert (record["status"], record["metrics"]["status"]) == ("Completed", "a metric that has a key's name")
    assert record["arguments"] == ["0.01"] and record["run_number"] == 1
    assert record["attachments"].split(",") == [
        "driver_log",
        "control_log",
        "outputs/model.pkl",
        "outputs/notes/read me.txt",
    ]
    import re

    assert re.fullmatch(r"\d:\d\d:\d\d\.\d{6}", record["duration"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", record["start_time_utc"])
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}", record["experiment_id"])
    assert record["experiment_id"] == cli("history", "last").json()["experiment_id"]


def test_listing_newest_first(three, cli):
    assert [record["run_id"] for record in cli("history", "list").json()] == three[::-1]
    assert [record["run_id"] for record in cli("history", "list", "-n", "1").json()] == three[2:]
    lines = cli("history", "list", "-o", "table").out.splitlines()
    assert lines[0].split()[:3] == ["Regularization", "Rate", "loss"] and len(lines) == 5
    assert lines[2].split()[-1] == "Failed"


def test_the_queries_of_the_original_how_to(three, cli):
    best = "@[?Accuracy != null] | max_by(@, &Accuracy).Accuracy"
    assert cli("history", "list", "--query", best).out == "0.6792452830188679\n"
    assert cli("history", "list", "--query", "[?status=='Completed'] | length(@)").out == "2\n"
    above = "[?Accuracy > `0.5`] | sort_by(@, &duration) | [0].script_name"
    assert cli("history", "list", "--query", above).json() == "train.py"
    said = cli("history", "list", "--query", "[?status==")
    assert said.code == 2 and said.err.startswith("error: ")


@pytest.mark.parametrize("output", ["json", "jsonc", "table", "tsv", "yaml"])
def test_every_output(three, cli, output):
    for words in (("history", "list"), ("history", "last"), ("history", "info")):
        said = cli(*words, "-o", output)
        assert said.code == 0 and three[2] in said.out
    if output == "yaml":
        import yaml

        assert yaml.safe_load(cli("history", "list", "-o", "yaml").out) == cli("history", "list").json()


def test_artifacts_come_out_to_the_byte(three, cli):
    assert cli("history", "info", "-r", three[0], "-a", "outputs/model.pkl").raw == b"\x80model"
    said = cli("history", "info", "-r", three[0], "-a", "outputs/modle.pkl")
    assert said.code == 125 and "outputs/model.pkl" in said.err


@pytest.mark.parametrize(
    "name", ["../plan.json", "/etc/passwd", "outputs/../../plan.json", "outputs/link", "outputs", ""]
)
def test_an_artifacts_name_never_leaves_the_outputs(project, cli, name):
    project.write("a.py", "import os; os.symlink('/etc/passwd', 'outputs/link')")
    cli("submit", "-c", "local", "a.py")
    said = cli("history", "info", "-a", name)
    assert said.code == 125 and said.out == ""


def test_download(three, cli, tmp_path):
    place = tmp_path / "here"
    assert cli("history", "download", "-r", three[0], "-d", str(place)).code == 0
    assert (place / "outputs/model.pkl").read_bytes() == b"\x80model"
    assert (place / "outputs/notes/read me.txt").read_text() == "hello"
    assert (place / "driver_log").read_bytes() == b""
    said = cli("history", "download", "-r", three[0], "-d", str(place))
    assert said.code == 125 and "--overwrite" in said.err
    assert cli("history", "download", "-r", three[0], "-d", str(place), "--overwrite").code == 0
    one = tmp_path / "one"
    assert cli("history", "download", "-r", three[0], "-d", str(one), "--artifact", "outputs/model.pkl").code == 0
    assert [path.name for path in one.rglob("*") if path.is_file()] == ["model.pkl"]


def test_download_leaves_links_out_of_the_run_behind(project, cli, tmp_path):
    project.write("a.py", "import os; os.symlink('/etc/passwd', 'outputs/link'); open('outputs/real', 'w').write('r')")
    cli("submit", "-c", "local", "a.py")
    said = cli("history", "download", "-d", str(tmp_path / "d"))
    assert said.code == 0
    assert not os.path.lexists(tmp_path / "d/outputs/link") and (tmp_path / "d/outputs/real").read_text() == "r"


def test_deleting_a_run(three, cli, jig_home):
    assert cli("history", "delete", "-r", three[0]).out == f"deleted {three[0]}\n"
    assert [record["run_id"] for record in cli("history", "list").json()] == three[:0:-1]
    assert not os.path.exists(jig_home / "runs" / three[0])
    assert cli("history", "info", "-r", three[0]).code == 125
    assert cli("history", "delete").code == 2
    cli("history", "rebuild")
    assert [record["run_id"] for record in cli("history", "list").json()] == three[:0:-1]


def test_deleting_gives_back_the_code_that_no_other_run_has(project, cli, jig_home):
    from jig.runner.blobs import BlobStore

    project.write("a.py", "print(1)")
    one = cli("submit", "-c", "local", "a.py").run_id
    project.write("a.py", "print(2)")
    two = cli("submit", "-c", "local", "a.py").run_id
    three = cli("submit", "-c", "local", "a.py").run_id
    store = BlobStore(str(jig_home / "blobs"))
    texts = lambda: sorted(data for data in map(store.read, store.names()) if data.startswith(b"print"))  # noqa: E731
    assert texts() == [b"print(1)", b"print(2)"]
    cli("history", "delete", one, two)
    assert texts() == [b"print(2)"]
    cli("history", "delete", three)
    assert list(store.names()) == []
    assert cli("submit", "-c", "local", "a.py").code == 0  # the cache still knows the hash, the blob is read again


def test_a_run_that_goes_on_is_not_deleted(project, cli):
    project.write("nap.py", "import time; time.sleep(60)")
    said = cli("submit", "-a", "-c", "local", "nap.py")
    refused = cli("history", "delete", "-r", said.run_id)
    assert refused.code == 125 and f"jig cancel {said.run_id}" in refused.err


def test_live_values_of_a_run_that_goes_on(project, cli):
    from tests.conftest import until

    project.write("live.py", "import jig, time\nfor n in range(6000):\n    jig.log(step_number=n); time.sleep(0.01)\n")
    cli("submit", "-a", "-c", "local", "live.py")
    first = until(lambda: cli("history", "last").json().get("step_number"))
    until(lambda: cli("history", "last").json()["step_number"] > first)
    assert cli("history", "last").json()["status"] == "Running"


def test_runs_of_other_projects(three, cli, tmp_path, monkeypatch):
    from tests.conftest import ProjectFolder

    other = ProjectFolder(tmp_path / "other")
    monkeypatch.chdir(other.path)
    assert cli("history", "list").json() == []
    assert len(cli("history", "list", "--all").json()) == 3
    assert len(cli("history", "list", "--path", str(tmp_path / "proj")).json()) == 3
    assert cli("history", "list", "--path", str(tmp_path)).code == 2
    monkeypatch.chdir(tmp_path)
    assert len(cli("history", "list").json()) == 3


def test_an_ambiguous_beginning(three, cli):
    said = cli("history", "info", "-r", "proj_1")
    assert said.code == 2 and all(run_id in said.err for run_id in three)


def test_nan_stays_valid_json(project, cli):
    project.write("a.py", "import jig; jig.log(loss=float('nan'), other=float('inf'))")
    cli("submit", "-c", "local", "a.py")
    record = json.loads(cli("history", "last").out, parse_constant=pytest.fail)
    assert (record["loss"], record["other"]) == ("NaN", "Infinity")


def test_nothing_yet(project, cli):
    assert cli("history", "list").json() == []
    assert cli("history", "last").code == 125
