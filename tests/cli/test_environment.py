"""`jig environment`: show, check, lock, list, prune."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jig.cli.environment import SIZES, TIMES, _measure
from jig.environments.lock import read
from jig.errors import UsageError
from tests.conda_channel import SUBDIR, Channel
from tests.runner.wheels import make_wheel, serve

FILE = "aml_config/conda_dependencies.yml"
LOCK = "aml_config/conda_dependencies.lock.json"
FINE = f"{FILE}: nothing wrong was found\n"
BOX = "type: remote\naddress: box.example\nusername: me\nuserManagedEnvironment: false\n"
NOT_ATTACHED = "`box` is not attached on this computer, and what it has is not known"
VERSION = ".".join(map(str, sys.version_info[:3]))


@pytest.fixture(autouse=True)
def own_settings(tmp_path, monkeypatch):
    for name in os.environ:
        if name.upper().startswith(("PIP_", "UV_", "CONDA")) or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("CONDARC", str(tmp_path / "condarc"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")


@pytest.fixture
def managed(project):
    """A project whose target `local` has its environments built."""
    project.write("aml_config/local.compute", "type: local\nuserManagedEnvironment: false\n")
    return project


@pytest.fixture
def index(tmp_path, monkeypatch):
    """`six` 1.15 and 1.16, from the index that PIP_INDEX_URL names."""
    for version in ("1.15", "1.16"):
        make_wheel(tmp_path / "wheels", "six", version)
    with serve(tmp_path / "wheels") as found:
        monkeypatch.setenv("PIP_INDEX_URL", f"{found.url}/simple")
        yield found


def asks(project, *packages: str, pip=(), channels=()) -> Path:
    """Write the project's conda file."""
    data = {"channels": list(channels), "dependencies": [*packages, {"pip": list(pip)}] if pip else list(packages)}
    return project.write(FILE, "".join(f"{key}: {json.dumps(value)}\n" for key, value in data.items()))


def box(project, text: str = BOX) -> None:
    project.write("aml_config/box.compute", text)
    project.runconfig("box")


def attached(jig_home, **facts) -> None:
    """Let this computer know of the machine of `box` what an attach finds out."""
    folder = jig_home / "machines/me@box.example"
    folder.mkdir(parents=True)
    (folder / "facts.json").write_text(json.dumps(facts))


# check


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


def test_a_target_of_a_kind_that_does_not_run_yet(project, cli):
    box(project, BOX.replace("remote", "remotedocker"))
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


# show


def test_an_environment_that_uv_builds(managed, cli, jig_home):
    asks(managed, "python=3.11", "pip", pip=["six", "--extra-index-url https://me:s3cret@h/simple"])
    shown = cli("environment", "show").json()
    assert re.fullmatch("[0-9a-f]{32}", shown["fingerprint"])
    assert re.fullmatch(f"{jig_home}/envs/[0-9a-f]{{32}}", shown["folder"])
    assert shown == {
        "file": FILE,
        "engine": "uv alone",
        "python": "3.11",
        "pip": ["six"],
        "options": ["--extra-index-url https://***@h/simple"],
        "lock": "none",
        "fingerprint": shown["fingerprint"],
        "target": "local",
        "folder": shown["folder"],
        "prepared": False,
    }


def test_an_environment_of_conda_packages(managed, cli):
    asks(managed, "python=3.11", "numpy", channels=["conda-forge", "https://h/t/s3cret/c"])
    shown = cli("environment", "show").json()
    assert {name: shown[name] for name in ("engine", "channels", "packages", "pip")} == {
        "engine": "rattler alone: numpy is a conda package",
        "channels": ["https://conda.anaconda.org/conda-forge", "https://h/t/***/c"],
        "packages": ["numpy", "python=3.11"],
        "pip": [],
    }
    asks(managed, "python=3.5.2", pip=["six"])
    assert cli("environment", "show").json()["engine"] == "rattler, then uv: uv has no python=3.5.2"


def test_a_target_with_its_own_python_is_shown(project, cli):
    asks(project, "python=3.11")
    shown = cli("environment", "show").json()
    assert (shown["note"], shown["engine"], shown["prepared"]) == (
        "local runs scripts with its own Python, and not with this",
        "uv alone",
        False,
    )


def test_a_machine_that_cannot_be_reached_is_said_to_be_so(project, cli, jig_home, monkeypatch):
    box(project)
    asks(project, "python=3.11")
    said = cli("environment", "show", "-c", "box")
    assert (said.code, said.err) == (0, "")
    shown = said.json()
    assert (shown["prepared"], shown["unknown"], "folder" in shown) == (
        None,
        "box (me@box.example) is not attached on this computer",
        False,
    )
    attached(jig_home, platform="linux x86_64")
    (jig_home / "machines/me@box.example/known_hosts").write_text("box ssh-ed25519 AAAA\n")
    ssh = project.write(
        "bin/ssh", "#!/bin/sh\necho 'ssh: connect to host box.example port 22: No route' >&2\nexit 255\n"
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}{os.pathsep}{os.environ['PATH']}")
    said = cli("environment", "show", "-c", "box")
    assert (said.code, said.err) == (0, "")
    assert said.json()["unknown"] == "box cannot be reached: ssh: connect to host box.example port 22: No route"
    box(project, BOX.replace("remote", "remotedocker"))
    shown = cli("environment", "show", "-c", "box").json()
    assert shown["unknown"] == "the target box is of type remotedocker, which this version of jig does not run yet"


# lock


def test_a_lock_is_written_and_fits(managed, cli, index):
    asks(managed, "python=3.11", pip=["six"])
    said = cli("environment", "lock", "--check")
    assert (said.code, said.out) == (1, f"there is no {LOCK}; make it:  jig environment lock -c local\n")
    said = cli("environment", "lock")
    assert (said.code, said.out, said.err) == (0, f"wrote {LOCK}: 1 pip package\n", "")
    before = cli("environment", "show").json()
    assert before["lock"] == LOCK
    said = cli("environment", "lock", "--check")
    assert (said.code, said.out) == (0, f"{LOCK} fits {FILE}\n")
    asks(managed, "python=3.11", pip=["six<2"])
    written = (managed.path / LOCK).read_bytes()
    said = cli("environment", "lock", "--check")
    assert (said.code, said.out) == (
        1,
        f"{LOCK} does not fit {FILE} any more; make it again:  jig environment lock -c local\n",
    )
    assert (managed.path / LOCK).read_bytes() == written
    shown = cli("environment", "show").json()
    assert shown["lock"] == f"{LOCK} does not fit the file any more"
    assert shown["fingerprint"] != before["fingerprint"]


def test_versions_stay_until_they_are_upgraded(managed, cli, index, monkeypatch):
    place = managed.path / LOCK

    def locked() -> "list[str]":
        return [line.partition(" ")[0] for line in read(str(place)).pip]

    asks(managed, "python=3.11", pip=["six<1.16"])
    cli("environment", "lock")
    asks(managed, "python=3.11", pip=["six"])
    assert cli("environment", "lock").code == 0
    assert locked() == ["six==1.15"]
    assert cli("environment", "lock", "--upgrade").code == 0
    assert locked() == ["six==1.16"]


def test_what_cannot_be_locked_leaves_the_lock_as_it_was(managed, cli, index, channel: Channel):
    asks(managed, "python=3.11", pip=["six"])
    cli("environment", "lock")
    written = (managed.path / LOCK).read_bytes()
    asks(managed, "python=3.11", pip=["six>=2"])
    said = cli("environment", "lock")
    assert (said.code, said.out) == (125, "")
    assert said.err.startswith("error: uv could not find versions that fit together: ")
    asks(managed, "python", "nosuch", channels=[channel.url])
    said = cli("environment", "lock")
    assert (said.code, said.out, said.err) == (
        125,
        "",
        "error: no channel has nosuch\n\nhint: jig environment check looks the conda file over\n",
    )
    assert (managed.path / LOCK).read_bytes() == written
    assert sorted(os.listdir(managed.path / "aml_config")) == [
        "conda_dependencies.lock.json",
        "conda_dependencies.yml",
        "local.compute",
        "local.runconfig",
    ]


def test_a_lock_that_cannot_be_read_is_made_again(managed, cli, index):
    asks(managed, "python=3.11", pip=["six"])
    managed.write(LOCK, "<<<<<<< ours\n")
    why = "conda_dependencies.lock.json is not a lock that this version of jig can read (Expecting value: line 1 column 1 (char 0))"
    assert cli("environment", "show").json()["lock"] == why
    said = cli("environment", "lock", "--check")
    assert (said.code, said.out) == (1, f"{why}; make it:  jig environment lock -c local\n")
    said = cli("environment", "lock")
    assert (said.code, said.out, said.err) == (0, f"wrote {LOCK}: 1 pip package\n", f"jig: {why}\n")


def test_a_lock_for_a_target_with_its_own_python(project, cli):
    asks(project, "python=3.11")
    said = cli("environment", "lock")
    assert (said.code, said.out, said.err) == (
        0,
        f"wrote {LOCK}: 0 pip packages\n",
        "jig: local runs scripts with its own Python, and not with this\n",
    )


def test_pip_packages_are_locked_for_a_machine_that_cannot_be_reached(project, cli, index):
    box(project)
    asks(project, "python=3.11", pip=["six"])
    assert cli("environment", "lock", "-c", "box").code == 0
    assert cli("environment", "lock", "-c", "box", "--check").code == 0
    asks(project, "python=3.11", "numpy")
    said = cli("environment", "lock", "-c", "box")
    assert (said.code, said.err.splitlines()[0]) == (
        125,
        "error: box (me@box.example) is not attached on this computer",
    )


def test_check_and_upgrade_exclude_each_other(managed, cli):
    asks(managed, "python=3.11")
    said = cli("environment", "lock", "--check", "--upgrade")
    assert (said.code, said.err) == (
        2,
        "error: --check changes nothing, and --upgrade changes versions\n\nhint: give one of them\n",
    )


def test_an_environment_is_built_from_the_lock_and_no_secret_is_in_it(managed, cli, index, channel_server, monkeypatch):
    channel_server.login, index.password = "me:ch4nnel", "1ndex"
    monkeypatch.delenv("PIP_INDEX_URL")
    login = index.url.replace("://", "://user:1ndex@")
    url = channel_server.url.replace("://", "://me:ch4nnel@")
    pip = [f"--index-url {login}/simple", f"{login}/files/six-1.15-py3-none-any.whl?sig=s1gned"]
    asks(managed, "python", "hello", channels=[url], pip=pip)
    said = cli("environment", "lock")
    assert (said.code, said.out) == (0, f"wrote {LOCK}: 2 conda packages for {SUBDIR}, 1 pip package\n")
    text = (managed.path / LOCK).read_text()
    assert not any(secret in text for secret in ("ch4nnel", "1ndex", "s1gned"))
    said = cli("experiment", "prepare", "-c", "local")
    assert said.code == 0, said.err
    assert not re.search(r"\bsolving", said.out + said.err)
    shown = cli("environment", "show").json()
    assert (shown["prepared"], shown["lock"], shown["size"] > 0) == (True, LOCK, True)
    listed = cli("environment", "list", "-o", "json").json()
    assert [(row["path"], row["kind"], row["python"], row["in_use"]) for row in listed] == [
        (shown["folder"], "conda", VERSION, False)
    ]
    code = "import six, hello; print(six.VERSION)"
    assert subprocess.check_output([f"{shown['folder']}/bin/python", "-c", code]) == b"1.15\n"


def test_a_lock_for_another_platform_is_told_and_solved_anew(managed, cli, channel: Channel):
    asks(managed, "python", "zlib", channels=[channel.url])
    said = cli("environment", "lock")
    assert said.out == f"wrote {LOCK}: 2 conda packages for {SUBDIR}\n"
    place = managed.path / LOCK
    place.write_text(place.read_text().replace(f'"{SUBDIR}": ', '"osx-arm64": '))
    said = cli("environment", "lock", "--check")
    assert (said.code, said.out) == (
        1,
        f"{LOCK} holds no conda packages for {SUBDIR}; add them:  jig environment lock -c local\n",
    )
    said = cli("experiment", "prepare", "-c", "local")
    assert said.code == 0
    note = f"the lock holds no conda packages for {SUBDIR}: the conda packages are chosen anew"
    assert note in (said.out + said.err)


# list and prune


def test_environments_are_listed_and_pruned(managed, cli, index):
    assert cli("environment", "list", "-o", "json").json() == []
    asks(managed, "python", pip=["six"])
    assert cli("experiment", "prepare", "-c", "local").code == 0
    (row,) = cli("environment", "list").json()
    assert (row["kind"], row["packages"], type(row["bytes"])) == ("uv", 1, int)
    header, _, line = cli("environment", "list", "-o", "table").out.splitlines()
    assert header.split() == ["id", "kind", "python", "packages", "size", "used", "in_use"]
    assert re.fullmatch(rf"{row['id']}  uv  +{re.escape(row['python'])} +1  [\d.]+ [kM]B +[\d.]+ s ago +false", line)
    said = cli("environment", "prune", "--older-than", "1h", "--keep", "1.5TB")
    assert (said.code, said.out) == (0, "removed 0 environments, 0 B\n")
    said = cli("environment", "prune", "--keep", "0GB", "-c", "local")
    size = r"[\d.]+ [kM]?B"
    assert re.fullmatch(rf"removed 1 environment, {size}; {size} more are in package caches too, and stay\n", said.out)
    assert cli("environment", "list", "-o", "json").json() == []


def test_prune_wants_a_limit(cli, project):
    said = cli("environment", "prune")
    assert (said.code, said.out, said.err) == (
        2,
        "",
        "error: nothing says which environments may go\n\n"
        "hint: those not used for a while:  jig environment prune --older-than 30d\n"
        "the least used, beyond a size:  jig environment prune --keep 20GB  (0GB: every one that no run uses)\n",
    )


@pytest.mark.parametrize(
    "text", ["", "x", "30", "-1d", "30m", "nand", "infd", "1e9d", "d", "3 0d", "9" * 16 + "d", "١d"]
)
def test_what_is_no_time(cli, project, text):
    said = cli("environment", "prune", f"--older-than={text}")
    assert (said.code, said.err) == (
        2,
        f"error: --older-than {text!r} is not a number with a unit\n\n"
        "hint: write for example --older-than 30d; the units are s, min, h, d, w\n",
    )


@pytest.mark.parametrize("text", ["20", "20XB", "GB", "1.GB", "0x1GB"])
def test_what_is_no_size(cli, project, text):
    said = cli("environment", "prune", "--keep", text)
    assert (said.code, said.err) == (
        2,
        f"error: --keep {text!r} is not a number with a unit\n\n"
        "hint: write for example --keep 20GB; the units are B, kB, MB, GB, TB\n",
    )


@pytest.mark.parametrize(
    ("text", "units", "value"),
    [
        ("30d", TIMES, 2592000),
        ("12h", TIMES, 43200),
        ("1.5 min", TIMES, 90),
        ("0W", TIMES, 0),
        ("20GB", SIZES, 20 * 10**9),
        ("1.5TB", SIZES, 1.5e12),
        ("512 kb", SIZES, 512000),
        ("0B", SIZES, 0),
    ],
)
def test_measures(text, units, value):
    assert _measure("--x", text, units, "1") == value


def test_a_measure_that_is_none():
    with pytest.raises(UsageError):
        _measure("--x", "1 GiB", SIZES, "1")
