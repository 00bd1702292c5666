import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.errors import ProjectError, UsageError
from jig.project import ComputeTarget, Project, RunConfig, delete_run_config, write_run_config
from jig.project.names import is_name, project_name

HOSTILE = ["", ".", "..", "../x", "a/b", "a\\b", "-c", "-", ".hidden", "a b", "a\nb", "a\0b", "a'b", 'a"b', "a*", "$x"]


@pytest.mark.parametrize("folder", ["plain", "with space", "quote'\"", "line\nbreak", "проект", "-dash"])
def test_find_walks_up(tmp_path, folder):
    root = tmp_path / folder
    inner = root / "a" / "b"
    inner.mkdir(parents=True)
    (root / "aml_config").mkdir()
    for start in (root, inner, root / "aml_config"):
        assert Project.find(str(start)).root == str(root)


def test_find_from_a_relative_path(tmp_path, monkeypatch):
    (tmp_path / "p" / "aml_config").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert Project.find("p") == Project(str(tmp_path / "p"), "p")
    monkeypatch.chdir(tmp_path / "p")
    assert Project.find(".") == Project(str(tmp_path / "p"), "p")


def test_find_says_how_to_make_a_project(tmp_path):
    (tmp_path / "aml_config").write_text("a file, not a folder")
    with pytest.raises(UsageError) as caught:
        Project.find(str(tmp_path))
    assert str(tmp_path) in caught.value.message
    assert "jig project create --path" in caught.value.hint
    with pytest.raises(UsageError, match="there is no folder"):
        Project.find(str(tmp_path / "none"))


def test_find_in_a_folder_that_was_removed(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(UsageError, match="no longer exists"):
        Project.find(".")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("mnist", "mnist"),
        ("My Project_2", "My-Project-2"),
        ("-dash-", "dash"),
        ("a--b", "a-b"),
        ("проект", "project"),
        ("'\"\n", "project"),
        ("x" * 200, "x" * 64),
        ("x" * 63 + " y", "x" * 63),
        ("", "project"),
    ],
)
def test_project_names(folder, name):
    assert project_name(os.path.join(os.sep, folder)) == name


@given(st.text())
def test_a_project_name_is_always_safe(folder):
    name = project_name(os.path.join(os.sep, folder))
    assert name
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
    assert name[0] != "-"


@given(st.text())
def test_a_name_is_never_a_path_or_an_option(name):
    if is_name(name):
        assert os.path.basename(name) == name
        assert not name.startswith((".", "-"))
        assert name.isprintable()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused_before_any_file_is_touched(project, name):
    opened = project({"local.compute": "type: local\n", "local.runconfig": ""})
    for call in (
        lambda: opened.run_config(name),
        lambda: opened.compute_target(name),
        lambda: write_run_config(opened, name, "local"),
        lambda: write_run_config(opened, "new", name),
        lambda: delete_run_config(opened, name),
    ):
        with pytest.raises(UsageError, match="cannot be the name of a"):
            call()
    assert sorted(os.listdir(os.path.join(opened.root, "aml_config"))) == ["local.compute", "local.runconfig"]


def test_names_that_exist(project):
    opened = project(
        {"b.runconfig": "", "a-1.runconfig": "", ".x.runconfig": "", "b.compute": "", "b.txt": "", "a b.runconfig": ""}
    )
    assert opened.run_config_names() == ("a-1", "b")
    assert opened.target_names() == ("b",)


def test_a_run_configuration_that_does_not_exist(project):
    opened = project({"local.runconfig": "", "docker.runconfig": "", "gpu.compute": "type: local\n"})
    with pytest.raises(UsageError) as caught:
        opened.run_config("lokale")
    assert caught.value.message == "there is no run configuration `lokale`; this project has docker, local"
    assert caught.value.hint == "did you mean `local`?"
    with pytest.raises(UsageError) as caught:
        opened.run_config("local.runconfig")
    assert caught.value.hint == "did you mean `local`?"
    with pytest.raises(UsageError) as caught:
        opened.run_config("gpu")
    assert caught.value.hint == "the compute target `gpu` exists: `jig runconfiguration create -n gpu -t gpu`"
    with pytest.raises(UsageError) as caught:
        opened.compute_target("gpuu")
    assert caught.value.message == "there is no compute target `gpuu`; this project has gpu"
    assert caught.value.hint == "did you mean `gpu`?"


def test_nothing_there_at_all(project):
    with pytest.raises(UsageError) as caught:
        project({}).run_config("local")
    assert (caught.value.message, caught.value.hint) == (
        "there is no run configuration `local`; this project has none",
        "it would be the file aml_config/local.runconfig; "
        "`jig computetarget attach remote -n local -a HOST -u USER` writes it for a machine over SSH",
    )


def test_a_broken_link_is_a_fault(project):
    opened = project({})
    os.symlink("nowhere", os.path.join(opened.root, "aml_config", "x.compute"))
    with pytest.raises(ProjectError, match="aml_config/x.compute: could not be read"):
        opened.compute_target("x")


def test_a_new_run_configuration_reads_back(project):
    opened = project({"null.compute": "type: local\n"})
    path = write_run_config(opened, "new.one", "null")
    assert path == os.path.join(opened.root, "aml_config", "new.one.runconfig")
    config = opened.run_config("new.one")
    assert config == RunConfig("new.one", "null", framework="Python", framework_line=config.framework_line)
    assert opened.compute_target(config.target) == ComputeTarget("null", "local")
    with open(path, encoding="utf-8") as stream:
        lines = stream.read().splitlines()
    assert lines[config.framework_line - 1] == "Framework: Python"
    assert "PrepareEnvironment: true" in lines
    assert sum(line.startswith("# ") for line in lines) >= 7


def test_creating_never_overwrites(project):
    opened = project({"local.compute": "type: local\n", "local.runconfig": "Target: mine\n"})
    with pytest.raises(UsageError, match="exists already: aml_config/local.runconfig"):
        write_run_config(opened, "local", "local")
    assert opened.run_config("local").target == "mine"
    with pytest.raises(UsageError) as caught:
        write_run_config(opened, "new", "locall")
    assert caught.value.hint == "did you mean `local`?"
    assert opened.run_config_names() == ("local",)


def test_delete(project):
    opened = project({"local.runconfig": "", "local.compute": "type: local\n"})
    delete_run_config(opened, "local")
    assert (opened.run_config_names(), opened.target_names()) == ((), ("local",))
    with pytest.raises(UsageError, match="there is no run configuration `local`"):
        delete_run_config(opened, "local")


def test_the_cache_is_in_jig_home(project, jig_home):
    opened = project({"local.runconfig": "Target: local\n", "local.compute": "type: local\n"})
    opened.run_config("local")
    opened.compute_target("local")
    assert len(os.listdir(jig_home / "cache" / "yaml")) == 2


def test_without_a_home_nothing_is_cached(project, monkeypatch):
    monkeypatch.delenv("JIG_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    opened = project({"local.compute": "type: local\n"})
    monkeypatch.chdir(opened.root)
    assert opened.compute_target("local").kind == "local"
    assert sorted(os.listdir(opened.root)) == ["aml_config"]


def test_importing_is_cheap():
    heavy = ("yaml", "difflib", "json", "hashlib", "subprocess", "tempfile", "shutil", "dataclasses", "inspect")
    program = f"import sys, jig.project; print([name for name in {heavy!r} if name in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "[]\n"
