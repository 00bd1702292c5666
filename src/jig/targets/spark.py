"""Through `spark-submit` of the engine that is there, or that the environment brings: on one machine or a cluster."""

from __future__ import annotations

import os
import re

from jig.plan import Plan, Spark
from jig.project import ComputeTarget, RunConfig, SparkSpec
from jig.spec import RunSpec
from jig.targets import Given, for_kind

LOCAL = "local[*]"
YARN = "yarn"
# What these words stand in is not shown, and reaches Spark by a file that has no name.
SECRET_WORDS = (
    *("secret", "password", "passwd", "pwd", "token", "credential", "sas"),
    *("accesskey", "accountkey", "apikey", "privatekey", "clientprovidedkey"),
)
SECRET_END = "encryptionkey"  # what goes on, such as spark.io.encryption.keySizeBits, is none
# Of these a setting of Spark's may say the same; one of them has to be silent.
MASTER, MODE = "spark.master", "spark.submit.deployMode"
PACKAGES, REPOSITORIES = "spark.jars.packages", "spark.jars.repositories"
# What Spark hides by itself, and what else we take for a secret; a pattern of Java's.
REDACTED = (
    "(?i)secret|password|passwd|pwd$|token|credential|access[.]?key|account[.]?key|api[.]?key|private[.]?key"
    "|client-provided-key|encryption[.-]?key$|[.]sas[.]"
)
DEAD_GROUP = "com.microsoft.ml.spark"  # its files are gone
SUCCESSOR = "com.microsoft.azure:synapseml_2.12:1.1.1"


def plan(given: Given) -> Plan:
    """The plan for the place, a process or a container, with spark-submit around the script."""
    spec = given.spec
    planned = for_kind(spec.target).plan(given)
    return planned._replace(spark=of(spec)) if spec.script else planned


def of(spec: RunSpec) -> Spark:
    """What spark-submit is told. Braces hold what the machine knows."""
    target, given = spec.target, spec.spark or SparkSpec("")
    said = dict(given.configuration)
    master, mode = _master(target, said), _mode(target, said)
    words = ["--master", master]
    words += ["{defaults}"] if is_local(master) else ["--deploy-mode", mode, "{defaults}", "{environment}", "{modules}"]
    packages = [":".join(package) for package in given.packages if package.group != DEAD_GROUP]
    packages += [said[PACKAGES]] if said.get(PACKAGES) else []
    repositories = [*map(_repository, given.repositories), *([said[REPOSITORIES]] if said.get(REPOSITORIES) else [])]
    if packages and repositories:
        words += ["--repositories", ",".join(repositories)]
    if packages:
        words += ["--packages", ",".join(packages)]
    spoken = (MASTER, MODE, PACKAGES, REPOSITORIES)  # of these by words of their own
    hidden = tuple(sorted({*filter(is_secret, said), *(key for key, _ in given.client_settings)}))
    return Spark(
        submit=target.spark_submit_location,
        words=tuple(words),
        script=spec.words,
        master=master,
        mode="client" if is_local(master) else mode,
        settings=tuple((key, value) for key, value in said.items() if key not in spoken and not is_secret(key)),
        defaults=tuple(each for each in _defaults(spec, master, mode, hidden) if each[0] not in {*said, *hidden}),
        hidden=hidden,
        file=given.file,
    )


def question(target: ComputeTarget, config: RunConfig, settings: SparkSpec, brought: bool) -> dict[str, object]:
    """What the machine is asked before a run: which Spark and Java it would have; a package may bring the Spark."""
    return {
        "submit": target.spark_submit_location,
        "master": _master(target, dict(settings.configuration)),
        "variables": dict(config.environment_variables),
        "files": [f"aml_config/{config.name}.runconfig", f"aml_config/{target.name}.compute"],
        "brought": brought,
    }


def is_local(master: str) -> bool:
    """Whether everything happens in the driver's own process."""
    return master.partition("[")[0] == "local"


def is_secret(key: str) -> bool:
    """Whether the name of a setting says that its value is a secret."""
    plain = key.lower().replace(".", "").replace("-", "").replace("_", "")
    said = any(word in (key.lower().split(".") if word == "sas" else plain) for word in SECRET_WORDS)
    return said or plain.endswith(SECRET_END)


def doubts(settings: SparkSpec, root: str) -> list[str]:
    """What a person should know of a Spark file: settings that do nothing, secrets, what is not there."""
    told = []
    for key, _ in settings.configuration + settings.client_settings:
        if not key.startswith("spark."):
            told.append(f"{settings.file}: Spark ignores `{key}`, whose name does not begin with `spark.`")
    for key, _ in settings.configuration:
        if is_secret(key):
            told.append(
                f"{settings.file}: the value of `{key}` stands in the project's files, which the record keeps; "
                f"write `{key}: {{fromClient: VARIABLE}}`, and it is taken from your environment"
            )
    for package in settings.packages:
        if package.group == DEAD_GROUP:
            told.append(
                f"{settings.file}: {':'.join(package)} can be had nowhere any more and is left out; "
                f"SynapseML has taken its place, for Spark 3.5 {SUCCESSOR}"
            )
    for place in settings.repositories:
        if "://" not in place and not place.startswith(("/", "~/")) and not os.path.isdir(os.path.join(root, place)):
            told.append(f"{settings.file}: the project has no folder {place}, which is to be a repository")
    return told


def hidden_values(settings: SparkSpec, environ: dict[str, str]) -> dict[str, str]:
    """The values that are not shown; KeyError names a variable of the client that is not set."""
    found = {key: value for key, value in settings.configuration if is_secret(key)}
    return {**found, **{key: environ[variable] for key, variable in settings.client_settings}}


def _master(target: ComputeTarget, said: dict[str, str]) -> str:
    if said.get(MASTER):
        return said[MASTER]
    return (target.spark_master or YARN) if target.kind == "cluster" else LOCAL


def _mode(target: ComputeTarget, said: dict[str, str]) -> str:
    """Where the driver is; only YARN takes a Python driver in, the others have it beside the run."""
    if said.get(MODE):
        return said[MODE]
    return target.yarn_deploy_mode if _master(target, said) == YARN else "client"


def _defaults(spec: RunSpec, master: str, mode: str, hidden: tuple[str, ...]) -> list[tuple[str, str]]:
    """What suits the machine, where neither the project nor the engine's own settings say anything."""
    chosen = [("spark.app.name", f"{spec.script} ({{id}})")]
    if hidden:  # nor does Spark's own page show them, or its log of events
        chosen.append(("spark.redaction.regex", "|".join([REDACTED, *(f"^{re.escape(key)}$" for key in hidden)])))
    if is_local(master):
        chosen.append(("spark.driver.memory", "{memory}"))
    if spec.target.in_container:
        chosen.append(("spark.jars.ivy", "{ivy}"))
    if mode == "cluster":
        return [*chosen, ("spark.yarn.maxAppAttempts", "1")]
    if master.startswith("spark://"):
        chosen.append(("spark.driver.host", "{address}"))
    return [*chosen, ("spark.ui.port", "{ui}"), ("spark.log.level", "WARN")]


def _repository(place: str) -> str:
    """An address as it is; a folder of the project where the run has it, and one of the machine's where it is."""
    from urllib.parse import quote

    if "://" in place:
        return place
    if place.startswith("~/"):
        return "file://{home}/" + quote(place[2:])
    return "file://" + quote(place) if place.startswith("/") else "file://{work}/" + quote(place.strip("/"))
