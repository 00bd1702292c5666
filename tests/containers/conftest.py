"""A project with a target in the tests' own Docker engine."""

import os

import pytest

from jig.runner import events, image_store
from jig.runner.folder import Home
from tests.conftest import ProjectFolder
from tests.engines.fixtures import point_docker_at
from tests.runner.wheels import make_wheel, serve

BASE = "jig-test/python:1"
NEEDS_ALPHA = "import alpha, sys; print(alpha.VERSION, sys.prefix.rpartition('/')[0])"
DONE = "\n1.0 /azureml-envs\n"  # what that prints in an environment of jig's, in a container


class DockerProject(ProjectFolder):
    """A project that runs in containers of an engine."""

    def __init__(self, path, engine) -> None:
        super().__init__(path)
        self.engine = engine
        self.target()
        self.runconfig("docker")

    def target(self, base: str = BASE, **keys) -> None:
        """Write docker.compute: the base's own Python, unless the keys say otherwise."""
        keys = {"type": "localdocker", "baseDockerImage": base, "userManagedEnvironment": True, **keys}
        self.write("aml_config/docker.compute", "".join(f"{key}: {_yaml(value)}\n" for key, value in keys.items()))

    def containers(self) -> "list[str]":
        """The names of all containers that the engine has of jig's."""
        return self.engine.docker("ps", "-a", "--filter", "label=jig.home", "--format", "{{.Names}}").split()


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.fixture
def docker_in(tmp_path, monkeypatch):
    """docker_in(engine) → a project whose target `docker` is in that engine."""

    def make(engine) -> DockerProject:
        point_docker_at(engine, monkeypatch)
        folder = DockerProject(tmp_path / "proj", engine)
        monkeypatch.chdir(folder.path)
        return folder

    return make


@pytest.fixture
def docker(tmp_path, monkeypatch, docker_host):
    """A project whose target `docker` is in the session's engine, which no test may stop."""
    folder = DockerProject(tmp_path / "proj", docker_host)
    monkeypatch.chdir(folder.path)
    return folder


class Managed:
    """A project whose scripts need the package alpha, from an index of this machine."""

    def __init__(self, docker, index, jig_home) -> None:
        self.docker, self.index, self.home = docker, index, Home(str(jig_home))
        docker.target(userManagedEnvironment=False)
        docker.write("a.py", NEEDS_ALPHA)
        self.conda(f"{index.url}/simple")

    def conda(self, url: str) -> None:
        text = f"dependencies:\n- python\n- pip:\n  - --index-url {url}\n  - alpha\n"
        self.docker.write("aml_config/conda_dependencies.yml", text)

    def notes(self, run_id: str) -> "list[str]":
        past = events.read(self.home.run(run_id).events)
        return [event["text"].partition(" in ")[0] for event in past if event["event"] == "note"]

    def images(self) -> "list[str]":
        """The images with an environment that the engine has."""
        words = ("image", "ls", "--quiet", "--no-trunc", "--filter", "label=jig.environment")
        return self.docker.engine.docker(*words).split()

    def half_built(self) -> "list[str]":
        """What a build leaves only while it goes on, in the engine and here."""
        folder = os.path.join(self.home.path, "envs")
        staged = [name for name in os.listdir(folder) if not name.endswith(".lock")] if os.path.isdir(folder) else []
        return self.docker.containers() + staged


@pytest.fixture
def manage(jig_home, tmp_path, no_settings):
    """manage(project) → the same project, whose scripts need the package alpha."""
    make_wheel(tmp_path / "wheels", "alpha", "1.0")
    with serve(tmp_path / "wheels") as index:
        yield lambda project: Managed(project, index, jig_home)


@pytest.fixture
def managed(docker, manage, jig_home):
    """Such a project in the session's engine, which is left as it was."""
    yield manage(docker)
    image_store.clean(Home(str(jig_home)), 0.0)
