"""Which conda packages fit together on a machine, found by a process of its own."""

import os
import signal
import zipfile
from pathlib import Path

import pytest

from jig.environments import Environment, solve
from jig.errors import PackagesError
from jig.runner.rattler_tool import CERTIFICATES, VERSION
from tests.conda_channel import SUBDIR, Channel, ChannelServer


def wanted(url: str, *packages: str) -> Environment:
    return Environment("conda", channels=(url,), packages=packages)


def found(url: str, *packages: str, platform: str = SUBDIR, **virtual: str) -> "list[str]":
    records = solve.solve(wanted(url, *packages), platform, virtual, lambda text: None)
    return [f"{one['name']} {one['version']} {one['build']}" for one in records]


def test_packages_for_the_machine_and_not_for_this_one(channel: Channel):
    assert found(channel.url, "gpu", "zlib<1.3", __cuda="12.2") == ["gpu 1.0 cuda_0", "zlib 1.2 0"]
    assert found(channel.url, "gpu") == ["gpu 1.0 cpu_0"]
    assert found(channel.url, "gpu", platform="osx-arm64", __cuda="11.8") == ["gpu 1.0 cpu_0"]


def test_what_is_told_meanwhile(channel: Channel, jig_home):
    told: list[str] = []
    solve.solve(wanted(channel.url, "zlib", "old"), SUBDIR, {}, told.append)
    assert told == [f"solving 2 packages for {SUBDIR}"]
    assert (jig_home / "cache/conda").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("packages", "why"),
    [
        (("left", "right"), "left 1.0 needs zlib 1.2.*, but right 1.0 needs zlib >=1.3"),
        (("nosuch",), "no channel has nosuch"),
        (("newglibc",), "newglibc 1.0 needs glibc >=2.34, but the machine has glibc 2.31"),
    ],
)
def test_why_there_are_none(channel: Channel, packages, why):
    with pytest.raises(PackagesError) as raised:
        found(channel.url, *packages, __glibc="2.31")
    assert raised.value.message == why


def test_a_login_is_in_no_record_and_in_no_message(channel_server: ChannelServer, jig_home):
    channel_server.login = "me:s3cret"
    url = channel_server.url.replace("://", "://me:s3cret@")
    records = solve.solve(wanted(url, "zlib=1.3"), SUBDIR, {}, lambda text: None)
    assert [(one["url"], one["channel"]) for one in records] == [
        (f"{channel_server.url}/noarch/zlib-1.3-0.conda", channel_server.url)
    ]
    channel_server.login = "me:another"
    with pytest.raises(PackagesError) as raised:
        found(url.replace("/chan", "/chan/x"), "zlib")
    assert "401" in raised.value.message and "s3cret" not in raised.value.message
    kept = [path for path in jig_home.rglob("*") if path.is_file()]
    assert kept and not any(b"s3cret" in path.read_bytes() for path in kept)


def test_a_solver_that_dies_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    work = tmp_path / "work.py"
    work.write_text('import sys\nsys.stdin.read()\nprint(\'{"note": "begun"}\')\n')
    monkeypatch.setattr(solve, "WORK", str(work))
    told: list[str] = []
    with pytest.raises(PackagesError, match="^the solver ended without an answer$"):
        solve.solve(wanted("https://h/c", "zlib"), SUBDIR, {}, told.append)
    assert told == [f"solving 1 packages for {SUBDIR}", "begun"]


def test_the_solver_ends_when_nobody_waits_any_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    work = tmp_path / "work.py"
    work.write_text('import os, time\nprint(\'{"note": "%d"}\' % os.getpid(), flush=True)\ntime.sleep(60)\n')
    monkeypatch.setattr(solve, "WORK", str(work))
    answers = solve.work({})
    pid = int(next(answers)["note"])
    os.kill(pid, 0)
    answers.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def test_the_archive_for_other_machines_is_made_once(jig_home):
    place = solve.rattler_archive()
    assert place == str(jig_home / f"cache/rattler-{VERSION}.zip")
    names = zipfile.ZipFile(place).namelist()
    assert "rattler/__init__.py" in names and CERTIFICATES in names
    assert {name.split("/")[0] for name in names} == {"rattler", CERTIFICATES}
    made = os.stat(place).st_mtime_ns
    assert solve.rattler_archive() == place
    assert os.stat(place).st_mtime_ns == made
    assert os.listdir(jig_home / "cache") == [f"rattler-{VERSION}.zip"]
