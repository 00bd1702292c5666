"""The smaller nouns: project, computetarget, runconfiguration."""

import os

import pytest

from jig import templates


def test_project_create_and_first_run(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = cli("project", "create", "--path", "mnist", "--template", "digits")
    assert (said.code, said.out) == (0, "created the project mnist in mnist\n\nnext:\n  cd mnist\n  jig submit -c local train.py\n")  # fmt: skip
    monkeypatch.chdir("mnist")
    said = cli("submit", "-c", "local", "train.py", "--epochs", "1", "--samples", "200")
    assert said.code == 0 and "Outputs: outputs/model.json, outputs/weights.png" in said.out


def test_a_project_in_the_folder_one_stands_in(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = cli("project", "create", "--path", ".")
    assert said.out.endswith(" in .\n\nnext:\n  jig submit -c local hello.py\n")


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        (("--path", "a"), "a"),
        (("--name", "b"), "b"),
        (("--path", "c", "--name", "d"), "c/d"),
        (("--path", "e", "-n", "e"), "e"),
        (("-n", "f", "-w", "ws", "-a", "acc", "-g", "rg", "--template"), "f"),
    ],
)
def test_where_a_project_is_made(tmp_path, cli, monkeypatch, words, folder):
    monkeypatch.chdir(tmp_path)
    assert cli("project", "create", *words).code == 0
    assert os.path.isdir(tmp_path / folder / "aml_config")
    assert os.path.exists(tmp_path / folder / ("train.py" if "--template" in words else "hello.py"))


def test_project_mistakes(tmp_path, cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("project", "create").code == 2
    said = cli("project", "create", "--path", "x", "--template", "digit")
    assert said.code == 2 and "digits" in said.err and not os.path.exists("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("precious")
    assert cli("project", "create", "--path", "full").code == 2
    assert os.listdir(tmp_path / "full") == ["mine"]


def test_samples(cli):
    assert {sample["name"] for sample in cli("project", "sample", "list").json()} == set(templates.names())


def test_compute_targets(project, cli):
    project.write("aml_config/box.compute", "type: remotedocker\naddress: box\nusername: ada\npassword: hunter2\n")
    assert cli("computetarget", "list").json() == ["box", "local"]
    said = cli("computetarget", "show", "box")
    assert said.json()["type"] == "remotedocker" and said.json()["environment"] == "managed by jig"
    assert "hunter2" not in said.out
    assert cli("computetarget", "show", "-n", "local").json()["environment"] == "the user's own Python"
    assert "box" in cli("computetarget", "show", "bax").err


def test_run_configurations(project, cli):
    assert cli("runconfiguration", "list").json() == ["local.runconfig"]
    assert cli("runconfiguration", "create", "-n", "fast", "-t", "local").code == 0
    assert cli("runconfigurations", "list").json() == ["fast.runconfig", "local.runconfig"]
    project.write("a.py", "print('by fast')")
    assert "by fast" in cli("submit", "-c", "fast", "a.py").out
    assert cli("runconfiguration", "create", "-n", "fast", "-t", "local").code != 0
    assert cli("runconfiguration", "create", "-n", "../evil", "-t", "local").code == 2
    assert cli("runconfiguration", "create", "-n", "x", "-t", "lokal").code == 2
    assert cli("runconfiguration", "delete", "-n", "fast").code == 0
    assert cli("runconfiguration", "list").json() == ["local.runconfig"]
