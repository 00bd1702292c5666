"""Looking for an image: one question, what decides its name, and holding it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from jig.runner import image, image_facts
from jig.runner.engine import Said
from jig.runner.environment import EnvironmentFailed
from tests.runner.image.machine import CONDA, PYTHON, ImageMachine, theirs, wanted


def tag(**more: Any) -> str:
    container = {"base": more.pop("base", PYTHON), "gpus": ""}
    return image.tag_name(container, wanted("alpha", **more))


def test_what_decides_the_name(no_settings: None, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tag()
    assert len(before) == 32 and tag() == before
    assert len({before, tag(base=CONDA), tag(fingerprint="cd34"), tag(options=("--pre",))}) == 4
    monkeypatch.setenv("PIP_INDEX_URL", "https://me:one@i.example/simple")
    with_index = tag()
    assert with_index != before
    monkeypatch.setenv("PIP_INDEX_URL", "https://me:two@i.example/simple")
    assert tag() == with_index, "a password may change"
    assert image.tag_name({"base": PYTHON}, theirs()) == ""


def test_a_fingerprint_that_is_none(no_settings: None) -> None:
    with pytest.raises(EnvironmentFailed) as failed:
        tag(fingerprint="../x")
    assert str(failed.value) == "'../x' is not the fingerprint of an environment"


def test_a_look_is_one_question(machine: ImageMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the engine is not asked over its socket: one program is started."""
    made = machine.ensure(wanted("alpha"))
    programs, asked = tmp_path / "programs", tmp_path / "asked"
    programs.mkdir()
    docker = programs / "docker"
    docker.write_text(f'#!/bin/sh\necho "$@" >> {asked}\nexec /usr/bin/docker "$@"\n')
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr("jig.runner.engine_socket.ask_images", lambda *_: None)

    def calls() -> list[str]:
        return [line for line in asked.read_text().splitlines() if not line.startswith("-H")]  # those are the test's

    look = machine.look(wanted("alpha"))
    assert calls() == [f"image inspect --format {{{{json .}}}} {PYTHON} {made.tag}"]
    assert (look.image_id, look.python, look.replaced) == (made.id, made.python, "")
    assert look.base_id == machine.engine.docker("inspect", "--format", "{{.Id}}", PYTHON).strip()
    assert machine.ensure(wanted("alpha")).id == made.id
    assert len(calls()) == 2, "what is known of the image is kept"


def test_images_that_are_not_there(machine: ImageMachine) -> None:
    look = machine.look(wanted("alpha"), "no/such:1")
    assert (look.base_id, look.image_id, look.python) == ("", "", "")
    assert machine.look(theirs(), "no/such:1").image_id == ""


def test_a_name_that_cannot_be_one(machine: ImageMachine) -> None:
    reason = machine.fails(wanted("alpha"), "No Such")
    assert reason.startswith("the image No Such could not be pulled: ")


def answers(*images: "tuple[str, list[str], dict[str, str]]") -> bytes:
    lines = [{"Id": id, "RepoTags": tags, "Config": {"Labels": labels}} for id, tags, labels in images]
    return "\n".join(map(json.dumps, lines)).encode()


def test_which_image_is_used(no_settings: None, tmp_path: Path) -> None:
    def look(*images: "tuple[str, list[str], dict[str, str]]") -> "tuple[str, str, str]":
        found = image.Look(str(tmp_path), {"base": PYTHON}, wanted("alpha"))
        image._take(found, Said(1, answers(*images), "Error: No such image: x\n"))
        return found.base_id, found.image_id, found.replaced

    base = ("b", [PYTHON], {})
    name = f"jig-env:{tag()}"
    labels = {"jig.base": "b", "jig.python": "/p"}
    assert look(base, ("i", [name], labels)) == ("b", "i", "")
    assert look(("i", [name], labels)) == ("", "i", ""), "the base is not needed any more"
    assert look(base, ("i", [name], {**labels, "jig.base": "c"})) == ("b", "", "i")
    assert look(base, ("i", [name], {})) == ("b", "", "i"), "somebody else's"
    assert look(base) == ("b", "", "")
    assert look(base, ("i", ["mine:1", f"localhost/{name}"], labels)) == ("b", "i", "")
    assert look(("b", [PYTHON], labels)) == ("b", "", ""), "a base that is itself one of ours"


def test_an_image_is_held(tmp_path: Path) -> None:
    home, name = str(tmp_path), "sha256:" + "0" * 64
    first, second = image_facts.hold(home, name), image_facts.hold(home, name)
    assert image_facts.take(home, name) is None
    os.close(first)
    assert image_facts.take(home, name) is None
    os.close(second)
    taken = image_facts.take(home, name)
    assert taken is not None
    os.close(taken)
    image_facts.forget(home, name)
    assert os.listdir(tmp_path / "images") == []


@pytest.mark.parametrize(
    ("lines", "libc"),
    [
        ("glibc 2.36", "glibc 2.36"),
        ("musl\n", "musl"),
        ("GNU C Library (Debian GLIBC 2.36-9+deb12u7) stable release version 2.36.\nCopyright", "glibc 2.36"),
        ("", ""),
    ],
)
def test_the_c_library_of_an_image(lines: str, libc: str) -> None:
    said = f"\njig-part passwd\na:x:1:1::/:\n\njig-part group\n\njig-part libc\n{lines}\n\njig-part pythons\n"
    assert image_facts.parse(said) == {
        "shell": True,
        "passwd": "a:x:1:1::/:",
        "group": "",
        "libc": libc,
        "pythons": {},
    }
