import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jig.environments.uv import find_uv
from jig.runner import environment, rattler_python, rattler_tool
from jig.runner.blobs import BlobStore
from jig.runner.environment import EnvironmentFailed
from tests.conda_channel import Channel, ChannelServer, How
from tests.mounts import Mounted
from tests.package_settings import forget_settings
from tests.runner.wheels import make_wheel, serve

VERSION = ".".join(map(str, sys.version_info[:3]))
Record = dict[str, Any]


class Machine:
    """A jig home on a machine whose user has set nothing."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "jig home"
        self.home.mkdir()
        self.log = root / "prepare.log"
        self.told: list[str] = []

    def ensure(self, request: dict[str, Any], stopping: Callable[[], bool] = lambda: False) -> Path:
        return Path(environment.ensure(request, str(self.home), str(self.log), self.told.append, stopping))

    def fails(self, request: dict[str, Any], stopping: Callable[[], bool] = lambda: False) -> str:
        with pytest.raises(EnvironmentFailed) as failed:
            self.ensure(request, stopping)
        assert not environment.is_prepared(request, str(self.home))
        return failed.value.reason

    def left(self) -> list[str]:
        names = [name for name in os.listdir(self.home / "envs") if not name.endswith(".lock")]
        return sorted(re.sub("[0-9a-f]{32}", "ID", name) for name in names)

    def start(self, request: dict[str, Any]) -> "subprocess.Popen[str]":
        """Another process that ensures the environment and prints the interpreter."""
        code = (
            "import json, sys; from jig.runner.environment import ensure; home, log = sys.argv[1:]; "
            "print(ensure(json.load(sys.stdin), home, log, lambda text: print(text, flush=True)))"
        )
        argv = [sys.executable, "-c", code, str(self.home), str(self.log)]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin
        process.stdin.write(json.dumps(request))
        process.stdin.close()
        process.stdin = None
        return process

    def blob(self, path: Path) -> str:
        return BlobStore(str(self.home / "blobs")).put(path.read_bytes())


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    forget_settings(monkeypatch, tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return Machine(tmp_path)


@pytest.fixture
def wheels(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`alpha` 1.0, in the folder that PIP_FIND_LINKS names; there is no index."""
    folder = machine.root / "wheels"
    make_wheel(folder, "alpha", "1.0", program=True)
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return folder


def wanted(records: list[Record], *requirements: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": "conda",
        "fingerprint": "ab12",
        "python": "",
        "requirements": list(requirements),
        "options": [],
        "channels": [],
        "packages": [],
        "prepare": True,
        "records": records,
        "uv_path": find_uv(),
        "rattler_python": sys.executable,
        **more,
    }


def served(records: list[Record], channel: Channel, server: ChannelServer) -> list[Record]:
    """The same packages, from the server."""
    return [{**record, "url": record["url"].replace(channel.url, server.url)} for record in records]


def said(*argv: object) -> str:
    return subprocess.run([str(word) for word in argv], stdout=subprocess.PIPE, text=True, check=True).stdout


def test_conda_packages_then_pip_packages(machine: Machine, choose: Any, wheels: Path) -> None:
    request = wanted(choose("python", "hello", "prefixed", "linker"), "alpha")
    python = machine.ensure(request)
    place = Path(environment.install_root(str(machine.home), request))
    assert python == place / "bin/python"
    assert said(place / "bin/say-hello") == f"hello from {place}\n"
    assert said(place / "bin/where") == f"{place}\n"
    assert (place / "etc/where.txt").read_text() == f"root={place}/share\n"
    assert said(place / "bin/alpha") == "1.0\n"
    assert said(python, "-c", "import sys, alpha, hello; print(sys.prefix)") == f"{place}\n"
    assert [line for line in machine.told[:-1] if not line.startswith("downloading: ")] == [
        "installing 4 conda packages",
        "linker has a post-link script, which was not run",
        "resolving",
        "installing 1 package",
    ]
    assert re.fullmatch(r"environment ready in \d\.\d s(: .*)?", machine.told[-1])
    assert machine.left() == ["ID"]
    about = json.loads((place / "jig-environment.json").read_text())
    assert (about["kind"], about["python"], about["packages"]) == ("conda", VERSION, 5)
    assert list(about["seconds"]) == ["total", "download", "link", "pip resolve", "pip download", "pip install"]
    assert not (place / "pyvenv.cfg").exists() and not (place / "post-link-was-run").exists()
    assert subprocess.run(["grep", "-rl", ".building-", place], stdout=subprocess.PIPE).stdout == b""
    machine.told.clear()
    assert machine.ensure({**request, "records": []}) == python
    assert machine.told == []


def test_an_environment_without_pip_packages_needs_no_uv(machine: Machine, choose: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    python = machine.ensure(wanted(choose("python"), uv_path=""))
    assert said(python, "-c", "print(1)") == "1\n"
    assert machine.told[0] == "installing 1 conda package"


def test_ten_at_once_build_once(machine: Machine, choose: Any, channel: Channel, channel_server: ChannelServer) -> None:
    channel_server.bad = {"hello": How.SLOW}
    request = wanted(served(choose("python", "hello"), channel, channel_server))
    processes = [machine.start(request) for _ in range(10)]
    answers = [process.communicate(timeout=60)[0].splitlines() for process in processes]
    assert {lines[-1] for lines in answers} == {str(machine.ensure(request))}
    assert sum("installing 2 conda packages" in lines for lines in answers) == 1
    assert sum(lines[0] == "waiting for another run that builds this environment" for lines in answers) == 9
    assert len(channel_server.packages()) == 2
    assert machine.left() == ["ID"]


def carriers(machine: Machine) -> int:
    """How many processes work in this home."""
    found = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", pid, "cmdline").read_bytes() + Path("/proc", pid, "environ").read_bytes()
        except OSError:
            continue
        found += int(pid) != os.getpid() and os.fsencode(f"HOME={machine.root}") in words
    return found


@pytest.mark.parametrize("step", ["conda packages", "/simple/alpha", ".whl"])
def test_a_killed_builder_leaves_nothing_that_is_used(
    machine: Machine,
    choose: Any,
    channel: Channel,
    channel_server: ChannelServer,
    wheels: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.delenv("PIP_NO_INDEX")
    with serve(wheels) as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url + "/simple")
        arrived = channel_server.arrived if step == "conda packages" else index.arrived
        channel_server.bad = {"hello": How.HANG} if step == "conda packages" else {}
        index.stall = step
        request = wanted(served(choose("python", "hello"), channel, channel_server), "alpha")
        builder = machine.start(request)
        assert arrived.wait(30)
        builder.send_signal(signal.SIGKILL)
        builder.communicate()
        deadline = time.monotonic() + 20
        while carriers(machine):  # its programs went with it
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert not environment.is_prepared(request, str(machine.home))
        assert len(machine.left()) == 1 and machine.left()[0].startswith(".building-ID-")
        channel_server.bad, index.stall = {}, ""
        assert said(machine.ensure(request), "-c", "import hello, alpha; print(alpha.VERSION)") == "1.0\n"
        assert machine.left() == ["ID"]


def test_a_build_is_stopped_on_request(
    machine: Machine, choose: Any, channel: Channel, channel_server: ChannelServer
) -> None:
    channel_server.bad = {"hello": How.HANG}
    request = wanted(served(choose("python", "hello"), channel, channel_server))
    assert machine.fails(request, channel_server.arrived.is_set) == "canceled"
    assert (machine.left(), carriers(machine)) == ([], 0)


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (404, "hello-1.0-0.conda"),
        (How.CUT, "hello-1.0-0.conda"),
    ],
)
def test_a_channel_that_goes_away_is_named(
    machine: Machine, choose: Any, channel: Channel, channel_server: ChannelServer, how: Any, why: str
) -> None:
    channel_server.bad = {"hello": how}
    request = wanted(served(choose("python", "hello"), channel, channel_server))
    reason = machine.fails(request)
    assert reason.startswith("the conda packages could not be installed: ") and why in reason
    assert reason.endswith(f" (the full log is {machine.log})") and "\n" not in reason
    assert "hello-1.0-0.conda" in machine.log.read_text()
    assert machine.left() == []
    channel_server.bad = {}
    assert said(machine.ensure(request), "-c", "import hello; print(1)") == "1\n"


def test_a_full_disk_is_told(machine: Machine, choose: Any, small_disk: Mounted) -> None:
    machine.home = small_disk("30m")
    assert "there is no space left on the disk" in machine.fails(wanted(choose("python")))
    assert machine.left() == []


def test_an_installer_that_breaks_is_told(machine: Machine, choose: Any, tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho it broke >&2; exit 3\n")
    program.chmod(0o755)
    assert machine.fails(wanted(choose("python"), rattler_python=str(program))) == (
        f"the conda packages could not be installed: the installer failed: exit code 3 (the full log is {machine.log})"
    )
    assert machine.log.read_text() == "it broke\n"


@pytest.mark.parametrize(
    ("specs", "reason"),
    [
        (("left",), "none of the conda packages is python, which the script needs: list it in the conda file"),
        (None, "nobody has said which conda packages make up this environment"),
    ],
)
def test_what_cannot_be_built_is_told(machine: Machine, choose: Any, specs: Any, reason: str) -> None:
    request = wanted(choose(*specs) if specs else [])
    if specs is None:
        del request["records"]
    assert machine.fails(request) == reason


def test_a_python_that_uv_does_not_serve_gets_its_packages_by_an_old_pip(
    machine: Machine, choose: Any, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")  # for pip itself
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    request = wanted(choose("python=3.5.2"), "alpha")
    python = machine.ensure(request)
    assert said(python, "-c", "import alpha; print(alpha.VERSION)") == "1.0\n"
    assert said(python.parent / "alpha") == "1.0\n"
    assert "Successfully installed alpha-1.0" in machine.log.read_text()
    assert json.loads((python.parents[1] / "jig-environment.json").read_text())["packages"] == 2
    assert subprocess.run(["grep", "-rl", ".building-", python.parents[1]], stdout=subprocess.PIPE).stdout == b""
    assert "pip could not install the packages: No matching distribution found for nosuch (" in machine.fails(
        wanted(choose("python=3.5.2"), "nosuch", fingerprint="cd", options=["--no-index"])
    )


def test_an_old_pip_goes_to_the_indexes_that_the_file_names(
    machine: Machine, choose: Any, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(tmp_path / "first", "alpha", "2.0")
    make_wheel(tmp_path / "more", "beta", "1.0")
    monkeypatch.delenv("PIP_NO_INDEX")  # for pip itself
    with serve(tmp_path / "first") as first, serve(tmp_path / "more") as more:
        options = [f"--index-url {first.url}/simple", f"--extra-index-url {more.url}/simple"]
        python = machine.ensure(wanted(choose("python=3.5.2"), "alpha", "beta", options=options))
    assert said(python, "-c", "import alpha, beta; print(alpha.VERSION, beta.VERSION)") == "2.0 1.0\n"


@pytest.fixture(scope="session")
def rattler_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed py-rattler as a wheel."""
    from importlib.metadata import distribution

    found = distribution("py-rattler")
    path = tmp_path_factory.mktemp("rattler") / f"py_rattler-{found.version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file in found.files or ():
            if file.parts[0] == "rattler" and "__pycache__" not in file.parts:
                wheel.write(str(found.locate_file(file)), str(file))
        about = f"py_rattler-{found.version}.dist-info"
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: py-rattler\nVersion: {found.version}\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return path


def test_a_machine_without_rattler_is_brought_it(machine: Machine, choose: Any, rattler_wheel: Path) -> None:
    home = str(machine.home)
    assert not rattler_tool.has_rattler(home)
    rattler_tool.keep_rattler(BlobStore(str(machine.home / "blobs")), machine.blob(rattler_wheel), home)
    assert rattler_tool.has_rattler(home)
    request = wanted(choose("python"), rattler_python="")
    assert said(machine.ensure(request), "-c", "print(1)") == "1\n"
    assert machine.told[0] == "installing 1 conda package"


def test_a_machine_without_rattler_fetches_it(
    machine: Machine, choose: Any, rattler_wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", str(rattler_wheel.parent))
    request = wanted(choose("python"), rattler_python="", options=["--index-url http://127.0.0.1:1/own"])
    assert said(machine.ensure(request), "-c", "print(1)") == "1\n"
    assert machine.told[:3] == [
        f"fetching py-rattler {rattler_tool.VERSION}, which installs conda packages",
        "installing 1 package",
        "installing 1 conda package",
    ]
    assert rattler_tool.has_rattler(str(machine.home))


def test_a_machine_without_a_python_for_rattler_is_told_what_to_do(
    machine: Machine, choose: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rattler_python, "_candidates", lambda: iter([]))
    monkeypatch.setenv("UV_PYTHON_PREFERENCE", "only-managed")
    monkeypatch.setenv("UV_PYTHON_INSTALL_MIRROR", "http://127.0.0.1:1")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    reason = machine.fails(wanted(choose("python"), rattler_python=""))
    assert reason.startswith(
        "conda packages are installed by Python 3.10 or newer, which is not in the search path of this machine, and "
        "none could be fetched: install one there (uv could not fetch Python 3.12: "
    )


def test_a_python_that_only_uv_knows_is_found(
    machine: Machine, choose: Any, rattler_wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rattler_tool.keep_rattler(BlobStore(str(machine.home / "blobs")), machine.blob(rattler_wheel), str(machine.home))
    monkeypatch.setattr(rattler_python, "_candidates", lambda: iter(["/nowhere/python3", "/bin/false"]))
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    assert machine.ensure(wanted(choose("python"), rattler_python="")).exists()


def test_a_machine_that_reaches_nothing_uses_what_was_brought(
    machine: Machine, choose: Any, channel: Channel, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.delenv("PIP_NO_INDEX")
    beta = make_wheel(wheels, "beta", "2.0")
    records = choose("python", "hello")
    files = [channel.folder / record["subdir"] / record["url"].rpartition("/")[2] for record in records]
    files += [wheels / "alpha-1.0-py3-none-any.whl", beta]
    away = [{**record, "url": record["url"].replace(channel.url, "http://127.0.0.1:1/chan")} for record in records]
    url = "beta @ https://127.0.0.1:1/beta-2.0-py3-none-any.whl?sig=abc"
    request = wanted(away, "alpha", url, brought=[[file.name, machine.blob(file)] for file in files])
    python = machine.ensure(request)
    assert said(python, "-c", "import alpha, beta, hello; print(alpha.VERSION, beta.VERSION)") == "1.0 2.0\n"


def test_a_file_of_the_project_is_installed(machine: Machine, choose: Any, wheels: Path) -> None:
    own = make_wheel(machine.root / "project", "beta", "2.0")
    blob = machine.blob(own)
    request = wanted(choose("python"), f"{{files}}/{blob}/{own.name}", files=[blob])
    assert said(machine.ensure(request), "-c", "import beta; print(beta.VERSION)") == "2.0\n"


def test_environments_share_their_files(machine: Machine, choose: Any) -> None:
    def used() -> int:
        return int(said("du", "-sk", machine.home).split()[0])

    machine.ensure(wanted(choose("python", "hello"), fingerprint="0"))
    one = used()
    for number in range(1, 10):
        machine.ensure(wanted(choose("python", "hello"), fingerprint=str(number)))
    assert used() < 1.5 * one
