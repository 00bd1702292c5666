"""Metrics: one, many, and what was logged before."""

from jig_mlflow import history
from jig_mlflow.asked import MOST_INTEGER, integer, wrong
from jig_mlflow.failure import invalid
from jig_mlflow.marks import log_params, set_tags
from jig_mlflow.record import now
from jig_mlflow.run import metric
from jig_mlflow.values import number, quote, written

MOST_POINTS = 25000  # in one answer
MOST_BULK_RUNS = 100
BULK_POINTS = 320


def log_metric(record, asked):
    """One point."""
    run = record.active(asked.run_id())
    _log(record, run, [asked.plain()])
    return {}


def log_batch(record, asked):
    """Many points, parameters and tags."""
    run = record.active(asked.run_id())
    points = asked.plain_items("metrics")
    tags = asked.pairs("tags")
    log_params(record, run, asked.pairs("params"))
    _log(record, run, points)
    if tags:
        set_tags(record, run, tags)
    return {}


def _log(record, run, points):
    """Points are written as lines; what the run has already, and is only to be a model's too, is no point again."""
    clock = int(now() * 1000)
    given = [_point(point, clock) for point in points]
    fresh, linked = _sorted_out(record, run, given)
    if fresh:
        record.say_points(_lines(run, fresh))
    for name, step, milliseconds, value, model, _ in fresh:
        run.take_metric(name, step, milliseconds, value)
        if model is not None and model in record.models:
            record.models[model].take_metric(name, step, milliseconds, value, run)
    for model in sorted({point[4] for point in linked}):
        own = [_linked(point) for point in linked if point[4] == model]
        record.say(run, mlflow={"model": {"id": model, "metrics": own}})


def _point(point, clock):
    """Name, step, milliseconds, value, model and dataset."""
    name = point.get("key")
    if type(name) is not str or not name:
        raise invalid("Missing value for required parameter 'key'. A metric needs a name.")
    value = number(name, point.get("value"))
    milliseconds, step = point.get("timestamp"), point.get("step", 0)
    if type(milliseconds) is not int or not -MOST_INTEGER <= milliseconds < MOST_INTEGER:
        milliseconds = integer("timestamp", milliseconds, clock)
    if type(step) is not int or not -MOST_INTEGER <= step < MOST_INTEGER:
        step = integer("step", step, 0)
    model = point.get("model_id") or None
    if model is None:
        return name, step, milliseconds, value, None, None
    if type(model) is not str:
        raise wrong("model_id", model)
    return name, step, milliseconds, value, model, (point.get("dataset_name"), point.get("dataset_digest"))


def _sorted_out(record, run, given):
    """Those that are new, and those that the run has: `log_model` logs what was at its step again, as the model's.

    The file is read for those only that are not later than the latest of their name.
    """
    old = [point for point in given if point[4] is not None and point[2] <= run.newest.get(point[0], point[2] - 1)]
    if not old:
        return given, []
    there = history.known(record.lines, run.number, {history.identity(point) for point in old})
    had = {id(point) for point in old if history.identity(point) in there}
    linked = [point for point in old if id(point) in had and point[4] in record.models]
    return [point for point in given if id(point) not in had], linked


def _linked(point):
    name, step, milliseconds, value, _, about = point
    said = metric(name, step, milliseconds, value)
    return dict(said, dataset=[str(about[0]), str(about[1] or "")]) if about[0] else said


def _lines(run, points):
    """Points of one time and step that follow each other share a line, as those of one call of a script's do."""
    lines = []
    head, pairs, names, about = None, [], set(), None
    for name, step, milliseconds, value, model, dataset in points:
        if (milliseconds, step, model) != head or name in names:
            if pairs:
                lines.append(_line(run, head, pairs, about))
            head, pairs, names, about = (milliseconds, step, model), [], set(), dataset
        names.add(name)
        pairs.append("%s: %s" % (quote(name), _text(value)))
    lines.append(_line(run, head, pairs, about))
    return "".join(lines)


def _text(value):
    if value * 0.0 == 0.0:
        return repr(value)
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _line(run, head, pairs, about):
    milliseconds, step, model = head
    number = '"run": "%s", ' % run.number if run.number else ""
    end = ""
    if model is not None:
        end = ', "model": %s' % quote(model)
        if about[0]:
            end += ', "dataset": [%s, %s]' % (quote(str(about[0])), quote(str(about[1] or "")))
    values = ", ".join(pairs)
    return '{"time": %s, %s"step": %d, "values": {%s}%s}\n' % (written(milliseconds), number, step, values, end)


def get_history(record, asked):
    """Every point of one metric, a page at a time."""
    run = record.run(asked.run_id())
    name = asked.need("metric_key")
    most = min(asked.integer("max_results", MOST_POINTS) or MOST_POINTS, MOST_POINTS)
    points, token = history.page(record.lines, run.number, name, most, asked.text("page_token"))
    said = {"metrics": [metric(name, *point) for point in points]}
    if token:
        said["next_page_token"] = token
    return said


def get_bulk(record, asked):
    """Of each of several runs some points of one metric, evenly chosen, with the first and the last."""
    name, wanted = asked.need("metric_key"), asked.texts("run_ids")
    if not wanted or len(wanted) > MOST_BULK_RUNS:
        raise invalid("GetMetricHistoryBulkInterval request must specify 1 to %d run_ids." % MOST_BULK_RUNS)
    first, last = asked.integer("start_step"), asked.integer("end_step")
    most = min(asked.integer("max_results", BULK_POINTS) or BULK_POINTS, MOST_POINTS)
    found = []
    for run_id in wanted:
        run = record.run(run_id)
        for point in history.sampled(record.lines, run.number, name, first, last, most):
            found.append(dict(metric(name, *point), run_id=run.id))
    return {"metrics": found}
