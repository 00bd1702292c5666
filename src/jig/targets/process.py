"""A plain process on the machine: no container, no root, the interpreter of the run's environment."""

from __future__ import annotations

import os.path

from jig.plan import PYTHON, Gpu, Plan
from jig.project import RunConfig
from jig.runner.gpu import VISIBLE
from jig.targets import Given

SHARE = "~/.azureml/share"
NO_GPU = (VISIBLE, "")


def plan(given: Given) -> Plan:
    """The plan of a Python script in a process of its own."""
    spec, config = given.spec, given.spec.run_config
    return Plan(
        **given.ticket._asdict(),
        project=spec.project,
        project_root=spec.project_root,
        run_config=config.name,
        target=spec.target.name,
        target_kind=spec.target.kind,
        script=spec.named,
        arguments=spec.arguments,
        argv=(PYTHON, *spec.words),
        snapshot=given.snapshot,
        environment=given.environment,
        variables=config.environment_variables + ((NO_GPU,) if config.gpus == 0 else ()),
        client_variables=config.client_variables,
        share=os.path.join(spec.target.native_shared_directory or SHARE, spec.project, ""),
        tracked=config.tracked_run,
        origin=given.origin,
        attachments=given.attachments,
        jig_home=spec.target.jig_home or "",
        gpu=_gpu(config),
        params=spec.params,
    )


def _gpu(config: RunConfig) -> Gpu:
    return Gpu(
        want=config.gpus or 0,
        require=config.require_gpu,
        shared=config.shared_gpu,
        warn_s=config.idle_gpu_warn_s,
        stop_s=config.idle_gpu_stop_s,
        every_s=config.gpu_sampling_s,
    )
