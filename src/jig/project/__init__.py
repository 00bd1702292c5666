"""What the user writes: the files of a project, as typed values."""

from __future__ import annotations

import os

from jig.errors import Fault, ProjectError, UsageError, nearest
from jig.project import compute, dependencies, names, runconfig
from jig.project.compute import ComputeTarget
from jig.project.dependencies import CondaSpec, Requirement, SparkPackage, SparkSpec
from jig.project.runconfig import CONDA_FILE, SPARK_FILE, RunConfig
from jig.project.write import delete_run_config, new_target_files, write_run_config, write_target
from jig.values import Value

__all__ = [
    "CONDA_FILE",
    "SPARK_FILE",
    "ComputeTarget",
    "CondaSpec",
    "Project",
    "Requirement",
    "RunConfig",
    "SparkPackage",
    "SparkSpec",
    "delete_run_config",
    "new_target_files",
    "write_run_config",
    "write_target",
]


class Project(Value):
    """A folder that has an `aml_config/` folder; each method reads the files as they are now."""

    root: str
    name: str

    @classmethod
    def find(cls, start: str) -> Project:
        """The project of a folder: it, or the nearest one above it, that has `aml_config/`."""
        try:
            folder = os.path.abspath(start)
        except FileNotFoundError as error:
            raise UsageError("the current folder no longer exists", "change to the project's folder") from error
        if not os.path.isdir(folder):
            raise UsageError(f"there is no folder {start!r}", "give the path of a project's folder")
        root = folder
        while not os.path.isdir(os.path.join(root, names.FOLDER)):
            above = os.path.dirname(root)
            if above == root:
                raise UsageError(
                    f"neither {folder} nor a folder above it is a project: none has `{names.FOLDER}/`",
                    "`jig project create --path DIR` makes a project; or go into the folder of one",
                )
            root = above
        run_dir = os.environ.get("JIG_RUN_DIR")
        if run_dir and os.path.realpath(root) == os.path.realpath(os.path.join(run_dir, "work")):
            return cls(root, os.environ.get("JIG_PROJECT") or names.project_name(root))  # a run's copy of its project
        return cls(root, names.project_name(root))

    def run_config_names(self) -> tuple[str, ...]:
        """The names of the run configurations, sorted."""
        return names.listed(self.root, names.RUN_SUFFIX)

    def target_names(self) -> tuple[str, ...]:
        """The names of the compute targets, sorted."""
        return names.listed(self.root, names.COMPUTE_SUFFIX)

    def run_config(self, name: str) -> RunConfig:
        """The run configuration of that name; UsageError names the nearest, ProjectError lists its faults."""
        names.check("run configuration", name)
        if name not in self.run_config_names():
            error = names.missing("run configuration", name, self.run_config_names())
            if name in self.target_names():
                error.hint = f"the compute target `{name}` exists: `jig runconfiguration create -n {name} -t {name}`"
            raise error
        shown = f"{names.FOLDER}/{name}{names.RUN_SUFFIX}"
        return runconfig.read(os.path.join(self.root, shown), shown, name, _cache_dir())

    def compute_target(self, name: str, to_run: bool = False) -> ComputeTarget:
        """The compute target of that name; UsageError names the nearest, ProjectError lists its faults.

        Who means to run on it says so: then what would keep a run from starting there is a fault too.
        """
        names.check("compute target", name)
        if name not in self.target_names():
            raise names.missing("compute target", name, self.target_names())
        shown = f"{names.FOLDER}/{name}{names.COMPUTE_SUFFIX}"
        return compute.read(os.path.join(self.root, shown), shown, name, _cache_dir(), to_run)

    def conda(self, path: str = CONDA_FILE, named: bool = False) -> CondaSpec:
        """The conda file; when missing, the default one (unless it was `named`) is an empty spec, another an error."""
        if path == CONDA_FILE and not named and not os.path.lexists(os.path.join(self.root, path)):
            return CondaSpec(path)
        return dependencies.read_conda(self._dependency_file(path), path, _cache_dir())

    def spark(self, path: str = SPARK_FILE, named: bool = False) -> SparkSpec:
        """The Spark file; missing files as in `conda`."""
        if path == SPARK_FILE and not named and not os.path.lexists(os.path.join(self.root, path)):
            return SparkSpec(path)
        return dependencies.read_spark(self._dependency_file(path), path, _cache_dir())

    def _dependency_file(self, path: str) -> str:
        full = os.path.join(self.root, path)
        if not os.path.lexists(full):
            folder = os.path.dirname(full)
            others = (
                [name for name in os.listdir(folder) if name.endswith((".yml", ".yaml"))]
                if os.path.isdir(folder)
                else []
            )
            near = nearest(os.path.basename(full), others)
            fix = f"did you mean `{os.path.join(os.path.dirname(path), near)}`?" if near else "write the file"
            raise ProjectError([Fault(path, 0, "", "there is no such file", fix)])
        return full


def _cache_dir() -> str | None:
    """Where parsed files are kept; None when there is no home folder."""
    home = os.environ.get("JIG_HOME") or os.path.expanduser("~/.jig")
    return os.path.join(os.path.abspath(home), "cache", "yaml") if not home.startswith("~") else None
