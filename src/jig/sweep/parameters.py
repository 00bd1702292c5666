"""The parameters of a sweep file: lists, ranges and distributions."""

from __future__ import annotations

import re
from decimal import Decimal

from jig.project.schema import Section
from jig.project.yaml import LIST, MAP, NULL, Node
from jig.sweep import space
from jig.sweep.scalars import decimal, parsed, scalar, whole
from jig.sweep.space import Choice, Range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.sweep.space import Parameter

KEYS = ("min", "max", "step", "count", "log", "distribution", "values")
DISTRIBUTIONS = ("uniform", "loguniform", "int", "choice")
NAME = re.compile(r"[A-Za-z_][\w.\-]*")
VARIABLE = re.compile(r"[A-Za-z_]\w*")


def read(section: Section, method: str, passing: str) -> tuple[Parameter, ...]:
    """What the key `parameters` holds; faults are noted."""
    inner = section.section("parameters", None)
    node = section.value("parameters")
    if node is None or (node.kind == MAP and not node.children):
        said = "`parameters` is missing" if node is None else "`parameters` names none"
        fix = "write, for example, `parameters: {lr: [0.1, 0.01]}`"
        section.place.fault(section.line("parameters"), "parameters", said, fix)
    found = []
    for name in inner.entries:
        if not NAME.fullmatch(name) or (passing == "variables" and not VARIABLE.fullmatch(name)):
            inner.fault(name, f"{name!r} cannot be the name of a parameter", "use letters from a to z, digits and `_`")
            continue
        parameter = _parameter(inner, name, method)
        if parameter is not None:
            found.append(parameter)
    return tuple(found)


def _parameter(section: Section, name: str, method: str) -> Parameter | None:
    node = section.value(name)
    if node is None:
        section.fault(name, f"`{name}` has no values", f"write, for example, `{name}: [1, 2]`")
        return None
    if node.kind == LIST:
        return _choice(section, name, node)
    if node.kind != MAP:
        return Choice(name, (scalar(node),))
    inner = section.section(name, KEYS)
    distribution = inner.choice("distribution", DISTRIBUTIONS)
    if distribution == "choice" or (distribution is None and "values" in inner.entries):
        for key in inner.entries:
            if key not in ("distribution", "values"):
                inner.fault(key, f"`{key}` says nothing beside `values`", f"remove `{key}`")
        values = inner.value("values")
        if values is None or values.kind != LIST:
            section.fault(name, f"`{name}` needs `values`, a list", f"write `{name}: {{values: [1, 2]}}`")
            return None
        return _choice(inner, "values", values)._replace(name=name)
    return _range(section, name, inner, distribution, method)


def _choice(section: Section, key: str, node: Node) -> Choice:
    if not node.children:
        section.fault(key, f"`{key}` has no values", f"write, for example, `{key}: [1, 2]`")
    for child in node.children:
        if not child.is_scalar or child.kind == NULL:
            section.place.fault(child.line, section.path(key), f"each value of `{key}` must be one number or text")
    values = tuple(scalar(child) for child in node.children if child.is_scalar and child.kind != NULL)
    if len(set(map(str, values))) < len(values):
        section.fault(key, f"`{key}` has a value twice", "keep one of the two")
    return Choice(key, values)


def _range(section: Section, name: str, inner: Section, distribution: str | None, method: str) -> Parameter | None:
    faults = len(section.place.faults)
    if "values" in inner.entries:
        inner.fault("values", f"`values` says nothing beside `distribution: {distribution}`", "remove one of the two")
    low, high, step = (decimal(inner, key) for key in ("min", "max", "step"))
    log = bool(inner.flag("log")) or distribution == "loguniform"
    count = whole(inner, "count", 1, space.MOST_POINTS)
    if low is None or high is None:
        if len(section.place.faults) == faults:
            section.fault(name, f"`{name}` needs `min` and `max`", f"write `{name}: {{min: 1, max: 10}}`, or a list")
        return None
    is_whole = distribution == "int" or (distribution is None and _all_whole(inner))
    if distribution == "int" and not _all_whole(inner):
        inner.fault("min", "`distribution: int` needs whole numbers")
    if low > high:
        inner.fault("max", f"`max` is less than `min`: {high} < {low}", "exchange them")
    if log and low <= 0:
        inner.fault(
            "min", f"with `log` both ends are more than 0, but `min` is {low}", "write, for example, `min: 1e-5`"
        )
    if step is not None and (step <= 1 if log else step <= 0):
        least = "1: it multiplies" if log else "0"
        inner.fault("step", f"`step` must be more than {least}, but found {step}")
    if step is not None and count is not None:
        inner.fault("count", "`step` and `count` both say how many values there are", "remove one of the two")
    if method == "grid" and distribution in ("uniform", "loguniform"):
        inner.fault("distribution", f"`distribution: {distribution}` is for `method: random`", "remove it")
    elif method == "grid" and step is None and count is None:
        if is_whole and not log:
            step = Decimal(1)
        else:
            step_word = "step: 10" if log else "step: 0.1"
            fix = f"write `{step_word}` or `count: 5` beside them, or a list, or `method: random`"
            section.fault(name, f"`{name}` has no end of values: a grid needs `step` or `count`", fix)
    if len(section.place.faults) > faults:
        return None
    if step is not None and _too_many(low, high, step, log):
        inner.fault("step", f"`step: {step}` makes more than {space.MOST_POINTS:,} values", "take larger steps")
        return None
    return Range(name, low, high, is_whole, log, step, count)


def _too_many(low: Decimal, high: Decimal, step: Decimal, log: bool) -> bool:
    if not log:
        return (high - low) / step >= space.MOST_POINTS
    return (high / low).ln() >= space.MOST_POINTS * step.ln()


def _all_whole(inner: Section) -> bool:
    texts = [inner.text(key) for key in ("min", "max", "step")]
    return all(isinstance(parsed(text), int) for text in texts if text is not None)
