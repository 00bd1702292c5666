"""Names as MLflow takes them, and back."""

import posixpath
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jig.export.mlflow_names import LONGEST_NAME, mapped, original


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("loss", "loss"),
        ("val/acc: top-5 v2.0", "val/acc: top-5 v2.0"),
        ("genauigkeit_für_ß", "genauigkeit_für_ß"),
        ("clf__C", "clf__C"),
        ("train_use", "train_use"),
        ("a=b", "a_u3d_b"),
        ("a\nb\x1b", "a_ua_b_u1b_"),
        ("a//b/", "a/_u_/b/_u_"),
        ("../x", "_u2e__u2e_/x"),
        ("..x", "_u2e_.x"),
        ("", "_u_"),
        ("_u3d_", "_u5f_u3d_"),
        ("\ud800", "_ud800_"),
    ],
)
def test_a_name(name, there):
    assert mapped(name) == there
    assert original(there) == name


@settings(max_examples=500)
@given(st.text(alphabet="_u5fe/.=a-: \n\u00e9\ud800", max_size=14) | st.text(max_size=40))
def test_every_name_is_taken_and_comes_back(name):
    there = mapped(name)
    assert original(there) == name
    # MLflow's own rules.
    assert re.match(r"^[/\w.\- :]*$", there) and there != "."
    assert posixpath.normpath(there) == there and not there.startswith(("..", "/"))


def test_long_names_stay_apart():
    one, two = mapped("x" * 300), mapped("x" * 301)
    assert one != two and len(one) == len(two) == LONGEST_NAME
    assert mapped("x" * LONGEST_NAME) == "x" * LONGEST_NAME
