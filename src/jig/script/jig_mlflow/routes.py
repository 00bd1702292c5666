"""Which call a request is, and what jig has instead of those that it does not answer."""

from jig_mlflow import artifact_calls, experiment_calls, marks, model_calls, point_calls, run_calls
from jig_mlflow.failure import Refused

PREFIXES = ("/api/2.0/mlflow/", "/api/3.0/mlflow/", "/ajax-api/2.0/mlflow/", "/ajax-api/3.0/mlflow/")
# The path of this one lacks a slash in MLflow's own description.
ODD = {"/api/2.0mlflow/experiments/search-datasets": "experiments/search-datasets"}

CALLS = {
    ("POST", "experiments/create"): experiment_calls.create,
    ("GET", "experiments/get"): experiment_calls.get,
    ("GET", "experiments/get-by-name"): experiment_calls.get_by_name,
    ("POST", "experiments/search"): experiment_calls.find,
    ("GET", "experiments/search"): experiment_calls.find,
    ("POST", "experiments/update"): experiment_calls.update,
    ("POST", "experiments/delete"): experiment_calls.delete,
    ("POST", "experiments/restore"): experiment_calls.restore,
    ("POST", "experiments/set-experiment-tag"): experiment_calls.set_tag,
    ("POST", "experiments/delete-experiment-tag"): experiment_calls.delete_tag,
    ("POST", "runs/create"): run_calls.create,
    ("POST", "runs/update"): run_calls.update,
    ("GET", "runs/get"): run_calls.get,
    ("POST", "runs/search"): run_calls.find,
    ("POST", "runs/delete"): run_calls.delete,
    ("POST", "runs/restore"): run_calls.restore,
    ("POST", "runs/log-inputs"): run_calls.log_inputs,
    ("POST", "runs/outputs"): run_calls.log_outputs,
    ("POST", "runs/log-model"): run_calls.log_model,
    ("POST", "runs/log-metric"): point_calls.log_metric,
    ("POST", "runs/log-batch"): point_calls.log_batch,
    ("GET", "metrics/get-history"): point_calls.get_history,
    ("GET", "metrics/get-history-bulk-interval"): point_calls.get_bulk,
    ("POST", "runs/log-parameter"): marks.log_param,
    ("POST", "runs/set-tag"): marks.set_tag,
    ("POST", "runs/delete-tag"): marks.delete_tag,
    ("GET", "artifacts/list"): artifact_calls.of_run,
    ("POST", "logged-models"): model_calls.create,
    ("POST", "logged-models/search"): model_calls.find,
}
# Of one model: what stands behind its id.
MODEL_CALLS = {
    ("GET", ""): model_calls.get,
    ("PATCH", ""): model_calls.finalize,
    ("DELETE", ""): model_calls.delete,
    ("PATCH", "tags"): model_calls.set_tags,
    ("POST", "params"): model_calls.log_params,
    ("GET", "artifacts/directories"): artifact_calls.of_model,
}
INSTEAD = (
    (
        ("registered-models", "model-versions", "webhooks", "prompts"),
        "jig has no model registry: `jig history promote -r RUN -ap outputs/model -n NAME` keeps a model under a name",
    ),
    (("traces", "unified-traces", "issues", "assessments"), "jig keeps metrics, parameters, tags and files, no traces"),
    (("mlflow-artifacts", "artifacts"), "files go straight into the run's outputs/, and not through this endpoint"),
)
OTHERWISE = "jig answers what logs and finds runs, metrics, parameters, tags, experiments, logged models and datasets"


def find(method, path):
    """The call, and the fields that stand in the path; Refused where there is none."""
    name = ODD.get(path, "")
    for prefix in PREFIXES:
        if path.startswith(prefix):
            name = path[len(prefix) :].strip("/")
    call = CALLS.get((method, name))
    if call is not None:
        return call, {}
    words = name.split("/")
    if words[0] == "logged-models" and len(words) > 1 and words[1] != "search":
        call = MODEL_CALLS.get((method, "/".join(words[2:])))
        if call is not None:
            return call, {"model_id": words[1]}
        if method == "DELETE" and words[2:3] == ["tags"] and len(words) > 3:
            return model_calls.delete_tag, {"model_id": words[1], "tag_key": "/".join(words[3:])}
    parts = path.split("/")
    advice = next((text for words, text in INSTEAD if any(word in parts for word in words)), OTHERWISE)
    raise Refused(
        "ENDPOINT_NOT_FOUND", "%s %s is nothing that this run's own MLflow endpoint has: %s" % (method, path, advice)
    )
