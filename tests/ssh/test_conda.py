"""An environment of conda packages on a machine: solved here for it, built there, with programs that are brought along."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from jig.environments.uv import find_uv
from jig.runner import rattler_tool
from tests.conda_channel import How, serve_channel
from tests.conftest import call, spawn, until
from tests.runner.wheels import make_wheel, serve
from tests.ssh.conftest import attach_words, every_file

VERSION = ".".join(map(str, sys.version_info[:3]))
PLACE = "/home/ada/.jig/envs/"


@pytest.fixture
def host(lasting_host):
    """One machine for all of these tests: each asks for an environment of its own."""
    return lasting_host


@pytest.fixture(autouse=True)
def managed(box, project, archive_at_hand):
    place = project.path / "aml_config/box.compute"
    place.write_text(place.read_text().replace("userManagedEnvironment: true", "userManagedEnvironment: false"))
    project.write("a.py", "import hello; hello.main()")


@pytest.fixture
def server(box, channel):
    """The channel, where the machine reaches it."""
    with serve_channel(channel.folder, box.host.near_address) as server:
        yield server


@pytest.fixture
def far(channel):
    """The channel, where the machine does not reach it."""
    with serve_channel(channel.folder) as server:
        yield server


def wants(project, channel_url: str, *packages: str, pip: "tuple[str, ...]" = ()) -> None:
    lines = [f"channels: ['{channel_url}']", "dependencies:", *(f"  - {package}" for package in packages)]
    lines += ["  - pip:", *(f"    - {line}" for line in pip)] if pip else []
    project.write("aml_config/conda_dependencies.yml", "\n".join(lines) + "\n")


def submit(project, *words: str):
    said = call("submit", "-c", "box", *words, "a.py", cwd=project.path, timeout=60)
    assert said.code == 0, said.out + said.err
    return said


def solvers(jig_home) -> "list[str]":
    """Processes of this test that choose packages."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if b"rattler_work.py" in (place / "cmdline").read_bytes():
                found += [place.name] if os.fsencode(jig_home) in (place / "environ").read_bytes() else []
        except OSError:  # ended while we looked
            continue
    return found


def kept(jig_home) -> "set[str]":
    """What was fetched here."""
    return set(os.listdir(jig_home / "cache/files"))


def hashes(*places: Path) -> "set[str]":
    return {hashlib.sha256(place.read_bytes()).hexdigest() for place in places}


def test_built_there_and_found_again(box, server, project, jig_home):
    box.host.run("rm -rf ~/.jig/bin ~/.jig/tools")
    wants(project, server.url, "python", "hello")
    said = submit(project)
    assert "jig: installing 2 conda packages\n" in said.out and f"hello from {PLACE}" in said.out
    assert server.packages() == ["hello-1.0-0.conda", f"python-{VERSION}-0_cpython.conda"]
    assert sorted(os.listdir(box.host.home / ".jig/tools")) == ["rattler-0.28.0"]
    assert os.listdir(box.host.home / ".jig/bin") == ["uv"]
    assert not (jig_home / "envs").exists() and not (jig_home / "cache/files").exists(), "nothing is built or kept here"
    asked = list(server.asked)
    again = submit(project)
    assert "installing" not in again.out and f"hello from {PLACE}" in again.out
    assert server.asked == asked, "and nothing is solved again"


def test_chosen_for_what_that_machine_has(box, server, project):
    project.write("a.py", "import sys; print(open(sys.prefix + '/share/gpu').read())")
    wants(project, server.url, "python", "gpu")
    box.host.write(".bashrc", "export CONDA_OVERRIDE_CUDA=12.2\n")
    try:
        assert "\ngpu 1.0 cuda_0\n" in submit(project).out
    finally:
        box.host.write(".bashrc", "")


def test_prepare(server, project):
    wants(project, server.url, "python", "hello")
    said = call("experiment", "prepare", "-c", "box", cwd=project.path, timeout=60)
    assert said.code == 0 and said.out.startswith(f"prepared: {PLACE}"), said.err
    told = said.err.splitlines()
    assert told[0].startswith("solving 2 packages for linux-") and "installing 2 conda packages" in told
    assert "installing" not in submit(project).out


def test_what_cannot_be_solved_is_said_before_there_is_a_run(box, server, project, cli):
    wants(project, server.url, "python", "left", "right")
    said = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=60)
    assert said.code == 125
    needs = ("left 1.0 needs zlib 1.2.*", "right 1.0 needs zlib >=1.3")
    assert said.err.splitlines()[0] in {f"error: {one}, but {other}" for one, other in (needs, needs[::-1])}
    assert cli("history", "list", "-o", "json").json() == []


def test_ctrl_c_while_solving_leaves_nothing(box, server, project, jig_home, cli):
    runs = sorted(os.listdir(box.runs))
    server.bad["repodata"] = How.HANG
    wants(project, server.url, "python", "hello")
    client = spawn("submit", "-c", "box", "a.py", cwd=project.path)
    assert server.arrived.wait(20)
    client.send_signal(signal.SIGINT)
    out, err = client.communicate(timeout=10)
    assert (client.returncode, out, err) == (130, b"", b"")
    assert cli("history", "list", "-o", "json").json() == []
    assert sorted(os.listdir(box.runs)) == runs
    until(lambda: not solvers(jig_home), what="the end of the solver")


def test_a_client_that_is_killed_while_solving(box, server, project, jig_home, cli):
    runs = sorted(os.listdir(box.runs))
    server.bad["repodata"] = How.HANG
    wants(project, server.url, "python", "hello")
    client = spawn("submit", "-c", "box", "a.py", cwd=project.path)
    assert server.arrived.wait(20)
    client.kill()
    client.communicate(timeout=10)
    until(lambda: not solvers(jig_home), what="the end of the solver")
    assert sorted(os.listdir(box.runs)) == runs
    server.bad.clear()
    assert f"hello from {PLACE}" in submit(project).out
    for run in cli("history", "list", "-o", "json").json():
        cli("status", run["run_id"])
    assert [run["status"] for run in cli("history", "list", "-o", "json").json()] == ["Completed"], "one, not two"


def test_a_client_that_is_killed_while_the_machine_builds(box, server, project, cli):
    box.host.run("rm -rf ~/.jig/cache")
    server.bad["hello-1.0"] = How.SLOW
    wants(project, server.url, "python", "hello")
    client = spawn("submit", "-c", "box", "a.py", cwd=project.path)
    assert server.arrived.wait(20)
    client.kill()
    client.communicate(timeout=10)
    until(lambda: cli("status", "-o", "json").json()["state"] == "Completed", what="the run's own end")
    assert f"hello from {PLACE}" in cli("logs").out


def test_a_wheel_of_the_project(box, server, project):
    wheel = make_wheel(project.path / "aml_config/own wheels", "delta", "3.0")
    project.write("a.py", "import delta, hello; print(delta.VERSION); hello.main()")
    box.host.write(".config/pip/pip.conf", "[global]\nno-index = true\n")
    try:
        wants(project, server.url, "python", "hello", pip=(f"own wheels/{wheel.name}",))
        assert "\n3.0\nhello from " in submit(project).out
        assert "installing" not in submit(project).out
        make_wheel(wheel.parent, "delta", "3.0", program=True)
        assert "installing 2 conda packages" in submit(project).out, "another content is another environment"
    finally:
        box.host.write(".config/pip/pip.conf", "")


def test_a_machine_without_certificates(box, server, project):
    """The client's come with py-rattler, for it does not start to work without any."""
    wants(project, server.url, "python", "hello", "old")
    assert box.host.run("ls /etc/ssl").returncode != 0, "none of its own"
    submit(project)
    assert box.host.run("rm ~/.jig/tools/*/certificates.pem").returncode == 0
    wants(project, server.url, "python", "hello", "zlib")
    said = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=60)
    box.host.run("rm -rf ~/.jig/tools")
    assert said.code == 125 and "py-rattler finds no certificates on this machine" in said.out
    assert "install its package ca-certificates" in said.out


def test_programs_for_a_machine_of_another_kind(box, server, project, jig_home, tmp_path, monkeypatch):
    """They come from the index then, in the client's versions."""
    box.host.run("rm -rf ~/.jig/bin ~/.jig/tools")
    (facts,) = jig_home.glob("machines/*/facts.json")
    facts.write_text(facts.read_text().replace(os.uname().machine, "s390x"))
    version = subprocess.run([find_uv(), "--version"], capture_output=True, text=True).stdout.split()[1]
    with zipfile.ZipFile(make_wheel(tmp_path / "wheels", "uv", version), "a") as wheel:
        wheel.write(find_uv(), f"uv-{version}.data/scripts/uv")
    (archive,) = jig_home.glob("cache/rattler-*.zip")
    wheel_of_rattler = make_wheel(tmp_path / "wheels", "py_rattler", rattler_tool.VERSION)
    with zipfile.ZipFile(wheel_of_rattler, "a") as wheel, zipfile.ZipFile(archive) as unpacked:
        for name in unpacked.namelist():
            wheel.writestr(name, unpacked.read(name))
    wants(project, server.url, "python", "hello")
    with serve(tmp_path / "wheels") as index:
        monkeypatch.setenv("PIP_INDEX_URL", f"{index.url}/simple")
        said = submit(project)
    assert f"hello from {PLACE}" in said.out
    assert len(kept(jig_home)) == 2


# A machine that reaches neither the channel nor the index


@pytest.fixture
def index(tmp_path):
    """An index that the machine does not reach, with `alpha` 1.0, which needs `beta`, and with `hello`."""
    make_wheel(tmp_path / "wheels", "alpha", "1.0", requires=("beta",))
    make_wheel(tmp_path / "wheels", "beta", "2.0")
    make_wheel(tmp_path / "wheels", "hello", "1.5")
    with serve(tmp_path / "wheels") as index:
        yield index


ALPHA = "import alpha, beta, hello, sys; print(alpha.VERSION, beta.VERSION, hello.__name__, sys.prefix)"


def test_the_files_come_through_the_client(channel, far, index, project, jig_home):
    project.write("a.py", ALPHA)
    wants(project, far.url, "python", "hello", pip=(f"--index-url {index.url}/simple", "alpha", "hello"))
    said = call("experiment", "prepare", "-c", "box", cwd=project.path, timeout=60)
    assert said.code == 0, said.err
    assert "127.0.0.1 cannot be reached from there: fetching the files here" in said.err.splitlines()
    assert f"1.0 2.0 hello {PLACE}" in submit(project).out
    files = hashes(channel.package("hello"), channel.package(f"python-{VERSION}"), *index.folder.glob("[ab]*"))
    assert kept(jig_home) == files, "conda brings hello, so that pip's is not fetched"
    assert far.packages() == ["hello-1.0-0.conda", f"python-{VERSION}-0_cpython.conda"]
    wants(project, far.url, "python", "hello", "zlib", pip=(f"--index-url {index.url}/simple", "alpha"))
    assert f"1.0 2.0 hello {PLACE}" in submit(project).out
    assert far.packages() == ["hello-1.0-0.conda", f"python-{VERSION}-0_cpython.conda", "zlib-1.3-0.conda"]
    assert kept(jig_home) == files | hashes(channel.package("zlib-1.3"))


def test_only_what_cannot_be_reached_is_fetched(box, channel, project, jig_home, tmp_path):
    """The channel is a folder of this computer, and the machine reaches the index."""
    make_wheel(tmp_path / "wheels", "gamma", "1.0")
    project.write("a.py", "import gamma, hello; print(gamma.VERSION); hello.main()")
    with serve(tmp_path / "wheels", box.host.near_address) as index:
        wants(project, channel.url, "python", "hello", pip=(f"--index-url {index.url}/simple", "gamma"))
        assert "\n1.0\nhello from " in submit(project).out
    assert len(os.listdir(jig_home / "cache/files")) == 2


def test_with_a_lock(far, index, project, cli):
    project.write("a.py", ALPHA)
    wants(project, far.url, "python", "hello", pip=(f"--index-url {index.url}/simple", "alpha"))
    assert cli("environment", "lock", "-c", "box").code == 0
    make_wheel(index.folder, "alpha", "1.1")
    make_wheel(index.folder, "beta", "2.1")
    assert f"1.0 2.0 hello {PLACE}" in submit(project).out


def test_a_login_stays_here(box, far, index, project, jig_home, monkeypatch):
    far.login, index.password = "me:secret-of-the-channel", "secret-of-the-index"
    place = far.url.replace("//", "//me:secret-of-the-channel@").removesuffix("/chan")
    (jig_home.parent / ".condarc").write_text(f"custom_channels: {{chan: '{place}'}}\n")
    monkeypatch.delenv("CONDARC", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("//", "//user:secret-of-the-index@") + "/simple")
    project.write("a.py", ALPHA)
    wants(project, "chan", "python", "hello", pip=("alpha",))
    assert f"1.0 2.0 hello {PLACE}" in submit(project).out
    for place, content in every_file(box.host.home / ".jig", jig_home).items():
        assert b"secret-of-the" not in content, place


def test_a_package_that_exists_as_source_only(far, index, project, cli):
    (index.folder / "onlysource-1.0.tar.gz").write_bytes(b"")
    wants(project, far.url, "python", pip=(f"--index-url {index.url}/simple", "onlysource"))
    said = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=60)
    assert said.code == 125 and "onlysource==1.0 has no usable wheels" in said.err
    assert cli("history", "list", "-o", "json").json() == []


def test_a_file_with_another_hash(far, project, cli, jig_home):
    wants(project, far.url, "python", "wronghash")
    said = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=60)
    assert said.code == 125 and f"{far.url}/noarch/wronghash-1.0-0.conda is another file than it was" in said.err
    assert cli("history", "list", "-o", "json").json() == []
    assert all(len(name) == 64 for name in os.listdir(jig_home / "cache/files")), "and no part of it stays"


def test_ctrl_c_while_fetching(far, project, cli, jig_home):
    far.bad["hello-1.0"] = How.HANG
    wants(project, far.url, "python", "hello")
    client = spawn("submit", "-c", "box", "a.py", cwd=project.path)
    assert far.arrived.wait(20)
    client.send_signal(signal.SIGINT)
    out, err = client.communicate(timeout=10)
    assert (client.returncode, out, err) == (130, b"", b"")
    assert cli("history", "list", "-o", "json").json() == []


# A machine with an old Python only


# It says that it is too old for py-rattler, and serves the runner.
OLD = """#!/bin/bash
case "$*" in *"sys.version_info < "*) exit 1;; esac
exec -a /usr/local/bin/python3 /opt/python "$@"
"""


def test_no_python_that_is_new_enough(make_host, client, server, project, cli, key_pair):
    host = make_host()
    host.authorize(key_pair.with_suffix(".pub").read_text())
    shutil.copy2(host.root / "usr/bin/python3", host.root / "opt/python")
    host.without("python3*")
    host.install("python3", OLD)
    host.write(".bashrc", "export UV_HTTP_RETRIES=0\n")
    assert cli(*attach_words(host, name="old")).code == 0
    project.runconfig("old", Target="old")
    place = project.path / "aml_config/old.compute"
    place.write_text(place.read_text().replace("userManagedEnvironment: true", "userManagedEnvironment: false"))
    wants(project, server.url, "python", "hello")
    said = call("submit", "-c", "old", "a.py", cwd=project.path, timeout=60)
    assert said.code == 125
    sentence = "conda packages are installed by Python 3.10 or newer, which is not in the search path of this machine"
    assert f"Status: Failed: the environment could not be built: {sentence}" in said.out
    assert "and none could be fetched: install one there" in said.out
