"""What people log: plain values stay themselves, array and tensor values become plain, the rest becomes text."""

import json
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction

import numpy as np
import pytest

from jig.track.values import describe, encode


class Tensor:
    """Behaves as a tensor that is on a device and part of a graph: readable only after detach and cpu."""

    def __init__(self, data, attached=True, on_device=True):
        self.data, self.attached, self.on_device = data, attached, on_device

    def detach(self):
        return Tensor(self.data, False, self.on_device)

    def cpu(self):
        return Tensor(self.data, self.attached, False)

    def tolist(self):
        if self.attached or self.on_device:
            raise RuntimeError("cannot be read here")
        return self.data


class OnlyNumpy:
    """Behaves as an eager tensor that offers nothing but `numpy()`."""

    def numpy(self):
        return np.array([1.5, 2.5], dtype=np.float32)


class OnlyItem:
    def item(self):
        return 7


class Level(IntEnum):
    HIGH = 3


class Refuses:
    def tolist(self):
        raise RuntimeError("a mesh tensor has no list")

    def __repr__(self):
        return "<refuses>"


class Broken:
    def __repr__(self):
        raise KeyError("no")


class Endless:
    """Answers every question with another of its kind."""

    def __getattr__(self, name):
        return Endless()

    def __call__(self):
        return Endless()

    def __repr__(self):
        return "<endless>"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        (1e300, "1e+300"),
        (True, "true"),
        (Level.HIGH, "3"),
        (10**400, "1" + "0" * 400),
        ('line\nbreak "q" é \ud800', '"line\\nbreak \\"q\\" \\u00e9 \\ud800"'),
        ((1, [2.5, "x", False]), '[1, [2.5, "x", false]]'),
        ([], "[]"),
        (np.float64(0.25), "0.25"),
        (np.float32(0.5), "0.5"),
        (np.float16("nan"), "NaN"),
        (np.longdouble("0.5"), "0.5"),
        (np.int8(-3), "-3"),
        (np.uint64(2**64 - 1), "18446744073709551615"),
        (np.bool_(True), "true"),
        (np.str_("text"), '"text"'),
        (np.array(4), "4"),
        (np.array([[1, 2], [3, 4]]), "[[1, 2], [3, 4]]"),
        (np.array([0.5, np.inf]), "[0.5, Infinity]"),
        ([np.float32(0.5), np.array([1])], "[0.5, [1]]"),
        (Decimal("0.1"), "0.1"),
        (Decimal("-Infinity"), "-Infinity"),
        (Fraction(1, 4), "0.25"),
        (Tensor(0.5), "0.5"),
        (Tensor([1, 2]), "[1, 2]"),
        (OnlyNumpy(), "[1.5, 2.5]"),
        (OnlyItem(), "7"),
    ],
)
def test_values_with_a_plain_form(run_dir, value, text, capsys):
    assert encode("v", value) == text
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("value", "text", "reason"),
    [
        (None, "None", ""),
        ({"a": 1}, "{'a': 1}", ""),
        (b"bytes", "b'bytes'", ""),
        (1j, "1j", ""),
        ({1}, "{1}", ""),
        ([1, None], "[1, None]", ""),
        (np.datetime64("2020-01-01"), repr(np.datetime64("2020-01-01")), ""),
        (np.complex64(1), repr(np.complex64(1)), ""),
        (float, "<class 'float'>", ""),
        (Endless(), "<endless>", ""),
        (
            Fraction(10**400),
            f"Fraction({10**400}, 1)",
            " (OverflowError: integer division result too large for a float)",
        ),
        (Broken(), "<Broken whose repr raised KeyError>", ""),
    ],
)
def test_values_without_one_are_kept_as_text_and_told_once_per_name(run_dir, value, text, reason, capsys):
    assert json.loads(encode("it's", value)) == text
    assert json.loads(encode("it's", value)) == text
    assert capsys.readouterr().err == f'jig: "it\'s" is not a value to plot{reason}, and is kept as text: {text}\n'
    encode("other", value)
    assert capsys.readouterr().err.startswith("jig: 'other' is not a value to plot")


def test_values_that_cannot_be_written_at_all_do_not_raise(run_dir, capsys):
    around = []
    around.append(around)
    assert json.loads(encode("loop", around)) == "[[...]]"
    assert json.loads(encode("long", 10**5000)) == "<int whose repr raised ValueError>"
    assert json.loads(encode("refuses", Refuses())) == "<refuses>"
    told = capsys.readouterr().err.splitlines()
    assert [line.split(":")[:2] for line in told] == [
        ["jig", " 'loop' is not a value to plot (RecursionError"],
        ["jig", " 'long' is not a value to plot (ValueError"],
        ["jig", " 'refuses' is not a value to plot (RuntimeError"],
    ]


def test_what_is_told_is_one_line_of_a_readable_length(run_dir, capsys):
    class Table:
        def __repr__(self):
            return "a b\n1 2\r\n" * 200

    text = json.loads(encode("t", Table()))
    assert text == ("a b\n1 2\r\n" * 200)[:1000] + "..."
    told = capsys.readouterr().err
    assert told.startswith("jig: 't' is not a value to plot, and is kept as text: a b\\n1 2\\r\\na b")
    assert told.index("\n") == len(told) - 1 == len("jig: ") + 1000 + len("...")


def test_a_text_is_cut_to_a_readable_length():
    assert describe(["x" * 2000]) == "['" + "x" * 998 + "..."
