import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jig.runner import env_store, environment
from jig.runner.environment import EnvironmentFailed, NotStarted, find_user_python
from tests.package_settings import forget_settings

USER = {"kind": "user", "fingerprint": "", "python": "python", "requirements": [], "options": [], "prepare": True}
UV: dict[str, Any] = {**USER, "kind": "uv", "fingerprint": "ab12", "python": "3.11"}


def program(path: Path, mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return str(path)


def refuse(text: str) -> None:
    raise AssertionError(f"told {text!r}, where there is nothing to do")


def built(home: Path, request: dict[str, Any] = UV) -> str:
    """An environment with nothing in it but an interpreter; returns that."""
    place = Path(environment.install_root(str(home), request))
    python = program(place / "bin" / "python")
    (place / "lib/python3.11/site-packages").mkdir(parents=True)
    (place / "jig-used").touch()
    about = {"kind": "uv", "fingerprint": "ab12", **env_store.watch(str(place))}
    (place / "jig-environment.json").write_text(json.dumps(about))
    return python


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of what this machine's user has set."""
    forget_settings(monkeypatch, tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))


def test_an_environment_that_stands_is_taken(tmp_path: Path) -> None:
    assert not environment.is_prepared(UV, str(tmp_path))
    python = built(tmp_path)
    assert environment.is_prepared(UV, str(tmp_path))
    assert environment.ensure(UV, str(tmp_path), "/nowhere/log", refuse) == python


def test_a_relative_home_gives_a_full_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = built(tmp_path / "home")
    monkeypatch.chdir(tmp_path)
    assert environment.ensure(UV, "home", "/nowhere/log", refuse) == python


def test_an_environment_whose_interpreter_is_gone_does_not_stand(tmp_path: Path) -> None:
    python = built(tmp_path)
    os.remove(python)
    os.symlink("/nowhere/python", python)
    assert not environment.is_prepared(UV, str(tmp_path))


@pytest.mark.parametrize("torn", ["", "{", None])
def test_an_environment_that_a_power_cut_tore_does_not_stand(tmp_path: Path, torn: str | None) -> None:
    about = Path(built(tmp_path)).parents[1] / "jig-environment.json"
    about.unlink() if torn is None else about.write_text(torn)
    assert not environment.is_prepared(UV, str(tmp_path))


def test_looking_up_imports_nothing_that_takes_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = {**UV, "requirements": ["six"], "options": ["--extra-index-url https://i"]}
    settings = tmp_path / "pip.conf"
    settings.write_text("[global]\nindex-url = https://h/simple\nfind-links =\n    /srv/a b\n    https://l\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    built(tmp_path, request)
    code = (
        "import json, os, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from jig import system\n"  # which the runner has loaded before
        "before = set(sys.modules)\n"
        "from jig.runner import environment\n"
        "environment.ensure(json.loads(sys.argv[2]), sys.argv[3], os.devnull, print)\n"
        "print(json.dumps(sorted(name for name in set(sys.modules) - before if name[0] != '_')))\n"
    )
    source = str(Path(environment.__file__).parents[2])
    argv = [sys.executable, "-I", "-S", "-c", code, source, json.dumps(request), str(tmp_path)]
    said = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True)
    names = ["blobs", "env_store", "environment", "pip_settings", "quick_json"]
    assert json.loads(said.stdout) == ["errno", "jig.runner", *(f"jig.runner.{name}" for name in names)]


def place_of(home: Path, **more: Any) -> str:
    return os.path.basename(environment.install_root(str(home), {**UV, "requirements": ["six"], **more}))


def test_the_folder_is_named_by_what_decides_what_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = place_of(tmp_path)
    assert len(usual) == 32 and place_of(tmp_path / "elsewhere") == usual
    seen = {usual, place_of(tmp_path, fingerprint="cd")}
    for name, value in (
        ("PIP_INDEX_URL", "https://h/simple"),
        ("PIP_EXTRA_INDEX_URL", "https://h/simple"),
        ("PIP_FIND_LINKS", "/srv/wheels"),
        ("PIP_NO_INDEX", "1"),
        ("PIP_PRE", "1"),
        ("PIP_ONLY_BINARY", ":all:"),
        ("UV_INDEX_STRATEGY", "first-index"),
        ("UV_EXCLUDE_NEWER", "2024-01-01"),
        ("UV_TORCH_BACKEND", "cpu"),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            seen.add(place_of(tmp_path))
    constraints = tmp_path / "constraints.txt"
    monkeypatch.setenv("PIP_CONSTRAINT", str(constraints))
    for text in ("six<2\n", "six<3\n"):
        constraints.write_text(text)
        seen.add(place_of(tmp_path))
    assert len(seen) == 13
    monkeypatch.delenv("PIP_CONSTRAINT")
    (tmp_path / "user/.config/uv").mkdir(parents=True)
    (tmp_path / "user/.config/uv/uv.toml").write_text("# nothing\n\n")
    assert place_of(tmp_path) == usual
    (tmp_path / "user/.config/uv/uv.toml").write_text("# something\nprerelease = 'allow'\n")
    seen.add(place_of(tmp_path))
    monkeypatch.setattr(environment, "libc", lambda: "glibc 1.0")
    seen.add(place_of(tmp_path))
    assert len(seen) == 15


def test_conda_packages_are_for_a_kind_of_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def folder() -> str:
        return place_of(tmp_path, kind="conda", requirements=[])

    virtual = {"__archspec": "1=x86_64_v3", "__linux": "6.1"}
    monkeypatch.setattr("jig.runner.virtual_packages.machine_platform", lambda: {"virtual": virtual})
    alone = folder()
    virtual["__cuda"] = "12.2"
    assert folder() == alone, "a new driver serves what was built for the old one"
    monkeypatch.setattr("jig.system.is_network_disk", lambda path: True)
    seen = {alone, folder()}
    for name, value in (("__cuda", "11.4"), ("__archspec", "1=x86_64_v4")):
        virtual[name] = value
        seen.add(folder())
    virtual["__linux"] = "6.2"
    assert folder() in seen and len(seen) == 4
    monkeypatch.setenv("CONDA_OVERRIDE_CUDA", "12.4")
    assert folder() not in seen


def test_what_does_not_decide_it_does_not_name_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = place_of(tmp_path)
    for name in ("PIP_TIMEOUT", "PIP_RETRIES", "UV_HTTP_TIMEOUT"):
        monkeypatch.setenv(name, "7")
    monkeypatch.setenv("PIP_CERT", "/nowhere/cert.pem")
    monkeypatch.setenv("PIP_PROXY", "http://proxy:1")
    monkeypatch.setenv("UV_CACHE_DIR", "/nowhere/cache")
    assert place_of(tmp_path) == usual
    names = set()
    for login in ("", "me:one@", "me:two@"):
        monkeypatch.setenv("PIP_INDEX_URL", f"https://{login}h/simple")
        names.add(place_of(tmp_path))
    assert len(names) == 1, "a new password is no new environment"
    assert place_of(tmp_path, requirements=[]) == place_of(tmp_path / "x", requirements=[])
    monkeypatch.delenv("PIP_INDEX_URL")
    assert place_of(tmp_path, requirements=[]) == place_of(tmp_path / "x", requirements=[])


def test_settings_that_cannot_be_read_are_the_builders_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "perhaps")
    assert not environment.is_prepared({**UV, "requirements": ["six"]}, str(tmp_path))


def test_only_conda_packages_need_to_be_chosen(tmp_path: Path) -> None:
    assert not environment.needs_solving(UV, str(tmp_path))
    conda = {**UV, "kind": "conda", "channels": [], "packages": ["python"]}
    assert environment.needs_solving(conda, str(tmp_path))
    assert not environment.needs_solving({**conda, "records": []}, str(tmp_path))
    built(tmp_path, conda)
    assert not environment.needs_solving(conda, str(tmp_path))


def test_the_users_own_python_needs_no_preparing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = program(tmp_path / "bin" / "python")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert environment.is_prepared(USER, str(tmp_path))
    assert environment.ensure(USER, str(tmp_path), "/nowhere/log", refuse) == python


def test_a_kind_or_a_fingerprint_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailed) as failed:
        environment.ensure({**UV, "kind": "guix"}, str(tmp_path), "/nowhere/log", refuse)
    assert failed.value.reason == "this runner builds environments of the kinds conda and uv, not 'guix'"
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
