"""Wheels for another system or Python, and Pythons to know of."""

import pytest

from jig.environments.check.addresses import Answer
from tests.environments.check.conftest import DSVM, NO_GPU, said

# Wheels


@pytest.mark.parametrize(
    ("tags", "facts", "problem", "fix"),
    [
        ("cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64", {}, "", ""),
        ("cp38-abi3-linux_x86_64", {}, "", ""),
        ("py3-none-any", {}, "", ""),
        ("py2.py3-none-any", {}, "", ""),
        ("py311-none-any", {}, "", ""),
        ("cp311-abi3-linux_x86_64", {}, "", ""),
        ("pp311-pypy311_pp73-linux_x86_64", {}, "", ""),
        ("cp311-cp311-macosx_11_0_arm64", {}, "is a wheel for macOS, and the target `box` runs Linux", "name the wheel for Linux"),
        ("cp311-cp311-win32", {}, "is a wheel for Windows, and the target `box` runs Linux", "name the wheel for Linux"),
        ("cp311-cp311-linux_aarch64", {}, "is a wheel for aarch64 processors, and the target `box` has x86_64", "name the wheel for x86_64"),
        ("cp311-cp311-macosx_10_9_universal2", {"platform": "darwin arm64"}, "", ""),
        ("cp311-cp311-macosx_10_9_x86_64", {"platform": "darwin arm64"}, "is a wheel for x86_64 processors, and the target `box` has aarch64", "name the wheel for aarch64"),
        ("cp311-cp311-manylinux_2_28_x86_64", {"virtual": {"__glibc": "2.17"}}, "needs glibc 2.28, and the target `box` has glibc 2.17", "name a wheel for glibc 2.17 or older"),
        ("cp311-cp311-manylinux_2_28_x86_64", {"virtual": {"__glibc": "2.31"}}, "", ""),
        ("cp311-cp311-manylinux2014_x86_64.manylinux_2_28_x86_64", {"virtual": {"__glibc": "2.17"}}, "", ""),
        ("cp311-cp311-musllinux_1_2_x86_64", {"virtual": {"__glibc": "2.17"}}, "is a wheel for the C library musl, and the target `box` has glibc 2.17", "name a wheel for glibc 2.17 or older"),
        ("cp311-cp311-musllinux_1_2_x86_64", {}, "", ""),
    ],
)  # fmt: skip
def test_wheels_for_other_systems(check, tags, facts, problem, fix):
    name = f"some_package-1.0-{tags}.whl"
    found = check("python=3.11", pip=[f"https://example.org/{name}#sha256=00"], facts=NO_GPU | facts)
    assert found == ([("error", 5, f"`{name}` {problem}", fix)] if problem else [])


@pytest.mark.parametrize(
    ("python", "tag", "problem"),
    [
        ("python=3.11", "cp35-cp35m", "3.5, and the file asks for Python 3.11"),
        ("python>=3.9,<3.12", "cp38-cp38", "3.8, and the file asks for Python 3.11"),
        ("python>=3.9,<3.12", "cp310-cp310", ""),
        ("python=3.11", "cp38.cp39-none", "3.8 and 3.9, and the file asks for Python 3.11"),
        ("python=3.7", "cp38-abi3", "3.8, and the file asks for Python 3.7"),
        ("python=3.11", "py2-none", "2, and the file asks for Python 3.11"),
        ("numpy", "cp35-cp35m", ""),
    ],
)
def test_wheels_for_other_pythons(check, python, tag, problem):
    found = check(python, pip=[f"some @ https://example.org/some-1.0-1a-{tag}-linux_x86_64.whl"])
    errors = [finding for finding in found if finding[0] == "error"]
    wanted = problem[-4:].strip().replace(".", "")
    fix = f"name the wheel for it, with `cp{wanted}` in its name, or ask for another Python"
    message = f"`some-1.0-1a-{tag}-linux_x86_64.whl` is a wheel for Python {problem}"
    assert errors == ([("error", 5, message, fix)] if problem else [])


def test_a_condition_may_keep_a_wheel_for_its_system(check):
    line = "'some @ https://example.org/some-1.0-cp311-cp311-win_amd64.whl ; sys_platform == \"win32\"'"
    assert check("python=3.11", pip=[line]) == []
    assert [severity for severity, *_ in check("python=3.11", pip=[line], answer=Answer(404))] == ["warning"]


def test_a_name_that_no_wheel_can_have(check):
    message = "`some.whl` does not name its Python and its system, as the name of a wheel must"
    fix = "give the file its whole name, as it was when it was made"
    assert check("python=3.11", pip=["https://example.org/some.whl"]) == [("error", 5, message, fix)]


def test_an_unknown_machine_is_not_judged(check):
    pip = ["https://example.org/some-1.0-cp311-cp311-win_amd64.whl"]
    assert check("python=3.11", pip=pip, facts={}) == []
    expected = "`some-1.0-cp311-cp311-win_amd64.whl` is a wheel for Windows, and the target `my_dsvm` runs Linux"
    assert said(check("python=3.11", pip=pip, facts={}, target=DSVM)) == [("error", expected)]


# Python


@pytest.mark.parametrize(
    ("text", "severity", "message", "fix"),
    [
        ("python=3.5.12", "error", "`python=3.5.12`: there is no such Python; the last 3.5 is 3.5.10", "write `python=3.5`"),
        ("python=3.3", "error", "`python=3.3`: neither conda-forge nor uv has a Python that old", "write for example `python=3.11`"),
        ("python<2.7", "error", "`python<2.7`: neither conda-forge nor uv has a Python that old", "write for example `python=3.11`"),
        ("python=3.111", "warning", "`python=3.111`: the newest Python that this version of jig knows is 3.15", "write for example `python=3.11`"),
        ("python>=3.16", "warning", "`python>=3.16`: the newest Python that this version of jig knows is 3.15", "write for example `python=3.11`"),
        ("python=2.7", "warning", "Python 2 ended in January 2020, and a script's `import jig` and `import azureml` need 3.5 or newer", "write for example `python=3.11`, and bring the script's syntax up to it"),
        ("python=2", "warning", "Python 2 ended in January 2020, and a script's `import jig` and `import azureml` need 3.5 or newer", "write for example `python=3.11`, and bring the script's syntax up to it"),
        ("python=3.6.*", "note", "Python 3.6 ended in December 2021: only old versions of packages fit it", "write for example `python=3.11` if the script allows it"),
        ("python>=3.9,<3.5", "error", "no version can be `python>=3.9,<3.5`", "widen the versions"),
    ],
)  # fmt: skip
def test_pythons_to_know_of(check, text, severity, message, fix):
    assert check(text) == [(severity, 3, message, fix)]


@pytest.mark.parametrize(
    "text", ["python", "python=*", "python=3", "python=3.11", "python>=3.5", "python=3.15.0rc1", "python[build=x]"]
)
def test_pythons_to_be_quiet_about(check, text):
    assert check(text) == []


def test_what_another_channel_has_is_not_known(check):
    assert check("python=3.3", channels=["old-things"]) == []


def test_old_pythons_for_new_macs(check):
    message = "`python=3.7`: there is none for Macs with Apple's processors, where 3.8 is the oldest"
    assert said(check("python=3.7", facts={"platform": "darwin arm64"})) == [("error", message)]
