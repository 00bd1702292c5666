"""JSON without `json`: the same text and the same values, with the C module and without."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.runner import quick_json

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(plain, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(values)
def test_the_same_as_json(value):
    assert quick_json.dumps(value) == json.dumps(value)
    assert quick_json.dumps_short(value) == json.dumps(value, separators=(",", ":"))
    assert quick_json.loads(quick_json.dumps(value)) == value
    assert (
        quick_json.loads(b" \n" + json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\r\n")
        == value
    )


@given(st.dictionaries(st.text(), values))
def test_a_map_in_lines(value):
    assert json.loads(quick_json.dumps_lines(value)) == value


@given(values, st.booleans())
def test_over_several_lines(value, ascii_only):
    assert quick_json.dumps_indented(value, ascii_only) == json.dumps(value, indent=2, ensure_ascii=ascii_only)


@given(st.text())
def test_text_that_is_no_json(text):
    def outcome(loads):
        try:
            return repr(loads(text))
        except ValueError:
            return "refused"

    assert outcome(quick_json.loads) == outcome(json.loads)


@pytest.mark.parametrize("text", ["", "{", "[1,", "nul", "1 2", '{"a":}', '"\x01"', "\ufeff1"])
def test_refused(text):
    with pytest.raises(ValueError):
        quick_json.loads(text)


def test_what_json_cannot_hold():
    with pytest.raises(TypeError, match="^set is nothing that JSON can hold$"):
        quick_json.dumps({"a": {1}})


def test_without_the_c_module():
    code = (
        "import sys; sys.modules['_json'] = None\n"
        "from jig.runner import quick_json as q\n"
        "assert q.C is None\n"
        "v = {'a': [1, 2.5, None, True, 'é'], 'b': {}}\n"
        'assert q.loads(q.dumps(v)) == v and q.dumps_short(v) == \'{"a":[1,2.5,null,true,"\\\\u00e9"],"b":{}}\'\n'
    )
    subprocess.run([sys.executable, "-c", code], check=True)
