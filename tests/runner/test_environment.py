import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jig.runner import environment
from jig.runner.environment import EnvironmentFailed, NotStarted, find_user_python

USER = {"kind": "user", "fingerprint": "", "python": "python", "requirements": [], "options": [], "prepare": True}
UV: dict[str, Any] = {**USER, "kind": "uv", "fingerprint": "ab12", "python": "3.11"}


def program(path: Path, mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return str(path)


def refuse(text: str) -> None:
    raise AssertionError(f"told {text!r}, where there is nothing to do")


def test_an_environment_that_stands_is_taken(tmp_path: Path) -> None:
    assert not environment.is_prepared(UV, str(tmp_path))
    python = program(tmp_path / "envs" / "ab12" / "bin" / "python")
    assert environment.is_prepared(UV, str(tmp_path))
    assert environment.ensure(UV, str(tmp_path), "/nowhere/log", refuse) == python


def test_a_relative_home_gives_a_full_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = program(tmp_path / "home" / "envs" / "ab12" / "bin" / "python")
    monkeypatch.chdir(tmp_path)
    assert environment.ensure(UV, "home", "/nowhere/log", refuse) == python


def test_an_environment_whose_interpreter_is_gone_does_not_stand(tmp_path: Path) -> None:
    python = program(tmp_path / "envs" / "ab12" / "bin" / "python")
    os.remove(python)
    os.symlink("/nowhere/python", python)
    assert not environment.is_prepared(UV, str(tmp_path))


def test_looking_up_imports_nothing_more(tmp_path: Path) -> None:
    program(tmp_path / "envs" / "ab12" / "bin" / "python")
    code = (
        "import json, os, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "before = set(sys.modules)\n"
        "from jig.runner import environment\n"
        "environment.ensure(json.loads(sys.argv[2]), sys.argv[3], os.devnull, print)\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    source = str(Path(environment.__file__).parents[2])
    argv = [sys.executable, "-I", "-S", "-c", code, source, json.dumps(UV), str(tmp_path)]
    said = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    assert said.stdout == "['jig', 'jig.runner', 'jig.runner.environment']\n"


def test_the_users_own_python_needs_no_preparing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = program(tmp_path / "bin" / "python")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert environment.is_prepared(USER, str(tmp_path))
    assert environment.ensure(USER, str(tmp_path), "/nowhere/log", refuse) == python


def test_a_kind_or_a_fingerprint_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailed) as failed:
        environment.ensure({**UV, "kind": "conda"}, str(tmp_path), "/nowhere/log", refuse)
    assert failed.value.reason == "this runner builds environments of the kind uv, not 'conda'"
    with pytest.raises(EnvironmentFailed) as failed:
        environment.ensure({**UV, "fingerprint": "../../etc"}, str(tmp_path), "/nowhere/log", refuse)
    assert failed.value.reason == "'../../etc' is not the fingerprint of an environment"


def test_the_users_python_is_found_in_the_search_path(tmp_path: Path) -> None:
    python3 = program(tmp_path / "b" / "python3")
    path = f"{tmp_path}/a::relative:{tmp_path}/b"
    assert find_user_python("python", path) == python3
    assert find_user_python("", path) == python3
    python = program(tmp_path / "b" / "python")
    assert find_user_python("python", path) == python
    program(tmp_path / "a" / "python", mode=0o644)
    (tmp_path / "a" / "python3").mkdir()
    assert find_user_python("python", path) == python
    assert find_user_python("python3", path) == python3


def test_a_full_path_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    python = program(tmp_path / "my 'env'" / "bin" / "питон")
    link = tmp_path / "link"
    link.symlink_to(python)
    assert find_user_python(python, "") == python
    assert find_user_python("~/my 'env'/bin/питон", "") == python
    assert find_user_python(str(link), "") == str(link)  # a virtual environment is known by its link


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        (
            "python",
            "there is no python and no python3 in the search path of this machine (/nowhere:/none): "
            "set pythonLocation to the full path of an interpreter",
        ),
        (
            "python2.5",
            "there is no python2.5 in the search path of this machine (/nowhere:/none): "
            "set pythonLocation to the full path of an interpreter",
        ),
        (
            "env/bin/python",
            "pythonLocation 'env/bin/python' is a relative path, and a run does not start in the project folder: "
            "write the full path of the interpreter",
        ),
        ("/nowhere/python", "there is no interpreter at pythonLocation '/nowhere/python' on this machine"),
        ("/etc", "pythonLocation '/etc' is a folder, not an interpreter"),
    ],
)
def test_a_python_that_cannot_be_run_is_told(location: str, reason: str) -> None:
    with pytest.raises(NotStarted) as raised:
        find_user_python(location, "/nowhere:/none")
    assert (raised.value.reason, str(raised.value)) == (reason, reason)


def test_a_file_that_may_not_be_executed_is_no_python(tmp_path: Path) -> None:
    python = program(tmp_path / "python", mode=0o644)
    with pytest.raises(NotStarted) as raised:
        find_user_python(python, "")
    assert raised.value.reason == f"pythonLocation {python!r} is a file that may not be executed"


def test_the_folder_of_an_environment_is_not_its_python(tmp_path: Path) -> None:
    python = program(tmp_path / "env" / "bin" / "python")
    with pytest.raises(NotStarted) as raised:
        find_user_python(str(tmp_path / "env"), "")
    assert raised.value.reason.endswith(f"is a folder, not an interpreter: write {python!r}")
