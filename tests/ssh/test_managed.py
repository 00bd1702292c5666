"""An environment that jig looks after, on the machine: built there, with a uv that is brought along."""

import pytest

from tests.conftest import call
from tests.runner.wheels import make_wheel, serve


@pytest.fixture
def managed(box, project):
    """The machine has no uv and no way out to a package index: wheels lie in its home, and pip is told so."""
    wheels = box.host.home / "wheels"
    make_wheel(wheels, "sixpence", "1.0")
    settings = f"[global]\nno-index = true\nfind-links = /home/ada/{wheels.name}\n"
    done = box.host.run(f"mkdir -p ~/.config/pip && printf '%s' '{settings}' > ~/.config/pip/pip.conf")
    assert done.returncode == 0, done.stderr
    version = box.host.run("python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'").stdout.strip()
    text = f"dependencies:\n  - python={version}\n  - pip:\n    - sixpence\n"
    project.write("aml_config/conda_dependencies.yml", text)
    place = project.path / "aml_config/box.compute"
    place.write_text(place.read_text().replace("userManagedEnvironment: true", "userManagedEnvironment: false"))
    project.write("a.py", "import sixpence, sys; print(sixpence.VERSION, sys.prefix)")
    return box


def test_built_there_by_a_run(managed, project, jig_home):
    said = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=120)
    assert said.code == 0, said.out + said.err
    assert "1.0 /home/ada/.jig/envs/" in said.out
    assert not (jig_home / "envs").exists(), "nothing is built here"
    again = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=120)
    assert again.code == 0 and "making an environment" not in again.out


def test_built_there_by_prepare(managed, project):
    said = call("experiment", "prepare", "-c", "box", cwd=project.path, timeout=120)
    assert said.code == 0, said.err
    assert said.out.startswith("prepared: /home/ada/.jig/envs/")
    ran = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=120)
    assert ran.code == 0 and "making an environment" not in ran.out


def test_a_package_that_is_nowhere(managed, project):
    place = project.path / "aml_config/conda_dependencies.yml"
    place.write_text(place.read_text().replace("sixpence", "nowhere-at-all"))
    said = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=120)
    assert said.code == 125 and "nowhere-at-all" in said.out + said.err
    assert call("status", "-o", "json", cwd=project.path).json()["reason"] == "environment-failed"


def test_not_prepared(managed, project, cli):
    project.runconfig("box", PrepareEnvironment=False)
    said = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=60)
    assert said.code == 125 and "jig experiment prepare -c box" in said.err
    assert cli("history", "list", "-o", "json").json() == []


def test_a_wheel_of_the_project(managed, project):
    wheel = make_wheel(project.path / "aml_config/own", "delta", "3.0")
    place = project.path / "aml_config/conda_dependencies.yml"
    place.write_text(place.read_text() + f"    - own/{wheel.name}\n")
    project.write("a.py", "import delta, sixpence; print(delta.VERSION, sixpence.VERSION)")
    said = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=120)
    assert said.code == 0 and "\n3.0 1.0\n" in said.out, said.out + said.err


@pytest.fixture
def index(managed, project, tmp_path):
    """An index of this computer, where the machine has none: by name, by URL, and for a wheel of the project."""
    managed.host.write(".config/pip/pip.conf", "")
    folder = tmp_path / "wheels"
    make_wheel(folder, "alpha", "1.0")
    make_wheel(folder, "beta", "2.0")
    make_wheel(folder, "gamma", "1.0")
    own = make_wheel(project.path / "aml_config", "delta", "3.0", requires=("beta",))
    names = ("alpha", "beta", "gamma", "delta")
    project.write("a.py", f"import {', '.join(names)}; print({', '.join(f'{name}.VERSION' for name in names)})")
    with serve(folder) as index:
        place = project.path / "aml_config/conda_dependencies.yml"
        lines = (
            f"--index-url {index.url}/simple",
            "alpha",
            own.name,
            f"{index.url}/x/gamma-1.0-py3-none-any.whl?sig=1",
        )
        place.write_text(place.read_text().replace("    - sixpence\n", "".join(f"    - {line}\n" for line in lines)))
        yield index


@pytest.mark.parametrize("locked", [False, True])
def test_an_index_that_only_the_client_reaches(index, project, jig_home, cli, locked):
    if locked:
        assert cli("environment", "lock", "-c", "box").code == 0
        make_wheel(index.folder, "alpha", "1.1")
    said = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=120)
    assert said.code == 0 and "\n1.0 2.0 1.0 3.0\n" in said.out, said.out + said.err
    assert len(list((jig_home / "cache/files").iterdir())) == 3
    again = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=120)
    assert again.code == 0 and "making an environment" not in again.out


def test_a_package_that_the_client_does_not_find_either(index, project, cli):
    place = project.path / "aml_config/conda_dependencies.yml"
    place.write_text(place.read_text().replace("- alpha", "- nowhere-at-all"))
    said = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=120)
    assert said.code == 125 and "nowhere-at-all was not found in the package registry" in said.err
    assert cli("history", "list", "-o", "json").json() == []
