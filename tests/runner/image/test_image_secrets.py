"""Passwords of indexes and proxies: they are used, and are in nothing that is kept or can be looked at."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.image.machine import ImageMachine, wanted
from tests.runner.wheels import Index, serve

SECRET = "s3cr3t-word"


@pytest.fixture
def index(machine: ImageMachine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """`alpha` from a server that asks who is there."""
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.delenv("PIP_NO_INDEX")
    with serve(machine.wheels) as served:
        served.password = SECRET
        yield served


def with_login(index: Index) -> str:
    return index.url.replace("://", f"://user:{SECRET}@") + "/simple"


def everything(machine: ImageMachine, image_id: str) -> bytes:
    """All that the engine tells of an image and has in it."""
    parts = [
        machine.engine.docker(*words).encode() for words in (("inspect", image_id), ("history", "--no-trunc", image_id))
    ]
    saved = subprocess.run(["docker", "save", image_id], capture_output=True, check=True).stdout
    return b"".join([*parts, saved])


def files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


@pytest.mark.parametrize("where", ["settings", "file", "netrc", "requirement"])
def test_a_password_of_an_index(
    machine: ImageMachine, index: Index, where: str, monkeypatch: pytest.MonkeyPatch, jig_home: Path
) -> None:
    request = wanted("alpha")
    if where == "settings":
        monkeypatch.setenv("PIP_INDEX_URL", with_login(index))
    elif where == "file":
        request = wanted("alpha", options=(f"--index-url {with_login(index)}",))
    elif where == "netrc":
        monkeypatch.setenv("PIP_INDEX_URL", f"{index.url}/simple")
        netrc = jig_home.parent / ".netrc"
        netrc.write_text(f"machine 127.0.0.1 login user password {SECRET}\n")
        netrc.chmod(0o600)
    else:
        url = with_login(index).replace("/simple", "/files/alpha-1.0-py3-none-any.whl")
        request = wanted(f"alpha @ {url}", options=("--no-index",))
    seen: list[bytes] = []
    index.before = lambda path: seen.append(_looks(machine))
    made = machine.ensure(request)
    assert machine.run(made, f"{made.prefix}/bin/alpha") == "1.0\n"
    assert seen and all(SECRET.encode() not in look for look in seen), "while it was built"
    assert SECRET.encode() not in everything(machine, made.id)
    assert SECRET.encode() not in files(machine.home) and SECRET not in machine.log.read_text()
    assert SECRET not in "".join(machine.told)


def _looks(machine: ImageMachine) -> bytes:
    """What anybody on the machine can see: the container as the engine tells of it, and every command line."""
    words = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if _readable(path)]
    return b"".join([machine.engine.docker("inspect", *machine.containers()).encode(), *words])


def _readable(path: Path) -> bool:
    return path.parent.name != str(os.getpid()) and path.exists()


def test_a_wrong_password_is_not_said(machine: ImageMachine, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "wr0ng-word"
    monkeypatch.setenv("PIP_INDEX_URL", with_login(index).replace(SECRET, wrong))
    reason = machine.fails(wanted("alpha"))
    assert reason.startswith("uv could not install the packages: ")
    assert wrong not in reason and wrong not in machine.log.read_text()


def test_proxies_of_the_docker_program(machine: ImageMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are for containers, and the build heeds them; but the program would write them into the image."""
    proxy = f"http://user:{SECRET}@127.0.0.1:9/"
    (tmp_path / "config.json").write_text(json.dumps({"proxies": {"default": {"httpProxy": proxy, "noProxy": "x"}}}))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.example/simple")
    assert "index.example" in machine.fails(wanted("nosuch"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv("HTTP_PROXY", proxy)
    made = machine.ensure(wanted("alpha"))
    assert SECRET.encode() not in everything(machine, made.id)
