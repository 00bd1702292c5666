"""What the tests of `jig environment` have in common: a conda file in a line, and a machine called box."""

import json
from pathlib import Path

FILE = "aml_config/conda_dependencies.yml"
LOCK = "aml_config/conda_dependencies.lock.json"
BOX = "type: remote\naddress: box.example\nusername: me\nuserManagedEnvironment: false\n"
NOT_ATTACHED = "`box` is not attached on this computer, and what it has is not known"


def asks(project, *packages: str, pip=(), channels=()) -> Path:
    """Write the project's conda file."""
    data = {"channels": list(channels), "dependencies": [*packages, {"pip": list(pip)}] if pip else list(packages)}
    return project.write(FILE, "".join(f"{key}: {json.dumps(value)}\n" for key, value in data.items()))


def box(project, text: str = BOX) -> None:
    project.write("aml_config/box.compute", text)
    project.runconfig("box")


def attached(jig_home, **facts) -> None:
    """Let this computer know of the machine of `box` what an attach finds out."""
    folder = jig_home / "machines/me@box.example"
    folder.mkdir(parents=True)
    (folder / "facts.json").write_text(json.dumps(facts))
