"""One kernel for each run configuration of a project, in a folder that Jupyter is shown and nobody else sees."""

from __future__ import annotations

import json
import os
import shutil
import sys

from jig.errors import JigError
from jig.project import CondaSpec, Project

PREFIX = "jig-"


def name_of(config: str) -> str:
    """What Jupyter, and the notebooks that use it, call the kernel of a run configuration: the same on any computer."""
    plain = "".join(one if one.isascii() and (one.isalnum() or one in "._-") else "-" for one in config.lower())
    if plain == config:
        return PREFIX + plain
    import hashlib

    return f"{PREFIX}{plain}-{hashlib.sha256(config.encode()).hexdigest()[:6]}"


def write(project: Project, folder: str) -> None:
    """Make `folder`/kernels anew: a specification for each run configuration."""
    place = os.path.join(folder, "kernels")
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place, 0o700)
    for config in project.run_config_names():
        own = os.path.join(place, name_of(config))
        os.mkdir(own)
        with open(os.path.join(own, "kernel.json"), "w", encoding="utf-8") as file:
            json.dump(spec(project, config), file)


def spec(project: Project, config: str) -> dict[str, object]:
    """What Jupyter is told of it. Its Ctrl-C comes as a signal, which goes on to the kernel wherever that is."""
    return {
        "argv": [sys.executable, "-m", "jig.notebook.kernel", project.root, config, "{connection_file}"],
        "display_name": f"{project.name} {config}",
        "language": "python",
        "interrupt_mode": "signal",
        "metadata": {"jig": {"run_configuration": config}},
    }


def doubts(project: Project) -> list[str]:
    """Run configurations whose kernel cannot start, as far as their files tell."""
    told, lacking = [], dict[str, list[str]]()
    for name in project.run_config_names():
        try:
            config = project.run_config(name)
            if not project.compute_target(config.target).managed:
                continue
            conda = project.conda(config.conda_file, config.conda_file_named)
        except JigError as error:
            told.append(f"the kernel of {name} cannot start: {error.message}")
            continue
        if not _has_kernel(conda):
            lacking.setdefault(config.conda_file, []).append(name)
    for file, names in lacking.items():
        who = f"the kernels of {', '.join(names)} need" if len(names) > 1 else f"the kernel of {names[0]} needs"
        told.append(f"{file} lists no ipykernel, which {who}: add  - ipykernel  to its dependencies")
    return told


def _has_kernel(conda: CondaSpec) -> bool:
    """Whether the file lists it, or something that may bring it along."""
    texts = [one.text.lower() for one in (*conda.packages, *conda.pip)]
    return any(word in text for text in texts for word in ("ipykernel", "jupyter", "notebook", "-r ", "anaconda"))
