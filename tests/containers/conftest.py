"""A project with a target in the tests' own Docker engine."""

import pytest

from tests.conftest import ProjectFolder
from tests.engines.fixtures import point_docker_at

BASE = "jig-test/python:1"


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
