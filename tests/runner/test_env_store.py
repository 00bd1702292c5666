import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jig.environments.uv import find_uv
from jig.runner import env_build, env_cache, env_store, environment
from jig.runner.env_build import CHANGED
from tests.package_settings import forget_settings
from tests.runner.wheels import make_wheel

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
DAY_S = 86400.0


class Store:
    """A jig home with environments that uv builds from wheels in a folder."""

    def __init__(self, root: Path) -> None:
        self.home = root / "jig home"
        self.home.mkdir()
        self.log = root / "prepare.log"
        self.told: list[str] = []

    def request(self, *requirements: str, fingerprint: str = "ab12") -> dict[str, Any]:
        return {
            "kind": "uv",
            "fingerprint": fingerprint,
            "python": PYTHON,
            "requirements": list(requirements),
            "options": [],
            "prepare": True,
            "uv_path": find_uv(),
        }

    def build(self, *requirements: str, fingerprint: str = "ab12", used_days_ago: float = 0) -> Path:
        request = self.request(*requirements, fingerprint=fingerprint)
        place = Path(environment.ensure(request, str(self.home), str(self.log), self.told.append)).parents[1]
        then = time.time() - used_days_ago * DAY_S
        os.utime(place / "jig-used", (then, then))
        return place

    def prune(self, **limits: Any) -> dict[str, Any]:
        return env_store.prune(str(self.home), **limits)

    def left(self) -> list[str]:
        return sorted(name for name in os.listdir(self.home / "envs") if not name.endswith(".lock"))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    forget_settings(monkeypatch, tmp_path)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    wheels = tmp_path / "wheels"
    make_wheel(wheels, "alpha", "1.0", program=True)
    make_wheel(wheels, "alpha", "2.0", program=True)
    make_wheel(wheels, "beta", "1.0")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    return Store(tmp_path)


def run(python: Path, code: str) -> str:
    return subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def pip(place: Path, *words: str) -> None:
    links = os.environ["PIP_FIND_LINKS"]
    argv = [find_uv(), "pip", *words, "--python", str(place / "bin/python"), "-q"]
    argv += ["--no-index", "--find-links", links] if words[0] == "install" else []
    subprocess.run(argv, check=True)


@pytest.fixture
def holder() -> Iterator[Any]:
    """Holds environments as a run does, until the test ends."""
    held: list[int] = []

    def hold(place: Path) -> int:
        descriptor = env_store.hold(str(place))
        assert descriptor is not None
        held.append(descriptor)
        return descriptor

    yield hold
    for descriptor in held:
        os.close(descriptor)


def test_using_an_environment_does_not_change_it(store: Store) -> None:
    place = store.build("alpha==1.0")
    assert run(place / "bin/python", "import alpha; print(alpha.VERSION)") == "1.0"
    assert list((place / f"lib/python{PYTHON}/site-packages/__pycache__").iterdir()), "the import was compiled"
    (place / f"lib/python{PYTHON}/site-packages/a-package.cache").write_text("left by a package")
    (place / "bin/python").stat()
    assert env_store.stands(str(place)) and not env_store.is_changed(str(place))
    assert store.build("alpha==1.0") == place and CHANGED not in store.told


@pytest.mark.parametrize(
    "words",
    [
        ("install", "beta"),
        ("install", "alpha==2.0"),
        ("install", "--reinstall", "alpha==1.0"),
        ("uninstall", "alpha"),
    ],
    ids=" ".join,
)
def test_an_environment_that_a_script_changed_is_built_again(store: Store, words: tuple[str, ...]) -> None:
    place = store.build("alpha==1.0")
    pip(place, *words)
    assert not environment.is_prepared(store.request("alpha==1.0"), str(store.home))
    store.told.clear()
    assert store.build("alpha==1.0") == place
    assert store.told[0] == CHANGED
    assert run(place / "bin/python", "import alpha; print(alpha.VERSION)") == "1.0"
    assert subprocess.run([place / "bin/python", "-c", "import beta"], stderr=subprocess.DEVNULL).returncode == 1
    assert store.left() == [place.name]


def test_a_program_that_was_added_is_a_change(store: Store) -> None:
    place = store.build("alpha==1.0")
    (place / "bin/tool").write_text("#!/bin/sh\n")
    assert env_store.is_changed(str(place))


def test_a_changed_environment_stays_while_a_run_uses_it(store: Store, holder: Any) -> None:
    place = store.build("alpha==1.0")
    holder(place)
    pip(place, "install", "beta")
    beside = store.build("alpha==1.0")
    assert beside == place.with_name(place.name + "-1")
    assert run(beside / "bin/python", "import sys, alpha; print(sys.prefix)") == str(beside)
    assert run(place / "bin/python", "import beta; print(beta.VERSION)") == "1.0"
    assert store.build("alpha==1.0") == beside
    listed = {entry["id"]: (entry["changed"], entry["in_use"]) for entry in env_store.listing(str(store.home))}
    assert listed == {place.name: (True, True), beside.name: (False, False)}
    assert store.prune()["removed"] == []


def test_the_list_says_what_is_there(store: Store, holder: Any) -> None:
    assert env_store.listing(str(store.home)) == []
    old = store.build("alpha", "beta", fingerprint="old", used_days_ago=3)
    new = store.build("alpha", fingerprint="new")
    holder(new)
    first, second = env_store.listing(str(store.home))
    assert (first["id"], first["fingerprint"], first["packages"], first["in_use"]) == (new.name, "new", 1, True)
    assert (second["id"], second["kind"], second["packages"], second["in_use"]) == (old.name, "uv", 2, False)
    assert second["python"] == ".".join(map(str, sys.version_info[:3]))
    assert abs(time.time() - 3 * DAY_S - second["used"]) < 60 and abs(time.time() - second["built"]) < 60
    assert second["path"] == str(old) and second["seconds"]["total"] > 0
    counted = subprocess.run(["du", "-s", "-B1", old], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert abs(int(counted.split()[0]) - second["bytes"]) <= 16384
    json.dumps([first, second])


def test_prune_removes_what_was_not_used_for_long(store: Store, holder: Any) -> None:
    store.build("alpha", fingerprint="old", used_days_ago=31)
    busy = store.build("beta", fingerprint="busy", used_days_ago=31)
    new = store.build("alpha", fingerprint="new", used_days_ago=29)
    holder(busy)
    os.utime(busy / "jig-used", (0, 0))
    result = store.prune(older_than_s=30 * DAY_S)
    assert len(result["removed"]) == 1 and result["freed"] > 0
    assert store.left() == sorted([busy.name, new.name])


def test_prune_keeps_the_bytes_that_it_may(store: Store) -> None:
    places = [store.build(f"alpha=={n}.0", fingerprint=f"f{n}", used_days_ago=n) for n in (1, 2)]
    sizes = [entry["bytes"] for entry in env_store.listing(str(store.home))]
    assert store.prune(keep_bytes=sum(sizes) + 8192)["removed"] == []
    assert store.prune(keep_bytes=sizes[0] + 8192)["removed"] == [places[1].name]
    assert store.prune(keep_bytes=0)["removed"] == [places[0].name]
    assert store.left() == []


def test_prune_tells_what_the_disk_got_back(store: Store, tmp_path: Path) -> None:
    place = store.build("alpha")
    big = place / f"lib/python{PYTHON}/site-packages/big"
    big.write_bytes(b"x" * 1_000_000)
    os.link(big, tmp_path / "in the cache")
    (place / "own").write_bytes(b"x" * 2_000_000)
    result = store.prune(older_than_s=0.0)
    assert result["removed"] == [place.name]
    assert 2_000_000 <= result["freed"] < 2_400_000 and 1_000_000 <= result["shared"] < 1_400_000


def test_prune_removes_leftovers_of_the_dead_only(store: Store) -> None:
    place = store.build("alpha")
    envs = store.home / "envs"
    mark = env_cache.staging_mark("0" * 32)
    dead, alive = envs / f"{mark}1", envs / f"{env_cache.staging_mark('1' * 32)}1"
    for folder in (dead, alive, envs / ".building-0-elsewhere-1", envs / ".removed-x-1"):
        (folder / "env").mkdir(parents=True)
    (dead / "env").chmod(0o500)
    with env_cache.locked(env_cache.lock_path(str(store.home), "1" * 32)) as held:
        assert held
        assert store.prune()["removed"] == []
    assert store.left() == sorted([place.name, alive.name, ".building-0-elsewhere-1"])


def test_folders_that_may_not_be_read_are_removed_and_what_a_link_names_is_left(tmp_path: Path) -> None:
    outside, closed = tmp_path / "outside", tmp_path / "gone" / "closed"
    outside.mkdir()
    (closed / "deeper").mkdir(parents=True)
    (closed / "deeper" / "file").touch()
    (closed / "link").symlink_to(outside)
    user = os.getuid() or 65534  # nothing is closed to root
    for path in (tmp_path, outside, *(tmp_path / "gone").rglob("*"), tmp_path / "gone"):
        os.chown(path, user, -1, follow_symlinks=False)
    for path, mode in ((outside, 0o500), (closed / "deeper", 0o000), (closed, 0o300)):
        path.chmod(mode)
    code = "import os, shutil, sys; from jig.runner.env_cache import remove; os.chdir(sys.argv[1]); "
    code += "os.setuid(int(sys.argv[2])); remove('gone')"
    subprocess.run([sys.executable, "-c", code, str(tmp_path), str(user)], check=True)
    assert os.listdir(tmp_path) == ["outside"] and outside.stat().st_mode & 0o777 == 0o500


def test_two_prunes_at_once_remove_each_environment_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    place = store.build("alpha")
    take, removed = env_store._take, []

    def too_late(path: str) -> int | None:
        monkeypatch.setattr(env_store, "_take", take)
        removed.extend(store.prune(keep_bytes=0)["removed"])
        return take(path)

    monkeypatch.setattr(env_store, "_take", too_late)
    assert store.prune(keep_bytes=0)["removed"] == []
    assert removed == [place.name]


def test_a_build_leaves_alone_what_another_machine_has_built_meanwhile(
    store: Store, holder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = store.build("alpha")
    aside = place.with_name("theirs")
    place.rename(aside)
    note = env_build.Build._note

    def noted(build: env_build.Build, *more: Any) -> None:
        note(build, *more)
        aside.rename(place)  # the other machine is done, and a run there uses it
        holder(place)

    monkeypatch.setattr(env_build.Build, "_note", noted)
    built = (place.parent / "theirs/jig-environment.json").stat().st_ino
    assert store.build("alpha") == place
    assert (place / "jig-environment.json").stat().st_ino == built
    assert store.left() == [place.name]


def test_prune_removes_what_was_unpacked_in_part_and_forgotten(store: Store) -> None:
    tools = store.home / "tools"
    for name, age_s in ((".new-rattler-1.0-1", 2 * DAY_S), (".new-rattler-1.0-2", 60), ("rattler-1.0", 2 * DAY_S)):
        (tools / name).mkdir(parents=True)
        os.utime(tools / name, (time.time() - age_s, time.time() - age_s))
    store.prune()
    assert sorted(os.listdir(tools)) == [".new-rattler-1.0-2", "rattler-1.0"]


def test_packages_that_no_environment_has_leave_the_cache(store: Store) -> None:
    pkgs = Path(env_cache.conda_cache(str(store.home))) / "pkgs"
    for name in ("used-1.0-0", "unused-1.0-0", ".halfXYZ"):
        (pkgs / name / "lib").mkdir(parents=True)
        (pkgs / name / "lib/file").write_bytes(b"x" * 5000)
        (pkgs / f"{name}.lock").touch()
    os.link(pkgs / "used-1.0-0/lib/file", store.home / "linked")
    assert store.prune()["freed"] >= 5000
    assert sorted(path.name for path in pkgs.iterdir() if path.is_dir()) == ["unused-1.0-0", "used-1.0-0"]
    assert store.prune(older_than_s=DAY_S)["freed"] == 0
    with env_cache.using_packages(str(store.home)):
        assert store.prune(older_than_s=0.0)["freed"] == 0
    assert store.prune(older_than_s=0.0)["freed"] >= 5000
    assert sorted(path.name for path in pkgs.iterdir()) == ["used-1.0-0", "used-1.0-0.lock"]


def test_an_environment_removed_at_the_last_moment_is_built_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = store.build("alpha")
    hold, removed = env_store.hold, []

    def too_late(path: str) -> int | None:
        if not removed:
            removed.extend(store.prune(older_than_s=0.0)["removed"])
        return hold(path)

    monkeypatch.setattr(env_store, "hold", too_late)
    request = store.request("alpha")
    python = environment.ensure(request, str(store.home), str(store.log), store.told.append)
    assert removed == [place.name]
    assert Path(python).parents[1] == place and run(Path(python), "import alpha; print(alpha.VERSION)") == "2.0"


def test_what_an_older_version_left_goes_when_it_is_old(store: Store) -> None:
    old = store.home / "envs" / "0123"
    (old / "bin").mkdir(parents=True)
    assert env_store.listing(str(store.home)) == []
    assert store.prune(older_than_s=DAY_S)["removed"] == []
    os.utime(old, (0, 0))
    assert store.prune(older_than_s=DAY_S)["removed"] == ["0123"]


def test_on_a_disk_that_others_see_a_use_counts_for_a_month(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    place = store.build("alpha")
    assert not env_store.in_use(str(place))
    monkeypatch.setattr("jig.system.is_network_disk", lambda path: True)
    assert env_store.in_use(str(place))
    os.utime(place / "jig-used", (0, 0))
    assert not env_store.in_use(str(place))


def test_a_home_without_environments_has_nothing_to_prune(store: Store) -> None:
    assert store.prune(older_than_s=0.0, keep_bytes=0) == {"removed": [], "freed": 0, "shared": 0}
