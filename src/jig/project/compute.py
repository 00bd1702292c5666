"""`<name>.compute`: where to run."""

from __future__ import annotations

from jig.project import keys
from jig.project.schema import Place, Section
from jig.project.yaml import MAP
from jig.runner.dead_images import CPU
from jig.values import Value

CONTAINERS = ("localdocker", "remotedocker")
IMAGE = CPU  # to begin with, where no image is named
_REACHED_BY_SSH = ("remotedocker", "remote", "cluster")
_MASTERS = ("spark://", "k8s://", "local")


class ComputeTarget(Value):
    """A place to run, from its `.compute` file, with older spellings normalized."""

    name: str
    kind: str
    address: str | None = None
    username: str | None = None
    password: str | None = None
    base_docker_image: str | None = None
    shared_volumes: bool | None = None
    nvidia_docker: bool = False
    native_shared_directory: str | None = None
    python_location: str = "python"
    spark_submit_location: str = "spark-submit"
    user_managed_environment: bool | None = None
    yarn_deploy_mode: str = "cluster"
    jig_home: str | None = None
    spark_master: str | None = None

    @property
    def managed(self) -> bool:
        """Whether jig builds the environment: on `local` and `remote` if told to, elsewhere unless told not to."""
        if self.kind in ("local", "remote"):
            return self.user_managed_environment is False
        return self.user_managed_environment is not True

    @property
    def in_container(self) -> bool:
        """Whether scripts run in a container there."""
        return self.kind in CONTAINERS

    def __repr__(self) -> str:
        shown = self._asdict() | {"password": "[REDACTED]" if self.password else None}
        return f"ComputeTarget({', '.join(f'{field}={value!r}' for field, value in shown.items())})"


def read(path: str, shown: str, name: str, cache_dir: str | None, to_run: bool = False) -> ComputeTarget:
    """The compute target that a file describes; raises ProjectError with every fault in it.

    What only keeps a run from starting is a fault when it is read `to_run`: old files can be shown and attached again.
    """
    place = Place(shown, "a .compute file")
    root = place.open(path, cache_dir)
    if root is None:
        place.fault(1, "type", "the file is empty", "write at least `type: local`")
    section = Section(root, place, keys.COMPUTE)
    kind = _kind(section) if root is not None and root.kind == MAP else None
    target = ComputeTarget(
        name=name,
        kind=kind or "",
        address=_connection(section, "address", kind),
        username=_connection(section, "username", kind),
        password=section.text("password") or None,
        base_docker_image=_image(section),
        shared_volumes=section.flag("sharedVolumes"),
        nvidia_docker=section.flag("nvidiaDocker") or False,
        native_shared_directory=section.text("nativeSharedDirectory") or None,
        python_location=section.text("pythonLocation") or "python",
        spark_submit_location=section.text("sparkSubmitLocation") or "spark-submit",
        user_managed_environment=section.flag("userManagedEnvironment"),
        yarn_deploy_mode=section.choice("yarnDeployMode", keys.YARN_DEPLOY_MODES) or "cluster",
        jig_home=section.text("jigHome") or None,
        spark_master=_master(section, kind),
    )
    # The driver of a cluster whose master is named runs on this computer, unless a machine is named too.
    here = kind == "cluster" and target.spark_master is not None and section.value("address") is None
    for key in ("address", "username") if kind in _REACHED_BY_SSH and not here else ():
        if section.value(key) is None:
            message = f"`{key}` is missing: a target of type {kind} needs it"
            place.fault(section.line(key) or section.line("type") or 1, key, message, f"add a line `{key}: …`")
    if to_run and kind in CONTAINERS:
        _check_container(section, kind, target)
    place.close()
    return target


def _check_container(section: Section, kind: str, target: ComputeTarget) -> None:
    """What a container cannot do without, and what it cannot do."""
    key = "baseDockerImage"
    image = section.value(key)
    if image is None or (image.is_scalar and not image.text):
        message = f"`{key}` is missing: a target of type {kind} needs the image that scripts run in"
        line = section.line(key) or section.line("type") or 1
        section.place.fault(line, key, message, f"add a line `{key}: {IMAGE}`, or name another image")
    if target.shared_volumes is False and target.native_shared_directory is not None:
        section.fault(
            "nativeSharedDirectory",
            "`nativeSharedDirectory` needs `sharedVolumes: true`: a folder that is not mounted cannot outlive the run",
            "write `sharedVolumes: true`, or remove `nativeSharedDirectory`",
        )


def _kind(section: Section) -> str | None:
    """The kind, from `type` in any spelling or from the flags that came before it."""
    is_cluster, is_native = section.flag("cluster"), section.flag("native")
    if section.value("type") is not None:
        kind = section.choice("type", (*keys.KINDS, *keys.OLD_KINDS))
        return keys.OLD_KINDS.get(kind, kind) if kind else None
    has_address = section.value("address") is not None
    if is_cluster is None and is_native is None:
        likely = "remotedocker" if has_address else "local"
        message = f"`type` is missing: it must be {', '.join(keys.KINDS[:-1])} or {keys.KINDS[-1]}"
        section.place.fault(section.line("type") or 1, "type", message, f"add a line `type: {likely}`")
        return None
    if is_cluster:
        return "cluster"
    if is_native:
        return "remote" if has_address else "local"
    return "remotedocker"


def image_fault(text: str) -> tuple[str, str] | None:
    """What is wrong with the name of an image, and the fix; docker must not take it for an option."""
    allowed = text.isascii() and all(c.isalnum() or c in "._-/:@" for c in text)
    if not allowed or not text[:1].isalnum() or not text[-1:].isalnum():
        return f"{text!r} is not the name of an image", f"write it as `docker pull` takes it, for example {IMAGE}"
    place, slash, rest = text.rpartition("/")
    name = rest.partition("@")[0].partition(":")[0]
    if name != name.lower():  # a registry and a tag may have capitals
        return (
            f"the image {text} has capital letters in its name",
            f"write {place}{slash}{name.lower()}{rest[len(name) :]}",
        )
    return None


def _image(section: Section) -> str | None:
    text = section.text("baseDockerImage")
    fault = image_fault(text) if text else None
    if fault is not None:
        section.fault("baseDockerImage", f"`baseDockerImage`: {fault[0]}", fault[1])
        return None
    return text or None


def _connection(section: Section, key: str, kind: str | None) -> str | None:
    """A word that ssh will be given: one that it could take for an option is refused. None where there is no ssh."""
    text = section.text(key)
    if text is not None and (not text or text.startswith("-") or any(c.isspace() or not c.isprintable() for c in text)):
        section.fault(key, f"`{key}` must be one word that does not start with a dash, but found {text!r}")
        return None
    return text if kind in _REACHED_BY_SSH else None


def _master(section: Section, kind: str | None) -> str | None:
    """Which Spark master runs the work of a cluster; None: YARN, as it always was."""
    text = section.text("sparkMaster")
    address = section.text("address") or ""
    if kind == "cluster" and address.startswith("spark://"):
        message = f"`address` is the machine that the driver runs on, and {address} is a Spark master"
        section.fault("address", message, f"write `sparkMaster: {address}` in its place")
    if not text:
        return None
    if kind != "cluster":
        section.fault(
            "sparkMaster",
            f"`sparkMaster` is for a target of type cluster, and this one is of type {kind}",
            "remove it, or write `spark.master` under `configuration` of aml_config/spark_dependencies.yml",
        )
    elif text != "yarn" and (not text.startswith(_MASTERS) or any(c.isspace() or not c.isprintable() for c in text)):
        fix = f"write `sparkMaster: spark://{text}`" if text.replace(".", "").replace(":", "").isalnum() else ""
        message = f"`sparkMaster` must be yarn, or an address such as spark://HOST:7077, but found {text!r}"
        section.fault("sparkMaster", message, fix)
    return text
