import os
import shutil

import pytest

from jig.errors import ProjectError
from jig.project import Project

SAMPLES = os.path.join(os.path.dirname(__file__), "samples")


@pytest.fixture(autouse=True)
def jig_home(tmp_path, monkeypatch):
    """Every test has a cache folder of its own."""
    home = tmp_path / "jig-home"
    monkeypatch.setenv("JIG_HOME", str(home))
    return home


@pytest.fixture
def sample(tmp_path):
    """Copies a sample project and opens it."""

    def open_copy(name):
        root = tmp_path / name
        shutil.copytree(os.path.join(SAMPLES, name), root)
        return Project.find(str(root))

    return open_copy


@pytest.fixture
def project(tmp_path):
    """Makes a project of the given files: `project({"local.compute": "type: local"})`."""

    def make(files, folder="my project"):
        root = tmp_path / folder
        (root / "aml_config").mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            (root / "aml_config" / name).write_bytes(data)
        return Project.find(str(root))

    return make


@pytest.fixture
def faults(project):
    """The faults of one file's text as (line, key, message, fix) tuples."""

    def found(name, content):
        opened = project({name: content})
        stem, _, suffix = name.rpartition(".")
        with pytest.raises(ProjectError) as caught:
            if suffix == "compute":
                opened.compute_target(stem)
            elif suffix == "runconfig":
                opened.run_config(stem)
            elif "spark" in stem:
                opened.spark()
            else:
                opened.conda()
        assert {fault.file for fault in caught.value.faults} == {f"aml_config/{name}"}
        return [(fault.line, fault.key, fault.message, fault.fix) for fault in caught.value.faults]

    return found
