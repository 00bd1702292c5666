"""Runs: made, ended, removed, found; what went in and what came out."""

import time

from jig_mlflow import search
from jig_mlflow.failure import invalid
from jig_mlflow.run import ACTIVE, DELETED, ENDS, NAME, STATUSES

STATUS = "mlflow.status"  # the tag of a run whose client says that it did not end well
EXPERIMENT = "mlflow.experiment"  # and of one that is in an experiment with a name
HISTORY = "mlflow.log-model.history"


def create(record, asked):
    """The first one is the jig run itself."""
    experiment = record.experiments.get(asked.text("experiment_id", "0") or "0")
    if experiment is None:  # of another server: a script that names its number runs here too
        number = asked.text("experiment_id")
        record.say(mlflow={"experiment": {"id": number, "name": number}})
        experiment = record.experiments[number]
    if experiment.stage != ACTIVE:
        raise invalid(
            "The experiment %s must be in the 'active' state. Current state is %s." % (experiment.id, experiment.stage)
        )
    tags = asked.pairs("tags")
    name = asked.text("run_name")
    if name and tags.get(NAME, name) != name:
        raise invalid(
            "Both 'run_name' argument and 'mlflow.runName' tag are specified, but with different values "
            "(run_name='%s', mlflow.runName='%s')." % (name, tags[NAME])
        )
    if experiment.id != "0":
        tags[EXPERIMENT] = experiment.name
    start = asked.integer("start_time", int(time.time() * 1000))
    return {"run": record.create(name or tags.get(NAME), experiment.id, asked.text("user_id"), start, tags).as_json()}


def update(record, asked):
    """Another status, end or name. The jig run's own state is the script's, whatever its client says."""
    run = record.run(asked.run_id())
    status, end, name = asked.text("status"), asked.integer("end_time"), asked.text("run_name")
    if status and status not in STATUSES:
        raise invalid("Unknown run status: %s" % status)
    said = {}
    if status or end is not None:
        said["mlflow"] = {"end": end if status in ENDS else None}
        if status and run.number:
            said["status"] = status if status in ENDS else "RUNNING"
        elif status:
            said["mlflow"]["status"] = status
            if (STATUS in run.tags or status in ("FAILED", "KILLED")) and run.tags.get(STATUS) != status:
                said["tags"] = {STATUS: status if status in ("FAILED", "KILLED") else None}
    if name:
        said["tags"] = dict(said.get("tags", {}), **{NAME: name})
        if run.number:
            said["name"] = name
    if said:
        record.say(run, **said)
    return {"run_info": run.info()}


def get(record, asked):
    """All of one run."""
    return {"run": record.run(asked.run_id()).as_json()}


def delete(record, asked):
    """A deleted run is only not listed any more: the record of a run is the person's to delete."""
    record.say(record.active(asked.run_id()), mlflow={"stage": DELETED})
    return {}


def restore(record, asked):
    """It is listed again."""
    record.say(record.run(asked.run_id()), mlflow={"stage": ACTIVE})
    return {}


def find(record, asked):
    """Those that a filter finds, in an order, a page at a time."""
    experiments = set(asked.texts("experiment_ids"))
    view = asked.text("run_view_type", "ACTIVE_ONLY")
    runs = [run for run in record.runs.values() if run.created and run.experiment in experiments]
    runs = search.in_stage(runs, view)
    page, token = search.find(
        runs,
        search.RunFields,
        asked.text("filter"),
        search.order(asked.texts("order_by")) + [("attributes", "start_time", True), ("attributes", "run_id", False)],
        asked.integer("max_results", search.USUAL),
        asked.text("page_token"),
    )
    said = {"runs": [run.as_json() for run in page]}
    if token:
        said["next_page_token"] = token
    return said


def log_inputs(record, asked):
    """Datasets and models that went in."""
    run = record.active(asked.run_id())
    for given in asked.items("datasets"):
        given.object("dataset")
    said = {"datasets": asked.plain_items("datasets"), "model_inputs": asked.plain_items("models")}
    said = {name: given for name, given in said.items() if given}
    if said:
        record.say(run, mlflow=said)
    return {}


def log_outputs(record, asked):
    """Models that came out."""
    run = record.active(asked.run_id())
    models = asked.plain_items("models")
    if models:
        record.say(run, mlflow={"model_outputs": models})
    return {}


def log_model(record, asked):
    """A model of MLflow 2, which is noted in a tag of the run."""
    import json

    run = record.active(asked.run_id())
    try:
        about = json.loads(asked.need("model_json"))
        history = json.loads(run.tags.get(HISTORY, "[]"))
    except (ValueError, RecursionError):
        raise invalid("Malformed model info. \n %s \n is not a valid JSON." % asked.text("model_json")[:1000])
    if not isinstance(about, dict) or not isinstance(history, list):
        raise invalid("Model info must be a dictionary.")
    record.say(run, tags={HISTORY: json.dumps(history + [about])})
    return {}
