import os
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.environments import Environment, fingerprint
from jig.environments.uv import decide, find_uv, serves
from jig.errors import ProjectError
from jig.project import ComputeTarget, CondaSpec, Requirement

TARGET = ComputeTarget("local", "local", user_managed_environment=False)
FILE = "aml_config/conda_dependencies.yml"

PIP_LINES = [
    "six",
    "Scikit_Learn>=1.0,<2",
    "torch==2.1 ; os_name == 'posix'",
    "https://h/x.whl?a=b",
    "ray[tune,default]",
]


def conda(packages: list[str], pip: list[str]) -> CondaSpec:
    return CondaSpec(
        FILE,
        packages=tuple(Requirement(text, 4 + at) for at, text in enumerate(packages)),
        pip=tuple(Requirement(text, 20 + at) for at, text in enumerate(pip)),
    )


def built(pip: list[str], python: str = "python=3.11") -> Environment:
    return decide(TARGET, conda([python], pip), True)


def test_what_uv_is_to_build() -> None:
    environment = decide(
        TARGET,
        conda(["python=3.11", "pip=23"], ["Torch == 2.1", "--extra-index-url https://h/cu118", "six  # old"]),
        True,
    )
    assert environment == Environment(
        "uv",
        fingerprint="d056068aa0c2966a0ecbac9747365557",  # sha256sum of the format, the kind, and the parts
        python="3.11",
        requirements=("six", "torch==2.1"),
        options=("--extra-index-url https://h/cu118",),
    )


def test_a_file_with_nothing_in_it_is_any_python() -> None:
    environment = decide(TARGET, conda([], []), True)
    assert (environment.python, environment.requirements, environment.options) == ("", (), ())


def test_every_fault_is_told_at_once_in_the_order_of_the_file() -> None:
    with pytest.raises(ProjectError) as raised:
        decide(TARGET, conda(["python=3.11", "python=3.12", "pip"], ["-e .", "six", "numpy=1"]), True)
    assert [(fault.file, fault.line, fault.key) for fault in raised.value.faults] == [
        (FILE, 5, "dependencies"),
        (FILE, 20, "pip"),
        (FILE, 22, "pip"),
    ]


@pytest.mark.parametrize(
    ("packages", "alone"),
    [
        ([], True),
        (["python=3.11", "pip"], True),
        (["python>=3.9,<3.13"], True),
        (["python=3.5.2"], False),  # too old for uv: conda's channels have it
        (["python=3.11=h955ad1f_0"], False),
        (["conda-forge::python=3.11"], False),
        (["python=3.11", "numpy"], False),
    ],
)
def test_what_uv_serves_alone(packages: list[str], alone: bool) -> None:
    assert serves(conda(packages, ["six"])) is alone


def test_python_is_asked_for_once() -> None:
    with pytest.raises(ProjectError) as raised:
        decide(TARGET, conda(["python=3.11", "python>=3.9"], []), True)
    assert [fault.message for fault in raised.value.faults] == [
        "`python>=3.9` asks for Python again, after `python=3.11`"
    ]


@given(st.permutations(PIP_LINES))
def test_the_order_of_requirements_does_not_matter(lines: list[str]) -> None:
    assert built(lines) == built(PIP_LINES)


@given(st.lists(st.sampled_from([" ", "\t", "  # why", "\t#"]), min_size=5, max_size=5), st.booleans())
def test_space_case_and_comments_do_not_matter(tails: list[str], upper: bool) -> None:
    lines = [line.replace("Scikit_Learn", "SCIKIT-learn" if upper else "scikit.learn") for line in PIP_LINES]
    spaced = [line.replace(">=1.0,<2", " >= 1.0 , < 2").replace(" ; ", ";") for line in lines]
    assert built([" " + line + tail for line, tail in zip(spaced, tails, strict=True)]) == built(PIP_LINES)


@given(st.permutations(["--extra-index-url https://a", "--extra-index-url https://b", "--extra-index-url https://c"]))
def test_the_order_of_indexes_matters(lines: list[str]) -> None:
    same = lines == sorted(lines)
    assert (built([*lines, "six"]).fingerprint == built([*sorted(lines), "six"]).fingerprint) is same


@given(
    st.tuples(
        st.sampled_from(["", "3.11", "3.12"]), st.sets(st.sampled_from("abcd")), st.sets(st.sampled_from("abcd"))
    ),
    st.tuples(
        st.sampled_from(["", "3.11", "3.12"]), st.sets(st.sampled_from("abcd")), st.sets(st.sampled_from("abcd"))
    ),
)
def test_different_environments_have_different_fingerprints(
    one: tuple[str, set[str], set[str]], other: tuple[str, set[str], set[str]]
) -> None:
    marks = [
        fingerprint(Environment("uv", "", python, tuple(sorted(lines)), tuple(sorted(options))))
        for python, lines, options in (one, other)
    ]
    assert (marks[0] == marks[1]) is (one == other)
    assert all(len(mark) == 32 and set(mark) <= set("0123456789abcdef") for mark in marks)


def test_preparing_or_not_is_no_part_of_the_identity() -> None:
    spec = conda(["python=3.11"], ["six"])
    assert decide(TARGET, spec, True).fingerprint == decide(TARGET, spec, False).fingerprint


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_uv_is_the_one_beside_the_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = program(tmp_path / "my env" / "uv")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "my env" / "python"))
    assert find_uv() == beside


def test_uv_is_found_where_its_package_put_it() -> None:
    found = find_uv()
    assert os.path.isabs(found) and os.access(found, os.X_OK)


def test_uv_is_looked_for_in_path_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setitem(sys.modules, "uv", None)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_uv() == ""
    assert program(tmp_path / "bin" / "uv") == find_uv()
