"""What a script says of its run besides metrics: parameters and tags. Never raises."""

import json

from jig.track import metrics
from jig.track.place import say_once
from jig.track.values import Unusable, describe, plain, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DEEPEST = 20


def params(*args: "object", **values: "object") -> None:
    """Keep parameters of the run; see `jig.params`."""
    found = {}  # type: dict[str, str]
    try:
        if len(args) == 2 and isinstance(args[0], str):
            _flatten(args[0], args[1], found)
        elif len(args) == 1 and _mapping(args[0]) is not None:
            _flatten("", args[0], found)
        elif args:
            say_once(
                "params call",
                "params takes names as keywords, a dictionary, or an object with attributes: params(lr=0.1); "
                "this is not kept: params" + describe(args),
            )
        _flatten("", values, found)
    except Exception as error:  # values are anyone's code, as in values.py: told, and never raised
        say_once("params", "parameters are not kept ({}: {})".format(type(error).__name__, error))
    if found:
        metrics.write_facts("params", ", ".join([json.dumps(name) + ": " + found[name] for name in found]))


def tag(*args: "object", **values: "object") -> None:
    """Put tags on the run, or take them off with None; see `jig.tag`."""
    found = {}  # type: dict[str, object]
    if len(args) == 1 and isinstance(args[0], dict):
        found.update([(text_of(name), value) for name, value in args[0].items()])
    elif args and isinstance(args[0], str) and len(args) <= 2:
        found[args[0]] = args[1] if len(args) == 2 else ""
    elif args:
        say_once(
            "tag call",
            'tag takes a name, a name and a text, names as keywords, or a dictionary: tag("best"), '
            'tag(stage="pretrain"); this is not kept: tag' + describe(args),
        )
    found.update(values)
    if found:
        pairs = [json.dumps(name) + ": " + _tag_text(found[name]) for name in found]
        metrics.write_facts("tags", ", ".join(pairs))


def _tag_text(value: "object") -> str:
    if value is None:
        return "null"
    return json.dumps(value if isinstance(value, str) else describe(value))


def _mapping(value: "Any") -> "Any":
    """The names and values of a dictionary, of parsed arguments, of a configuration; None for other values."""
    if isinstance(value, dict):
        return value
    if isinstance(value, (bool, int, float, str, bytes, list, tuple, type)) or hasattr(type(value), "tolist"):
        return None
    if hasattr(type(value), "items") and hasattr(type(value), "keys"):
        return dict(value.items())
    named = getattr(value, "__dict__", None)
    plain_object = type(value).__name__ in ("Namespace", "SimpleNamespace") or hasattr(
        type(value), "__dataclass_fields__"
    )
    return named if plain_object else None


def _flatten(prefix: str, value: "Any", found: "dict[str, str]", depth: int = 0) -> None:
    """Take in a value under its name; what holds names of its own stands under names with a dot."""
    named = _mapping(value) if depth < _DEEPEST else None
    if named is not None and (named or not prefix):
        for name in named:
            _flatten(prefix + "." + text_of(name) if prefix else text_of(name), named[name], found, depth + 1)
        return
    if value is None:
        found[prefix] = "null"
        return
    try:
        found[prefix] = json.dumps(plain(value))
    except (Unusable, TypeError, ValueError, RecursionError):
        found[prefix] = json.dumps(describe(value) if not hasattr(value, "__fspath__") else str(value))
