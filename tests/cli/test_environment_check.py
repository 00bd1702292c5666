"""`jig environment check`: what a submit would find, and more, without building or asking a machine."""

import json

import pytest

from tests.cli.environments import BOX, FILE, LOCK, NOT_ATTACHED, asks, attached, box

pytestmark = pytest.mark.usefixtures("no_settings")
FINE = f"{FILE}: nothing wrong was found\n"


def test_nothing_is_wrong(managed, cli):
    asks(managed, "python=3.11", "pip", pip=["six"])
    said = cli("environment", "check")
    assert (said.code, said.out, said.err) == (0, FINE, "")
    assert cli("environment", "check", "-o", "json").json() == []


def test_the_faults_that_a_submit_would_find_and_the_others(managed, cli):
    managed.write(
        FILE,
        "dependencies:\n  - python=3.11\n  - bad name!\n  - numpy=1.26\n  - numpy=1.11\n  - pip\n  - pip:\n"
        "    - -e .\n    - https://me:s3cret@h/x y.whl\n",
    )
    said = cli("environment", "check")
    assert said.code == 1
    assert said.out == (
        f"{FILE}:3: error: `bad name!` is not a package that can be read\n"
        "    fix: write a name, and a version after it\n"
        f"{FILE}:5: error: `numpy=1.11` contradicts `numpy=1.26` on line 4\n"
        "    fix: keep one of the two lines\n"
        f"{FILE}:8: error: `-e` cannot stand here: an editable install ties the environment to a folder that changes\n"
        "    fix: keep the code in the project folder, where the script can import it, or name a wheel by its URL\n"
        f"{FILE}:9: error: `https://***@h/x y.whl` is a relative path, and there is no such file in the project\n"
        "    fix: write the path of a wheel from the conda file's folder, a URL, or a full path on the machine\n"
        f"{FILE}: 4 errors\n"
    )
    found = cli("environment", "check", "-o", "json")
    assert (found.code, found.json()[0]) == (
        1,
        {
            "severity": "error",
            "file": FILE,
            "line": 3,
            "message": "`bad name!` is not a package that can be read",
            "fix": "write a name, and a version after it",
        },
    )
    assert cli("environment", "check", "--query", "[].line").json() == [3, 5, 8, 9]


def test_a_fault_is_told_once(managed, cli):
    asks(managed, "python=3.11", "python=3.12", "pip")
    said = cli("environment", "check")
    assert (said.code, said.out) == (
        1,
        f"{FILE}:2: error: `python=3.12` asks for Python again, after `python=3.11`\n"
        f"    fix: keep one of the two lines\n{FILE}: 1 error\n",
    )


def test_a_conda_file_that_cannot_be_read(managed, cli):
    managed.write(FILE, "dependencies:\n  - python: 3.11\n  - numpy\nchanels: [x]\n")
    said = cli("environment", "check")
    assert (said.code, said.out) == (
        1,
        f"{FILE}:2: error: `python: 3.11` is a key and a value, not a package\n    fix: write `- python=3.11`\n"
        f"{FILE}:4: error: `chanels` is not a key of a conda dependencies file\n    fix: did you mean `channels`?\n"
        f"{FILE}: 2 errors\n",
    )


def test_a_target_that_cannot_be_read_leaves_the_conda_file_to_look_at(managed, cli):
    managed.write("aml_config/local.compute", "type: lokal\n")
    asks(managed, "python=3.11", "numpy=1.26", "numpy=1.11")
    said = cli("environment", "check", "-o", "json")
    assert said.code == 1
    assert [(one["severity"], one["file"], one["line"]) for one in said.json()] == [
        ("error", "aml_config/local.compute", 1),
        ("error", FILE, 2),
    ]


def test_a_run_configuration_that_cannot_be_read(managed, cli):
    managed.write("aml_config/local.runconfig", "Target: local\nFramework: Pyton\n")
    said = cli("environment", "check")
    assert said.code == 1
    assert said.out.startswith("aml_config/local.runconfig:2: error: ")
    assert said.out.endswith("\naml_config/local.runconfig: 1 error\n")
    assert cli("environment", "check", "-c", "lokal").code == 2


def test_a_target_with_its_own_python_is_checked_all_the_same(project, cli):
    asks(project, "python=3.11", "numpy", "numpy")
    said = cli("environment", "check")
    note = f"aml_config/local.compute: note: `local` runs scripts with its own Python: {FILE} is not used there\n"
    assert (said.code, said.out) == (
        0,
        f"{note}{FILE}:2: warning: `numpy` stands here again, after `numpy` on line 2\n"
        f"    fix: keep one of the two lines\n{FILE}: 1 warning\n",
    )


def test_no_conda_file(managed, cli):
    said = cli("environment", "check")
    note = f"{FILE}: note: there is no such file: any Python will do, and no package is needed\n"
    assert (said.code, said.out) == (0, note + FINE)
    managed.runconfig(CondaDependenciesFile="aml_config/other.yml")
    said = cli("environment", "check")
    fault = "aml_config/other.yml: error: there is no such file\n    fix: write the file\n"
    assert (said.code, said.out) == (1, f"{fault}aml_config/other.yml: 1 error\n")


def test_a_machine_that_is_not_attached(project, cli):
    box(project)
    asks(project, "python=3.11", "pip", pip=["torch"])
    said = cli("environment", "check", "-c", "box")
    assert (said.code, said.out) == (0, f"aml_config/box.compute: note: {NOT_ATTACHED}\n{FINE}")


def test_what_is_known_of_a_machine_counts_and_it_is_not_asked(project, cli, jig_home):
    box(project)
    attached(jig_home, platform="linux x86_64", gpus=[{"driver_version": "470.57.02"}])
    asks(project, "python=3.11", "pip", "pytorch-cpu")
    said = cli("environment", "check", "-c", "box", "-o", "json")
    assert (said.code, said.err) == (0, "")
    assert [(one["severity"], one["line"], one["fix"]) for one in said.json()] == [
        ("warning", 2, "write `pytorch-gpu`")
    ]


def test_a_cluster_that_is_not_attached(project, cli):
    box(project, BOX.replace("remote", "cluster"))
    asks(project, "python=3.11", "pip", pip=["https://127.0.0.1:1/a-1.0-cp311-cp311-win_amd64.whl"])
    said = cli("environment", "check", "-c", "box", "-o", "json")
    assert said.code == 1
    assert [(one["line"], one["message"]) for one in said.json()] == [
        (0, NOT_ATTACHED),
        (2, "`a-1.0-cp311-cp311-win_amd64.whl` is a wheel for Windows, and the target `box` runs Linux"),
        (2, "https://127.0.0.1:1/a-1.0-cp311-cp311-win_amd64.whl does not answer: the connection was refused"),
    ]


def test_an_address_that_is_none(project, cli):
    box(project, BOX.replace("box.example", "me@box"))
    asks(project, "python=3.11")
    said = cli("environment", "check", "-c", "box")
    assert said.out == f"aml_config/box.compute: note: 'me@box' holds a user name\n{FINE}"


def test_a_lock_that_is_not_used(managed, cli):
    asks(managed, "python=3.11")
    managed.write(LOCK, "{")
    said = cli("environment", "check")
    assert said.code == 1
    assert said.out.startswith(f"{LOCK}: error: conda_dependencies.lock.json is not a lock that this version of jig")
    managed.write(LOCK, json.dumps({"format": 1, "for": "another", "pip": [], "conda": {}}))
    said = cli("environment", "check")
    assert (said.code, said.out) == (
        0,
        f"{LOCK}: warning: this lock does not fit {FILE} any more and is not used\n"
        f"    fix: make it again:  jig environment lock\n{FILE}: 1 warning\n",
    )
