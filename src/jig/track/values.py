"""What people log, as JSON text: numbers, strings, lists, and what NumPy, PyTorch and their like hold."""

import json

from jig.track.place import say_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

    Plain = Union[bool, int, float, str, "list[Plain]"]

_MOST_ORDINARY = 1000

# Types of values that are no figures and no tables: known once, for a value must not cost more than its line.
_ordinary = {bool, int, float, str, list, tuple}  # type: set[type]


class Unusable(Exception):
    """A value that has no plain form."""


def encode(name: str, value: "object") -> str:
    """The value as one line of JSON; what has no plain form becomes its repr, told once per name on stderr."""
    try:
        if type(value) not in _ordinary:
            found = _rich(name, value)
            if found is not None:
                return found
        return json.dumps(plain(value))
    except Exception as error:  # values are anyone's code: whatever it raises must not end a training run
        text = describe(value)
        reason = "" if isinstance(error, Unusable) else " ({}: {})".format(type(error).__name__, error)
        say_once("value " + name, "{!r} is not a value to plot{}, and is kept as text: {}".format(name, reason, text))
        return json.dumps(text)


def _rich(name: str, value: "object") -> "str | None":
    """The JSON of a figure, a picture or a data frame, which become files of the run; None for other values."""
    from jig.track import rich

    found = rich.encode(name, value)
    if found is None and type(value).__name__ != "module" and len(_ordinary) < _MOST_ORDINARY:
        _ordinary.add(type(value))
    return found


def plain(value: "object") -> "Plain":
    """The value as bool, int, float, str or lists of them; raises Unusable when there is no such form."""
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    for method in ("detach", "cpu"):  # a tensor on a device or in a graph may not be read where it is
        if callable(getattr(value, method, None)) and hasattr(value, "detach"):
            value = getattr(value, method)()
    for method in ("tolist", "item", "numpy"):
        if callable(getattr(value, method, None)):
            found = getattr(value, method)()
            if type(found) is not type(value):  # NumPy's longest floats answer with themselves
                return plain(found)
    return _number(value)


def describe(value: "object") -> str:
    """The value's repr, cut to a readable length; never raises."""
    try:
        text = repr(value)
    except Exception as error:  # as above: a broken repr must not end a training run
        return "<{} whose repr raised {}>".format(type(value).__name__, type(error).__name__)
    return text if len(text) <= 1000 else text[:1000] + "..."


def text_of(name: "object") -> str:
    """A name as text, whatever it is."""
    return name if isinstance(name, str) else describe(name)


def _number(value: "object") -> float:
    from decimal import Decimal
    from numbers import Real

    if isinstance(value, (Decimal, Real)):
        return float(value)
    raise Unusable(type(value).__name__)
