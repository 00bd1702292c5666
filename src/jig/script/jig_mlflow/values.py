"""Values on their way between MLflow's JSON and the lines of the metrics file."""

import json

from jig_mlflow.asked import wrong
from jig_mlflow.failure import invalid

NOT_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
MOST_NAMES = 10000

_quoted = {}  # name → as JSON has it, since the same few names come again and again


def quote(name):
    """The name as JSON."""
    found = _quoted.get(name)
    if found is None:
        if len(_quoted) >= MOST_NAMES:
            _quoted.clear()
        found = _quoted[name] = json.dumps(name)
    return found


def number(name, value):
    """A metric's value; JSON has no NaN and no infinities, so they come as text."""
    kind = type(value)
    if kind is float:
        return value
    if kind is int:
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    if kind is str:
        found = NOT_FINITE.get(value)
        if found is None:
            try:
                found = float(value)
            except ValueError:
                raise wrong("value", value)
        return found
    if value is None:
        raise invalid(
            "Got invalid value None for metric '%s'. Please specify value as a valid double (64-bit floating point)"
            % (name,)
        )
    raise wrong("value", value)


def whole(step):
    """A step of a script's own as MLflow can have it: a whole number of 64 bits."""
    return max(-(1 << 63), min(int(step), (1 << 63) - 1))


def shown(value):
    """A parameter or tag of a script's own as the text that MLflow has for it."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def kept(text):
    """A parameter as the record has it: a number where the text is exactly what Python prints for one."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    is_number = type(found) is int or (type(found) is float and abs(found) < float("inf"))
    return found if is_number and shown(found) == text else text


def line(seconds, run, **said):
    """A line of the file; `run` is the nested one that it is about."""
    told = {"time": seconds}
    if run:
        told["run"] = run
    told.update(said)
    return json.dumps(told, sort_keys=False).encode() + b"\n"


def written(milliseconds):
    """A time of MLflow's as the lines have it: seconds."""
    if milliseconds < 0:
        return repr(milliseconds / 1000.0)
    return "%d.%03d" % divmod(milliseconds, 1000)
