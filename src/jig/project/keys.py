"""Every key that each kind of project file may hold; `docs/reference/files.md` describes them all."""

from __future__ import annotations

COMPUTE = (
    "type",
    "address",
    "username",
    "password",
    "baseDockerImage",
    "sharedVolumes",
    "nvidiaDocker",
    "nativeSharedDirectory",
    "pythonLocation",
    "sparkSubmitLocation",
    "userManagedEnvironment",
    "sparkMaster",
    "yarnDeployMode",
    "jigHome",
    "cluster",
    "native",
)
RUN = (
    "ArgumentVector",
    "Target",
    "EnvironmentVariables",
    "Framework",
    "CondaDependenciesFile",
    "SparkDependenciesFile",
    "PrepareEnvironment",
    "TrackedRun",
    "Gpus",
    "RequireGpu",
    "IdleGpu",
    "SharedGpu",
    "GpuSampling",
    "Distributed",
    "GradientCompression",
    "UseSampling",
    "DataSourceSettings",
    "DataSourceSubstitutions",
    "Description",
    "CondaFile",
    "ManagedEnvironment",
)
VARIABLE = ("fromClient",)
IDLE_GPU = ("warn", "stop")
DISTRIBUTED = ("processes", "restarts", "backend", "nodes")
BACKENDS = ("auto", "nccl", "gloo")
COMPRESSION = ("kind", "warmup_steps", "block")
COMPRESSIONS = ("none", "fp16", "onebit")
DATA_SOURCE = ("Sampling",)
SAMPLING = ("Sample",)
CONDA = ("name", "channels", "dependencies", "prefix", "variables")
CONDA_NESTED = ("pip",)
SPARK = ("configuration", "repositories", "packages", "version")
SPARK_PACKAGE = ("group", "artifact", "version")
SPARK_SETTING = ("fromClient",)

KINDS = ("local", "localdocker", "remotedocker", "remote", "cluster")
OLD_KINDS = {"docker": "localdocker", "virtualmachine": "remotedocker"}
FRAMEWORKS = ("Python", "PySpark")
YARN_DEPLOY_MODES = ("cluster", "client")

FILES = {
    "a .compute file": COMPUTE,
    "a .runconfig file": RUN,
    "a conda dependencies file": CONDA,
    "a Spark dependencies file": SPARK,
}
EVERY = frozenset(
    COMPUTE
    + RUN
    + VARIABLE
    + IDLE_GPU
    + DISTRIBUTED
    + COMPRESSION
    + DATA_SOURCE
    + SAMPLING
    + CONDA
    + CONDA_NESTED
    + SPARK
    + SPARK_PACKAGE
    + SPARK_SETTING
)
