import subprocess
import sys

import pytest

from jig import environments
from jig.environments import Environment, decide
from jig.project import ComputeTarget, CondaSpec, Requirement

CONDA = CondaSpec("aml_config/conda_dependencies.yml", packages=(Requirement("python=3.11", 3),))


def test_the_users_own_python_needs_no_conda_file() -> None:
    broken = CONDA._replace(packages=(Requirement("cntk=2.2", 4),))
    target = ComputeTarget("local", "local", python_location="~/my env/bin/python")
    assert decide(target, broken, True) == Environment("user", python="~/my env/bin/python")


def test_a_managed_target_is_built_with_uv() -> None:
    target = ComputeTarget("local", "local", user_managed_environment=False)
    environment = decide(target, CONDA, False)
    assert (environment.kind, environment.python, environment.prepare) == ("uv", "3.11", False)


def test_an_environment_goes_through_json() -> None:
    environment = Environment("uv", "ab", "3.11", ("six", "numpy>=1"), ("--pre",), False)
    assert environment.to_json() == {
        "kind": "uv",
        "fingerprint": "ab",
        "python": "3.11",
        "requirements": ["six", "numpy>=1"],
        "options": ["--pre"],
        "prepare": False,
        "channels": [],
        "packages": [],
        "locked": "",
        "files": [],
    }
    assert Environment.from_json(environment.to_json()) == environment
    assert Environment.from_json({**environment.to_json(), "uv_path": "/bin/uv"}) == environment


def test_a_kind_is_imported_when_it_is_decided() -> None:
    code = "import sys, jig.environments; print([m for m in sys.modules if m.startswith('jig.environments.')])"
    said = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert said == "[]\n"
    assert sorted(environments.KINDS) == ["conda", "user", "uv"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("--index-url https://user:word@h/simple", "--index-url https://***@h/simple"),
        ("https://h/t/tk-1", "https://h/t/***/"),
        ("https://h/t/tk-1/c", "https://h/t/***/c"),
        ("https://h/api/conda/t/tk-1/c::numpy", "https://h/api/conda/t/***/c::numpy"),
        ("x @ https://h/x.whl?sig=1", "x @ https://h/x.whl?***"),
        ("https://h", "https://h"),
    ],
)
def test_what_is_shown_of_a_url(line: str, shown: str) -> None:
    assert environments.without_secrets(line) == shown
