"""Runs on a machine over SSH: made again there and here, compared, and their code brought home."""

import json
import os
import shutil
import sys

import pytest

from tests.conftest import call
from tests.runner.wheels import make_wheel
from tests.ssh.conftest import mirror


@pytest.fixture
def managed(box, project):
    """The machine has wheels in its home, and pip is told so."""
    wheels = box.host.home / "wheels"
    make_wheel(wheels, "tiny", "1.0", requires=("part",))
    make_wheel(wheels, "part", "1.0")
    settings = f"[global]\nno-index = true\nfind-links = /home/ada/{wheels.name}\n"
    done = box.host.run(f"mkdir -p ~/.config/pip && printf '%s' '{settings}' > ~/.config/pip/pip.conf")
    assert done.returncode == 0, done.stderr
    version = box.host.run("python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'").stdout.strip()
    project.write("aml_config/conda_dependencies.yml", f"dependencies:\n  - python={version}\n  - pip:\n    - tiny\n")
    place = project.path / "aml_config/box.compute"
    place.write_text(place.read_text().replace("userManagedEnvironment: true", "userManagedEnvironment: false"))
    project.write("a.py", "import part, sys, tiny; print('v', tiny.VERSION, part.VERSION, sys.argv[1:])")
    return box


def outdate(box, project) -> None:
    """There are newer versions by now, and the project was edited."""
    make_wheel(box.host.home / "wheels", "tiny", "1.1", requires=("part",))
    make_wheel(box.host.home / "wheels", "part", "1.1")
    place = project.path / "aml_config/conda_dependencies.yml"
    place.write_text(place.read_text().replace("tiny", "tiny>=1.1"))
    project.write("a.py", "print('edited')")


def test_made_again_there(managed, project, jig_home):
    said = call("submit", "-c", "box", "a.py", "--lr", "0.1", cwd=project.path, timeout=120)
    assert said.code == 0, said.out + said.err
    first = said.run_id
    had = json.loads((mirror(jig_home, first) / "environment.json").read_text())
    assert had["pip"] == ["part==1.0", "tiny==1.0"], "what it had is part of the copy here"
    outdate(managed, project)
    again = call("experiment", "reproduce", "-r", first, cwd=project.path, timeout=120)
    assert again.code == 0, again.out + again.err
    assert "v 1.0 1.0 ['--lr', '0.1']\n" in again.out
    assert again.err.startswith(f"the same as in {first}: code, arguments,")
    assert "python, packages, system, GPU, driver" in " ".join(again.err.split())
    now = json.loads((mirror(jig_home, again.run_id) / "plan.json").read_text())
    assert now["reproduces"]["run_id"] == first
    assert not (jig_home / "envs").exists(), "nothing is built here"
    newer = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=120)
    told = call("history", "compare", first, newer.run_id, "-o", "json", cwd=project.path).json()
    assert told["environment"]["tiny"] == {"values": ["1.0", "1.1"], "same": False}
    assert told["code"]["a.py"]["values"][1]["change"] == "changed"


def test_a_run_from_there_made_again_here(box, project, cli):
    project.write("a.py", "import sys; print('v', sys.argv[1:])")
    first = box.submit("a.py", "x y").run_id
    project.write("a.py", "print('edited')")
    project.write("aml_config/local.compute", f"type: local\npythonLocation: {sys.executable}\n")
    told = cli("experiment", "reproduce", "-r", first, "-c", "local", "-o", "json").json()
    found = {row["what"]: row["verdict"] for row in told["rows"]}
    assert (found["code"], found["arguments"], found["target"]) == ("same", "same", "different")
    assert cli("logs", "-f", told["run_id"]).out == "v ['x y']\n"


def test_code_that_was_collected_here_comes_from_the_machine(box, project, cli, jig_home):
    """Another computer submitted it, or the blobs were lost: the machine has them."""
    project.write("a.py", "print(1)\n")
    first = box.submit("a.py").run_id
    project.write("a.py", "print(2)\n")
    second = box.submit("a.py").run_id
    project.write("a.py", "print(3)\n")
    shutil.rmtree(jig_home / "blobs")
    shutil.rmtree(jig_home / "cache")
    said = cli("history", "diff", first, second)
    assert said.code == 0 and "\n-print(1)\n+print(2)\n" in said.out, said.err
    shutil.rmtree(jig_home / "blobs")
    assert cli("project", "restore", first, "--force").code == 0
    assert (project.path / "a.py").read_text() == "print(1)\n"


def test_code_of_a_run_elsewhere_is_not_collected_here(box, project, cli, jig_home):
    project.write("a.py", "print(1)\n")
    first = box.submit("a.py").run_id
    assert cli("experiment", "clean").code == 0
    assert any(place.read_bytes() == b"print(1)\n" for place in (jig_home / "blobs").glob("??/*"))
    project.write("a.py", "print(2)\n")
    assert cli("history", "diff", first, "--name-only").out == "a.py\n"


def test_a_machine_that_lost_the_code_too(box, project, cli, jig_home):
    project.write("a.py", "print(1)\n")
    first = box.submit("a.py").run_id
    project.write("a.py", "print(2)\n")
    for home in (jig_home, box.host.home / ".jig"):
        for place in (home / "blobs").glob("??/*"):
            if place.read_bytes() == b"print(1)\n":
                os.unlink(place)
    said = cli("history", "diff", first)
    assert said.code == 125 and "is not whole any more: a.py cannot be found" in said.err


def test_a_machine_that_sends_something_else(box, project, cli, jig_home):
    project.write("a.py", "print(1)\n")
    first = box.submit("a.py").run_id
    for home in (jig_home, box.host.home / ".jig"):
        for place in (home / "blobs").glob("??/*"):
            if place.read_bytes() == b"print(1)\n":
                place.write_bytes(b"print(6)\n")
    project.write("a.py", "print(2)\n")
    said = cli("history", "diff", first)
    assert said.code == 125 and "a.py cannot be found" in said.err and "print(6)" not in said.out


def test_a_machine_that_is_detached(box, project, cli, jig_home):
    project.write("a.py", "print(1)\n")
    first = box.submit("a.py").run_id
    assert cli("computetarget", "detach", "-n", "box").code == 0
    assert cli("history", "diff", first, first).code == 0, "all is here"
    shutil.rmtree(jig_home / "blobs")
    said = cli("history", "diff", first, first)
    assert said.code == 125 and "not attached" in said.err
