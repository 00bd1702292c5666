"""Packages that stand there twice, and versions that none can be."""

import itertools

import pytest
from hypothesis import given, strategies

from jig.environments.check.versions import fits, satisfiable
from jig.environments.conda_packages import Clause
from tests.environments.check.conftest import KEEP, NO_GPU


@pytest.mark.parametrize(
    ("packages", "pip", "severity", "message"),
    [
        (["numpy=1.26", "numpy=2.0"], [], "error", "`numpy=2.0` contradicts `numpy=1.26` on line 4"),
        (["numpy=1.26", "NumPy"], [], "warning", "`NumPy` stands here again, after `numpy=1.26` on line 4"),
        (["python=3.9"], [], "error", "`python=3.9` contradicts `python=3.11` on line 3"),
        (["numpy>=1.20"], ["numpy==1.26"], "warning", "`numpy==1.26` comes from pip, over what `numpy>=1.20` on line 4 has conda install"),
        (["numpy=1.26"], ["numpy>=2"], "error", "`numpy>=2` contradicts `numpy=1.26` on line 4"),
        (["scikit-learn"], ["Scikit_Learn"], "warning", "`Scikit_Learn` comes from pip, over what `scikit-learn` on line 4 has conda install"),
        (["pytorch=2.1"], ["torch==2.2"], "error", "`torch==2.2` contradicts `pytorch=2.1` on line 4"),
        ([], ["numpy~=1.25", "numpy<1.25"], "error", "`numpy<1.25` contradicts `numpy~=1.25` on line 5"),
        ([], ["scipy==1.0", "scipy==1.0.0"], "warning", "`scipy==1.0.0` stands here again, after `scipy==1.0` on line 5"),
        ([], ["torch==2.1.0+cu118", "torch==2.1.0+cu117"], "error", "`torch==2.1.0+cu117` contradicts `torch==2.1.0+cu118` on line 5"),
        ([], ["https://e.org/a/x-1-py3-none-any.whl?k=s", "https://e.org/b/x-1-py3-none-any.whl"], "error", "`x-1-py3-none-any.whl` contradicts `x-1-py3-none-any.whl` on line 5"),
    ],
)  # fmt: skip
def test_packages_that_stand_there_twice(check, packages, pip, severity, message):
    found = check("python=3.11", *packages, pip=pip, facts=NO_GPU)
    assert [finding for finding in found if finding[0] == severity][0][2:] == (message, KEEP)
    assert len(found) == 1


def test_conditions_tell_two_lines_apart(check):
    pip = ["'numpy==1.0 ; python_version < \"3\"'", "'numpy==2.0 ; python_version >= \"3\"'"]
    assert check("python=3.11", pip=pip) == []


@pytest.mark.parametrize(
    ("line", "possible"),
    [
        ("a>1,<2,!=1.5", True),
        ("a>=2,<2", False),
        ("a>2,<=2", False),
        ("a~=1.4.2,>=1.5", False),
        ("a==1.*,!=1.*", False),
    ],
)
def test_versions_that_no_version_can_be(check, line, possible):
    expected = [] if possible else [("error", 5, f"no version can be `{line}`", "widen the versions")]
    assert check("python=3.11", pip=[line]) == expected


CONDITIONS = strategies.builds(
    Clause,
    strategies.sampled_from(["=", "==", "!=", "~=", ">=", "<=", ">", "<"]),
    strategies.lists(strategies.integers(0, 3), min_size=2, max_size=3).map(lambda parts: ".".join(map(str, parts))),
)
VERSIONS = list(itertools.product(range(5), repeat=3))


@given(strategies.lists(CONDITIONS, max_size=4))
def test_conditions_that_a_version_meets_are_possible(conditions):
    assert satisfiable(conditions) or not any(fits(conditions, version) for version in VERSIONS)


@given(strategies.lists(CONDITIONS, max_size=4))
def test_possible_conditions_are_met_when_each_version_is_tried(conditions):
    between = [*VERSIONS, *((*version, 0, 1) for version in VERSIONS)]
    assert any(fits(conditions, version) for version in between) or not satisfiable(conditions)


@pytest.mark.parametrize("number", ["9" * 5000, "1." * 3000 + "1"])
def test_numbers_without_end(check, number):
    check(
        f"python={number}", f"cudatoolkit={number}", f"a=1=cuda{number}", pip=[f"b=={number}", f"torch==1+cu{number}"]
    )
    check("python=3.11", pip=[f"https://e.org/c-1-cp{number}-cp3-manylinux_{number}_1_x86_64.whl"])
