"""Logged models of MLflow 3. Their files are in outputs/, under the model's name, as MLflow 2 put them."""

import os

from jig_mlflow import search
from jig_mlflow.failure import invalid, missing
from jig_mlflow.record import NESTED, location
from jig_mlflow.run import ACTIVE, DELETED

STATUSES = ("LOGGED_MODEL_PENDING", "LOGGED_MODEL_READY", "LOGGED_MODEL_UPLOAD_FAILED")
NOT_IN_NAMES = "/\\:.%\"'\0"


def create(record, asked):
    """A new one, with a folder of its own."""
    name = asked.text("name") or "model"
    if set(name) & set(NOT_IN_NAMES) or any("\ud800" <= letter <= "\udfff" for letter in name):
        raise invalid(
            'Invalid model name "%s" provided. Model name must be a non-empty string and cannot contain the following '
            "characters: ('/', ':', '.', '%%', '\"', \"'\")" % name
        )
    run = record.runs.get(asked.text("source_run_id"))
    number = "m-" + os.urandom(16).hex()
    about = {
        "id": number,
        "name": name,
        "kind": asked.text("model_type"),
        "experiment": asked.text("experiment_id", "0") or "0",
        "run": asked.text("source_run_id"),
        "artifacts": location(_folder(record, run, name)),
        "status": STATUSES[0],
        "params": asked.pairs("params"),
        "tags": asked.pairs("tags"),
    }
    record.say(run, mlflow={"model": about})
    return {"model": record.models[number].as_json()}


def _folder(record, run, name):
    """A folder that nobody has: the second model of a name is `name-2`."""
    top = os.path.join(record.outputs, NESTED, run.number) if run is not None and run.number else record.outputs
    os.makedirs(top, exist_ok=True)
    count = 1
    while True:
        place = os.path.join(top, name if count == 1 else "%s-%d" % (name, count))
        try:
            os.mkdir(place)
            return place
        except FileExistsError:
            count += 1


def finalize(record, asked):
    """It is whole, or will never be."""
    found, status = find_one(record, asked), asked.text("status")
    if status not in STATUSES:
        raise invalid("Invalid model status: %s. Expected one of %s" % (status, STATUSES))
    record.say(mlflow={"model": {"id": found.id, "status": status}})
    return {"model": found.as_json()}


def get(record, asked):
    """All of one."""
    return {"model": find_one(record, asked, asked.flag("allow_deleted")).as_json()}


def delete(record, asked):
    """It is not listed any more; its files stay."""
    record.say(mlflow={"model": {"id": find_one(record, asked).id, "stage": DELETED}})
    return {}


def set_tags(record, asked):
    """Tags of it."""
    record.say(mlflow={"model": {"id": find_one(record, asked).id, "tags": asked.pairs("tags")}})
    return {}


def delete_tag(record, asked):
    """A tag less."""
    found, name = find_one(record, asked), asked.need("tag_key")
    if name not in found.tags:
        raise missing("No tag with key %r found for model with ID %r." % (name, found.id))
    record.say(mlflow={"model": {"id": found.id, "tags": {name: None}}})
    return {}


def log_params(record, asked):
    """Parameters of it."""
    record.say(mlflow={"model": {"id": find_one(record, asked).id, "params": asked.pairs("params")}})
    return {}


def find(record, asked):
    """Those that a filter finds."""
    experiments = set(asked.texts("experiment_ids"))
    things = [one for one in record.models.values() if one.stage == ACTIVE and one.experiment in experiments]
    orders = []
    for clause in asked.items("order_by"):
        kind, key, _ = search.order([clause.need("field_name")])[0]
        orders.append((kind, key, not clause.flag("ascending")))
    page, token = search.find(
        things,
        search.ModelFields,
        asked.text("filter"),
        orders + [("attributes", "creation_time", True)],
        asked.integer("max_results", 100),
        asked.text("page_token"),
    )
    said = {"models": [one.as_json() for one in page]}
    if token:
        said["next_page_token"] = token
    return said


def find_one(record, asked, deleted_too=False):
    """The model that a request is about; Refused when there is none."""
    number = asked.need("model_id")
    found = record.models.get(number)
    if found is None or (found.stage != ACTIVE and not deleted_too):
        raise missing("Logged model with ID '%s' not found." % number)
    return found
