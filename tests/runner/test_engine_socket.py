"""The engine's own answers about images, without the docker program."""

import json
import os
import socket
import subprocess

import pytest

from jig.runner import engine_socket
from jig.runner.engine_socket import Silent, ask_images


def test_it_is_what_docker_image_inspect_prints(docker_host):
    names = ("jig-test/python:1", "jig-test/nothing:1", "jig-test/plain:1")
    answers = [json.loads(line) for line in ask_images(docker_host.address, names, 5.0).splitlines()]
    printed = [
        json.loads(docker_host.docker("image", "inspect", "--format", "{{json .}}", name)) for name in names[::2]
    ]
    assert [(a["Id"], a["RepoTags"], a["Config"]["Labels"]) for a in answers] == [
        (a["Id"], a["RepoTags"], a["Config"].get("Labels")) for a in printed
    ]
    assert ask_images(docker_host.address, ("jig-test/nothing:1",), 5.0) == b""


@pytest.mark.parametrize("address", ["", "tcp://127.0.0.1:1", "unix:///nowhere/docker.sock", "ssh://ada@box"])
def test_elsewhere_the_program_asks(address):
    assert ask_images(address, ("python:3.11",), 5.0) is None


@pytest.mark.parametrize("name", ["a b", "a\r\nX: y", "a?b", "ü", "a%2fb"])
def test_a_name_that_is_none_is_left_to_the_program(docker_host, name):
    assert ask_images(docker_host.address, (name,), 5.0) is None


def test_a_socket_that_nobody_listens_to(tmp_path):
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    assert ask_images(f"unix://{path}", ("python:3.11",), 5.0) is None


def test_a_socket_that_is_not_ours(tmp_path):
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        os.chmod(path, 0o600)
        os.chmod(tmp_path, 0o755)
        code = (
            "import os, sys; sys.path.insert(0, sys.argv[1]); os.setgid(1234); os.setuid(1234)\n"
            "from jig.runner.engine_socket import ask_images; print(ask_images(sys.argv[2], ['a'], 1.0))"
        )
        source = os.path.abspath(os.path.join(os.path.dirname(engine_socket.__file__), "..", ".."))
        argv = ["python3", "-c", code, source, f"unix://{path}"]
        assert subprocess.run(argv, capture_output=True, text=True).stdout == "None\n"


def test_an_engine_that_takes_the_question_and_says_nothing(tmp_path):
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        with pytest.raises(Silent):
            ask_images(f"unix://{path}", ("python:3.11",), 0.2)
