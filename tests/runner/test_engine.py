import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jig
from jig.runner import engine, engine_facts
from jig.runner.engine import DEFAULT_ADDRESS, Engine, EngineFailed, connect, home_key
from jig.runner.engine_errors import ELSEWHERE, GROUP, INSTALL, START
from jig.runner.engine_refusals import BRING
from tests.engines.fixtures import point_docker_at
from tests.listener import Listener
from tests.system_packages import need

SOURCE = Path(jig.__file__).parents[1]
NOBODY = 65534
# Prints what `connect` found, as somebody whom the tests themselves are not.
CONNECT = """
import sys
from jig.runner.engine import EngineFailed, connect
try:
    engine, said = connect(*sys.argv[1:])
    print(" ".join(engine.argv("ps")), said.code, said.out.decode().strip(), said.err.strip(), sep="|")
except EngineFailed as failed:
    print(failed.code, failed.reason, failed.hint, sep="|")
"""


@pytest.fixture
def home(tmp_path):
    return str(tmp_path / "home")


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Each call of docker from here on, as the words after the program."""
    real, log = shutil.which("docker"), tmp_path / "calls"
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/docker"
    program.write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {real} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    log.touch()
    return lambda: log.read_text().splitlines()


def left_in(docker) -> "list[str]":
    return [docker.docker("ps", "-aq"), docker.docker("images", "-aq", "--filter", "label=jig.probe")]


def failure(*words: str, **options) -> EngineFailed:
    with pytest.raises(EngineFailed) as caught:
        connect(*words, **options)
    return caught.value


def test_connect_answers_the_first_question(docker_host):
    found, said = connect("image", "inspect", "--format", "{{index .RepoTags 0}}", "jig-test/plain:1")
    assert (said.code, said.out, said.err) == (0, b"jig-test/plain:1\n", "")
    assert (found.program, found.address) == (["docker"], docker_host.address)
    assert found.argv("run", "-i") == ["docker", "run", "-i"]


def test_what_is_missing_in_the_engine_is_an_answer(docker_host):
    found, said = connect("image", "inspect", "--format", "{{index .RepoTags 0}}", "jig-test/plain:1", "nope:1")
    assert (said.code, said.out) == (1, b"jig-test/plain:1\n")
    assert "nope:1" in said.err
    assert found.call("image", "inspect", "nope:1").code == 1
    with pytest.raises(EngineFailed, match="^the engine has no image nope:1$") as caught:
        found.need("image", "inspect", "nope:1")
    assert caught.value.code == "no-image"


def test_need_is_what_it_prints_and_takes_stdin(docker_host):
    found, _ = connect("version")
    words = ("run", "--rm", "-i", "--network", "none", "jig-test/plain:1", "cat")
    data = os.urandom(300_000)
    assert found.need(*words, stdin=data) == data


def test_no_program(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(engine, "PLACES", (str(tmp_path / "more"),))
    failed = failure("version")
    assert (failed.code, failed.reason, failed.hint) == (
        "absent",
        "there is no program docker on this machine",
        INSTALL,
    )


def test_a_program_outside_the_search_path(docker_host, monkeypatch, tmp_path):
    (tmp_path / "docker").symlink_to(shutil.which("docker"))
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        patch.setattr(engine, "PLACES", (str(tmp_path),))
        assert connect("version")[0].argv("ps") == [f"{tmp_path}/docker", "ps"]


def test_not_running(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
    failed = failure("image", "inspect", "x")
    assert (failed.code, failed.hint) == (
        "not-running",
        ELSEWHERE % f"DOCKER_HOST is set to unix://{tmp_path}/s" + START,
    )
    assert failed.reason == f"the Docker engine is not running (nobody answers at {tmp_path}/s)"


def test_it_stops_and_comes_back(make_engine, monkeypatch):
    own = make_engine()
    point_docker_at(own, monkeypatch)
    found, _ = connect("version")
    own.stop()
    with pytest.raises(EngineFailed) as caught:
        found.call("version")
    assert caught.value.code == "not-running"
    own.start()
    assert found.call("version").code == 0


def test_a_frozen_engine_does_not_freeze_us(make_engine, monkeypatch):
    own = make_engine()
    point_docker_at(own, monkeypatch)
    found, _ = connect("version")
    own.pause()
    began = time.monotonic()
    failed = failure("image", "inspect", "x", timeout_s=0.5)
    with pytest.raises(EngineFailed, match="^the Docker engine has not done `docker ps` within 0.5 s$"):
        found.call("ps", "-a", timeout_s=0.5)
    assert time.monotonic() - began < 5
    own.resume()
    assert (failed.code, failed.reason) == (
        "timeout",
        "the Docker engine has not done `docker image inspect` within 0.5 s",
    )
    assert found.call("version").code == 0


@pytest.mark.parametrize(
    "variables, code, reason",
    [
        ({"DOCKER_HOST": "tcp://127.0.0.1:1"}, "not-running", "no Docker engine answers at tcp://127.0.0.1:1"),
        ({"DOCKER_HOST": "foo://x"}, "not-running", "foo://x is not the address of an engine"),
        (
            {"DOCKER_HOST": "tcp://nohost.invalid:2375"},
            "not-running",
            "there is no host named nohost.invalid, where the engine should be",
        ),
        ({"DOCKER_CONTEXT": "nope"}, "not-running", "there is no docker context named nope"),
    ],
)
def test_a_wrong_address(variables, code, reason, monkeypatch):
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    failed = failure("image", "inspect", "x")
    assert (failed.code, failed.reason) == (code, reason)


def test_a_version_that_does_not_fit(docker_host, monkeypatch):
    newest = docker_host.docker("version", "--format", "{{.Server.APIVersion}}").strip()
    with monkeypatch.context() as patch:
        patch.setenv("DOCKER_API_VERSION", "1.99")
        failed = failure("image", "inspect", "x")
    assert failed.reason == (
        f"the docker program is too new for this engine: it speaks version 1.99, and the engine {newest} at most"
    )


def test_a_context_is_followed(engine, monkeypatch):  # noqa: F811
    """As `docker context use` leaves it, and the way the program itself goes."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)
    assert connect_address() == DEFAULT_ADDRESS
    subprocess.run(
        ["docker", "context", "create", "mine", "--docker", f"host={engine.address}"], check=True, capture_output=True
    )
    subprocess.run(["docker", "context", "use", "mine"], check=True, capture_output=True)
    assert connect("version")[0].address == engine.address
    monkeypatch.setenv("DOCKER_CONTEXT", "default")
    assert connect_address() == DEFAULT_ADDRESS


def connect_address() -> str:
    from jig.runner.engine import address

    return address()


@pytest.fixture
def registry(docker_host):
    """Where images are asked for, and what becomes of it is the image's name: a status and a word of the protocol."""

    def answer(asked) -> None:
        status, _, code = asked.path.split("/")[2].partition("-") if asked.path != "/v2/" else ("200", "", "")
        body = json.dumps({"errors": [{"code": code.upper(), "message": "so it is"}]}).encode()
        asked.send_response(int(status))
        asked.send_header("Content-Type", "application/json")
        asked.send_header("Content-Length", str(len(body)))
        asked.end_headers()
        asked.wfile.write(body if asked.command == "GET" else b"")

    with contextlib.closing(Listener(answer)) as listener:
        yield listener.place


@pytest.mark.parametrize(
    "image, reason",
    [
        ("404-manifest_unknown", "the registry has no image {name}:1"),
        ("404-name_unknown", "the registry has no image {name}"),
        ("403-denied", "there is no image {name} to be had: it does not exist, or it is not public"),
        (
            "401-unauthorized",
            "the registry does not let this user have the image (docker says: unauthorized: so it is)",
        ),
        ("429-toomanyrequests", "the registry refuses more downloads for now"),
        ("503-unavailable", "the registry of the image is out of order (503 Service Unavailable)"),
    ],
)
def test_what_a_registry_refuses(registry, image, reason):
    found, said = connect("pull", f"{registry}/{image}:1")
    assert said.code == 1
    with pytest.raises(EngineFailed) as caught:
        found.need("pull", f"{registry}/{image}:1")
    assert (caught.value.code, caught.value.reason) == ("no-image", reason.format(name=f"{registry}/{image}"))


def test_a_registry_that_is_not_there(docker_host):
    found, _ = connect("version")
    with pytest.raises(EngineFailed) as caught:
        found.need("pull", "127.0.0.1:1/x:1")
    assert (caught.value.code, caught.value.hint) == ("no-image", BRING)
    assert caught.value.reason.startswith("the engine does not reach the registry of the image (docker says: ")


@pytest.mark.parametrize(
    "words, code, reason",
    [
        (["--name", "{taken}", "{image}", "true"], "refused", "there is already a container named {taken}"),
        (
            ["--mount", "type=bind,src=/nowhere/x,dst=/x", "{image}", "true"],
            "mount",
            "the machine of the engine has no folder /nowhere/x",
        ),
        (["--runtime", "kata", "{image}", "true"], "refused", "the engine has no runtime named kata"),
        (["--runtime", "nvidia", "{image}", "true"], "gpu", "the engine has no runtime named nvidia"),
        (["--network", "nope", "{image}", "true"], "refused", "the engine cannot connect a container to its network (docker says: network nope not found)"),
        (["--no-such-option", "{image}", "true"], "refused", "the docker program does not know the option --no-such-option"),
        (["{image}", "no-such-program"], "refused", "the image has no program no-such-program"),
        (["{image}", "/etc/passwd"], "refused", "/etc/passwd in the image may not be executed"),
        (["Nope:1"], "no-image", "this is no name of an image (docker says: invalid reference format: repository name must be lowercase)"),
    ],
)  # fmt: skip
def test_what_the_engine_refuses(docker_host, words, code, reason):
    found, _ = connect("version")
    taken = found.need("create", "--name", f"jig-test-{os.getpid()}", "jig-test/plain:1", "true").decode().strip()
    known = {"taken": f"jig-test-{os.getpid()}", "image": "jig-test/plain:1"}
    try:
        with pytest.raises(EngineFailed) as caught:
            found.need("run", "--rm", *(word.format(**known) for word in words))
    finally:
        found.need("rm", taken)
    said = caught.value.reason.replace("(library/Nope) ", "")  # of newer programs
    assert (caught.value.code, said) == (code, reason.format(**known))


def as_nobody(*words: str, sudoers: str = "", **environ: str) -> "list[str]":
    """What CONNECT prints for a user who is in no group; `sudoers` are the rules in force for that."""
    need("sudo")
    command = ["/usr/bin/setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    command += ["/usr/bin/python3", "-c", CONNECT, *words]
    if sudoers:
        rules = (
            f"mount -t tmpfs -o mode=755 rules /etc/sudoers.d; printf '{sudoers}\\n' > /etc/sudoers.d/jig; exec \"$@\""
        )
        command = ["unshare", "--mount", "sh", "-c", rules, "sh", *command]
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent", "PYTHONPATH": str(SOURCE), **environ}
    done = subprocess.run(command, env=env, cwd="/", capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.stdout.rstrip("\n").split("|")


def test_permission(docker_host):
    code, reason, hint = as_nobody("version", DOCKER_HOST=docker_host.address)
    where = docker_host.address.removeprefix("unix://")
    assert (code, hint) == ("permission", GROUP)
    assert reason == (
        f"this user may not use the Docker engine ({where}: permission denied), and not through sudo either: it asks for a password"
    )


def test_without_sudo(docker_host, tmp_path_factory):
    programs = tmp_path_factory.mktemp("bin")
    for parent in (programs, *programs.parents):
        if str(parent).startswith("/tmp/"):
            parent.chmod(0o755)
    (programs / "docker").symlink_to("/usr/bin/docker")
    code, reason, _ = as_nobody("version", DOCKER_HOST=docker_host.address, PATH=str(programs))
    where = docker_host.address.removeprefix("unix://")
    assert (code, reason) == ("permission", f"this user may not use the Docker engine ({where}: permission denied)")


@pytest.mark.parametrize("rule", ["ALL", "/usr/bin/docker, /usr/local/bin/docker"])
def test_through_sudo(docker_host, rule):
    """sudo drops DOCKER_HOST, so the engine is named; an answer of the engine is one, also when it is a refusal."""
    sudoers = f"#{NOBODY} ALL=(ALL) NOPASSWD: {rule}"
    host = {"DOCKER_HOST": docker_host.address}
    argv = f"sudo -n docker -H {docker_host.address} ps"
    said = as_nobody(
        "image", "inspect", "--format", "{{index .RepoTags 0}}", "jig-test/plain:1", sudoers=sudoers, **host
    )
    assert said == [argv, "0", "jig-test/plain:1", ""]
    said = as_nobody("image", "inspect", "--format", "{{.Id}}", "nope:1", sudoers=sudoers, **host)
    assert (said[:3], "o such image: nope:1" in said[3]) == ([argv, "1", ""], True)


def test_sudo_that_does_not_find_docker(docker_host):
    sudoers = f"Defaults secure_path=/nowhere\\n#{NOBODY} ALL=(ALL) NOPASSWD: ALL"
    said = as_nobody("ps", "-q", sudoers=sudoers, DOCKER_HOST=docker_host.address)
    assert said == [f"sudo -n /usr/bin/docker -H {docker_host.address} ps", "0", "", ""]


def test_sudo_that_may_not_start_docker(docker_host):
    said = as_nobody("version", sudoers=f"#{NOBODY} ALL=(ALL) NOPASSWD: /bin/true", DOCKER_HOST=docker_host.address)
    assert said[0] == "permission"
    assert said[1].endswith("and not through sudo either: it asks for a password")


def test_facts(docker_host, home):
    found, _ = connect("version")
    facts = found.facts(home)
    info = json.loads(docker_host.docker("info", "--format", "{{json .}}"))
    assert "runc" in info["Runtimes"]
    assert facts == {
        "version": info["ServerVersion"],
        "id": info["ID"],
        "kind": "linux",
        "rootless": False,
        "bridge": False,
        "runtimes": sorted(info["Runtimes"]),
        "cdi": False,
        "sees": True,
    }
    assert left_in(docker_host) == ["", ""]
    assert os.listdir(os.path.join(home, "engine")) == [os.path.basename(kept_at(found, home))]


def kept_at(found: Engine, home: str) -> str:
    return engine_facts._place(found, home)


def test_bridge(bridge_engine, home, monkeypatch):
    point_docker_at(bridge_engine, monkeypatch)
    assert connect("version")[0].facts(home)["bridge"] is True


@pytest.mark.parametrize("name", ["with, comma", 'quo"te', "with space", "zwölf"])
def test_every_home_is_seen(docker_host, tmp_path, name):
    assert connect("version")[0].facts(str(tmp_path / name))["sees"] is True


SEES = """
import sys
from jig.runner.engine import connect
print(connect("version")[0].facts(sys.argv[1])["sees"])
"""


def test_a_home_that_the_engine_does_not_see(docker_host, tmp_path):
    """As with an engine on another machine that happens to have a folder of that name."""
    words = [
        "sh",
        "-c",
        'mount -t tmpfs none "$0"; exec "$@"',
        str(tmp_path),
        sys.executable,
        "-c",
        SEES,
        str(tmp_path),
    ]
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = ["unshare", "--mount", "--propagation=private", *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("False\n", "")
    assert left_in(docker_host) == ["", ""]


def test_facts_are_asked_once(docker_host, home, calls):
    found, _ = connect("version")
    first = found.facts(home)
    before = calls()
    assert connect("version")[0].facts(home) == first
    assert calls() == [*before, "version"]


def test_facts_are_asked_again_when_the_engine_was_started_again(make_engine, home, calls, monkeypatch):
    own = make_engine()
    point_docker_at(own, monkeypatch)
    found, _ = connect("version")
    assert "other" not in found.facts(home)["runtimes"]
    own.stop()
    own.configure(runtimes={"other": {"path": "/usr/sbin/runc"}})
    own.start()
    assert "other" in found.facts(home)["runtimes"]
    before = calls()
    assert "other" in found.facts(home)["runtimes"]
    assert calls() == before


def test_facts_are_asked_again_after_a_day(docker_host, home, calls, monkeypatch):
    found, _ = connect("version")
    found.facts(home)
    before = len(calls())
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 24 * 3600 - 60)
    found.facts(home)
    assert len(calls()) == before
    monkeypatch.setattr(time, "time", lambda: now + 24 * 3600 + 60)
    found.facts(home)
    assert len(calls()) > before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"stamp": []}'])
def test_a_torn_file_is_no_fact(docker_host, home, text):
    found, _ = connect("version")
    first = found.facts(home)
    Path(kept_at(found, home)).write_text(text)
    assert found.facts(home) == first


def test_facts_of_an_engine_that_stops(make_engine, home, monkeypatch):
    """The program of 20.10 calls it a success when `docker info` reaches nobody."""
    own = make_engine()
    point_docker_at(own, monkeypatch)
    monkeypatch.setenv("PATH", "/usr/bin", prepend=os.pathsep)
    found, _ = connect("version")
    own.stop()
    with pytest.raises(EngineFailed) as caught:
        found.facts(home)
    assert caught.value.code == "not-running"


def test_home_key(tmp_path):
    key = home_key(str(tmp_path / "a"))
    assert len(key) == 16
    assert int(key, 16) >= 0
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert home_key(str(tmp_path / "link")) == key
    assert home_key(str(tmp_path / "b")) != key


def test_nothing_heavy_is_imported():
    """A warm submit loads this for its one call."""
    script = "import sys; import jig.runner.engine, jig.runner.engine_call, jig.runner.engine_facts, jig.runner.engine_gpu; print(*sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-S", "-c", script], env=env, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()).isdisjoint(
        {"subprocess", "json", "re", "typing", "contextlib", "tarfile", "signal", "enum"}
    )
