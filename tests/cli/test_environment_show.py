"""`jig environment show, list, prune`: what is asked for, what is built, what goes."""

import os
import re

import pytest

from jig.cli.environment import SIZES, TIMES, _measure
from jig.errors import UsageError
from tests.cli.environments import FILE, asks, attached, box

pytestmark = pytest.mark.usefixtures("no_settings")


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
