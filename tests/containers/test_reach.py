"""What a script in a container cannot reach: the record of its run, root, other people's containers."""

import json
import os
from pathlib import Path

import pytest

from jig.runner.folder import Home
from tests.faults.test_run_killed import state_of

LOOK = """
import json, os
def can(path, mode="a"):
    try:
        open(path, mode).close()
        return True
    except OSError:
        return False
print(json.dumps({
    "run": sorted(os.listdir("/jig/run")),
    "passwd": [can("/etc/passwd"), can("/etc/group"), can("/jig/pack/script/jig_init.py")],
    "raise": [line.split()[1] for line in open("/proc/self/status") if line.startswith("NoNewPrivs")],
}))
"""


def test_it_has_only_its_own_of_the_run(docker, cli):
    docker.write("look.py", LOOK)
    said = cli("submit", "-c", "docker", "look.py")
    found = json.loads(next(line for line in said.out.splitlines() if line.startswith("{")))
    assert found == {
        "run": ["inside.json", "lock", "metrics.jsonl", "nonce", "output.log", "pycache"],
        "passwd": [False, False, False],
        "raise": ["1"],
    }


def test_a_link_in_the_place_of_the_log_leads_nowhere(docker, cli, jig_home, tmp_path):
    """Its name inside is the script's to change; the file that is written and read is the same."""
    (tmp_path / "precious").write_text("precious")
    docker.write(
        "link.py",
        "import os\nimport jig\njig.log('loss', 1)\nfor name in ('output.log', 'metrics.jsonl'):\n"
        f"    os.symlink({str(tmp_path / 'precious')!r}, '/jig/run/link')\n"
        "    os.replace('/jig/run/link', '/jig/run/' + name)\n"
        "    print(os.readlink('/jig/run/' + name))\n",
    )
    said = cli("submit", "-c", "docker", "link.py")
    folder = Home(str(jig_home)).run(said.run_id)
    assert cli("logs", said.run_id).out == f"{tmp_path / 'precious'}\n" * 2
    assert not os.path.islink(folder.log) and not os.path.islink(folder.metrics)
    assert '"loss": 1' in Path(folder.metrics).read_text()
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize("shared", [True, False])
def test_a_pipe_in_the_place_of_the_outcome_does_not_hang_anything(docker, cli, shared):
    docker.target(sharedVolumes=shared)
    docker.write(
        "pipe.py", "import os\nos.chdir('/jig/run')\nos.mkfifo('outcome.json')\nos.mkdir('outcome.json.new')\n"
    )
    said = cli("submit", "-c", "docker", "pipe.py")
    assert said.code == 0, said.out
    assert docker.containers() == []


def test_an_outcome_says_nothing_but_how_it_ended(docker, cli):
    lie = {"exit": 3, "note": "x", "engine": "gone", "guard": "killed", "out_of_memory": True, "lost": "x"}
    docker.write(
        "lie.py",
        "import os\nos.chdir('/jig/run')\nos.mkdir('outcome.json.new')\n"
        f"open('outcome.json', 'w').write({json.dumps(lie)!r})\nraise SystemExit(3)\n",
    )
    said = cli("submit", "-c", "docker", "lie.py")
    assert said.code == 3
    assert state_of(cli, said.run_id) == ("Failed", "exited")


def test_clean_spares_what_a_person_makes_of_our_images(docker, cli, jig_home, monkeypatch):
    """A container inherits the labels of its image."""
    from jig.runner import image_store
    from jig.runner.engine import home_key

    monkeypatch.setattr(image_store, "FORGOTTEN_S", -3600.0)
    engine = docker.engine
    label = f"LABEL jig.home={home_key(str(jig_home))} jig.build="
    made = engine.docker("create", "jig-test/python:1", "true").strip()
    engine.docker("commit", "--change", label, made, "mine:1")
    engine.docker("rm", made)
    engine.docker("run", "-d", "--network", "host", "--name", "mine", "mine:1", "sleep", "600")
    docker.write("a.py", "")
    assert cli("submit", "-c", "docker", "a.py").code == 0
    assert cli("experiment", "clean").code == 0
    assert engine.docker("ps", "--filter", "name=^mine$", "--format", "{{.Names}}") == "mine\n"
