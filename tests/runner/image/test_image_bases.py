"""Base images that are not like others: without a shell, for another processor, with another C library, with settings."""

import json
import platform
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jig.environments.uv import find_uv
from jig.runner import image
from jig.runner.environment import EnvironmentFailed
from tests.engines.small_images import busybox, import_files, load_for
from tests.runner.image.machine import PYTHON, ImageMachine, theirs, wanted

ODD = "jig-test/odd:1"
# What uv does in an image where nothing else runs, as far as a build can tell.
UV = """#!/bin/sh
case "$1" in
--version) echo "uv 1" ;;
venv)
    for word; do case "$word" in /azureml-envs/*) folder=$word ;; esac; done
    mkdir -p "$folder/bin"
    printf 'version_info = 3.11.0\\n' > "$folder/pyvenv.cfg"
    printf '#!/bin/sh\\necho it runs\\n' > "$folder/bin/python"
    chmod 755 "$folder/bin/python" ;;
pip) printf 'Resolved 1 package in 1ms\\nInstalled 1 package in 1ms\\n' ;;
esac
"""


@pytest.fixture(autouse=True)
def no_odd_image(machine: ImageMachine) -> Iterator[None]:
    yield
    subprocess.run(["docker", "rmi", "--force", ODD], capture_output=True)


def test_a_base_without_a_shell(machine: ImageMachine) -> None:
    import_files(machine.engine, ODD, {"etc/passwd": b"root:x:0:0::/:\n", "bin/python": b"not really"})
    assert machine.fails(wanted("alpha"), ODD) == (
        f"the image {ODD} has no /bin/sh, by which an environment is built in it: name another image in "
        "baseDockerImage, or set userManagedEnvironment: true to use the Python that it has"
    )
    made = machine.ensure(theirs("/bin/python"), ODD)
    assert (made.python, made.facts["passwd"], made.facts["group"]) == ("/bin/python", "root:x:0:0::/:", "")
    assert machine.fails(theirs(), ODD).startswith("there is no python and no python3 in the search path (")


def test_a_base_for_another_processor(machine: ImageMachine) -> None:
    here, other = ("amd64", "arm64") if platform.machine() == "x86_64" else ("arm64", "amd64")
    import_files(machine.engine, ODD, busybox())
    load_for(machine.engine, ODD, ODD, architecture=other)
    reason = (
        f"the image {ODD} is made for the processor {other}, and this machine has {here}: "
        f"`docker pull --platform linux/{here} {ODD}` there, or name another image in baseDockerImage"
    )
    assert machine.fails(wanted("alpha"), ODD) == reason
    assert machine.fails(theirs(), ODD) == reason
    with pytest.raises(EnvironmentFailed, match="is made for the processor"):
        image.base_facts(machine.look(wanted("alpha"), ODD), machine.told.append)


def test_a_base_for_another_system(machine: ImageMachine) -> None:
    look = machine.look(wanted("alpha"))
    look.config = {"Os": "windows", "Architecture": "amd64"}
    with pytest.raises(EnvironmentFailed) as failed:
        image.check(look)
    assert str(failed.value) == (
        f"the image {PYTHON} is made for Windows, and this machine runs Linux images: "
        "name another one in baseDockerImage"
    )


def static_uv(folder: Path) -> None:
    """A uv for images without the C library of this machine, as a wheel."""
    version = subprocess.run([str(find_uv()), "--version"], capture_output=True, text=True, check=True).stdout.split()[
        1
    ]
    path = folder / f"uv-{version}-py3-none-musllinux_1_1_{platform.machine()}.whl"
    about = f"uv-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"uv-{version}.data/scripts/uv", UV)
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: uv\nVersion: {version}\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


def test_a_base_with_another_c_library(machine: ImageMachine) -> None:
    """This machine's uv does not run there; the one that runs everywhere is fetched."""
    import_files(machine.engine, ODD, busybox())
    assert machine.fails(wanted("alpha"), ODD).startswith(
        f"this machine's uv does not run in the image {ODD}, whose C library is another one, and the uv that runs "
        "everywhere could not be fetched: name an image of Debian or Ubuntu in baseDockerImage, such as "
        "python:3.11-slim (uv could not fetch uv "
    )
    static_uv(machine.wheels)
    made = machine.ensure(wanted("alpha"), ODD)
    assert machine.run(made, made.python) == "it runs\n"
    assert made.facts["libc"] == "musl"
    (tool,) = (machine.home / "tools").iterdir()
    assert (tool / "bin/uv").read_text() == UV
    machine.ensure(wanted("alpha", fingerprint="cd34"), ODD)
    assert sorted((machine.home / "tools").iterdir()) == [tool]


def test_settings_of_a_base_stay(machine: ImageMachine) -> None:
    """What it starts by default does not get in the way of the build, nor of the run."""
    static_uv(machine.wheels)
    changes = [
        'ENTRYPOINT ["/bin/false"]',
        "USER odd",
        "ENV GREETING=hello HTTP_PROXY=http://p.example",
        "WORKDIR /etc",
    ]
    import_files(machine.engine, ODD, busybox(), *changes)
    made = machine.ensure(wanted("alpha"), ODD)
    (about,) = json.loads(machine.engine.docker("inspect", made.id))
    config = about["Config"]
    assert (config["User"], config["WorkingDir"], config["Entrypoint"]) == ("odd", "/etc", None)
    assert sorted(config["Env"]) == ["GREETING=hello", "HTTP_PROXY=http://p.example"]
    assert made.facts["env"]["GREETING"] == "hello" and made.facts["user"] == "odd"
    assert made.facts["passwd"].splitlines()[1] == "odd:x:7:7::/:/bin/false"
