"""How far a Spark application is, as a person sees it."""

from jig.cli import spark_text
from jig.cli.display import Display
from jig.follow import Quiet, Reader
from jig.runner.folder import RunFolder

STAGE = {"id": 7, "name": "collect at a.py:3", "tasks": 200, "done": 92, "active": 2, "failed": 0}


def test_the_stage_that_is_at_work():
    assert spark_text.work({"stages": [STAGE]}) == (
        "stage 7 [=========           ] 92/200 tasks, collect at a.py:3"
    )  # fmt: skip
    waiting = {**STAGE, "id": 8, "active": 0, "done": 0}
    failing = {**STAGE, "failed": 3}
    assert spark_text.work({"stages": [waiting, failing]}) == (
        "stage 7 [=========           ] 92/200 tasks, 3 failed, collect at a.py:3 and 1 more"
    )
    nobody = {"stages": [waiting], "waits": True}
    assert spark_text.work(nobody).startswith("waits for executors, stage 8 [                    ] 0/200 tasks")
    assert spark_text.work({"stages": []}) == spark_text.work({"stages": [{"tasks": 0}, "nonsense"]}) == ""


def test_lines_that_are_torn_or_nonsense_are_left_out(tmp_path):
    place = tmp_path / "spark.jsonl"
    reader = Reader(RunFolder(str(tmp_path)))
    assert reader.spark() == []
    place.write_bytes(b'{"note": "a"}\n[1]\nnonsense\n{"note": ')
    assert reader.spark() == [{"note": "a", "event": "spark"}]
    with open(place, "ab") as file:
        file.write(b'"b"}\n')
    assert reader.spark() == [{"note": "b", "event": "spark"}]


def test_what_is_said_and_what_stands_at_the_bottom(monkeypatch, capsys):
    lines, screen = [], Display()
    screen._terminal = True
    monkeypatch.setattr(screen._line, "show", lines.append)
    monkeypatch.setattr("time.time", lambda: 1000.0)
    screen.page = lambda port: f"http://127.0.0.1:{port}"
    screen.show({"event": "running", "time": 988.0})
    for told in ({"note": "packing"}, {"ui": 4040}, {"page": "http://head:8088/x"}, {"stages": [STAGE]}):
        screen.show({**told, "event": "spark"})
    screen.show(Quiet(1.0))
    screen.show({"stages": [], "event": "spark"})
    screen.show(Quiet(1.0))
    assert lines == [
        "… running for 12.0 s  stage 7 [=========           ] 92/200 tasks, collect at a.py:3",
        "… running for 12.0 s",
    ]
    assert capsys.readouterr().out == (
        "jig: packing\njig: Spark's page: http://127.0.0.1:4040\njig: Spark's page: http://head:8088/x\n"
    )


def test_a_master_must_be_one(project, cli):
    words = ("computetarget", "attach", "cluster", "-n", "c", "-a")
    for address, message in (
        ("spark://head", "'spark://head' is no address of a Spark master"),
        ("spark://head:0", "is no address of a Spark master"),
    ):
        said = cli(*words, address)
        assert said.code == 2 and message in said.err
    said = cli(*words, "spark://head:7077", "-u", "ada")
    assert said.code == 2 and "is reached without a login, so that --username means nothing" in said.err
    said = cli("computetarget", "attach", "remote", "-n", "c", "-a", "h", "-u", "u", "--master", "yarn")
    assert said.code == 2 and "--master is for a cluster, and this is to be remote" in said.err
    said = cli(*words, "h", "-u", "u", "--master", "h:7077")
    assert said.code == 2 and "'h:7077' is no Spark master" in said.err
    assert not (project.path / "aml_config/c.compute").exists()
