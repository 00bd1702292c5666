"""`jig.log`: what a call looks like, and the line it becomes."""

import json
import math
import re
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jig
from jig.track import metrics

from .conftest import forget_file, read

finite_or_not = st.floats(allow_nan=True, allow_infinity=True)
scalars = st.none() | st.booleans() | st.integers() | finite_or_not | st.text()
values = st.recursive(st.booleans() | st.integers() | finite_or_not | st.text(), st.lists, max_leaves=5)
any_text = st.text(st.characters(exclude_categories=()))  # lone surrogates included


class Unhashable:
    def __hash__(self):
        raise RuntimeError("no")

    def __repr__(self):
        return "<unhashable>"


def logged(run_dir):
    return [{key: line[key] for key in line if key != "time"} for line in read(run_dir / "metrics.jsonl")]


def same(left, right):
    """Equal, where NaN equals itself and a bool is not a number."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float) and math.isnan(left):
        return isinstance(right, float) and math.isnan(right)
    return type(left) is type(right) and left == right


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: jig.log("loss", 0.1), {"values": {"loss": 0.1}}),
        (lambda: jig.log("loss", 0.1, step=3), {"step": 3, "values": {"loss": 0.1}}),
        (lambda: jig.log("loss", 0.1, step=0), {"step": 0, "values": {"loss": 0.1}}),
        (lambda: jig.log(epoch=3, accuracy=0.93), {"values": {"epoch": 3, "accuracy": 0.93}}),
        (lambda: jig.log({"loss": 0.1}, step=3), {"step": 3, "values": {"loss": 0.1}}),
        (lambda: jig.log({"loss": 0.1, "f1": 1}, f1=2), {"values": {"loss": 0.1, "f1": 2}}),
        (lambda: jig.log("loss", 0.1, accuracy=0.9), {"values": {"loss": 0.1, "accuracy": 0.9}}),
        (
            lambda: jig.log(name="x", value=1, args=2, values=3),
            {"values": {"name": "x", "value": 1, "args": 2, "values": 3}},
        ),
        (lambda: jig.log({3: 1}), {"values": {"3": 1}}),
        (lambda: jig.log(["no", "name"], 1), {"values": {"['no', 'name']": 1}}),
        (lambda: jig.log(["no", "name"], 1, loss=2), {"values": {"['no', 'name']": 1, "loss": 2}}),
        (lambda: jig.log(Unhashable(), 1), {"values": {"<unhashable>": 1}}),
        (lambda: jig.log("loss", 1, step=Decimal(7)), {"step": 7.0, "values": {"loss": 1}}),
        (lambda: jig.log("loss", 1, step=2.5), {"step": 2.5, "values": {"loss": 1}}),
        (lambda: jig.log("loss", 1, step=10**20), {"step": 10**20, "values": {"loss": 1}}),
        (lambda: jig.log("loss", 1, step=-1), {"step": -1, "values": {"loss": 1}}),
    ],
)
def test_every_form_of_a_call(run_dir, call, line, capsys):
    call()
    assert logged(run_dir) == [line]
    assert capsys.readouterr() == ("", "")


def test_a_line_is_exactly_this(run_dir, monkeypatch):
    monkeypatch.setattr(metrics, "time", lambda: 1700000000.123456)
    jig.log("loss", 0.1, step=3)
    jig.log('a "name"\n', -2)
    jig.log(a=math.nan, b=math.inf, c=-math.inf, d=True, e="é", f=[1, (2.5, "x")])
    assert (run_dir / "metrics.jsonl").read_bytes() == (
        b'{"time": 1700000000.123456, "step": 3, "values": {"loss": 0.1}}\n'
        b'{"time": 1700000000.123456, "values": {"a \\"name\\"\\n": -2}}\n'
        b'{"time": 1700000000.123456, "values": {"a": NaN, "b": Infinity, "c": -Infinity, "d": true, '
        b'"e": "\\u00e9", "f": [1, [2.5, "x"]]}}\n'
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: jig.log("loss"), r"log takes a name and a value, .* not kept: log\('loss',\)"),
        (lambda: jig.log("loss", 1, 2), r"log takes a name and a value, .* not kept: log\('loss', 1, 2\)"),
        (lambda: jig.log({"loss": 1}, 2, 3), r"log takes a name and a value, .*"),
    ],
)
def test_a_call_that_cannot_be_understood_is_told_once_and_not_raised(run_dir, call, said, capsys):
    call()
    call()
    jig.log("still", 1)
    assert re.fullmatch("jig: " + said + "\n", capsys.readouterr().err)
    assert logged(run_dir) == [{"values": {"still": 1}}]


@pytest.mark.parametrize("step", ["3", math.nan, -math.inf, True, [1], "", {}, 1j])
def test_a_step_that_is_no_number_is_left_out(run_dir, step, capsys):
    jig.log("loss", 1, step=step)
    assert logged(run_dir) == [{"values": {"loss": 1}}]
    assert capsys.readouterr().err == f"jig: step must be a number, and is left out; found {step!r}\n"


def test_nothing_to_keep_keeps_nothing(run_dir, capsys):
    jig.log()
    jig.log({})
    jig.log(step=3)
    assert not (run_dir / "metrics.jsonl").exists()
    assert capsys.readouterr() == ("", "")


def test_more_names_than_are_remembered(run_dir):
    for number in range(3 * metrics._MOST_KEYS):
        jig.log(f"name {number}", number)
    assert len(metrics._keys) <= metrics._MOST_KEYS
    assert [line["values"] for line in read(run_dir / "metrics.jsonl")] == [
        {f"name {number}": number} for number in range(3 * metrics._MOST_KEYS)
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(name=any_text, value=values, step=st.none() | st.integers())
def test_what_is_logged_is_what_is_read(run_dir, name, value, step):
    (run_dir / "metrics.jsonl").unlink(missing_ok=True)
    forget_file()
    metrics.log(name, value, step=step)
    data = (run_dir / "metrics.jsonl").read_bytes()
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    assert data.isascii()
    line = json.loads(data)
    assert list(line["values"]) == [name]
    assert same(line["values"][name], value)
    assert line.get("step") == step


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(kept=st.dictionaries(any_text, scalars, min_size=1))
def test_a_dictionary_and_keywords_are_the_same(run_dir, kept):
    (run_dir / "metrics.jsonl").unlink(missing_ok=True)
    forget_file()
    jig.log(kept)
    jig.log(**{name: value for name, value in kept.items() if name != "step"})
    first, *second = [line["values"] for line in read(run_dir / "metrics.jsonl")]
    assert list(first) == list(kept)
    first.pop("step", None)
    assert json.dumps(second) == json.dumps([first] if first else [])


def test_importing_jig_costs_next_to_nothing(script):
    code = "import sys; before = set(sys.modules); import jig; print(sorted(set(sys.modules) - before))"
    assert script(code) == "['jig']\n"


def test_the_public_names(script):
    assert script("import jig; print(sorted(jig.__all__), jig.__version__)") == (
        "['__version__', 'log', 'log_image', 'log_table', 'params', 'tag', 'upload'] 0.1.0\n"
    )
