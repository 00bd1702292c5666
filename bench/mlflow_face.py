"""What MLflow's own client waits for when it logs: to a run's endpoint, and to MLflow's server with SQLite."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time

import projects
from environments import jig, mlflow
from figure import Figure
from folders import fresh, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BATCH_BAR, ONE_BAR = 5.0, 5.0
BATCHES, PEER_BATCHES = 100, 30  # of a thousand points, after a first one: a server takes seconds for what we take
START_S = 60.0
# The same script for both, unchanged: that is the point.
SCRIPT = """
import json, statistics, sys, time
import mlflow
from mlflow.entities import Metric

client = mlflow.MlflowClient()
run = client.create_run("0").info.run_id
now = int(time.time() * 1000)
batches = [[Metric("metric %d" % (i % 10), i * 0.5, now, batch * 100 + i // 10) for i in range(1000)]
           for batch in range(int(sys.argv[1]) + 1)]
client.log_batch(run, batches.pop())
began = time.perf_counter()
for batch in batches:
    client.log_batch(run, batch)
thousand_s = (time.perf_counter() - began) / len(batches)
ones_s = []
for step in range(100):
    began = time.perf_counter()
    client.log_metric(run, "one", step * 0.5, step=step)
    ones_s.append(time.perf_counter() - began)
kept = len(client.get_metric_history(run, "metric 3")) + len(client.get_metric_history(run, "one"))
print(json.dumps({"thousand_s": thousand_s, "one_s": statistics.median(ones_s), "kept": kept}))
"""


def measure() -> list[Figure]:
    """Of 100,000 points a thousand, which are a batch, and one point; SystemExit when a point is missing."""
    ours, other = _ours(), _server()
    return [
        Figure("mlflow", "1000 of 100,000 points", ours[0], "mlflow server", other[0], BATCH_BAR, faster=True),
        Figure("mlflow", "log_metric, jig's endpoint", ours[1], "mlflow server", other[1], ONE_BAR, faster=True),
    ]


def _ours() -> tuple[float, float]:
    folder = fresh("mlflow-face", "jig")
    home = os.path.join(folder, "home")
    project = projects.create(os.path.join(folder, "project"), home)
    write(os.path.join(project, "log.py"), SCRIPT)
    write(os.path.join(project, "aml_config", "local.compute"), f"type: local\npythonLocation: {_python()}\n")
    argv = (jig().program("jig"), "submit", "-c", "local", "log.py", str(BATCHES))
    return _read(argv, jig().environ(JIG_HOME=home, MLFLOW_DISABLE_TELEMETRY="true"), project, BATCHES)


def _server() -> tuple[float, float]:
    folder = fresh("mlflow-face", "server")
    write(os.path.join(folder, "log.py"), SCRIPT)
    with _serving(folder) as address:
        environ = mlflow().environ(MLFLOW_TRACKING_URI=address, MLFLOW_DISABLE_TELEMETRY="true")
        return _read((_python(), "log.py", str(PEER_BATCHES)), environ, folder, PEER_BATCHES)


@contextlib.contextmanager
def _serving(folder: str) -> Iterator[str]:
    """MLflow's server, as its own documentation starts it for one person."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = (mlflow().program("mlflow"), "server", "--host", "127.0.0.1", "--port", str(port),
            "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", folder)  # fmt: skip
    environ = mlflow().environ(MLFLOW_DISABLE_TELEMETRY="true")
    with open(os.path.join(folder, "server.log"), "wb") as log:
        server = subprocess.Popen(argv, cwd=folder, env=environ, stdout=log, stderr=log, start_new_session=True)
    try:
        deadline = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if server.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit(f"mlflow server did not start: {folder}/server.log") from None
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, 15)
        server.wait()


def _python() -> str:
    return mlflow().program("python")


def _read(argv: tuple[str, ...], environ: dict[str, str], folder: str, batches: int) -> tuple[float, float]:
    """Seconds for a thousand points, and for one, as the script has printed them."""
    done = subprocess.run(argv, env=environ, cwd=folder, capture_output=True, text=True, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"thousand_s"')]
    if done.returncode or not told:
        raise SystemExit(f"{' '.join(argv)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    sent = (batches + 1) * 100 + 100  # of one metric in ten, and of the one alone
    if told[0]["kept"] != sent:
        raise SystemExit(f"{told[0]['kept']} points of {sent} were kept")
    return told[0]["thousand_s"], told[0]["one_s"]
