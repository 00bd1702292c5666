import io
import json
import math
import os
import pty
import re
import termios

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from jig.cli.show import show
from jig.cli.terminal import display_width
from jig.errors import UsageError

RUNS = [
    {"loss": 0.123456789, "run_id": "mnist_1", "status": "Completed", "script": "a b.py", "tags": ["x", 1]},
    {"loss": math.nan, "run_id": "mnist_22", "status": "Failed", "script": "学习.py", "tags": {}},
    {"run_id": "e\u0301", "status": None, "script": "say \"hi\"\t\x1b[2J\nend\u202e", "tags": True},
]  # fmt: skip
COLUMNS = ["loss", "run_id", "status", "script"]

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


def shown(value, encoding="utf-8", **wish):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="")
    show(value, stream=stream, **wish)
    stream.flush()
    return raw.getvalue().decode(encoding)


@pytest.fixture
def at_terminal(monkeypatch):
    """show() at a real terminal of the width given; returns what arrived there."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(value, width=80, **wish):
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, width))
        settings = termios.tcgetattr(theirs)
        settings[1] &= ~termios.OPOST  # no \r before each \n
        termios.tcsetattr(theirs, termios.TCSANOW, settings)
        with os.fdopen(theirs, "w", encoding="utf-8") as stream:
            show(value, stream=stream, **wish)
            stream.write("\0")  # the terminal may hand on what was written in several pieces
            stream.flush()
            text = b""
            while not text.endswith(b"\0"):
                text += os.read(ours, 10_000)
        os.close(ours)
        return text[:-1].decode()

    return run


def test_table():
    assert shown(RUNS, output="table", columns=COLUMNS) == (
        "    loss  run_id    status     script\n"
        "--------  --------  ---------  ----------------------------\n"
        "0.123457  mnist_1   Completed  a b.py\n"
        "     NaN  mnist_22  Failed     学习.py\n"
        "          e\u0301                    say \"hi\"\\t\\x1b[2J\\nend\\u202e\n"
    )  # fmt: skip


def test_numbers_stand_right():
    rows = [{"n": 1, "x": 1234567.0, "flag": True}, {"n": 200, "x": None, "flag": False}]
    assert shown(rows, output="table") == (
        "  n            x  flag\n"
        "---  -----------  -----\n"
        "  1  1.23457e+06  true\n"
        "200               false\n"
    )  # fmt: skip


def test_table_of_other_shapes():
    assert shown({"name": "x", "sizes": [1, 2]}, output="table") == "name   x\nsizes  [1, 2]\n"
    assert shown({"a": 1, "b": 2}, output="table", columns=["b", "c"]) == "b  2\n"
    assert shown(["local", "docker"], output="table") == "local\ndocker\n"
    assert shown([[1, "a"], [22]], output="table") == " 1  a\n22\n"
    assert shown("text\x1b", output="table") == "text\\x1b\n"
    assert shown([], output="table") == ""
    assert shown([], output="table", columns=["a", "bc"]) == "a  bc\n-  --\n"
    assert shown([{}], output="table") == "\n"


def test_long_cells_are_cut():
    assert shown([{"text": "x" * 100, "run_id": "r" * 70}], output="table").splitlines()[2] == (
        "x" * 59 + "…  " + "r" * 70
    )


def test_a_terminal_gets_a_table_that_fits(at_terminal):
    rows = [{"run_id": "project_1700000000000", "script": "学" * 20, "note": "n" * 30, "k": "v"}]
    lines = at_terminal(rows, width=60).splitlines()
    assert lines == [
        "run_id                 script            note              k",
        "---------------------  ----------------  ----------------  -",
        "project_1700000000000  学学学学学学学…   nnnnnnnnnnnnnnn…  v",
    ]
    assert [display_width(line) for line in lines] == [60, 60, 60]
    narrow = at_terminal(rows, width=10).splitlines()[2]
    assert narrow == "project_1700000000000  学学学…   nnnnnnn…  v"


def test_no_escape_reaches_a_terminal(at_terminal):
    hostile = [{"\x1b]0;key\x07": "\x1b[2J\x9b1m\x7f\u202e\r"}]
    for output in (None, "table", "tsv", "json", "yaml"):
        text = at_terminal(hostile, output=output)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), output


def test_a_pipe_gets_json():
    assert shown(RUNS[:2], columns=["loss"]) == (
        "[\n"
        "  {\n"
        '    "loss": 0.123456789,\n'
        '    "run_id": "mnist_1",\n'
        '    "status": "Completed",\n'
        '    "script": "a b.py",\n'
        '    "tags": [\n'
        '      "x",\n'
        "      1\n"
        "    ]\n"
        "  },\n"
        "  {\n"
        '    "loss": "NaN",\n'
        '    "run_id": "mnist_22",\n'
        '    "status": "Failed",\n'
        '    "script": "学习.py",\n'
        '    "tags": {}\n'
        "  }\n"
        "]\n"
    )


def test_numbers_that_json_lacks():
    assert shown([math.inf, -math.inf, math.nan], output="tsv") == "Infinity\n-Infinity\nNaN\n"
    assert json.loads(shown({"x": [math.inf, -math.inf]})) == {"x": ["Infinity", "-Infinity"]}


def finite(value):
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list) else value


def refuse(constant):
    raise ValueError(constant)


@given(values, st.sampled_from(["utf-8", "ascii", "latin-1"]))
def test_json_is_valid_and_loses_nothing(value, encoding):
    for output in ("json", "jsonc"):
        text = shown(value, encoding, output=output)
        assert json.loads(text, parse_constant=refuse) == finite(value)


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.booleans() | st.none())))
def test_yaml_can_be_read_back(value):
    assert yaml.safe_load(shown(value, output="yaml")) == value


def test_yaml():
    assert shown({"b": "é", "a": [1, "no"]}, output="yaml") == "b: é\na:\n- 1\n- 'no'\n"
    assert shown({"b": "é"}, "ascii", output="yaml") == 'b: "\\xE9"\n'
    assert shown("x", output="yaml") == "x\n"


def unescape(text):
    def one(found):
        known = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}
        return known.get(found[1]) or chr(int(found[1][1:], 16))

    return re.sub(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|.)", one, text)


@given(st.lists(st.lists(st.text(), min_size=2, max_size=2)))
def test_tsv_can_be_read_back(rows):
    lines = shown(rows, output="tsv").split("\n")
    assert lines.pop() == ""
    assert [[unescape(cell) for cell in line.split("\t")] for line in lines] == rows


def test_tsv():
    assert shown(RUNS, output="tsv", columns=[*COLUMNS, "tags"]) == (
        "0.123456789\tmnist_1\tCompleted\ta b.py\t[\"x\", 1]\n"
        "NaN\tmnist_22\tFailed\t学习.py\t{}\n"
        "\te\u0301\t\tsay \"hi\"\\t\\x1b[2J\\nend\\u202e\ttrue\n"
    )  # fmt: skip
    assert shown({"a": 1, "b": "x\\y"}, output="tsv") == "1\tx\\\\y\n"


def test_jsonc_is_coloured_only_at_a_terminal(at_terminal, monkeypatch):
    value = {"a": 'x"y', "n": [1.5, None]}
    assert shown(value, output="jsonc") == shown(value, output="json")
    assert at_terminal(value, output="jsonc") == (
        "{\n"
        '  \x1b[34m"a"\x1b[0m: \x1b[32m"x\\"y"\x1b[0m,\n'
        '  \x1b[34m"n"\x1b[0m: [\n'
        "    \x1b[36m1.5\x1b[0m,\n"
        "    \x1b[36mnull\x1b[0m\n"
        "  ]\n"
        "}\n"
    )
    monkeypatch.setenv("NO_COLOR", "1")
    assert at_terminal(value, output="jsonc") == shown(value, output="json")


def test_a_query_that_chooses_rows_keeps_the_columns():
    wish = {"output": "table", "columns": ["run_id", "status"]}
    assert shown(RUNS, query="[?status=='Failed']", **wish) == "run_id    status\n--------  ------\nmnist_22  Failed\n"
    assert shown(RUNS, query="[].{id: run_id, run_id: status} | [0:1]", **wish) == (
        "id       run_id\n-------  ---------\nmnist_1  Completed\n"
    )
    assert shown(RUNS, query="[].status", **wish) == "Completed\nFailed\n"
    assert shown(RUNS, query="[0]", **wish).splitlines()[0] == "loss    0.123457"


def test_a_query_sees_numbers_as_numbers():
    rows = [{"x": 1.0}, {"x": math.inf}, {"x": None}]
    assert shown(rows, query="[?x != null] | max_by(@, &x).x") == '"Infinity"\n'
    assert shown(rows, query="nothing") == "null\n"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("[?status==", "--query is no JMESPath expression; it goes wrong here:\n  [?status==\n            ^"),
        ("学 习.#", "--query is no JMESPath expression; it goes wrong here:\n  学 习.#\n  ^"),
        ("a.b.]", "--query is no JMESPath expression; it goes wrong here:\n  a.b.]\n      ^"),
        ("a\x1b", "--query is no JMESPath expression; it goes wrong here:\n  a\\x1b\n   ^"),
        ("", "--query could not be answered: Invalid JMESPath expression: cannot be empty."),
        ("nope(@)", "--query could not be answered: Unknown function: nope()"),
        ("length()", "--query could not be answered: Expected 1 argument for function length(), received 0"),
        ("&loss", "--query could not be answered: _Expression is nothing that JSON can hold"),
        (
            "`1` > 'a'",
            "--query could not be answered: '>' not supported between instances of 'int' and 'str'",
        ),
    ],
)
def test_a_query_that_is_wrong(query, message):
    with pytest.raises(UsageError) as caught:
        shown(RUNS, query=query)
    assert caught.value.message == message
    assert caught.value.hint.startswith("JMESPath is described at https://jmespath.org;")


def test_a_query_that_does_not_suit_the_data():
    with pytest.raises(UsageError, match="could not be answered: .*max_by.*invalid type"):
        shown(RUNS, query="max_by(@, &tags)")


@pytest.mark.filterwarnings("ignore:deprecated string literal syntax:PendingDeprecationWarning")
@given(st.text(st.sampled_from("[]{}?@&|.,:*'`\"\\ab01-()=!<> "), max_size=12))
def test_any_query_is_answered_or_is_a_usage_error(query):
    try:
        json.loads(shown(RUNS[:2], query=query))
    except UsageError as error:
        assert error.message.startswith("--query ")
