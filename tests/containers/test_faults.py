"""What fails besides the script: disks, memory, the engine, the line; while a run goes on, and while its image is built."""

import os
import signal
import time
import zipfile

import pytest

from jig.runner import events
from jig.runner.folder import Home
from jig.system import carriers
from tests.conftest import alive, spawn, until
from tests.containers.conftest import BASE, DONE
from tests.engines.base_images import base_images
from tests.engines.engine import Engine
from tests.faults.test_run_killed import state_of
from tests.mounts import fill


def notes(jig_home, run_id: str) -> "list[str]":
    past = events.read(Home(str(jig_home)).run(run_id).events)
    return [event["text"] for event in past if event["event"] == "note"]


def status_line(said) -> str:
    (line,) = [line for line in said.out.splitlines() if line.startswith("Status: ")]
    return line


# Disks


@pytest.mark.parametrize("what", ["log", "outputs", "home"])
def test_the_disk_fills_while_it_runs(small_disk, make_engine, docker_in, cli, monkeypatch, what):
    """The jig home's: log, outputs and HOME of the script are on it."""
    home = small_disk("16m")
    docker = docker_in(make_engine())  # which sees the disk that was mounted before
    monkeypatch.setenv("JIG_HOME", str(home))
    docker.write("quiet.py", "print('fine')")
    docker.write(
        "fill.py",
        "import os\n"
        f"f = {{'log': 1, 'outputs': 'outputs/big', 'home': os.path.expanduser('~/big')}}[{what!r}]\n"
        "f = open(f, 'wb', buffering=0)\nwhile True:\n    f.write(b'x' * 9999 + b'\\n')\n",
    )
    assert cli("submit", "-c", "docker", "quiet.py").code == 0
    said = cli("submit", "-c", "docker", "fill.py")
    assert said.code != 0 and "Status: Failed: the disk was full" in said.out, status_line(said)
    records = {record["script_name"]: record for record in cli("history", "list", "-o", "json").json()}
    assert records["fill.py"]["reason"] == "disk-full" and records["quiet.py"]["status"] == "Completed"
    assert docker.containers() == []
    rest = fill(home)
    said = cli("submit", "-c", "docker", "quiet.py")  # there is no room for another run now
    assert said.code == 125 and "No space left on device" in said.err
    rest.unlink()
    assert cli("history", "delete", "-r", records["fill.py"]["run_id"]).code == 0
    assert cli("submit", "-c", "docker", "quiet.py").code == 0


@pytest.fixture
def small_engine(engine_folder, mounted, docker_in):
    """A project whose engine has room for one base image and little more."""
    folder = mounted(engine_folder / "small", "-t", "tmpfs", "-o", "size=230m", "tmpfs")
    engine = Engine(folder)
    try:
        engine.docker("import", str(base_images()["python"]), BASE)
        yield docker_in(engine)
    finally:
        engine.close()


def test_the_disk_of_the_engine_fills(small_engine, manage, cli, tmp_path):
    """While it builds, and while a script writes into its container; afterwards all is as before."""
    managed = manage(small_engine)
    with zipfile.ZipFile(tmp_path / "wheels/alpha-1.0-py3-none-any.whl", "a", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("large", bytes(200 << 20))
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 125 and state_of(cli, said.run_id) == ("Failed", "environment-failed")
    assert "o space left on device" in status_line(said), said.out
    until(lambda: managed.half_built() == [], what="that nothing half-built is left")
    assert managed.images() == []
    small_engine.target()
    small_engine.write("fill.py", "open('/tmp/big', 'wb').write(bytes(200 << 20))")
    said = cli("submit", "-c", "docker", "fill.py")
    assert said.code == 1 and "No space left on device" in said.out
    small_engine.write("quiet.py", "print('fine')")
    assert "\nfine\n" in cli("submit", "-c", "docker", "quiet.py").out
    assert small_engine.containers() == []


# Memory


@pytest.fixture
def scarce(make_engine, docker_in):
    """A project whose containers have 64 MB together."""
    return docker_in(make_engine(memory_bytes=64 << 20))


def test_out_of_memory(scarce, cli):
    scarce.write("a.py", "print('begun', flush=True)\nx = b'x' * (200 << 20)\n")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 137 and state_of(cli, said.run_id) == ("Failed", "out-of-memory")
    assert "begun\n" in said.out and scarce.containers() == []


def test_memory_of_another_run_is_not_its_own(scarce, cli):
    scarce.write("a.py", "import os; os.kill(os.getpid(), 9)")
    said = cli("submit", "-c", "docker", "a.py")
    assert state_of(cli, said.run_id) == ("Failed", "killed")


def test_a_child_out_of_memory_that_the_script_got_over(scarce, cli):
    scarce.write("a.py", "import os, sys\nif not os.fork(): x = b'x' * (200 << 20)\nprint(os.wait()[1], flush=True)\n")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 0 and "\n9\n" in said.out
    assert state_of(cli, said.run_id)[0] == "Completed"


# While an image is built


@pytest.fixture
def building(manage, cli, make_engine, docker_in):
    """building() → a project in an engine of its own, and a run whose image is being built: it waits for a package."""

    def start(project=None, **settings):
        managed = manage(project or docker_in(make_engine(**settings)))
        managed.index.stall = "/files/"
        run = cli("submit", "-a", "-c", "docker", "a.py").run_id
        assert managed.index.arrived.wait(20) and len(managed.docker.containers()) == 1
        return managed, run

    return start


def go_on(managed) -> None:
    """Let the index answer."""
    managed.index.stall = ""
    managed.index.release.set()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_engine_stopped_while_it_builds(building, cli, number):
    """It comes up again with the container still there, in which nobody builds any more."""
    managed, run = building(live_restore=True)
    managed.docker.engine.stop(number)
    until(lambda: state_of(cli, run) == ("Failed", "environment-failed"), what="the end")
    assert "Docker engine" in cli("status", run).out
    managed.docker.engine.start()
    go_on(managed)
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 0 and DONE in said.out, said.out
    until(lambda: managed.half_built() == [], what="that nothing half-built is left")


def test_the_client_killed_while_it_builds(managed, cli):
    managed.index.stall = "/files/"
    client = spawn("submit", "-c", "docker", "a.py")
    run = client.stdout.readline().decode().split()[1]
    assert managed.index.arrived.wait(20)
    client.kill()
    client.communicate()
    go_on(managed)
    until(lambda: state_of(cli, run)[0] == "Completed", what="the run's end")
    assert cli("logs", run).out == DONE[1:]


def supervisor_of(jig_home, run: str) -> int:
    past = events.read(Home(str(jig_home)).run(run).events)
    return next(event["pid"] for event in past if event["event"] == "preparing")


@pytest.mark.parametrize("after", ["clean", "submit"])
def test_the_supervisor_killed_while_it_builds(building, docker, cli, jig_home, after):
    managed, run = building(docker)
    os.kill(supervisor_of(jig_home, run), signal.SIGKILL)
    until(lambda: state_of(cli, run) == ("Lost", "supervisor-gone"), what="that it is lost")
    until(lambda: alive("jig-build-") == [], what="the end of every docker program")
    go_on(managed)
    if after == "clean":
        assert cli("experiment", "clean").code == 0
    else:
        assert DONE in cli("submit", "-c", "docker", "a.py").out
    until(lambda: managed.half_built() == [], what="that nothing half-built is left")
    cli("experiment", "clean")


def test_ctrl_c_while_it_builds(managed, cli):
    """Once: the run goes on. Twice: nothing is left."""
    managed.index.stall = "/files/"
    client = spawn("submit", "-c", "docker", "a.py", start_new_session=True)
    run = client.stdout.readline().decode().split()[1]
    assert managed.index.arrived.wait(20)
    os.killpg(client.pid, signal.SIGINT)
    until(lambda: b"the run goes on" in client.stdout.readline())
    os.killpg(client.pid, signal.SIGINT)
    client.communicate(timeout=30)
    assert state_of(cli, run)[0] == "Canceled"
    assert managed.half_built() == [] and managed.images() == []


def test_prepare_interrupted(managed, cli):
    managed.index.stall = "/files/"
    client = spawn("experiment", "prepare", "-c", "docker", start_new_session=True)
    assert managed.index.arrived.wait(20)
    os.killpg(client.pid, signal.SIGINT)
    _, err = client.communicate(timeout=30)
    assert client.returncode == 130 and b"Traceback" not in err, err
    go_on(managed)
    assert DONE in cli("submit", "-c", "docker", "a.py").out
    until(lambda: managed.half_built() == [], what="that nothing half-built is left")


# Frozen


def test_an_engine_that_does_not_answer(building, cli, jig_home):
    """At every step a cancel is not kept waiting for long; what is left goes with the next cleaning."""
    managed, builds = building()
    docker = managed.docker
    docker.target()
    docker.write("nap.py", "import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    naps = cli("submit", "-a", "-c", "docker", "nap.py").run_id
    until(lambda: cli("logs", naps).out == "here\n", what="its first line")
    docker.target(sharedVolumes=False)
    docker.write("big", os.urandom(40 << 20))
    copies = cli("submit", "--large", "-a", "-c", "docker", "nap.py").run_id
    until(lambda: alive(f" cp - jig-{copies}"), what="that files are copied")
    docker.engine.pause()
    try:
        began = time.monotonic()
        canceling = {run: spawn("cancel", run, "--grace", "0") for run in (builds, naps, copies)}
        submitting = spawn("submit", "-c", "docker", "nap.py")
        for run, process in canceling.items():
            assert process.communicate(timeout=40)[0].decode() == f"{run}: Canceled\n"
        err = submitting.communicate(timeout=40)[1].decode()
        assert submitting.returncode == 125 and "has not done" in err and time.monotonic() - began < 35, err
        for run in canceling:
            assert carriers("JIG_RUN_ID", run) == []
    finally:
        docker.engine.resume()
    assert len(cli("history", "list", "-o", "json").json()) == 3
    assert cli("experiment", "clean").code == 0
    assert managed.half_built() == []
