"""Several processes of one script, under PyTorch's own launcher torchrun, in whatever place a run has."""

from __future__ import annotations

from jig.errors import JigError
from jig.plan import PYTHON, Plan, Ranks
from jig.project import RunConfig
from jig.targets import Given, for_kind

# The rendezvous is on the loopback, at a port that the kernel gives: runs do not meet, and nobody outside meets them.
WORDS = (
    *("--nnodes", "1", "--nproc-per-node", "{processes}"),
    *("--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", "--rdzv-id", "{id}"),
    *("{local}", "--log-dir", "{logs}"),
)
RANK = ("--no-python", "{rank}")  # each process: its output goes to a file of its own, and it becomes the script


def plan(given: Given) -> Plan:
    """The plan for the place, a process or a container, with torchrun around the script."""
    spec, config = given.spec, given.spec.run_config
    planned = for_kind(spec.target).plan(given)
    if not spec.script:
        return planned  # a place for shells
    ranks = of(config, (PYTHON, *spec.words))
    if not ranks.processes and planned.container is not None and not planned.container.gpus:
        raise JigError(
            f"aml_config/{config.name}.runconfig wants a process for each GPU, and containers of {spec.target.name} "
            "get none",
            f"write `nvidiaDocker: true` into aml_config/{spec.target.name}.compute, `Gpus: 4` beside `Distributed`, "
            "or the number of processes: `Distributed: {processes: 4}`",
        )
    return planned._replace(ranks=ranks)


def of(config: RunConfig, script: tuple[str, ...]) -> Ranks:
    """What torchrun is told. Braces hold what the machine knows."""
    wanted, compression = config.distributed, config.compression
    if wanted is None:
        raise ValueError("the run is one process")
    told: tuple[tuple[str, str | int], ...] = ()
    if compression is not None:
        told = (("kind", compression.kind), ("warmup_steps", compression.warmup_steps), ("block", compression.block))
    return Ranks(
        processes=wanted.processes,
        words=(*WORDS, "--max-restarts", str(wanted.restarts), *RANK),
        script=script,
        backend=wanted.backend,
        restarts=wanted.restarts,
        compression=told,
    )
