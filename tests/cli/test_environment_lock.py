"""`jig environment lock`: written, kept, used, and left as it was when that fails."""

import os
import re
import subprocess
import sys

import pytest

from jig.environments.lock import read
from tests.cli.environments import FILE, LOCK, asks, box
from tests.conda_channel import SUBDIR, Channel

pytestmark = pytest.mark.usefixtures("no_settings")
VERSION = ".".join(map(str, sys.version_info[:3]))


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
