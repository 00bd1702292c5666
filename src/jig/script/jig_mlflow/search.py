"""Finding things: by a filter, in an order, a page at a time."""

import base64
import json

from jig_mlflow import filters
from jig_mlflow.failure import invalid
from jig_mlflow.run import ACTIVE, DELETED

USUAL, MOST = 1000, 50000


class RunFields(object):
    """What filters and orders see of a run."""

    ATTRIBUTES = {
        "run_id": "id",
        "run_uuid": "id",
        "run_name": "name",
        "Run name": "name",
        "run name": "name",
        "status": "status",
        "artifact_uri": "artifacts",
        "user_id": "user",
        "User": "user",
        "start_time": "start",
        "Created": "start",
        "created": "start",
        "end_time": "end",
        "experiment_id": "experiment",
    }

    @staticmethod
    def metric(run, key):
        """The latest value."""
        return run.metrics[key][2] if key in run.metrics else None

    @staticmethod
    def datasets(run, key):
        """That of each dataset."""
        if key == "context":
            return [tag.get("value") for one in run.datasets for tag in one["tags"]] or None
        return [one["dataset"].get(key) for one in run.datasets] or None


class ExperimentFields(object):
    """What filters and orders see of an experiment."""

    ATTRIBUTES = {"name": "name", "experiment_id": "id", "creation_time": "created", "last_update_time": "updated"}


class ModelFields(object):
    """What filters and orders see of a logged model."""

    ATTRIBUTES = {
        "name": "name",
        "model_id": "id",
        "model_type": "kind",
        "status": "status",
        "source_run_id": "run",
        "experiment_id": "experiment",
        "artifact_location": "artifacts",
        "creation_time": "created",
        "creation_timestamp": "created",
        "creation_timestamp_ms": "created",
        "last_updated_timestamp": "updated",
        "last_updated_timestamp_ms": "updated",
    }

    @staticmethod
    def metric(model, key):
        """The latest value, of whichever run."""
        found = [model.metrics[one] for one in model.metrics if one[0] == key]
        if not found:
            return None
        latest = max(found, key=lambda point: (point["timestamp"], point["step"]))
        return float(latest["value"])


def find(things, fields, text, orders, most, token):
    """A page of those for which the filter holds, and the token of the next; empty at the end."""
    if most is None or not 0 < most <= MOST:
        raise invalid("Invalid value %s for parameter 'max_results' supplied. It must be 1 to %d" % (most, MOST))
    conditions = filters.parse(text)
    for kind, key, _, _ in conditions:
        _check(fields, kind, key)
    found = [
        thing
        for thing in things
        if all(filters.holds(value(fields, thing, kind, key), sign, wanted) for kind, key, sign, wanted in conditions)
    ]
    for kind, key, descending in reversed(orders):
        _check(fields, kind, key)
        found = _sorted(found, lambda thing: value(fields, thing, kind, key), descending)  # noqa: B023
    start = _offset(token)
    rest = len(found) > start + most
    return found[start : start + most], _token(start + most) if rest else ""


def value(fields, thing, kind, key):
    """What a thing has of this; None when it has none."""
    if kind == "attributes":
        return getattr(thing, fields.ATTRIBUTES[key])
    if kind == "metrics":
        return fields.metric(thing, key)
    if kind == "datasets":
        return fields.datasets(thing, key)
    return getattr(thing, kind).get(key)


def _check(fields, kind, key):
    if kind == "attributes" and key not in fields.ATTRIBUTES:
        raise invalid("Invalid attribute key '%s' specified. Valid keys are %s" % (key, sorted(fields.ATTRIBUTES)))
    if (kind == "metrics" and not hasattr(fields, "metric")) or (
        kind == "datasets" and not hasattr(fields, "datasets")
    ):
        raise invalid("Invalid entity type '%s' here" % kind)
    if kind == "params" and fields is ExperimentFields:
        raise invalid("Invalid entity type 'params' here")


def _sorted(things, key, descending):
    """In order; those that have no such value, or one that is not a number, come last either way."""
    there = [thing for thing in things if key(thing) is not None and key(thing) == key(thing)]
    absent = [thing for thing in things if key(thing) is None or key(thing) != key(thing)]
    return sorted(there, key=key, reverse=descending) + absent


def order(clauses):
    """What `metrics.loss DESC` means: kind, key and whether the largest comes first."""
    found = []
    for clause in clauses:
        words = [token.text for token in filters.tokens(clause)]
        if not words or words[1:] and words[1].upper() not in ("ASC", "DESC") or len(words) > 2:
            raise invalid("Invalid order_by clause '%s'. Write a name, and ASC or DESC" % clause)
        kind, key = filters.name(words[0])
        found.append((kind, key, [word.upper() for word in words[1:]] == ["DESC"]))
    return found


def in_stage(things, view):
    """The active ones, the deleted ones, or all."""
    wanted = {"ACTIVE_ONLY": (ACTIVE,), "DELETED_ONLY": (DELETED,), "ALL": (ACTIVE, DELETED)}
    numbers = {"1": "ACTIVE_ONLY", "2": "DELETED_ONLY", "3": "ALL"}
    view = numbers.get(view, view)
    if view not in wanted:
        raise invalid("Invalid view type '%s'. Valid ones are %s" % (view, sorted(wanted)))
    return [thing for thing in things if thing.stage in wanted[view]]


def _token(offset):
    return base64.b64encode(json.dumps({"offset": offset}).encode()).decode()


def _offset(token):
    if not token:
        return 0
    try:
        offset = json.loads(base64.b64decode(token.encode()).decode())["offset"]
    except (ValueError, KeyError, TypeError):
        raise invalid("Invalid page token, could not base64-decode")
    if not isinstance(offset, int) or offset < 0:
        raise invalid("Invalid page token, decoded as %r" % (offset,))
    return offset
