"""Pulling a base image, from a registry on this machine; and what is said when it cannot be pulled."""

import os
import re
import subprocess
from collections.abc import Iterator

import pytest

from jig.runner import dead_images, image_pull
from tests.engines.registry import Registry, serve_image
from tests.runner.image.machine import ImageMachine, theirs, wanted

LAYER = 4_000_000
FILES = {"bin/python": b"not really", "etc/passwd": b"root:x:0:0::/:\n"}


@pytest.fixture
def registry(machine: ImageMachine) -> Iterator[Registry]:
    """With an image of three layers: two of 4 MB, and one that is small."""
    with serve_image([{"a": os.urandom(LAYER)}, FILES, {"b": os.urandom(LAYER)}]) as served:
        yield served
        subprocess.run(["docker", "rmi", "--force", name(served)], capture_output=True)


def name(registry: Registry) -> str:
    return f"{registry.address}/some/image:1"


def test_a_base_that_is_missing_is_pulled(
    machine: ImageMachine, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_pull, "PROGRESS_S", 0.2)

    def tell(text: str) -> None:
        machine.told.append(text)
        if part(text):
            registry.release.set()  # the other half comes now

    look = machine.look(theirs("/bin/python"), name(registry))
    assert (look.base_id, look.image_id) == ("", "")
    image_pull.pull(look, tell, lambda: False)
    first, *_, last = machine.told
    assert first == f"pulling the image {name(registry)}"
    assert any(map(part, machine.told))
    assert last.startswith("the image is here after ") and last.endswith(" s")
    machine.told.clear()
    made = machine.ensure(theirs("/bin/python"), name(registry))
    assert made.python == "/bin/python" and machine.told == []


def part(text: str) -> bool:
    """Whether it says that a part of the bytes is here."""
    return re.fullmatch(r"pulling: 0 of 3 layers are here, [1-4] of 8 MB", text) is not None


def test_ensure_pulls(machine: ImageMachine, registry: Registry) -> None:
    registry.release.set()
    made = machine.ensure(theirs("/bin/python"), name(registry))
    assert machine.told[0] == f"pulling the image {name(registry)}" and len(machine.told) >= 2
    assert made.id == machine.engine.docker("inspect", "--format", "{{.Id}}", name(registry)).strip()


def test_a_pull_that_is_canceled(machine: ImageMachine, registry: Registry) -> None:
    assert machine.fails(wanted(), name(registry), stopping=registry.arrived.is_set) == "canceled"
    registry.release.set()
    assert machine.look(theirs(), name(registry)).base_id == ""


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (401, "the registry does not let this user have the image"),
        (404, "the registry has no such image"),
        (500, "the registry of the image is out of order"),
    ],
)
def test_an_image_that_cannot_be_pulled(machine: ImageMachine, registry: Registry, status: int, why: str) -> None:
    registry.status = status
    assert machine.fails(wanted(), name(registry)).startswith(
        f"the image {name(registry)} could not be pulled: {why} ("
    )


def test_a_registry_that_does_not_answer(machine: ImageMachine) -> None:
    reason = machine.fails(wanted(), "127.0.0.1:1/some/image:1")
    assert reason.startswith("the image 127.0.0.1:1/some/image:1 could not be pulled: ") and "127.0.0.1:1" in reason
    assert ": is its name right? Try `docker pull 127.0.0.1:1/some/image:1` there (" in reason
    assert "127.0.0.1:1" in machine.log.read_text()


def test_an_image_of_the_seeds(machine: ImageMachine) -> None:
    """What to write instead is said, whatever the registry answers, or does not; that is in the log."""
    image = "microsoft/mmlspark:plus-0.7.91"
    assert machine.fails(wanted(), image) == f"the image {image} is gone from Docker Hub: {dead_images.advice(image)}"
    assert machine.log.read_text()


CPU = (
    "write `baseDockerImage: python:3.11` into the .compute file, `continuumio/miniconda3` for one with conda, or "
    "`mcr.microsoft.com/mmlspark/release` for Spark"
)
GPU = (
    "write `baseDockerImage: python:3.11` into the .compute file: PyTorch, TensorFlow and JAX bring CUDA; for packages "
    "that look for it in the image, `nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04`"
)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("microsoft/mmlspark:plus-0.7.91", CPU),
        ("microsoft/mmlspark:plus-0.9.9", CPU),
        ("docker.io/microsoft/mmlspark:plus-gpu-0.7.91", GPU),
        ("microsoft/mmlspark", CPU),
        ("python:3.11", ""),
        ("registry.example/microsoft/mmlspark:plus-0.7.91", ""),
    ],
)
def test_images_that_are_gone(reference: str, said: str) -> None:
    assert dead_images.advice(reference) == said


def test_what_a_pull_says_at_a_terminal() -> None:
    heard = image_pull.Heard()
    heard.hear(b"1: Pulling from some/image\r\n\r\n\x1b[1A\x1b[2K\r0123456789ab: Pulling fs layer \r\x1b[1B")
    assert heard.state() == "pulling: 0 of 1 layers are here"
    heard.hear(b"\x1b[1A\x1b[2K\r0123456789ab: Downloading [==>     ]  512.4kB/20.1MB\r\x1b[1B")
    heard.hear(b"\x1b[2A\x1b[2K\rba9876543210: Already exists \r\x1b[2B")
    assert heard.state() == "pulling: 1 of 2 layers are here, 1 of 20 MB"
    heard.hear(b"\x1b[1A\x1b[2K\r0123456789ab: Pull complete \r\x1b[1BDigest: sha256:0\r\nError response: x\r\n")
    assert heard.state() == "pulling: 2 of 2 layers are here, 20 of 20 MB"
    assert heard.text.splitlines()[-1] == "Error response: x"
