"""Metrics: one, many, and what was logged before."""

from jig_mlflow import history
from jig_mlflow.asked import MOST_INTEGER, integer
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
    """Points of one time and step that follow each other share a line, as those of one call of a script's do."""
    lines, known = [], []
    head, pairs, names, about = None, [], set(), None
    clock = None
    for point in points:
        name = point.get("key")
        if type(name) is not str or not name:
            raise invalid("Missing value for required parameter 'key'. A metric needs a name.")
        value = number(name, point.get("value"))
        milliseconds, step = point.get("timestamp"), point.get("step", 0)
        if type(milliseconds) is not int or not -MOST_INTEGER <= milliseconds < MOST_INTEGER:
            clock = clock or int(now() * 1000)
            milliseconds = integer("timestamp", milliseconds, clock)
        if type(step) is not int or not -MOST_INTEGER <= step < MOST_INTEGER:
            step = integer("step", step, 0)
        model = point.get("model_id") or None
        if (milliseconds, step, model) != head or name in names:
            if pairs:
                lines.append(_line(run, head, pairs, about))
            head, pairs, names = (milliseconds, step, model), [], set()
            about = (point.get("dataset_name"), point.get("dataset_digest")) if model else None
        names.add(name)
        pairs.append("%s: %s" % (quote(name), _text(value)))
        known.append((name, step, milliseconds, value, model))
    if not known:
        return
    lines.append(_line(run, head, pairs, about))
    record.say_points("".join(lines))
    for name, step, milliseconds, value, model in known:
        run.take_metric(name, step, milliseconds, value)
        if model is not None and model in record.models:
            record.models[model].take_metric(name, step, milliseconds, value, run)


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
