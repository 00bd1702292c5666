"""conda packages in an image: linked on the machine as if they stood inside already, and brought in."""

import sys
from pathlib import Path
from typing import Any

import pytest

from jig.runner import image
from jig.runner.virtual_packages import machine_platform
from tests.conda_channel import Channel
from tests.engines.small_images import busybox, import_files
from tests.runner.image.machine import PYTHON, ImageMachine, wanted
from tests.runner.wheels import serve


def conda(records: "list[dict[str, Any]]", *requirements: str, **more: Any) -> dict[str, Any]:
    more = {"channels": [], "packages": [], "records": records, "rattler_python": sys.executable, **more}
    return wanted(*requirements, kind="conda", **more)


def test_conda_packages_then_pip_packages(machine: ImageMachine, choose: Any) -> None:
    made = machine.ensure(conda(choose("python", "hello", "prefixed"), "alpha"))
    place = made.prefix
    assert made.python == f"{place}/bin/python"
    assert machine.run(made, f"{place}/bin/say-hello") == f"hello from {place}\n"
    assert machine.run(made, f"{place}/bin/where") == f"{place}\n"
    assert machine.run(made, "cat", f"{place}/etc/where.txt") == f"root={place}/share\n"
    assert machine.run(made, f"{place}/bin/alpha") == "1.0\n"
    assert machine.python(made, "import sys, alpha, hello; print(sys.prefix)") == f"{place}\n"
    assert machine.steps() == ["installing 3 conda packages", "resolving", "installing 1 package", "environment ready"]
    assert machine.run(made, "ls", "-A", "/jig") == ""


def test_conda_packages_alone(machine: ImageMachine, choose: Any) -> None:
    made = machine.ensure(conda(choose("python")))
    assert machine.python(made, "import sys; print(sys.prefix)") == f"{made.prefix}\n"
    machine.told.clear()
    assert machine.ensure(conda(choose("python"))).id == made.id and machine.told == []


def test_nothing_of_the_machine_is_in_it(machine: ImageMachine, choose: Any, channel: Channel) -> None:
    made = machine.ensure(conda(choose("python", "hello"), "alpha"))
    found = machine.engine.docker(
        *("run", "--rm", "--network", "none", made.id, "sh", "-c"),
        f"grep -rlF --exclude-dir=conda-meta '{machine.home}' /azureml-envs /etc /root /jig || echo none",
    )
    assert found == "none\n"


def test_a_python_that_uv_does_not_serve(
    machine: ImageMachine, choose: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last pip for it is fetched by this machine, and runs inside with this machine's settings of pip."""
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    settings = tmp_path / "pip.conf"
    with serve(machine.wheels) as index:
        settings.write_text(f"[global]\nextra-index-url = {index.url}/simple\n")
        monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
        made = machine.ensure(conda(choose("python=3.5.2"), "alpha"))
    assert machine.run(made, f"{made.prefix}/bin/alpha") == "1.0\n"
    assert "Successfully installed alpha-1.0" in machine.log.read_text()


def test_what_conda_is_told_of_the_inside(machine: ImageMachine) -> None:
    look = machine.look(conda([]))
    facts = image.base_facts(look, machine.told.append)
    version = machine.engine.docker("run", "--rm", "--network", "none", PYTHON, "getconf", "GNU_LIBC_VERSION").split()[
        1
    ]
    assert facts["libc"] == f"glibc {version}"
    assert machine_platform(facts["libc"])["virtual"]["__glibc"] == version
    import_files(machine.engine, "jig-test/odd:1", busybox())
    try:
        facts = image.base_facts(machine.look(conda([]), "jig-test/odd:1"), machine.told.append)
    finally:
        machine.engine.docker("rmi", "jig-test/odd:1")
    assert facts["libc"] == "musl"
    assert "__glibc" not in machine_platform(facts["libc"])["virtual"]


def test_a_driver_counts_where_a_gpu_is_wanted(machine: ImageMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    from jig.runner import environment, virtual_packages

    monkeypatch.setattr(virtual_packages, "_cuda", lambda: "12.4")
    assert machine_platform("glibc 2.31", driver=True)["virtual"]["__cuda"] == "12.4"
    assert "__cuda" not in machine_platform("glibc 2.31", driver=False)["virtual"]
    without, wants = machine.look(conda([])).tag, machine.look(conda([]), gpus="all").tag
    assert without == wants, "there is no driver"
    monkeypatch.setattr(environment, "_NVIDIA", ("/dev/null",))
    assert machine.look(conda([])).tag == without != machine.look(conda([]), gpus="all").tag
