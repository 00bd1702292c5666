"""Marks and assets of runs that live on another machine: said here, without reaching it, and kept."""

import json
import shutil

import pytest

from tests.ssh.conftest import attach_words, mirror

pytestmark = pytest.mark.timeout(60)
SCRIPT = "import jig\njig.log('loss', 0.5)\nopen('outputs/model.pkl', 'w').write('model')\n"


@pytest.fixture
def run_id(box, project):
    project.write("a.py", SCRIPT)
    said = box.submit("a.py")
    assert said.code == 0, said.out + said.err
    return said.run_id


def marks(cli, run_id):
    record = cli("history", "info", "-r", run_id).json()
    return record["tags"], record["note"], record["archived"]


def test_marks_need_no_machine_and_survive(box, cli, jig_home, run_id):
    commands = box.host.commands()
    assert cli("history", "tag", "-r", run_id, "stage=final").code == 0
    assert cli("history", "note", "-r", run_id, "seen").code == 0
    assert cli("history", "archive", run_id).code == 0
    kept = ({"stage": "final"}, "seen", True)
    assert marks(cli, run_id) == kept
    assert box.host.commands() == commands, "nobody was called"
    assert not (box.runs / run_id / "remarks.jsonl").exists()
    assert cli("history", "sync", "-c", "box").code == 0
    assert marks(cli, run_id) == kept
    assert cli("history", "rebuild").code == 0
    assert marks(cli, run_id) == kept
    remarks = [json.loads(line) for line in (mirror(jig_home, run_id) / "remarks.jsonl").read_text().splitlines()]
    assert [sorted(line) for line in remarks] == [["tags", "time"], ["note", "time"], ["archived", "time"]]


def test_an_asset_of_a_run_elsewhere(box, cli, run_id, tmp_path):
    said = cli("history", "promote", "-r", run_id, "-ap", "model.pkl", "-n", "m")
    assert said.code == 0, said.err
    assert cli("history", "delete", run_id).code == 0
    assert not (box.runs / run_id).exists()
    assert cli("asset", "download", "m", "-d", str(tmp_path / "got")).code == 0
    assert (tmp_path / "got/model.pkl").read_text() == "model"


def test_another_computer_fetches_it_from_the_machine(box, cli, run_id, jig_home, project, host, tmp_path):
    """The project came by git; the jig home did not."""
    assert cli("history", "promote", "-r", run_id, "-ap", "model.pkl", "-n", "m").code == 0
    shutil.rmtree(jig_home)
    said = cli("asset", "download", "m", "-d", str(tmp_path / "got"))
    assert said.code == 125 and "is not on this computer, and cannot be fetched from the run" in said.err
    assert "attach" in said.err.partition("hint:")[2]

    for name in ("box.compute", "box.runconfig"):
        (project.path / "aml_config" / name).unlink()
    assert cli(*attach_words(host)).code == 0
    said = cli("asset", "download", "m", "-d", str(tmp_path / "got"))
    assert said.code == 0, said.err
    assert (tmp_path / "got/model.pkl").read_text() == "model"
    assert [row["here"] for row in cli("asset", "list").json()] == [True]
    assert [one["run_id"] for one in cli("history", "list").json()] == [run_id]
    shutil.rmtree(box.runs / run_id)
    shutil.rmtree(mirror(jig_home, run_id))
    assert cli("asset", "download", "m", "-d", str(tmp_path / "again")).code == 0, "it is kept here now"


def test_a_run_that_the_machine_no_longer_has(box, cli, run_id, jig_home, project, host, tmp_path):
    assert cli("history", "promote", "-r", run_id, "-ap", "model.pkl", "-n", "m").code == 0
    shutil.rmtree(jig_home)
    shutil.rmtree(box.runs / run_id)
    for name in ("box.compute", "box.runconfig"):
        (project.path / "aml_config" / name).unlink()
    assert cli(*attach_words(host)).code == 0
    said = cli("asset", "download", "m", "-d", str(tmp_path / "got"))
    assert said.code == 125 and f"box has no run {run_id} any more" in said.err
    assert cli("history", "list").json() == []
