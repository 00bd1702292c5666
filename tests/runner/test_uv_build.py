import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jig.environments.uv import find_uv
from jig.runner import environment, uv_build
from jig.runner.blobs import BlobStore
from jig.runner.environment import EnvironmentFailed
from tests.mounts import Mounted
from tests.package_settings import forget_settings
from tests.runner.wheels import Index, make_wheel, serve

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
HOST = "".join(c if c.isascii() and c.isalnum() else "_" for c in socket.gethostname())
MAKING = f"making an environment with Python {PYTHON}"
WAITING = "waiting for another run that builds this environment"


def wanted(*requirements: str, options: tuple[str, ...] = (), fingerprint: str = "ab12") -> dict[str, Any]:
    return {
        "kind": "uv",
        "fingerprint": fingerprint,
        "python": PYTHON,
        "requirements": list(requirements),
        "options": list(options),
        "prepare": True,
        "uv_path": find_uv(),
    }


class Machine:
    """A jig home, wheels to install, and nothing of what this machine's user has set."""

    def __init__(self, root: Path) -> None:
        self.home = root / "jig home"
        self.home.mkdir()
        self.wheels = root / "my wheels"
        self.wheels.mkdir()
        self.log = root / "prepare.log"
        self.told: list[str] = []

    def ensure(self, request: dict[str, Any], stopping: Callable[[], bool] = lambda: False) -> str:
        return environment.ensure(request, str(self.home), str(self.log), self.told.append, stopping)

    def left(self) -> list[str]:
        """What is in envs/, with the names of environments written as `ID`."""
        return sorted(re.sub("[0-9a-f]{32}", "ID", entry) for entry in os.listdir(self.home / "envs"))

    def place(self, *requirements: str) -> Path:
        return Path(environment.install_root(str(self.home), wanted(*requirements)))

    def steps(self) -> list[str]:
        """What was told, but for the seconds that it took."""
        return [text.partition(" in ")[0] if text.startswith("environment ready") else text for text in self.told]

    def start(self, request: dict[str, Any], log: Path) -> "subprocess.Popen[str]":
        """Another process that ensures the environment and prints the interpreter."""
        code = (
            "import json, sys; from jig.runner.environment import ensure; request, home, log = sys.argv[1:]; "
            "print(ensure(json.loads(request), home, log, lambda text: print(text, flush=True)))"
        )
        argv = [sys.executable, "-c", code, json.dumps(request), str(self.home), str(log)]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    forget_settings(monkeypatch, tmp_path)
    made = Machine(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", os.pathsep.join((os.path.dirname(sys.executable), "/usr/bin", "/bin")))
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_HTTP_TIMEOUT", "300")  # a uv that waits does not end by itself within a test
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (tmp_path / ".config" / "pip").mkdir(parents=True)
    return made


@pytest.fixture
def links(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """`alpha` 1.0 and 2.0, in the folder that PIP_FIND_LINKS names."""
    wheels = Path(str(machine.wheels).replace(" ", "_"))
    make_wheel(wheels, "alpha", "1.0", program=True)
    make_wheel(wheels, "alpha", "2.0")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))


@pytest.fixture
def index(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """`alpha` 1.0, from the index that PIP_INDEX_URL names."""
    make_wheel(machine.wheels, "alpha", "1.0")
    with serve(machine.wheels) as index:
        monkeypatch.delenv("PIP_NO_INDEX")
        monkeypatch.setenv("PIP_INDEX_URL", index.url + "/simple")
        yield index


def version(python: str, module: str = "alpha") -> str:
    code = f"import {module}; print({module}.VERSION)"
    return subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def test_an_environment_is_built_and_then_only_looked_up(
    machine: Machine, links: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = machine.ensure(wanted("alpha==1.0"))
    assert python == str(machine.place("alpha==1.0") / "bin" / "python")
    assert version(python) == "1.0"
    assert machine.steps() == [MAKING, "resolving", "installing 1 package", "environment ready"]
    assert re.fullmatch(r"environment ready in \d+\.\d s(: [a-z]+ \d\.\d(, [a-z]+ \d\.\d)*)?", machine.told[-1])
    assert machine.left() == ["ID", "ID.lock"]
    assert b"Resolved 1 package" in machine.log.read_bytes()
    assert list(machine.place("alpha==1.0").rglob("requirements.txt")) == []
    monkeypatch.setenv("PATH", "")
    assert machine.ensure({**wanted("alpha==1.0"), "uv_path": ""}) == python
    assert len(machine.told) == 4


def test_programs_of_the_environment_know_where_they_stand(machine: Machine, links: None) -> None:
    python = machine.ensure(wanted("alpha==1.0"))
    program = os.path.join(os.path.dirname(python), "alpha")
    assert subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout == "1.0\n"


def test_no_requirements_are_an_empty_environment(machine: Machine) -> None:
    python = machine.ensure(wanted())
    assert subprocess.run([python, "-c", "import alpha"], stderr=subprocess.PIPE).returncode == 1
    assert machine.steps() == [MAKING, "environment ready"]


@pytest.mark.parametrize("name", ["with space", "quo'te\"s", "новый дом", "-dash", "new\nline", "per%20cent,comma;"])
def test_a_home_may_have_any_name(machine: Machine, links: None, name: str) -> None:
    machine.home = machine.home / name
    assert version(machine.ensure(wanted("alpha"))) == "2.0"


def test_uv_is_asked_for_what_the_environment_says(machine: Machine, links: None, tmp_path: Path) -> None:
    fake, said = tmp_path / "uv", tmp_path / "said"
    fake.write_text(f'#!/bin/sh\nprintf "%s\\n" "$PWD" "$@" "" >> "{said}"\nexec "{find_uv()}" "$@"\n')
    fake.chmod(0o755)
    machine.ensure({**wanted("alpha"), "uv_path": str(fake)})
    staging = f"{machine.home}/envs/.building-{machine.place('alpha').name}-{HOST}-{os.getpid()}"
    quiet = ["--color", "never", "--no-progress", ""]
    assert said.read_text().split("\n")[:-1] == [
        *["/", "venv", "--relocatable", f"--python={PYTHON}", f"{staging}/env", *quiet],
        *["/", "pip", "install", "--python", f"{staging}/env/bin/python", "-r", f"{staging}/requirements.txt", *quiet],
    ]


def test_a_small_environment_from_this_machines_own_index(tmp_path: Path) -> None:
    told: list[str] = []
    request = wanted("six")
    python = environment.ensure(request, str(tmp_path), str(tmp_path / "log"), told.append)
    assert subprocess.run([python, "-c", "import six"]).returncode == 0
    assert told[:2] == [MAKING, "resolving"]


def command_lines() -> str:
    lines = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            lines.append(Path("/proc", pid, "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:
            continue
    return "\n".join(lines)


def test_a_password_is_never_an_argument(machine: Machine, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.password = "s3cr3t-word"
    make_wheel(machine.wheels, "beta", "1.0")
    monkeypatch.setenv("PIP_INDEX_URL", index.url.replace("//", "//user:s3cr3t-word@") + "/simple")
    url = index.url.replace("//", "//user:s3cr3t-word@") + "/files/beta-1.0-py3-none-any.whl?sig=s3cr3t-sig"
    seen: list[tuple[str, int]] = []

    def look(path: str) -> None:
        files = list(machine.home.glob("envs/.building-*/requirements.txt"))
        seen.append((command_lines(), stat.S_IMODE(files[0].stat().st_mode)))

    index.before = look
    python = machine.ensure(wanted("alpha", url))
    assert (version(python), version(python, "beta")) == ("1.0", "1.0")
    assert seen and all("s3cr3t" not in lines and "uv pip install" in lines for lines, _ in seen)
    assert {mode for _, mode in seen} == {0o600}


def test_no_secret_of_a_url_is_in_the_log(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    with pytest.raises(EnvironmentFailed) as failed:
        machine.ensure(wanted("http://user:s3cr3t@127.0.0.1:1/alpha-1.0-py3-none-any.whl?sig=s3cr3t"))
    assert "http://127.0.0.1:1/alpha-1.0-py3-none-any.whl?***" in machine.log.read_text()
    assert "s3cr3t" not in machine.log.read_text() + failed.value.reason


def test_the_files_index_beats_the_machines(machine: Machine, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "http://127.0.0.1:1/more")
    monkeypatch.setenv("TOKEN", index.url)
    assert version(machine.ensure(wanted("alpha", options=("--index-url ${TOKEN}/simple",)))) == "1.0"


def test_the_best_version_of_all_indexes_is_taken(
    machine: Machine, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(tmp_path / "more", "alpha", "3.0")
    with serve(tmp_path / "more") as more:
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", more.url + "/simple")
        assert version(machine.ensure(wanted("alpha"))) == "3.0"
        monkeypatch.setenv("PIP_INDEX_URL", more.url + "/simple")
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", index.url + "/simple")
        assert version(machine.ensure(wanted("alpha", fingerprint="cd"))) == "3.0"


def test_pips_constraints_hold(machine: Machine, links: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "constraints.txt").write_text("alpha<2\n")
    monkeypatch.setenv("PIP_CONSTRAINT", "~/constraints.txt")
    monkeypatch.setenv("PIP_ONLY_BINARY", ":all:")
    assert version(machine.ensure(wanted("alpha"))) == "1.0"


def test_a_package_that_does_not_exist_is_named(machine: Machine, links: None) -> None:
    with pytest.raises(EnvironmentFailed) as failed:
        machine.ensure(wanted("alpha", "nosuch"))
    assert failed.value.reason == (
        "uv could not install the packages: No solution found when resolving dependencies: Because nosuch was not "
        "found in the provided package locations and you require nosuch, we can conclude that your requirements are "
        f"unsatisfiable (the full log is {machine.log})"
    )
    assert str(failed.value) == failed.value.reason
    assert machine.left() == ["ID.lock"]
    assert not environment.is_prepared(wanted(), str(machine.home))


def test_a_python_that_is_not_there_is_named(machine: Machine) -> None:
    with pytest.raises(EnvironmentFailed) as failed:
        machine.ensure({**wanted(), "python": "3.99"})
    assert failed.value.reason.startswith(
        "uv could not make an environment with Python 3.99: No interpreter found for "
    )


def test_no_uv_says_how_to_get_it(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(machine.home))
    with pytest.raises(EnvironmentFailed) as failed:
        machine.ensure({**wanted(), "uv_path": "/nowhere/uv"})
    assert failed.value.reason == (
        "this machine has no uv, which builds environments: install it with `pip install --user uv` or "
        "`curl -LsSf https://astral.sh/uv/install.sh | sh`"
    )


@pytest.mark.parametrize("place", [".local/bin", "jig home/bin"])
def test_uv_is_found_where_installers_put_it(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "uv").symlink_to(find_uv())
    monkeypatch.setenv("PATH", "")
    assert uv_build.find_uv({}, str(machine.home)) == str(tmp_path / place / "uv")


def test_settings_that_pip_would_refuse_are_told(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "perhaps")
    with pytest.raises(EnvironmentFailed) as failed:
        machine.ensure(wanted("alpha"))
    assert failed.value.reason == "pip's setting no-index is 'perhaps', and neither yes nor no"


def test_a_home_that_cannot_be_written_is_told(machine: Machine) -> None:
    (machine.home / "envs").write_text("in the way")
    with pytest.raises(EnvironmentFailed) as failed:
        machine.ensure(wanted())
    assert failed.value.reason.startswith(f"the environment could not be built under {machine.home}: ")


def test_ten_at_once_build_once(machine: Machine, index: Index, tmp_path: Path) -> None:
    request = wanted("alpha")
    index.stall = ".whl"
    first = machine.start(request, tmp_path / "first.log")
    assert index.arrived.wait(30)
    others = [machine.start(request, tmp_path / f"{number}.log") for number in range(9)]
    assert [process.stdout.readline() for process in others if process.stdout] == [WAITING + "\n"] * 9
    index.release.set()
    said = [process.communicate()[0].splitlines() for process in (first, *others)]
    assert {lines[-1] for lines in said} == {str(machine.place("alpha") / "bin" / "python")}
    assert [len(lines) for lines in said] == [5, *[1] * 9]
    assert {process.returncode for process in (first, *others)} == {0}
    assert machine.left() == ["ID", "ID.lock"]


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_killed_builder_leaves_nothing_that_is_used(machine: Machine, index: Index, tmp_path: Path) -> None:
    index.stall = ".whl"
    builder = machine.start(wanted("alpha"), tmp_path / "first.log")
    assert index.arrived.wait(30)
    left = f".building-{machine.place('alpha').name}-{HOST}-{builder.pid}"
    assert machine.left() == [f".building-ID-{HOST}-{builder.pid}", "ID.lock"]
    builder.send_signal(signal.SIGKILL)
    builder.communicate()
    until(lambda: left not in command_lines())  # uv went with it
    assert not environment.is_prepared(wanted("alpha"), str(machine.home))
    index.stall = ""
    assert version(machine.ensure(wanted("alpha"))) == "1.0"
    assert machine.left() == ["ID", "ID.lock"]


def test_an_index_that_goes_away_in_the_middle_is_named(machine: Machine, index: Index) -> None:
    def leave(path: str) -> None:
        if path.endswith(".whl"):
            raise ConnectionResetError("the index goes away")

    index.before = leave
    with pytest.raises(EnvironmentFailed) as failed:
        machine.ensure(wanted("alpha"))
    assert failed.value.reason.startswith("uv could not install the packages: Failed to ")
    assert f"{index.url}/files/alpha-1.0-py3-none-any.whl" in failed.value.reason
    assert machine.left() == ["ID.lock"]
    index.before = lambda path: None
    assert version(machine.ensure(wanted("alpha"))) == "1.0"


def test_a_full_disk_is_told(machine: Machine, links: None, small_disk: Mounted) -> None:
    machine.home = small_disk("64k")
    with pytest.raises(EnvironmentFailed) as failed:
        machine.ensure(wanted("alpha"))
    assert "No space left on device" in failed.value.reason
    assert machine.left() == ["ID.lock"]


def test_a_build_is_stopped_on_request(machine: Machine, index: Index) -> None:
    index.stall = ".whl"
    with pytest.raises(EnvironmentFailed) as failed:
        machine.ensure(wanted("alpha"), index.arrived.is_set)
    assert failed.value.reason == "canceled"
    assert machine.left() == ["ID.lock"]
    assert f"{machine.home}/envs/.building-" not in command_lines()


def test_who_waits_says_so_and_can_be_stopped(machine: Machine, index: Index, tmp_path: Path) -> None:
    index.stall = ".whl"
    builder = machine.start(wanted("alpha"), tmp_path / "first.log")
    assert index.arrived.wait(30)
    with pytest.raises(EnvironmentFailed) as failed:
        machine.ensure(wanted("alpha"), lambda: machine.told == [WAITING])
    assert failed.value.reason == "canceled"
    machine.told.clear()
    waiting = threading.Thread(target=machine.ensure, args=(wanted("alpha"),))
    waiting.start()
    until(lambda: machine.told == [WAITING])
    index.release.set()
    waiting.join(30)
    assert builder.wait(30) == 0
    assert builder.stdout is not None
    builder.stdout.close()
    assert machine.told == [WAITING]
    assert machine.left() == ["ID", "ID.lock"]


def test_a_callback_that_fails_ends_uv(machine: Machine, index: Index) -> None:
    def tell(text: str) -> None:
        if text.startswith("resolving"):
            raise KeyError(text)

    with pytest.raises(KeyError):
        environment.ensure(wanted("alpha"), str(machine.home), str(machine.log), tell)
    assert machine.left() == ["ID.lock"]


def test_an_environment_whose_interpreter_is_gone_is_built_again(machine: Machine, links: None) -> None:
    python = machine.ensure(wanted("alpha"))
    os.remove(python)
    os.symlink("/nowhere/python", python)
    assert not environment.is_prepared(wanted("alpha"), str(machine.home))
    assert version(machine.ensure(wanted("alpha"))) == "2.0"
    assert machine.left() == ["ID", "ID.lock"]


def test_leftovers_of_other_environments_stay(machine: Machine, links: None) -> None:
    name = machine.place("alpha").name
    (machine.home / "envs" / f".building-{name}-{HOST}-1" / "env").mkdir(parents=True)
    (machine.home / "envs" / f".building-cd34-{HOST}-1").mkdir()
    (machine.home / "envs" / f".building-{name}-elsewhere-1").mkdir()
    machine.ensure(wanted("alpha"))
    others = [".building-ID-elsewhere-1", f".building-cd34-{HOST}-1"]
    assert machine.left() == sorted([*others, "ID", "ID.lock"])


def test_a_machine_that_reaches_nothing_uses_what_was_brought(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.delenv("PIP_NO_INDEX")
    wheels = [make_wheel(machine.wheels, name, "1.0") for name in ("alpha", "beta")]
    store = BlobStore(str(machine.home / "blobs"))
    brought = [[wheel.name, store.put(wheel.read_bytes())] for wheel in wheels]
    line = "beta @ https://127.0.0.1:1/beta-1.0-py3-none-any.whl?sig=s#egg=beta"
    python = machine.ensure({**wanted("alpha", line), "brought": brought})
    assert (version(python), version(python, "beta")) == ("1.0", "1.0")
    with pytest.raises(EnvironmentFailed) as failed:
        machine.ensure({**wanted("alpha", fingerprint="cd"), "brought": [["gone.whl", "0" * 64]]})
    assert failed.value.reason == "gone.whl, which came with the run, is no longer on this machine: submit again"


def test_variables_that_would_mislead_uv_are_left_out(
    machine: Machine, links: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_PROJECT", "/nowhere")
    monkeypatch.setenv("UV_WORKING_DIR", "/nowhere")
    monkeypatch.setenv("UV_SYSTEM_PYTHON", "1")
    assert version(machine.ensure(wanted("alpha"))) == "2.0"


def test_downloads_are_kept_on_the_disk_of_the_home(tmp_path: Path) -> None:
    other_disk = "/proc"
    home = str(tmp_path)
    both = {"UV_CACHE_DIR": f"{home}/uv/cache", "UV_PYTHON_INSTALL_DIR": f"{home}/uv/python"}
    assert uv_build.storage(home, home, {}) == {}
    assert uv_build.storage(home, other_disk, {}) == both
    assert uv_build.storage(home, other_disk, {"UV_CACHE_DIR": "/c", "XDG_DATA_HOME": "/d"}) == {}
