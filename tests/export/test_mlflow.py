"""Export into a real MLflow, read back by its own interface: nothing missing, and nothing twice."""

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jig.cli.here import store
from jig.export.mlflow import Exporter, Source
from jig.export.writer import Writer
from tests.conftest import spawn, until
from tests.export.conftest import Mlflow

pytestmark = pytest.mark.timeout(240)
LARGEST = "1.7976931348623157e+308"
SCRIPT = """
import json, math, os, time
import jig

for step in range(1200):
    jig.log({"loss": 1 / (step + 1), "lr": 0.1}, step=step)
for value in (1, 2.5, True, -0.0, math.nan, math.inf, -math.inf, 1e-300):
    jig.log("odd", value)
jig.log("back", 3, step=7)
jig.log("back", 4, step=-2)
jig.log("half", 1.0, step=0.5)
jig.log("phase", "warm-up")
jig.log("phase", "done ünïcödé")
jig.log("roc", [0.0, 0.5, 1.0])
jig.log("roc", [9.0])
jig.log("confusion", [[5, 1], [0, 6]])
jig.log("top-5 = acc%", 0.5)
jig.log("a//b", 1)
jig.log("huge", 10 ** 400)
os.makedirs("outputs/net/deep")
for name, data in (("model.pkl", b"model"), ("net/w.bin", bytes(range(256)) * 100), ("net/deep/empty", b"")):
    with open("outputs/" + name, "wb") as file:
        file.write(data)
os.makedirs("outputs/nested/1")
with open("outputs/nested/1/inner.txt", "w") as file:
    file.write("inner")
now = time.time()
lines = [
    {"time": now, "params": {"lr": 0.1, "layers": [64, 32], "name": "ünet", "bad=name": True, "long": "x" * 7000}},
    {"time": now, "tags": {"stage": "trial", "empty": ""}},
    {"time": now, "run": "1", "name": "fold 1", "status": "RUNNING", "parent": ""},
    {"time": now, "run": "1", "params": {"fold": 1}},
    {"time": now + 1, "run": "1", "step": 3, "values": {"loss": 0.25}},
    {"time": now + 2, "run": "1", "status": "FAILED"},
    {"time": now, "run": "2", "name": "fold 1.1", "status": "FINISHED", "parent": "1"},
]
with open(os.path.join(os.environ["JIG_RUN_DIR"], "metrics.jsonl"), "a") as file:
    file.write("".join(json.dumps(line) + "\\n" for line in lines))
if os.fork() == 0:
    os.environ["RANK"] = "3"
    jig.log("loss", 0.75, step=1)
    os._exit(0)
os.wait()
"""
SYSTEM = [
    {"time": 100.5, "cpu_s": 1.5, "memory_bytes": 1000, "processes": 2, "gpus": [{"uuid": "GPU-a", "busy_percent": 50, "memory_bytes": 7, "power_w": None, "ours": {"memory_bytes": 5, "busy_percent": None}}]},
    {"time": 101.5, "cpu_s": 2.5, "gpus": [{"uuid": "GPU-b", "busy_percent": 1}, {"uuid": "GPU-a", "busy_percent": 99}]},
]  # fmt: skip


def submitted(project, cli, text: str) -> str:
    project.write("train.py", text)
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == 0, said.out + said.err
    return said.run_id


def ms(seconds: float) -> int:
    return round(seconds * 1000)


def expected_metrics(folder: Path) -> "dict[str, list[list[object]]]":
    """What the run's file has, read here by plain JSON; the names are written out."""
    new = {"top-5 = acc%": "top-5 _u3d_ acc_u25_", "a//b": "a/_u_/b"}
    found, counts = {}, {}
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        entry = json.loads(line)
        for name, value in entry.get("values", {}).items() if "run" not in entry else ():
            points = found.setdefault(new.get(name, name), [])
            if isinstance(value, (int, float)) and name not in ("huge", "half"):
                step = entry.get("step", counts.get(name, 0))
                counts[name] = counts.get(name, 0) + 1
                points.append([step, ms(entry["time"]), repr(float(value))])
            elif name == "half":
                points.append([0, ms(entry["time"]), "1.0"])
            elif value == [0.0, 0.5, 1.0]:
                points += [[at, ms(entry["time"]), repr(one)] for at, one in enumerate(value)]
    return {name: points for name, points in found.items() if points}


def as_kept(points, uri: str) -> "list[list[object]]":
    """Points in one order; databases have no infinities, and no negative zero apart from zero."""
    if uri.startswith("sqlite"):
        named = {"inf": LARGEST, "-inf": "-" + LARGEST, "-0.0": "0.0"}
        points = [[step, at, named.get(value, value)] for step, at, value in points]
    return sorted(points)


def test_nothing_is_missing(project, cli, jig_home, mlflow):
    project.write("inner.py", "import jig; jig.log('x', 1)")
    again = "\nimport subprocess, sys\nsubprocess.run([sys.executable, '-m', 'jig', 'submit', '-c', 'local', 'inner.py'], check=True)\n"
    project.write("train.py", SCRIPT + again)
    source = str(Path(__file__).parents[2] / "src")
    project.runconfig(EnvironmentVariables={"PYTHONPATH": source})
    said = cli("submit", "-c", "local", "train.py", "--lr", "0.1")
    assert said.code == 0, said.out + said.err
    run_id = said.run_id
    folder = jig_home / "runs" / run_id
    (folder / "system.jsonl").write_text("".join(json.dumps(line) + "\n" for line in SYSTEM))
    assert cli("history", "tag", "-r", run_id, "stage=final", "who=ada").code == 0
    assert cli("history", "note", "-r", run_id, "a note\nof two lines").code == 0
    (inner,) = [name for name in os.listdir(jig_home / "runs") if name != run_id]

    said = cli("history", "export", *mlflow.words, "-o", "json")
    assert said.code == 0, said.err
    assert [one["run_id"] for one in said.json()] == [run_id, f"{run_id}-1", f"{run_id}-2", inner]
    there = mlflow.read()
    assert set(there) == {run_id, f"{run_id}-1", f"{run_id}-2", inner}
    run, record = there[run_id], cli("history", "info", "-r", run_id).json()

    # Every point, of the run, of another rank and of the sampler.
    metrics = expected_metrics(folder)
    (third,) = [json.loads(line) for line in (folder / "metrics.3.jsonl").read_text().splitlines()]
    metrics["rank_3/loss"] = [[1, ms(third["time"]), "0.75"]]
    metrics |= {
        "system/cpu_s": [[0, 100500, "1.5"], [1, 101500, "2.5"]],
        "system/memory_bytes": [[0, 100500, "1000.0"]],
        "system/processes": [[0, 100500, "2.0"]],
        "system/gpu_0_busy_percent": [[0, 100500, "50.0"], [1, 101500, "99.0"]],
        "system/gpu_0_memory_bytes": [[0, 100500, "7.0"]],
        "system/gpu_0_ours_memory_bytes": [[0, 100500, "5.0"]],
        "system/gpu_1_busy_percent": [[1, 101500, "1.0"]],
    }
    assert set(run["metrics"]) == set(metrics)
    for name, points in metrics.items():
        assert as_kept(run["metrics"][name], "") == as_kept(points, mlflow.uri), name
    assert len(run["metrics"]["loss"]) == 1200

    assert run["params"] == {
        "lr": "0.1",
        "layers": "[64, 32]",
        "name": "ünet",
        "bad_u3d_name": "True",
        "long": "x" * 5999 + "…",
    }
    tags = run["tags"]
    expected = {
        "stage": "final",
        "who": "ada",
        "empty": "",
        "phase": "done ünïcödé",
        "mlflow.note.content": "a note\nof two lines",
        "mlflow.source.name": "train.py",
        "mlflow.user": record["user_id"],
        "jig.run_id": run_id,
        "jig.target": "local",
        "jig.status": "Completed",
        "jig.exit_code": "0",
        "jig.arguments": '["--lr", "0.1"]',
        "jig.snapshot_id": record["snapshot_id"],
        "jig.gpu.0": "GPU-a",
        "jig.gpu.1": "GPU-b",
        "jig.gpu.verdict": record["gpu"]["verdict"],
    }
    assert {name: tags.get(name) for name in expected} == expected
    assert (run["experiment"], run["status"], run["name"]) == ("proj", "FINISHED", run_id)
    assert (run["start"], run["end"]) == tuple(ms(at(record[key])) for key in ("start_time_utc", "end_time_utc"))

    # Files as they are, and beside them what MLflow has no place for.
    own = {name for name in run["files"] if name.startswith("jig/")}
    assert {name: digest for name, digest in run["files"].items() if name not in own} == {
        "model.pkl": sha(b"model"),
        "net/w.bin": sha(bytes(range(256)) * 100),
        "net/deep/empty": sha(b""),
    }
    for name in ("metrics.jsonl", "metrics.3.jsonl", "system.jsonl", "events.jsonl"):
        assert run["files"][f"jig/{name}"] == sha((folder / name).read_bytes())
    assert own >= {"jig/record.json", "jig/values.jsonl", "jig/names.json"} and "jig/plan.json" not in own

    # What is nested, and what was submitted from within, is below.
    first, second = there[f"{run_id}-1"], there[f"{run_id}-2"]
    assert (first["name"], first["status"], first["params"]) == ("fold 1", "FAILED", {"fold": "1"})
    assert [[step, value] for step, _, value in first["metrics"]["loss"]] == [[3, "0.25"]]
    assert first["tags"]["mlflow.parentRunId"] == run["id"]
    assert {name for name in first["files"] if not name.startswith("jig/")} == {"inner.txt"}
    assert second["tags"]["mlflow.parentRunId"] == first["id"] and second["status"] == "FINISHED"
    assert there[inner]["tags"]["mlflow.parentRunId"] == run["id"]
    assert "mlflow.parentRunId" not in tags

    # And again: nothing is added.
    said = cli("history", "export", *mlflow.words, "-o", "json")
    assert [(one["known"], one["points"], one["files"]) for one in said.json()] == [(True, 0, 0)] * 4
    assert mlflow.read() == there


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def at(utc: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(utc).timestamp()


def source_of(run_id: str) -> Source:
    record = store()
    found = record.find(run_id, None)
    return Source(record.record(run_id), found.folder, "")


class Cut(Exception):
    pass


def test_an_export_that_was_cut_goes_on(project, cli, mlflow):
    """Cut after two of four batches; and the last that arrived is not noted, as after a kill in between."""
    run_id = submitted(project, cli, "import jig\nfor step in range(3500): jig.log('loss', step * 0.5, step=step)")
    sent = []

    def progress(count):
        sent.append(count)
        if len(sent) == 2:
            raise Cut

    with Writer(mlflow.uri, mlflow.python) as writer, pytest.raises(Cut):
        writer.ask("connect")
        Exporter(writer, None, progress).send(source_of(run_id))
    (half,) = mlflow.read().values()
    assert len(half["metrics"]["loss"]) == 2000 and half["status"] == "RUNNING"
    assert half["tags"]["jig.exported"] == '{"metrics.jsonl": 2000}'
    unnoted = "import sys; from mlflow import MlflowClient; MlflowClient(tracking_uri=sys.argv[1]).set_tag(sys.argv[2], 'jig.exported', sys.argv[3])"
    mlflow.run(unnoted, half["id"], '{"metrics.jsonl": 1000}')

    said = cli("history", "export", run_id, *mlflow.words, "-o", "json")
    assert said.code == 0, said.err
    (whole,) = mlflow.read().values()
    count = sum(map(len, whole["metrics"].values()))  # the sampler's among them
    assert [(one["known"], one["points"]) for one in said.json()] == [(True, count - 2000)]
    assert [[step, value] for step, _, value in sorted(whole["metrics"]["loss"])] == [
        [step, repr(step * 0.5)] for step in range(3500)
    ]
    assert whole["status"] == "FINISHED"


def test_a_run_that_goes_on(project, cli, database, tmp_path):
    gate = tmp_path / "gate"
    code = f"import jig, os, time\njig.log('loss', 1.0)\njig.log('phase', 'first')\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.02)\njig.log('loss', 0.5)\njig.log('phase', 'second')\n"
    project.write("train.py", code)
    run_id = cli("submit", "-a", "-c", "local", "train.py").run_id
    until(lambda: cli("history", "info", "-r", run_id).json()["metrics"].get("phase") == "first")
    assert cli("history", "tag", "-r", run_id, "mine=1", "gone=1").code == 0
    assert cli("history", "export", *database.words).code == 0
    going = database.read()[run_id]
    assert (going["status"], going["end"], len(going["metrics"]["loss"])) == ("RUNNING", None, 1)
    assert (going["tags"]["phase"], going["tags"]["gone"]) == ("first", "1")
    tagged = "import sys; from mlflow import MlflowClient; MlflowClient(tracking_uri=sys.argv[1]).set_tag(sys.argv[2], 'theirs', '2')"
    database.run(tagged, going["id"])

    gate.touch()
    assert cli("logs", "-f", run_id).code == 0
    assert cli("history", "tag", "-r", run_id, "--remove", "gone").code == 0
    assert cli("history", "export", *database.words).code == 0
    ended = database.read()[run_id]
    assert ended["status"] == "FINISHED" and ended["end"] > ended["start"]
    assert [value for _, _, value in sorted(ended["metrics"]["loss"])] == ["1.0", "0.5"]
    tags = ended["tags"]
    assert (tags["phase"], tags["mine"], tags["theirs"], tags.get("gone")) == ("second", "1", "2", None)


def test_two_exports_at_once_make_one_run(project, cli, database):
    run_id = submitted(project, cli, "import jig\nfor step in range(1500): jig.log('loss', step, step=step)")
    both = [spawn("history", "export", *database.words) for _ in range(2)]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert len(database.read()[run_id]["metrics"]["loss"]) == 1500


def test_a_server_of_mlflow(project, cli, database, tmp_path):
    """Over HTTP, with a name and a password that are shown nowhere."""
    import socket

    run_id = submitted(
        project,
        cli,
        "import jig\nfor step in range(1100): jig.log('loss', step, step=step)\nopen('outputs/m', 'w').write('m')",
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [database.python, "-m", "mlflow", "server", "--port", str(port), "--workers", "1"]
    (tmp_path / "ml").mkdir()
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    server = subprocess.Popen(
        [*command, "--backend-store-uri", database.uri],
        cwd=tmp_path / "ml",
        env={**environ, "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: answers(port), timeout=120, what="the server's answer")
        words = ("--to", f"http://ada:s3cret@127.0.0.1:{port}", "--python", database.python)
        said = cli("history", "export", *words)
        assert said.code == 0, said.err
        assert said.out.startswith(f"http://***@127.0.0.1:{port}: 1 run, 1 new; sent ")
        assert "1 run, 0 new; sent 0 points and 0 files" in cli("history", "export", *words).out
        run = Mlflow(database.python, f"http://127.0.0.1:{port}").read()[run_id]
    finally:
        server.terminate()
        server.wait()
    assert [value for _, _, value in sorted(run["metrics"]["loss"])] == [repr(float(step)) for step in range(1100)]
    assert (run["status"], run["files"]["m"]) == ("FINISHED", sha(b"m"))


def answers(port: int) -> bool:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        time.sleep(0.2)
        return False
    finally:
        connection.close()


def test_faults_are_told(project, cli, database, tmp_path, monkeypatch):
    submitted(project, cli, "import jig; jig.log('x', 1)")
    said = cli("history", "export", "--to", database.uri, "--python", sys.executable)
    assert said.code == 125
    assert said.err == (
        f"error: {sys.executable} has no mlflow: No module named 'mlflow'\n\n"
        "hint: install it (pip install mlflow), or name an interpreter that has it:  --python PATH\n"
    )
    said = cli("history", "export", "--to", database.uri, "--python", str(tmp_path / "none"))
    assert said.code == 125 and "could not be started: No such file or directory" in said.err
    said = cli("history", "export", "--to", "sqlite")
    assert said.code == 2 and "--to cannot be 'sqlite': it is csv, or the tracking URI" in said.err
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert "MLFLOW_TRACKING_URI, which is not set" in cli("history", "export", "--to", "mlflow").err
    assert "--points is for --to csv" in cli("history", "export", "--to", database.uri, "--points").err
    said = cli("history", "export", "--to", "nonsense://u:s3cret@x/y", "--python", database.python)
    assert said.code == 125 and "s3cret" not in said.err and "MLflow at nonsense://***@x/y says" in said.err


def test_an_mlflow_that_lacks_something_is_told_in_a_line(project, cli, tmp_path):
    """As one of 2024 beside a library of today: it can be imported, and its store cannot."""
    submitted(project, cli, "print(1)")
    package = tmp_path / "packages/mlflow"
    package.mkdir(parents=True)
    client = "def MlflowClient(**_):\n    raise ImportError(\"cannot import name 'Pool' from 'sqlalchemy.pool'\")\n"
    (package / "__init__.py").write_text(f"__version__ = '2.22.5'\n{client}")
    (package / "entities.py").write_text("Metric = Param = RunTag = object\n")
    (package / "exceptions.py").write_text("class MlflowException(Exception):\n    pass\n")
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={package.parent} exec {sys.executable} "$@"\n')
    program.chmod(0o755)
    said = cli("history", "export", "--to", "sqlite:///none.db", "--python", str(program))
    assert said.code == 125
    assert "MLflow at sqlite:///none.db says: cannot import name 'Pool' from 'sqlalchemy.pool'\n" in said.err


def test_the_address_goes_by_the_pipe(project, cli, tmp_path, monkeypatch):
    """It may hold a password: neither the words nor the variables of the other program have it."""
    submitted(project, cli, "print(1)")
    program = tmp_path / "python"
    program.write_text(
        f"#!/bin/sh\ncd {tmp_path}\ncat /proc/$$/cmdline /proc/$$/environ > seen\nhead -n 1 > first\nexit 3\n"
    )
    program.chmod(0o755)
    said = cli("history", "export", "--to", "http://ada:s3cret@tracking:5000", "--python", str(program))
    assert said.code == 125 and "s3cret" not in said.err
    warning, _, error = said.err.partition("\n")
    assert warning.startswith("warning: the login in --to can be seen by every user of this computer")
    assert error.startswith("error: the export to http://***@tracking:5000 broke off: it ended without a word\n")
    assert b"s3cret" not in (tmp_path / "seen").read_bytes()
    assert json.loads((tmp_path / "first").read_text())["uri"] == "http://ada:s3cret@tracking:5000"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://ada:s3cret@tracking:5000")
    said = cli("history", "export", "--to", "mlflow", "--python", str(program))
    assert said.err == error, "there is nothing to warn of"
    assert json.loads((tmp_path / "first").read_text())["uri"] == "http://ada:s3cret@tracking:5000"
