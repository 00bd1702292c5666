"""`<name>.runconfig`: how to run."""

from __future__ import annotations

from jig.project import datasources, gpu, keys, ranks, successor
from jig.project.names import COMPUTE_SUFFIX, is_name
from jig.project.schema import Place, Section
from jig.project.yaml import MAP, NULL
from jig.values import Value

CONDA_FILE = "aml_config/conda_dependencies.yml"
SPARK_FILE = "aml_config/spark_dependencies.yml"


class RunConfig(Value):
    """How to run, from a `.runconfig` file of any generation, with defaults applied."""

    name: str
    target: str
    argument_vector: tuple[str, ...] = ("$file",)
    environment_variables: tuple[tuple[str, str], ...] = ()
    client_variables: tuple[str, ...] = ()  # taken from the client's environment at submit, never written down
    framework: str = "PySpark"
    framework_line: int = 0  # 0: the key is absent
    conda_file: str = CONDA_FILE
    spark_file: str = SPARK_FILE
    conda_file_named: bool = False
    prepare_environment: bool = True
    tracked_run: bool = True
    use_sampling: bool = True
    data_source_settings: tuple[tuple[str, str], ...] = ()  # (data source, name of its sample)
    data_source_substitutions: tuple[tuple[str, str], ...] = ()
    description: str = ""
    spark_file_named: bool = False
    gpus: int | None = None  # how many the run wants; None: what the target gives
    require_gpu: bool = False
    idle_gpu_warn_s: float | None = None
    idle_gpu_stop_s: float | None = None
    shared_gpu: bool = False  # a device that somebody else computes on counts as free
    gpu_sampling_s: float = gpu.SAMPLING_S  # 0: off
    distributed: ranks.Distributed | None = None  # None: one process
    compression: ranks.Compression | None = None


def read(path: str, shown: str, name: str, cache_dir: str | None) -> RunConfig:
    """The run configuration that a file describes; raises ProjectError with every fault in it."""
    place = Place(shown, "a .runconfig file")
    root = place.open(path, cache_dir)
    if root is not None and root.kind == MAP:
        if successor.is_successor(root):
            place.faults.append(successor.fault(root, shown))
            place.close()
        root = datasources.without_flat(root, place)
    section = Section(root, place, keys.RUN)
    conda, spark = _file(section, "CondaDependenciesFile"), _file(section, "SparkDependenciesFile")
    old_conda = _file(section, "CondaFile")
    if conda and old_conda and conda != old_conda:
        section.fault("CondaFile", "`CondaFile` and `CondaDependenciesFile` name two files", "remove `CondaFile`")
    section.flag("ManagedEnvironment")
    variables, from_client = _variables(section)
    arguments = section.texts("ArgumentVector")
    config = RunConfig(
        name=name,
        target=_target(section) or name,
        argument_vector=tuple(text for text, _ in arguments)
        if section.value("ArgumentVector") is not None
        else ("$file",),
        environment_variables=variables,
        client_variables=from_client,
        framework=section.choice("Framework", keys.FRAMEWORKS) or "PySpark",
        framework_line=section.line("Framework"),
        conda_file=conda or old_conda or CONDA_FILE,
        spark_file=spark or SPARK_FILE,
        conda_file_named=bool(conda or old_conda),
        prepare_environment=section.flag("PrepareEnvironment") is not False,
        tracked_run=section.flag("TrackedRun") is not False,
        use_sampling=section.flag("UseSampling") is not False,
        data_source_settings=datasources.samples(section),
        data_source_substitutions=_pairs(section.section("DataSourceSubstitutions", None)),
        description=section.text("Description") or "",
        spark_file_named=bool(spark),
        **gpu.read(section),
        **ranks.read(section),
    )
    place.close()
    return config


def _target(section: Section) -> str | None:
    text = section.text("Target")
    if text is not None and (not is_name(text) or text.endswith(COMPUTE_SUFFIX)):
        stem = text.replace("\\", "/").rpartition("/")[2].removesuffix(COMPUTE_SUFFIX)
        message = f"`Target` must be the name of a compute target, without folder and extension, but found {text!r}"
        section.fault("Target", message, f"write `Target: {stem}`" if is_name(stem) else "")
    return text


def _file(section: Section, key: str) -> str | None:
    """A path from the project's folder, with forward slashes; one that leaves the project is a fault."""
    text = section.text(key)
    if text is None:
        return None
    path = text.replace("\\", "/")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or path.startswith(("/", "~")) or path[1:2] == ":" or ".." in parts:
        message = f"`{key}` must be a path inside the project, from its folder on, but found {text!r}"
        section.fault(key, message, "write, for example, `aml_config/conda_dependencies.yml`")
        return None
    return "/".join(parts)


def _variables(section: Section) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """EnvironmentVariables: those with a value here, and the names of those that the client's environment gives."""
    variables = section.section("EnvironmentVariables", None)
    given: list[tuple[str, str]] = []
    from_client: list[str] = []
    for name, (_, node) in variables.entries.items():
        if not name or "=" in name:
            variables.fault(name, f"{name!r} cannot be the name of an environment variable", "use letters, digits, `_`")
        elif node.kind == MAP:
            if variables.section(name, keys.VARIABLE).flag("fromClient"):
                from_client.append(name)
            else:
                variables.fault(name, f"`{name}` holds keys, of which only `fromClient: true` has a meaning")
        elif node.kind == NULL:
            given.append((name, ""))
        else:
            given.append((name, variables.text(name) or ""))
    return tuple(given), tuple(from_client)


def _pairs(section: Section) -> tuple[tuple[str, str], ...]:
    return tuple((key, section.text(key) or "") for key in section.entries)
