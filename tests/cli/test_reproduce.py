"""`jig experiment reproduce`: the same code, packages and arguments, and a true word about what is not the same."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.environments import asks
from tests.conda_channel import index as index_channel
from tests.runner.wheels import make_wheel, serve

pytestmark = pytest.mark.usefixtures("no_settings")
VERSION = ".".join(map(str, sys.version_info[:3]))
SERIES = VERSION.rpartition(".")[0]


def plan(jig_home: Path, run: str) -> dict:
    return json.loads((jig_home / "runs" / run / "plan.json").read_text())


def environment(jig_home: Path, run: str) -> dict:
    return json.loads((jig_home / "runs" / run / "environment.json").read_text())


def verdicts(told: dict) -> dict:
    return {row["what"]: (row["then"], row["now"], row["verdict"]) for row in told["rows"]}


def not_same(told: dict) -> dict:
    return {what: row for what, row in verdicts(told).items() if row[2] != "same"}


DATA = {"data outside the project": ("?", "?", "not checked: only the project is frozen")}


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """An index with `tiny` 1.0, which needs `part`; uv is to ask it each time."""
    folder = tmp_path / "wheels"
    make_wheel(folder, "tiny", "1.0", requires=("part",))
    make_wheel(folder, "part", "1.0")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    with serve(folder) as found:
        monkeypatch.setenv("PIP_INDEX_URL", f"{found.url}/simple")
        yield found


@pytest.fixture
def first(managed, cli, wheels):
    """A run with the versions that were the newest then; since, there are newer ones, and everything was edited."""
    asks(managed, f"python={SERIES}", pip=["tiny"])
    managed.write(
        "a.py", "import os, part, sys, tiny\nprint('v', tiny.VERSION, part.VERSION, sys.argv[1:], os.environ['SEED'])\n"
    )
    managed.runconfig(EnvironmentVariables={"SEED": "7"})
    said = cli("submit", "-c", "local", "a.py", "--lr", "0.1")
    assert "v 1.0 1.0 ['--lr', '0.1'] 7" in said.out, said.out + said.err
    make_wheel(wheels.folder, "tiny", "1.1", requires=("part",))
    make_wheel(wheels.folder, "part", "1.1")
    asks(managed, f"python={SERIES}", pip=["tiny>=1.1"])
    managed.write("a.py", "print('edited')\n")
    managed.runconfig(EnvironmentVariables={"SEED": "8"})
    return said.run_id


def test_what_a_run_has_is_written_down(first, jig_home):
    found = environment(jig_home, first)
    assert found["pip"] == ["part==1.0", "tiny==1.0"] and found["conda"] == []
    assert (found["kind"], found["python"]) == ("uv", VERSION)
    assert found["fingerprint"] == plan(jig_home, first)["environment"]["fingerprint"]
    assert found["platform"].startswith("Linux ")


def test_the_list_is_made_once_and_shared(first, managed, cli, jig_home):
    managed.write("b.py", "print(1)")
    asks(managed, f"python={SERIES}", pip=["tiny"])
    again = cli("submit", "-c", "local", "b.py").run_id
    names = [jig_home / "runs" / run / "environment.json" for run in (first, again)]
    (built,) = jig_home.glob("envs/*/jig-packages.json")
    assert {place.stat().st_ino for place in names} == {built.stat().st_ino}
    shutil.rmtree(built.parent)
    assert environment(jig_home, first)["pip"] == ["part==1.0", "tiny==1.0"], "it outlives the environment"


def test_the_same_although_all_has_changed(first, managed, cli, jig_home):
    said = cli("experiment", "reproduce", "-r", first)
    assert said.code == 0, said.out + said.err
    assert "v 1.0 1.0 ['--lr', '0.1'] 7\n" in said.out
    assert said.err == (
        f"the same as in {first}: code, arguments, parameters, target, run\n"
        "configuration, variables, python, packages, system, GPU, driver\n"
        "\n"
        "not the same, or not known:\n"
        "  data outside the project  ?  ?  not checked: only the project is frozen\n\n"
    )
    then, now = plan(jig_home, first), plan(jig_home, said.run_id)
    assert now["snapshot"] == then["snapshot"] and now["reproduces"]["run_id"] == first
    assert ["packages", "2", "2", "same"] in now["reproduces"]["rows"]
    assert environment(jig_home, said.run_id)["pip"] == environment(jig_home, first)["pip"]
    assert (managed.path / "a.py").read_text() == "print('edited')\n", "the folder is not touched"
    newer = cli("submit", "-c", "local", "a.py")
    assert environment(jig_home, newer.run_id)["pip"] == ["part==1.1", "tiny==1.1"], "while a submit gets the newest"


def test_a_reproduction_can_be_reproduced(first, cli, jig_home):
    second = cli("experiment", "reproduce", "-r", first).run_id
    built = len(os.listdir(jig_home / "envs"))
    told = cli("experiment", "reproduce", second, "-o", "json").json()
    assert not_same(told) == DATA and told["reproduces"] == second
    assert len(os.listdir(jig_home / "envs")) == built, "and has its environment"


def test_a_version_that_is_gone(first, cli, wheels, jig_home):
    shutil.rmtree(jig_home / "envs")
    os.unlink(wheels.folder / "part-1.0-py3-none-any.whl")
    said = cli("experiment", "reproduce", "-r", first, "-o", "json")
    assert said.code == 0, said.err
    told = said.json()
    assert not_same(told) == {"package part": ("1.0", "1.1", "that version cannot be had any more"), **DATA}
    assert cli("logs", "-f", told["run_id"]).code == 0
    assert environment(jig_home, told["run_id"])["pip"] == ["part==1.1", "tiny==1.0"]


def test_a_package_that_is_gone_altogether(first, cli, wheels, jig_home):
    shutil.rmtree(jig_home / "envs")
    for place in wheels.folder.glob("part-*"):
        place.unlink()
    said = cli("experiment", "reproduce", "-r", first)
    assert said.code == 125 and "part was not found" in said.err
    assert len(cli("history", "list", "-o", "json").json()) == 1, "nothing was submitted"


def test_a_python_that_is_gone(first, cli, jig_home):
    place = jig_home / "runs" / first / "environment.json"
    place.write_text(place.read_text().replace(VERSION, f"{SERIES}.99"))
    told = cli("experiment", "reproduce", "-r", first, "-o", "json").json()
    assert not_same(told) == {"python": (f"{SERIES}.99", VERSION, "different"), **DATA}


def test_a_run_of_an_older_jig(first, cli, jig_home):
    os.unlink(jig_home / "runs" / first / "environment.json")
    told = cli("experiment", "reproduce", "-r", first, "-o", "json").json()
    assert not_same(told)["packages"] == ("?", "2", "that run did not write down what it had")
    assert cli("logs", "-f", told["run_id"]).code == 0


def test_a_dry_run(first, cli):
    said = cli("experiment", "reproduce", first, "--dry-run")
    assert said.code == 0 and "of these versions exactly, where they can be" in said.out
    assert len(cli("history", "list", "-o", "json").json()) == 1


def test_in_the_background(first, cli):
    said = cli("experiment", "reproduce", first, "-a")
    assert said.code == 0 and said.out == f"RunId: {said.run_id}\n"
    assert cli("logs", "-f", said.run_id).code == 0


def test_a_wheel_of_the_project_that_was_removed_since(managed, cli, wheels, jig_home):
    own = make_wheel(managed.path / "aml_config", "own", "3.0", requires=("part",))
    asks(managed, f"python={SERIES}", pip=[own.name])
    managed.write("a.py", "import own, part; print('v', own.VERSION, part.VERSION)")
    run = cli("submit", "-c", "local", "a.py").run_id
    assert environment(jig_home, run)["pip"][0].startswith("own==3.0 (from file:///")
    own.unlink()
    make_wheel(wheels.folder, "part", "1.1")
    shutil.rmtree(jig_home / "envs")
    assert cli("experiment", "clean").code == 0, "its bytes stay as long as the run"
    said = cli("experiment", "reproduce", "-r", run)
    assert said.code == 0 and "v 3.0 1.0\n" in said.out, said.err


def test_a_password_of_the_index_is_in_the_frozen_file_only(managed, cli, wheels, jig_home):
    wheels.password = "hush"
    address = wheels.url.replace("://", "://user:hush@")
    asks(managed, f"python={SERIES}", pip=[f"--index-url {address}/simple", "part"])
    managed.write("a.py", "import part; print('v', part.VERSION)")
    run = cli("submit", "-c", "local", "a.py").run_id
    make_wheel(wheels.folder, "part", "1.1")
    asks(managed, f"python={SERIES}")
    shutil.rmtree(jig_home / "envs")
    said = cli("experiment", "reproduce", "-r", run)
    assert said.code == 0 and "v 1.0\n" in said.out, said.err
    for folder in (jig_home / "runs", jig_home / "envs"):
        for place in folder.rglob("*"):
            if place.is_file() and place.name not in ("conda_dependencies.yml",):
                assert b"hush" not in place.read_bytes(), place


def test_conda_packages(managed, cli, channel, tmp_path, jig_home):
    folder = tmp_path / "chan"
    shutil.copytree(channel.folder, folder)
    (newer,) = folder.glob("noarch/zlib-1.3*")
    newer.rename(tmp_path / newer.name)
    index_channel(folder)
    asks(managed, "python", "zlib", channels=[folder.as_uri()])
    managed.write("a.py", "import os, sys; print(open(os.path.join(sys.prefix, 'share/zlib')).read())")
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 0 and "\nzlib 1.2 0\n" in said.out, said.out + said.err
    shutil.copy(tmp_path / newer.name, newer)
    index_channel(folder)
    shutil.rmtree(jig_home / "envs")
    shutil.rmtree(jig_home / "cache")
    again = cli("experiment", "reproduce", "-r", said.run_id)
    assert again.code == 0 and "\nzlib 1.2 0\n" in again.out, again.out + again.err
    assert "python, packages," in again.err
    records = environment(jig_home, again.run_id)["conda"]
    assert {record["name"] for record in records} >= {"python", "zlib"}


@pytest.fixture
def own(project, cli, monkeypatch):
    """A run with the person's own interpreter, a secret, and a parameter."""
    project.write("a.py", "import os; print('token', os.environ.get('TOKEN'), os.environ.get('PLACE'))")
    project.runconfig(EnvironmentVariables={"TOKEN": {"fromClient": True}, "SEED": "1"})
    monkeypatch.setenv("TOKEN", "hush")
    return cli("submit", "-c", "local", "a.py").run_id


def test_a_secret_is_never_written_down(own, project, cli, jig_home, monkeypatch):
    assert plan(jig_home, own)["client_variables"] == ["TOKEN"]
    told = cli("experiment", "reproduce", own, "-o", "json").json()
    assert not_same(told)["variable TOKEN"] == ("(secret)", "(secret)", "its value is never written down")
    assert cli("logs", "-f", told["run_id"]).out == "token hush None\n"
    monkeypatch.delenv("TOKEN")
    told = cli("experiment", "reproduce", own, "-o", "json").json()
    assert not_same(told)["variable TOKEN"] == ("(secret)", "-", "it is not set on this computer")
    assert cli("logs", "-f", told["run_id"]).out == "token None None\n"


def test_another_target(own, project, cli):
    project.write("aml_config/other.compute", f"type: local\npythonLocation: {sys.executable}\n")
    project.runconfig("other", EnvironmentVariables={"PLACE": "there", "SEED": "2"})
    told = cli("experiment", "reproduce", own, "-c", "other", "-o", "json").json()
    found = not_same(told)
    assert found["target"] == ("local", "other", "different")
    assert found["variable PLACE"] == ("-", "there", "different")
    assert "variable SEED" not in found, "the run's own value counts"
    assert found["environment"][1] == sys.executable
    assert cli("logs", "-f", told["run_id"]).out == "token hush there\n"


def test_a_configuration_that_is_gone(own, project, cli):
    os.unlink(project.path / "aml_config/local.runconfig")
    said = cli("experiment", "reproduce", own)
    assert said.code == 2 and f"the run {own} had it" in said.err and f"reproduce -r {own} -c NAME" in said.err


def test_code_that_is_gone(own, cli, jig_home):
    for place in (jig_home / "blobs").glob("??/*"):
        if place.read_bytes().startswith(b"import os; print('token'"):
            place.unlink()
    said = cli("experiment", "reproduce", own)
    assert said.code == 125 and "is not whole any more: a.py cannot be found" in said.err
    assert len(cli("history", "list", "-o", "json").json()) == 1
