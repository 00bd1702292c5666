"""Experiments. They are names only: all that is logged belongs to this jig run."""

from jig_mlflow import search
from jig_mlflow.failure import Refused, invalid, missing
from jig_mlflow.run import ACTIVE, DELETED


def create(record, asked):
    """A new name."""
    name = asked.need("name")
    known = by_name(record, name)
    if known is not None:
        state = "" if known.stage == ACTIVE else " in deleted state. You can restore the experiment"
        raise Refused("RESOURCE_ALREADY_EXISTS", "Experiment '%s' already exists%s." % (name, state))
    number = str(max([int(one) for one in record.experiments if one.isdigit()] + [0]) + 1)
    record.say(mlflow={"experiment": {"id": number, "name": name, "tags": asked.pairs("tags")}})
    return {"experiment_id": number}


def by_name(record, name):
    """The experiment of this name, or None."""
    return next((one for one in record.experiments.values() if one.name == name), None)


def get_by_name(record, asked):
    """By its name."""
    name = asked.need("experiment_name")
    found = by_name(record, name)
    if found is None:
        raise missing("Could not find experiment with name '%s'" % name)
    return {"experiment": found.as_json(record.own.artifacts)}


def get(record, asked):
    """By its number."""
    return {"experiment": _find(record, asked).as_json(record.own.artifacts)}


def find(record, asked):
    """Those that a filter finds."""
    things = search.in_stage(record.experiments.values(), asked.text("view_type", "ACTIVE_ONLY"))
    orders = search.order(asked.texts("order_by")) + [("attributes", "last_update_time", True)]
    page, token = search.find(
        things,
        search.ExperimentFields,
        asked.text("filter"),
        orders,
        asked.integer("max_results", search.USUAL),
        asked.text("page_token"),
    )
    said = {"experiments": [one.as_json(record.own.artifacts) for one in page]}
    if token:
        said["next_page_token"] = token
    return said


def update(record, asked):
    """Another name."""
    found, name = _find(record, asked), asked.need("new_name")
    if found.stage != ACTIVE:
        raise invalid("Cannot rename a non-active experiment.")
    record.say(mlflow={"experiment": {"id": found.id, "name": name}})
    return {}


def delete(record, asked):
    """It is not listed any more."""
    return _stage(record, _find(record, asked), DELETED)


def restore(record, asked):
    """It is listed again."""
    return _stage(record, _find(record, asked), ACTIVE)


def _stage(record, found, stage):
    record.say(mlflow={"experiment": {"id": found.id, "stage": stage}})
    return {}


def set_tag(record, asked):
    """A tag of it."""
    found = _find(record, asked)
    record.say(mlflow={"experiment": {"id": found.id, "tags": {asked.need("key"): asked.text("value")}}})
    return {}


def delete_tag(record, asked):
    """A tag less."""
    found, name = _find(record, asked), asked.need("key")
    if name not in found.tags:
        raise missing("No tag with name: %s in experiment with id %s" % (name, found.id))
    record.say(mlflow={"experiment": {"id": found.id, "tags": {name: None}}})
    return {}


def _find(record, asked):
    number = asked.need("experiment_id")
    if number not in record.experiments:
        raise missing("No Experiment with id=%s exists" % number)
    return record.experiments[number]
