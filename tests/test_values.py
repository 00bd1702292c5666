"""A Value is a NamedTuple in everything that the code relies on."""

import pickle
from typing import NamedTuple

import pytest

from jig.values import Value


class Point(Value):
    """A point."""

    x: int
    y: int = 0
    tags: tuple[str, ...] = ()

    @property
    def far(self) -> bool:
        return self.x > 10

    @classmethod
    def origin(cls) -> "Point":
        return cls(0)


class Same(NamedTuple):
    x: int
    y: int = 0
    tags: tuple[str, ...] = ()


@pytest.mark.parametrize(
    "arguments", [((1,), {}), ((1, 2), {}), ((), {"x": 3}), ((1,), {"tags": ("a",)}), ((1, 2, ("b",)), {})]
)
def test_like_a_named_tuple(arguments):
    words, named = arguments
    one, other = Point(*words, **named), Same(*words, **named)
    assert one == other and tuple(one) == tuple(other) and hash(one) == hash(other)
    assert one._asdict() == other._asdict() and one._fields == other._fields
    assert repr(one) == repr(other).replace("Same", "Point")
    assert one._replace(y=9) == other._replace(y=9) and type(one._replace(y=9)) is Point
    assert pickle.loads(pickle.dumps(one)) == one


@pytest.mark.parametrize("arguments", [((), {}), ((1, 2, (), 4), {}), ((1,), {"x": 2}), ((1,), {"z": 2})])
def test_wrong_arguments_are_refused(arguments):
    words, named = arguments
    for kind in (Point, Same):
        with pytest.raises(TypeError):
            kind(*words, **named)


def test_frozen():
    with pytest.raises(AttributeError):
        Point(1).x = 2
    with pytest.raises(AttributeError):
        Point(1).other = 2
    assert Point(11).far and Point.origin() == (0, 0, ())
    assert Point.__doc__ == "A point."
