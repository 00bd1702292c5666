"""Which Python an environment in an image has: the base's own where it will do, else one that uv brings."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.image.machine import CONDA, PLAIN, PYTHON, ImageMachine, theirs, wanted
from tests.runner.image.python_mirror import make_mirror
from tests.runner.wheels import Index, serve

NOWHERE = "https://releases.astral.sh/"


@pytest.fixture
def bare(machine: ImageMachine) -> Iterator[str]:
    """The image with Python, without its Python: what an interpreter needs is there, whatever one uv brings."""
    machine.engine.docker("create", "--name", "bare", "--network", "none", PYTHON, "sh", "-c", "rm /usr/bin/*python*")
    machine.engine.docker("start", "-a", "bare")
    machine.engine.docker("commit", "bare", "jig-test/bare:1")
    machine.engine.docker("rm", "bare")
    yield "jig-test/bare:1"
    machine.engine.docker("rmi", "-f", "jig-test/bare:1")


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["tuple[Index, str]"]:
    """Where uv is told to fetch Python, and the version that is there."""
    folder = tmp_path / "pythons"
    folder.mkdir()
    with serve(folder) as index:
        listed, version = make_mirror(folder, f"{index.url}/files")
        monkeypatch.setenv("UV_PYTHON_DOWNLOADS_JSON_URL", str(listed))
        monkeypatch.delenv("UV_PYTHON_DOWNLOADS")
        yield index, version


def test_a_base_without_python_gets_one(machine: ImageMachine, mirror: "tuple[Index, str]", bare: str) -> None:
    index, version = mirror
    made = machine.ensure(wanted("alpha"), bare)
    code = "import alpha, platform, sys; print(alpha.VERSION, platform.python_version(), sys.base_prefix)"
    alpha, found, place = machine.python(made, code).split()
    assert (alpha, found) == ("1.0", version)
    assert place.startswith("/azureml-envs/python/"), "it is part of the image"
    assert len([path for path in index.asked if path.endswith(".tar.gz")]) == 1
    again = machine.ensure(wanted("alpha", fingerprint="cd34"), bare)
    assert again.id != made.id
    assert len([path for path in index.asked if path.endswith(".tar.gz")]) == 1, "the archive is kept"


def test_the_base_s_own_python_is_taken_where_it_fits(machine: ImageMachine, mirror: "tuple[Index, str]") -> None:
    have = machine.ensure(theirs("python3")).facts["pythons"]["python3"]["version"]
    minor = have.rpartition(".")[0]
    made = machine.ensure(wanted(python=minor))
    assert machine.python(made, "import platform, sys; print(platform.python_version(), sys.base_prefix)") == (
        f"{have} /usr\n"
    )
    assert mirror[0].asked == []


def test_a_version_that_the_base_does_not_have(machine: ImageMachine, mirror: "tuple[Index, str]") -> None:
    have = machine.ensure(theirs("python3")).facts["pythons"]["python3"]["version"]
    version = mirror[1]
    made = machine.ensure(wanted(python=version))
    found, place = machine.python(
        made, "import platform, sys; print(platform.python_version(), sys.base_prefix)"
    ).split()
    assert found == version
    assert place.startswith("/usr" if have == version else "/azureml-envs/python/")


def test_there_is_no_such_python(machine: ImageMachine) -> None:
    reason = machine.fails(wanted(python="3.4"))
    assert reason.startswith("uv could not make an environment with Python 3.4: ")


def test_the_python_of_an_image(machine: ImageMachine) -> None:
    """userManagedEnvironment: the image is the base itself."""
    made = machine.ensure(theirs())
    assert (made.tag, made.python, made.prefix) == (PYTHON, "/usr/bin/python3", "")
    assert made.id == machine.engine.docker("inspect", "--format", "{{.Id}}", PYTHON).strip()
    assert machine.ensure(theirs("python3")).python == "/usr/bin/python3"
    assert machine.ensure(theirs("/usr/bin/python3")).python == "/usr/bin/python3"
    assert machine.ensure(theirs("perl")).python == "/usr/bin/perl"
    assert machine.ensure(theirs(), CONDA).python == "/opt/conda/bin/python"
    assert machine.told == [] and machine.images() == []


def test_no_python_to_be_found_in_an_image(machine: ImageMachine) -> None:
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    fix = (
        "set pythonLocation to the full path of an interpreter in it, name an image with Python in baseDockerImage, "
        "or set userManagedEnvironment: false"
    )
    assert machine.fails(theirs(), PLAIN) == (
        f"there is no python and no python3 in the search path ({path}) of the image {PLAIN}: {fix}"
    )
    assert machine.fails(theirs("python3.99")) == (
        f"there is no python3.99 in the search path ({path}) of the image {PYTHON}: {fix}"
    )
    assert machine.fails(theirs("/opt/py/bin/python")) == (
        f"there is no interpreter at /opt/py/bin/python (pythonLocation) in the image {PYTHON}: it has /usr/bin/python3"
    )
    assert machine.fails(theirs("bin/python")) == (
        f"pythonLocation 'bin/python' is a relative path: write the full path of an interpreter in the image {PYTHON}"
    )
