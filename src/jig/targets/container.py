"""In a container of the machine's Docker engine, with the run's environment as a layer on the base image."""

from __future__ import annotations

from jig.errors import JigError
from jig.plan import Container, Plan
from jig.project import ComputeTarget, RunConfig
from jig.targets import Given, process

# Where things are inside.
TOP, RUN, PACK, CACHE = "/jig", "/jig/run", "/jig/pack", "/jig/pycache"
WORK, SHARE = "/azureml-run", "/azureml-share"
INIT = f"{PACK}/script/jig_init.py"
# What stands in braces only the machine knows: who the person is there, where the run is, how a GPU is asked for.
MOUNTS = (
    # Of the run's folder the script has what is its own: it cannot touch plan, events and lock. Each mount takes the
    # engine most of a millisecond, so there are few.
    f"type=bind,src={{run}}/inside,dst={TOP}",
    f"type=bind,src={{run}}/work,dst={WORK}",
    f"type=bind,src={{share}},dst={SHARE}",
    f"type=bind,src={{pack}},dst={PACK},readonly",
    "type=bind,src={run}/who/passwd,dst=/etc/passwd,readonly",
    "type=bind,src={run}/who/group,dst=/etc/group,readonly",
    f"type=bind,src={{cache}},dst={CACHE}",
)
WORDS = (
    *("--interactive", "--name", "jig-{id}", "--label", "jig.run={id}", "--label", "jig.home={key}"),
    *(
        "--env",
        "JIG_RUN_ID={id}",
        "--log-driver",
        "none",
        "--security-opt",
        "no-new-privileges",
        "--workdir",
        WORK,
        "--shm-size",
        "{shm}",
    ),
    *("{user}", "{network}", "{proxies}", "{gpus}", "{mounts}"),
    *("--entrypoint", "{python}", "{image}", "-I", "-S", "-X", f"pycache_prefix={CACHE}", INIT, RUN),
)


def plan(given: Given) -> Plan:
    """The plan of a process, put into a container."""
    target, config = given.spec.target, given.spec.run_config
    if config.require_gpu and not _gpus(target, config):
        raise JigError(
            f"aml_config/{config.name}.runconfig requires a GPU, and containers of {target.name} get none",
            f"write `nvidiaDocker: true` into aml_config/{target.name}.compute, or `Gpus: 1` beside `RequireGpu`",
        )
    # A container has the GPUs that it is given: none need be hidden from it.
    return process.plan(given)._replace(variables=config.environment_variables, container=of(target, config))


def of(target: ComputeTarget, config: RunConfig) -> Container:
    """The container that runs of this configuration are put into."""
    if not target.base_docker_image:
        raise JigError(
            f"aml_config/{target.name}.compute names no image to run in",
            "add a line such as  baseDockerImage: python:3.11",
        )
    return Container(
        base=target.base_docker_image,
        gpus=_gpus(target, config),
        shared=target.shared_volumes is not False,
        mounts=MOUNTS,
        words=WORDS,
    )


def _gpus(target: ComputeTarget, config: RunConfig) -> str:
    if config.gpus is None:
        return "all" if target.nvidia_docker else ""
    return str(config.gpus) if config.gpus else ""
