"""Run configurations written and deleted on the user's behalf."""

from __future__ import annotations

import os

from jig.errors import Fault, ProjectError, UsageError
from jig.project import names
from jig.runner import dead_images

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.project import ComputeTarget, Project

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

# GPUs: how many a run takes for itself; it waits until so many are free. Without it: all that the target gives a run.
# Gpus: 1
# true: a run whose packages cannot use a GPU ends before its script starts.
# RequireGpu: true

# The packages; only read where jig makes the environment. This is the default:
# CondaDependenciesFile: aml_config/conda_dependencies.yml

# true: prepare the environment as part of the run where needed. false: `jig experiment prepare` comes first.
PrepareEnvironment: true

# false: leave no record of the runs.
TrackedRun: true
"""


_COMPUTE_HEAD = """\
# Where to run: a machine reached over SSH. `jig computetarget check {name}` says how it is.
type: {kind}
address: {address}
username: {username}
# There is no password here: jig logs in with a key of its own, or with yours.
"""
_COMPUTE_HEADS_HERE = {
    "localdocker": """\
# Where to run: in a container on this machine. `jig computetarget check {name}` says how its Docker is.
type: {kind}
""",
    "cluster": """\
# Where to run: on a Spark cluster, with the driver on this machine, to which the workers must be able to connect.
type: {kind}
""",
}
_CONTAINER = """
# The image that scripts run in; the packages of aml_config/conda_dependencies.yml are put on top of it, once.
# Any Linux image will do: one with Python or conda, or with neither, and then jig brings a Python.
baseDockerImage: {image}

# true: the container gets the machine's NVIDIA GPUs, or the run stops at once and says why not.
# The driver comes from the machine, and CUDA with the packages (torch, tensorflow[and-cuda], jax[cuda12]). For packages
# that look for it in the image, take {cuda} or the like (NVIDIA removes old tags).
{gpu_mark}nvidiaDocker: true

# true: the run's folder and the share folder are mounted. false: files are copied in and out, and nothing is shared;
# then remove nativeSharedDirectory below.
sharedVolumes: true

# Base of the folder that outlives the runs; scripts find their project's part in AZUREML_NATIVE_SHARE_DIRECTORY.
nativeSharedDirectory: ~/.azureml/share/

# true: install nothing, and run scripts with the image's own Python, the one that pythonLocation names.
# userManagedEnvironment: true
# pythonLocation: python3
"""
_COMPUTE_REST = {
    "remote": """
# The Python there that runs scripts, when it is yours to look after:
pythonLocation: python3
# false: jig builds the environment there from aml_config/conda_dependencies.yml
userManagedEnvironment: true
""",
    "localdocker": _CONTAINER,
    "remotedocker": _CONTAINER,
    "cluster": """
# Who gives out the work: yarn, or the master of a standalone cluster, such as spark://HOST:7077
sparkMaster: {master}

# With YARN: where the driver runs. client: on the machine above, its output streams, and jig.log works in it.
# cluster: somewhere in the cluster; its output comes when it has ended.
yarnDeployMode: client

# The packages of aml_config/conda_dependencies.yml are installed once, and travel to the executors with each run.
# true: install nothing; the Python below must be on every machine of the cluster.
# userManagedEnvironment: true
# pythonLocation: python3

# spark-submit, when it is not the one on PATH or in SPARK_HOME:
# sparkSubmitLocation: /opt/spark/bin/spark-submit
""",
}
_COMPUTE_HOME = """
# Where jig keeps runs and environments there, when the home folder is small:
{mark}jigHome: {home}
"""
_FRAMEWORKS = {"remotedocker": "PySpark", "cluster": "PySpark"}  # as the original wrote it


def write_target(project: Project, target: ComputeTarget) -> tuple[str, str]:
    """Writes `<name>.compute` and `<name>.runconfig`, both or neither; never overwrites one. Returns their paths."""
    import json

    name, kind, home = target.name, target.kind, target.jig_home
    compute, run_config = new_target_files(project, name)
    written = {
        "address": json.dumps(target.address),
        "username": json.dumps(target.username),
    }  # YAML reads JSON's strings
    head = _COMPUTE_HEAD if target.address else _COMPUTE_HEADS_HERE[kind]
    text = head.format(name=name, kind=kind, **written)
    gpu_mark = "" if target.nvidia_docker else "# "
    master = target.spark_master or "yarn"
    text += _COMPUTE_REST[kind].format(
        image=target.base_docker_image, gpu_mark=gpu_mark, cuda=dead_images.GPU, master=master
    )
    text += _COMPUTE_HOME.format(mark="" if home else "# ", home=json.dumps(home or "/scratch/me/jig"))
    framework = _FRAMEWORKS.get(kind, "Python")
    config = _CONTENT.format(name=name, target=name).replace("Framework: Python", f"Framework: {framework}")
    try:
        for path, content in ((compute, text), (run_config, config)):
            with open(path, "x", encoding="utf-8", newline="\n") as stream:
                stream.write(content)
    except OSError as error:
        for path in (compute, run_config):
            if os.path.lexists(path):
                os.unlink(path)
        raise ProjectError([Fault(name, 0, "", f"could not be written: {error.strerror}")]) from error
    return compute, run_config


def new_target_files(project: Project, name: str) -> tuple[str, str]:
    """Where the two files of a new target go; UsageError when the name cannot be, or is taken."""
    names.check("compute target", name)
    compute = os.path.join(project.root, names.FOLDER, name + names.COMPUTE_SUFFIX)
    _, run_config = _paths(project, name)
    for path in (compute, run_config):
        if os.path.lexists(path):
            shown = os.path.relpath(path, project.root)
            raise UsageError(
                f"{shown} exists already",
                f"edit it, choose another name, or delete it with:  jig computetarget detach {name}",
            )
    return compute, run_config


def write_run_config(project: Project, name: str, target: str) -> str:
    """Writes a commented run configuration and returns its path; never overwrites one."""
    names.check("run configuration", name)
    names.check("compute target", target)
    if target not in project.target_names():
        raise names.missing("compute target", target, project.target_names())
    shown, path = _paths(project, name)
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as stream:
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
