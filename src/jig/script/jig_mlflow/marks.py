"""Parameters and tags of runs."""

from jig_mlflow.failure import invalid, missing
from jig_mlflow.values import kept


def log_param(record, asked):
    """One parameter."""
    run = record.active(asked.run_id())
    log_params(record, run, {asked.need("key"): asked.text("value")})
    return {}


def log_params(record, run, given):
    """Parameters, which never change: all of them, or none."""
    changed = sorted(name for name in given if run.params.get(name, given[name]) != given[name])
    if len(given) == 1 and changed:
        name = changed[0]
        raise invalid(
            "Changing param values is not allowed. Param with key='%s' was already logged with value='%s' for run "
            "ID='%s'. Attempted logging new value '%s'." % (name, run.params[name], run.id, given[name])
        )
    if changed:
        found = [{"key": name, "old_value": run.params[name], "new_value": given[name]} for name in changed]
        raise invalid(
            "Changing param values is not allowed. Params were already logged='%s' for run ID='%s'." % (found, run.id)
        )
    fresh = {name: kept(given[name]) for name in given if name not in run.params}
    if fresh:
        record.say(run, params=fresh)


def set_tag(record, asked):
    """One tag."""
    run = record.active(asked.run_id())
    set_tags(record, run, {asked.need("key"): asked.text("value")})
    return {}


def set_tags(record, run, tags):
    """Tags; the name of a run is one of them."""
    record.say(run, tags=tags)


def delete_tag(record, asked):
    """Take a tag away."""
    run, name = record.active(asked.run_id()), asked.need("key")
    if name not in run.tags:
        raise missing("No tag with name: %s in run with id %s" % (name, run.id))
    record.say(run, tags={name: None})
    return {}
