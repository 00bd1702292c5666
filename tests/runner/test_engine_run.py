"""`docker run` over the engine's socket: the same as the program's, for the words that it knows."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import jig.runner
from jig.runner.container import fill
from jig.runner.engine_run import LOST, settings
from jig.targets.container import WORDS
from tests.conftest import until

SOURCE = str(Path(jig.runner.__file__).parents[2])
RUN = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from jig.runner import engine_run\n"
    "asked = engine_run.ask(sys.argv[3:], sys.argv[2])\n"
    "sys.exit(99 if asked is None else asked.run())\n"
)
IMAGE = "jig-test/python:1"
PLAIN = ("--interactive", "--name", "ours", "--network", "host", "--log-driver", "none")


def start(address: str, *words: str) -> "subprocess.Popen[bytes]":
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", RUN, SOURCE, address, *words], stdin=pipe, stdout=pipe, stderr=pipe)


def run(address: str, *words: str, stdin: bytes = b"") -> "tuple[int, bytes, bytes]":
    process = start(address, *words)
    out, err = process.communicate(stdin, timeout=60)
    return process.returncode, out, err


@pytest.fixture
def engine(docker_host):
    yield docker_host
    if "ours" in docker_host.docker("ps", "-a", "--format", "{{.Names}}").split():
        docker_host.docker("rm", "-f", "ours")


def test_every_word_of_a_plan_is_known():
    known = {name: name for name in ("id", "key", "python", "image")}
    user, way = ["--user", "7:8", "--group-add", "9"], ["--runtime=nvidia", "-e", "NVIDIA_VISIBLE_DEVICES=all"]
    lists = {"user": user, "network": ["--network", "host"], "proxies": ["--env", "HTTP_PROXY"], "gpus": way}
    mounts = ["--mount", "type=bind,src=/a b,dst=/c", "--mount", "type=bind,src=/d,dst=/e,readonly"]
    name, asked = settings(fill(WORDS, {**known, **lists, "shm": "1024", "mounts": mounts}))
    assert name == "jig-id"
    assert asked == {
        "HostConfig": {
            "LogConfig": {"Type": "none"},
            "Mounts": [
                {"Type": "bind", "Source": "/a b", "Target": "/c", "ReadOnly": False},
                {"Type": "bind", "Source": "/d", "Target": "/e", "ReadOnly": True},
            ],
            "NetworkMode": "host",
            "SecurityOpt": ["no-new-privileges"],
            "ShmSize": 1024,
            "GroupAdd": ["9"],
            "Runtime": "nvidia",
        },
        "Labels": {"jig.run": "id", "jig.home": "key"},
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Env": ["JIG_RUN_ID=id", "HTTP_PROXY", "NVIDIA_VISIBLE_DEVICES=all"],
        "WorkingDir": "/azureml-run",
        "User": "7:8",
        "Entrypoint": ["python"],
        "Image": "image",
        "Cmd": ["-I", "-S", "-X", "pycache_prefix=/jig/pycache", "/jig/pack/script/jig_init.py", "/jig/run"],
    }


@pytest.mark.parametrize(
    "words", [["--gpus", "all"], ["--device", "nvidia.com/gpu=all"], ["--privileged"], ["--mount", '"src=/a,b",dst=/c']]
)
def test_other_words_are_left_to_the_program(words):
    assert settings([*words, IMAGE]) is None


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "ssh://ada@box", "unix:///nowhere"])
def test_other_engines_are_left_to_the_program(address):
    assert run(address, *PLAIN, IMAGE, "true") == (99, b"", b"")


def test_streams_and_exit_code(engine):
    code = "cat; echo to stderr >&2; printf 'no end'; exit 7"
    given = bytes(range(256)) * 2000
    assert run(engine.address, *PLAIN, IMAGE, "sh", "-c", code, stdin=given) == (7, given + b"no end", b"to stderr\n")


def test_what_is_written_later_arrives_at_once(engine):
    with start(engine.address, *PLAIN, IMAGE, "sh", "-c", "while read line; do echo got $line; done") as process:
        for word in (b"one", b"two", b"three"):
            process.stdin.write(word + b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"got " + word + b"\n"
        process.stdin.close()
        assert process.wait(30) == 0


@pytest.mark.parametrize(
    "words",
    [("jig-test/absent:1", "true"), ("--mount", "type=bind,src=/nowhere/x,dst=/x", IMAGE, "true"), (IMAGE, "/no")],
)
def test_a_refusal_is_told_in_the_programs_words(engine, words):
    ours = run(engine.address, *PLAIN, *words)
    if "ours" in engine.docker("ps", "-a", "--format", "{{.Names}}").split():
        engine.docker("rm", "-f", "ours")
    program = subprocess.run(
        ["docker", "-H", engine.address, "run", "--pull", "never", *PLAIN, *words], capture_output=True, timeout=60
    )
    assert ours[0] in (125, 127) and ours[0] <= program.returncode
    for word in (b"docker: Error response from daemon: ", words[-1].encode() if words[-1] == "/no" else b""):
        assert word in ours[2] and word in program.stderr


def test_an_engine_that_goes_away(make_engine):
    engine = make_engine()
    process = start(engine.address, *PLAIN, IMAGE, "sleep", "600")
    until(lambda: engine.docker("ps", "-q").strip(), what="the container")
    engine.stop(signal.SIGKILL)
    assert process.communicate(timeout=30)[1].decode() == LOST + "\n"
    assert process.returncode == 125
    assert os.path.exists(engine.folder)
