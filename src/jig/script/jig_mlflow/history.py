"""Series, read from the metrics file: nothing but the latest values is kept in memory."""

import json

from jig_mlflow.failure import invalid
from jig_mlflow.values import quote, whole

DIGITS = frozenset("0123456789")


def points(lines, number, name, start=0, count=0):
    """The points of a metric from this offset of the file: (offset behind its line, count so far, point).

    One without a step has its number, counted from `count` on.
    """
    wanted = quote(name).encode()
    for at, piece in lines.pieces(start):
        if wanted not in piece:
            continue
        for raw in piece.split(b"\n"):
            at += len(raw) + 1
            if wanted not in raw:
                continue
            try:
                said = json.loads(raw.decode())
                value, seconds = said["values"][name], said["time"]
                step = said.get("step")
                if (said.get("run") or "") != number or not isinstance(value, (int, float)):
                    continue
                milliseconds, value = whole(round(seconds * 1000)), float(value)
                step = None if step is None else whole(step)
            except (AttributeError, KeyError, OverflowError, TypeError, ValueError, RecursionError):  # no such line
                continue
            if step is None:
                step, count = count, count + 1
            yield at, count, (step, milliseconds, value)


def known(lines, number, wanted):
    """Those of the points, by their identities, that the file has."""
    found = set()
    for name in {one[0] for one in wanted}:
        its = (identity((name,) + point) for _, _, point in points(lines, number, name))
        found.update(one for one in its if one in wanted)
    return found


def identity(point):
    """What makes a point the same as another, as MLflow has it: name, step, milliseconds and value, NaN too."""
    return point[:3] + (repr(point[3]),)


def page(lines, number, name, most, token):
    """So many points from where the token says, and the token of what follows; empty at the end."""
    start, count = _read_token(token)
    found = []
    for at, counted, point in points(lines, number, name, start, count):
        found.append(point)
        start, count = at, counted
        if len(found) == most:
            return found, "%d.%d" % (start, count)
    return found, ""


def _read_token(token):
    words = token.split(".") if token else ["0", "0"]
    if len(words) != 2 or not all(set(word) <= DIGITS and 0 < len(word) < 19 for word in words):
        raise invalid("Invalid page token, decoded as %s" % token[:100])
    return int(words[0]), int(words[1])


def sampled(lines, number, name, first, last, most):
    """At most so many points with a step between the two, evenly chosen; the first and the last are among them."""

    def within():
        for _, _, point in points(lines, number, name):
            if (first is None or point[0] >= first) and (last is None or point[0] <= last):
                yield point

    count = sum(1 for _ in within())
    stride = max(1.0, float(count - 1) / max(1, most - 1))
    chosen = {int(round(index * stride)) for index in range(min(most, count))}
    return sorted(point for index, point in enumerate(within()) if index in chosen)
