"""A script that speaks MLflow's protocol with nothing but the standard library, where no MLflow is installed."""

import json

SPEAK = """
import json, os, time
from urllib.request import Request, urlopen

def post(path, **fields):
    headers = {"Authorization": "Bearer " + os.environ["MLFLOW_TRACKING_TOKEN"], "Content-Type": "application/json"}
    address = os.environ["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow/" + path
    return json.loads(urlopen(Request(address, json.dumps(fields).encode(), headers), timeout=20).read().decode())

def create(**fields):
    return post("runs/create", experiment_id="0", **fields)["run"]["info"]

"""
LOG = (
    SPEAK
    + """
own = create(run_name="first")
kid = create(run_name="kid", tags=[{"key": "mlflow.parentRunId", "value": own["run_id"]}])
for step in range(3):
    post("runs/log-metric", run_id=own["run_id"], key="loss", value=1 / (step + 1), timestamp=1700000000000 + step, step=step)
post("runs/log-batch", run_id=own["run_id"], params=[{"key": "lr", "value": "0.1"}], tags=[{"key": "team", "value": "a"}])
post("runs/log-metric", run_id=kid["run_id"], key="loss", value=7, timestamp=1700000000000)
place = own["artifact_uri"][len("file://"):]
with open(place + "/model.txt", "w") as file:
    file.write("weights")
print(own["run_id"] == os.environ["JIG_RUN_ID"], kid["run_id"] == own["run_id"] + "-1", flush=True)
"""
)
PRINTED = "True True\n"


def logged(text: str) -> "list[dict[str, object]]":
    """What that leaves in the metrics file: metrics, parameters and the tag of the script's own, without MLflow's."""
    found = []
    for line in map(json.loads, text.splitlines()):
        if "tags" in line:
            line["tags"] = {name: value for name, value in line["tags"].items() if not name.startswith("mlflow.")}
        if line.get("values") or line.get("params") or line.get("tags"):
            found.append({key: value for key, value in line.items() if key not in ("time", "mlflow")})
    return found


LOGGED = [
    {"step": 0, "values": {"loss": 1.0}},
    {"step": 1, "values": {"loss": 0.5}},
    {"step": 2, "values": {"loss": 1 / 3}},
    {"params": {"lr": 0.1}},
    {"tags": {"team": "a"}},
    {"run": "1", "step": 0, "values": {"loss": 7.0}},
]
