"""Metrics: each call of `log` is one line of JSON, in the file when the call returns.

    {"time": 1700000000.123456, "step": 3, "values": {"loss": 0.1}}

`step` is there only when it was given. NaN and the infinities are written as Python's json writes them.
"""

import json
from time import time

from jig.track.lines import LineFile
from jig.track.place import say_once
from jig.track.values import describe, encode, plain, text_of

_MOST_KEYS = 1000
_PLAIN = 10**12

_file = LineFile()
_keys = {}  # type: dict[str, str]


def log(*args: "object", step: "object" = None, **values: "object") -> None:
    """Keep metrics: `log("loss", 0.1)`, `log(epoch=3, accuracy=0.93)`, `log({"loss": 0.1}, step=3)`. Never raises."""
    if len(args) == 2 and not values:
        body = _pair(args[0], args[1])
    else:
        body = ", ".join([_pair(name, value) for name, value in _all(args, values).items()])
        if not body:
            return
    write(body, step)


def write(body: str, step: "object" = None) -> None:
    """Append a line with these values, which are JSON already."""
    if step is None:
        line = '{"time": %.6f, "values": {%s}}\n' % (time(), body)
    else:
        line = '{"time": %.6f, %s"values": {%s}}\n' % (time(), _step(step), body)
    _file.append(line.encode("ascii"))


def write_facts(key: str, body: str) -> None:
    """Append a line that tells something else than values, under a key of its own."""
    _file.append(('{"time": %.6f, "%s": {%s}}\n' % (time(), key, body)).encode("ascii"))


def _pair(name: "object", value: "object") -> str:
    key = _keys.get(name) if type(name) is str else None
    if key is None:
        key = _key(name)
    kind = type(value)
    # Finite floats and short integers need no encoder; NaN and the infinities times zero are not zero.
    if (kind is float and value * 0.0 == 0.0) or (kind is int and -_PLAIN < value < _PLAIN):  # type: ignore[operator]
        return key + repr(value)
    return key + encode(text_of(name), value)


def _key(name: "object") -> str:
    key = json.dumps(text_of(name)) + ": "
    if type(name) is str:
        if len(_keys) >= _MOST_KEYS:
            _keys.clear()
        _keys[name] = key
    return key


def _step(step: "object") -> str:
    if type(step) is int and -_PLAIN < step < _PLAIN:
        return '"step": %d, ' % step
    try:
        text = json.dumps(plain(step))
    except Exception:  # anyone's code, as for values; told below
        text = ""
    if text.lstrip("-")[:1].isdigit():
        return '"step": ' + text + ", "
    say_once("step", "step must be a number, and is left out; found " + describe(step))
    return ""


def _all(args: "tuple[object, ...]", values: "dict[str, object]") -> "dict[object, object]":
    """Every name and value of a call; keywords win."""
    found = {}  # type: dict[object, object]
    if len(args) == 1 and isinstance(args[0], dict):
        found.update(args[0])
    elif len(args) == 2:
        found[text_of(args[0])] = args[1]
    elif args:
        say_once(
            "call",
            'log takes a name and a value, names as keywords, or a dictionary: log("loss", 0.1, step=3); '
            "this call is not kept: log" + describe(args),
        )
    found.update(values)
    return found
