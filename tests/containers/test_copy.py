"""Where no folder is mounted the files are copied in and out, and the record is the same."""

import os
import shutil
import signal

import pytest

from jig.runner.folder import Home
from tests.conftest import call, until
from tests.engines.base_images import base_images
from tests.faults.test_run_killed import state_of

WORK = """
import os, time, jig
os.write(1, bytes(range(256)) * 400)
for step in range(3):
    jig.log("loss", 1 / (step + 1))
os.makedirs("outputs/deep")
open("outputs/deep/model.bin", "wb").write(os.urandom(3000000))
os.symlink("deep/model.bin", "outputs/best")
open("outputs/run.sh", "w").write("#!/bin/sh\\n")
os.chmod("outputs/run.sh", 0o755)
print(os.getcwd(), open("data.txt").read(), os.environ["HOME"], "AZUREML_NATIVE_SHARE_DIRECTORY" in os.environ)
"""


@pytest.fixture
def copied(docker):
    docker.target(sharedVolumes=False)
    return docker


def test_the_same_record(copied, cli, jig_home):
    copied.write("work.py", WORK)
    copied.write("data.txt", "from the project")
    said = cli("submit", "-c", "docker", "work.py")
    assert said.code == 0, said.out + said.err
    folder = Home(str(jig_home)).run(said.run_id)
    with open(folder.log, "rb") as file:
        assert file.read() == bytes(range(256)) * 400 + b"/azureml-run from the project /jig/home False\n"
    outputs = os.path.join(folder.outputs, "")
    assert os.path.getsize(outputs + "deep/model.bin") == 3000000
    assert os.readlink(outputs + "best") == "deep/model.bin"
    assert os.stat(outputs + "run.sh").st_mode & 0o777 == 0o755
    assert cli("history", "info", "-r", said.run_id, "-o", "json").json()["loss"] == pytest.approx(1 / 3)
    assert copied.containers() == []


def test_nothing_of_this_machine_is_mounted(copied, cli):
    copied.write("nap.py", "import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    run = cli("submit", "-a", "-c", "docker", "nap.py").run_id
    until(lambda: cli("logs", run).out == "here\n", what="the log while it runs")
    assert copied.engine.docker("inspect", "--format", "{{len .Mounts}}", f"jig-{run}") == "0\n"
    assert cli("cancel", run).out == f"{run}: Canceled\n"
    assert copied.containers() == []


def test_links_that_lead_out_of_the_outputs_are_not_followed(copied, cli, jig_home, tmp_path):
    (tmp_path / "precious").mkdir()
    copied.write(
        "evil.py",
        "import os\n"
        f"os.symlink({str(tmp_path / 'precious')!r}, 'outputs/out')\n"
        "os.makedirs('outputs/fine')\n"
        "open('outputs/fine/a', 'w').write('a')\n",
    )
    said = cli("submit", "-c", "docker", "evil.py")
    assert said.code == 0, said.out + said.err
    outputs = Home(str(jig_home)).run(said.run_id).outputs
    assert os.listdir(tmp_path / "precious") == []
    assert sorted(os.listdir(outputs)) == ["fine", "out"]


def test_a_long_log_while_the_engine_is_cut_off(copied, cli):
    """The docker program that watches is killed: the run is not lost with it, or ends with its reason."""
    copied.write("count.py", "import time\nfor n in range(40):\n    print(n, flush=True)\n    time.sleep(0.05)\n")
    said = cli("submit", "-c", "docker", "count.py")
    assert said.code == 0
    assert cli("logs", said.run_id).out == "".join(f"{n}\n" for n in range(40))


def test_files_that_are_no_plain_files(copied, cli, jig_home):
    copied.write(
        "a.py",
        "import os\nos.chdir('outputs')\n"
        "open('first', 'w').write('both')\nos.link('first', 'second')\nos.utime('first', (1000, 1000))\n"
        "os.mkfifo('pipe')\nopen(b'\\xfe', 'w').write('no text')\nos.symlink('/etc', 'etc')\nos.link('/etc/hostname', 'host')\n",
    )
    said = cli("submit", "-c", "docker", "a.py")
    outputs = os.fsencode(Home(str(jig_home)).run(said.run_id).outputs)
    left = [name for name in sorted(os.listdir(outputs)) if name != b"host"]
    assert left == [b"etc", b"first", b"second", b"\xfe"]
    for name in (b"first", b"second"):
        with open(os.path.join(outputs, name)) as file:
            assert file.read() == "both"
        assert os.stat(os.path.join(outputs, name)).st_mtime == 1000


def test_a_script_that_makes_odd_files_where_its_log_is(copied, cli):
    """The log comes while it runs, whatever lies beside it."""
    copied.write(
        "a.py",
        "import os, time\nos.chdir('/jig/run')\n"
        "for name in ('output.a b.log', 'metrics.evil', 'output.\\nx.log'): open(name, 'w').write('x')\n"
        "os.mkdir('output.3.log')\nos.mkfifo('metrics.7.jsonl')\nprint('here', flush=True)\ntime.sleep(600)\n",
    )
    run = cli("submit", "-a", "-c", "docker", "a.py").run_id
    until(lambda: cli("logs", run).out == "here\n", what="the log while it runs")
    assert cli("cancel", run, "--grace", "0").out == f"{run}: Canceled\n"
    assert copied.containers() == []


def test_no_room_for_what_it_left(small_disk, make_engine, docker_in, cli, monkeypatch):
    home = small_disk("16m")
    docker = docker_in(make_engine())
    docker.target(sharedVolumes=False)
    monkeypatch.setenv("JIG_HOME", str(home))
    docker.write("a.py", "open('outputs/x', 'wb').write(bytes(30 << 20))")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 1 and state_of(cli, said.run_id) == ("Failed", "disk-full")
    assert docker.containers() == []


def test_a_copy_that_breaks_off_is_tried_again(copied, cli, jig_home, tmp_path, monkeypatch):
    """The docker program is killed in the middle of the outputs: no half of a file is taken for the whole."""
    docker, place = shutil.which("docker"), tmp_path / "bin/docker"
    place.parent.mkdir()
    place.write_text(
        f"""#!/bin/sh
case "$*" in
cp*outputs*) [ -e {tmp_path}/broken ] || {{ touch {tmp_path}/broken; {docker} "$@" | head -c 1000000; exit 1; }} ;;
esac
exec {docker} "$@"
"""
    )
    place.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place.parent}:{os.environ['PATH']}")
    copied.write("a.py", "for name in 'abc': open('outputs/' + name, 'wb').write(name.encode() * 700000)")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 0 and (tmp_path / "broken").exists(), said.out
    outputs = Home(str(jig_home)).run(said.run_id).outputs
    assert {name: os.path.getsize(os.path.join(outputs, name)) for name in os.listdir(outputs)} == dict.fromkeys(
        "abc", 700000
    )


@pytest.fixture
def own_copied(make_engine, docker_in):
    """The same in an engine of the test's own."""
    project = docker_in(make_engine())
    project.target(sharedVolumes=False)
    project.write("nap.py", "import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    return project


def test_cancel_after_the_engine_was_killed(own_copied, cli):
    run = cli("submit", "-a", "-c", "docker", "nap.py").run_id
    until(lambda: cli("logs", run).out == "here\n", what="the log while it runs")
    own_copied.engine.stop(signal.SIGKILL)
    assert call("cancel", run, "--grace", "0", timeout=30).out == f"{run}: Canceled\n"


def test_an_engine_whose_people_are_others_inside(make_engine, docker_in, cli, jig_home):
    """With user namespaces a container may not read the mounted folders: the run is done without them."""
    engine = make_engine(own_network=True, userns_remap="default")
    engine.docker("import", str(base_images()["python"]), "jig-test/python:1")
    docker = docker_in(engine)
    docker.write(
        "a.py",
        "import os\nprint(os.getuid(), 'AZUREML_NATIVE_SHARE_DIRECTORY' in os.environ)\nopen('outputs/x', 'w').close()\n",
    )
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 0, said.out
    assert "files are copied in and out instead\n0 False\n" in said.out
    assert os.listdir(Home(str(jig_home)).run(said.run_id).outputs) == ["x"]
    assert docker.containers() == []
