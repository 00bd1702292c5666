"""The MLflow endpoint of a run on a machine over SSH: there, and not here; what was logged comes home."""

import json

from tests.conftest import until
from tests.mlflow.speaking import LOG, LOGGED, PRINTED, logged
from tests.ssh.conftest import carriers, mirror


def test_a_script_logs_into_its_run(box, project, jig_home, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://of.this.computer.example")
    project.write("log.py", LOG)
    said = box.submit("log.py")
    assert said.code == 0 and PRINTED in said.out, said.out + said.err
    here = mirror(jig_home, said.run_id)
    assert logged((here / "metrics.jsonl").read_text()) == LOGGED
    (model,) = here.glob("work/outputs/model.txt")
    assert model.read_text() == "weights"
    assert carriers(box.host, said.run_id) == []


def test_values_are_seen_while_it_goes_on(box, project, cli, jig_home):
    project.write("log.py", LOG + "time.sleep(60)\n")
    run_id = box.start("log.py")

    def seen() -> bool:
        cli("logs", run_id)
        place = mirror(jig_home, run_id) / "metrics.jsonl"
        return place.exists() and logged(place.read_text()) == LOGGED

    until(seen, what="the metrics while it runs")
    assert len([words for words in carriers(box.host, run_id) if "jig_mlflow" in words]) == 1
    assert cli("cancel", run_id).out == f"{run_id}: Canceled\n"
    assert carriers(box.host, run_id) == []
    assert json.loads((mirror(jig_home, run_id) / "metrics.jsonl").read_text().splitlines()[0])["time"] > 0
