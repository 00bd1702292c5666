"""Run configurations written and deleted on the user's behalf."""

from __future__ import annotations

import os

from jig.errors import Fault, ProjectError, UsageError
from jig.project import names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.project import Project

_CONTENT = """\
# How to run: `jig experiment submit -c {name} SCRIPT [ARGUMENT ...]`

# Where to run: the compute target of this name, aml_config/{target}.compute
Target: "{target}"

# Python, or PySpark for a script that uses Spark. Without this line it would be PySpark.
Framework: Python

# The script and its arguments when the command line names none; $file is the script on the command line.
ArgumentVector:
  - $file

# Set for the script. {{fromClient: true}} takes the value from your own environment and writes it nowhere.
EnvironmentVariables:
#  EXAMPLE: some value
#  HF_TOKEN: {{fromClient: true}}

# The packages; only read where jig makes the environment. This is the default:
# CondaDependenciesFile: aml_config/conda_dependencies.yml

# true: prepare the environment as part of the run where needed. false: `jig experiment prepare` comes first.
PrepareEnvironment: true

# false: leave no record of the runs.
TrackedRun: true
"""


def write_run_config(project: Project, name: str, target: str) -> str:
    """Writes a commented run configuration and returns its path; never overwrites one."""
    names.check("run configuration", name)
    names.check("compute target", target)
    if target not in project.target_names():
        raise names.missing("compute target", target, project.target_names())
    shown, path = _paths(project, name)
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as stream:  # noqa: PTH123
            stream.write(_CONTENT.format(name=name, target=target))
    except FileExistsError as error:
        hint = f"`jig runconfiguration delete -n {name}` removes it; or choose another name"
        raise UsageError(f"the run configuration `{name}` exists already: {shown}", hint) from error
    except OSError as error:
        raise ProjectError([Fault(shown, 0, "", f"could not be written: {error.strerror}")]) from error
    return path


def delete_run_config(project: Project, name: str) -> None:
    """Deletes a run configuration; UsageError when there is none of that name."""
    names.check("run configuration", name)
    if name not in project.run_config_names():
        raise names.missing("run configuration", name, project.run_config_names())
    shown, path = _paths(project, name)
    try:
        os.unlink(path)
    except OSError as error:
        raise ProjectError([Fault(shown, 0, "", f"could not be deleted: {error.strerror}")]) from error


def _paths(project: Project, name: str) -> tuple[str, str]:
    shown = f"{names.FOLDER}/{name}{names.RUN_SUFFIX}"
    return shown, os.path.join(project.root, shown)
