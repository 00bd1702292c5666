"""A jig home that cannot be made, read or written: told in two lines by every command, never as a traceback."""

import subprocess

import pytest

from tests.conftest import until
from tests.mounts import mounted  # noqa: F401

READING = (("history", "list"), ("history", "list", "--where", "status = 'Failed'"), ("history", "rebuild"))
WANTING = (
    ("submit", "-c", "local", "a.py"),
    ("history", "promote", "-r", "last", "-ap", "outputs/a", "-n", "a"),
    ("history", "plot"),
    ("history", "tag", "a=b"),
    ("project", "restore", "--run-id", "last"),
    ("experiment", "reproduce", "-r", "last"),
    ("sweep", "-c", "local", "sweep.yml"),
    ("experiment", "prepare", "-c", "managed"),
    ("environment", "list"),
    ("environment", "lock"),
    ("experiment", "clean"),
    ("history", "export", "--to", "csv"),
    ("asset", "list"),
    ("logs",),
)


@pytest.fixture(params=["a disk that is read only", "a file"])
def no_home(request, tmp_path, mounted, monkeypatch):  # noqa: F811
    place = tmp_path / "there"
    if request.param == "a file":
        place.write_text("")
        home = place
    else:
        mounted(place, "-t", "tmpfs", "tmpfs")
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        home = place / "a" / "home"
    monkeypatch.setenv("JIG_HOME", str(home))
    return home


def test_no_home_at_all(project, cli, no_home):
    project.write("a.py", "print(1)")
    project.write("sweep.yml", "script: a.py\nparameters: {x: [1]}\n")
    project.write("aml_config/managed.compute", "type: local\nuserManagedEnvironment: false\n")
    project.runconfig("managed")
    project.write("aml_config/conda_dependencies.yml", "dependencies: [python=3.11]\n")
    for words in READING:
        said = cli(*words)
        assert said.code == (125 if no_home.is_file() else 0) and "the index cannot be written" in said.err, said.err
    for words in WANTING:
        said = cli(*words)  # what escapes would end this test
        assert said.code in (0, 125), said.err
        if words[0] == "submit":
            assert f"error: the jig home {no_home} cannot be used: " in said.err and "JIG_HOME" in said.err


def test_a_home_that_became_read_only(project, cli, tmp_path, mounted, monkeypatch):  # noqa: F811
    home = mounted(tmp_path / "home", "-t", "tmpfs", "tmpfs")
    monkeypatch.setenv("JIG_HOME", str(home))
    project.write("a.py", "import jig; jig.log(loss=1); open('outputs/a', 'w').write('a')")
    run_id = cli("submit", "-c", "local", "a.py").run_id
    remount = ["mount", "-o", "remount,ro", str(home)]  # refused for the moment that the supervisor takes to end
    until(lambda: subprocess.run(remount, capture_output=True).returncode == 0)
    assert cli("history", "last").json()["loss"] == 1
    assert cli("history", "plot", "-m", "loss").code == cli("logs").code == cli("history", "diff", "last").code == 0
    for words in (
        ("submit", "-c", "local", "a.py"),
        ("history", "promote", "-r", run_id, "-ap", "outputs/a", "-n", "a"),
        ("history", "tag", "a=b"),
        ("history", "note", "a"),
        ("history", "archive", run_id),
        ("history", "delete", run_id),
        ("experiment", "reproduce", "-r", run_id),
        ("project", "restore", "--run-id", run_id, "--force"),
    ):
        said = cli(*words)
        assert said.code == 125 and "Read-only file system" in said.err and "error: " in said.err, said.err
    assert cli("history", "last").json()["run_id"] == run_id


@pytest.mark.parametrize("words", ["history list", "submit -c local a.py", "project create --path x", "doctor"])
def test_the_current_folder_is_gone(tmp_path, cli, monkeypatch, words):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    said = cli(*words.split())
    assert (said.code, said.out) == (125, "") and said.err.startswith("error: the current folder cannot be used: ")
