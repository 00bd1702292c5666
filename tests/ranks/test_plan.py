"""What torchrun is told: plans compared as values, nothing started."""

import json

import pytest

from jig.errors import JigError
from jig.plan import Plan, Ranks
from jig.plan_text import render
from jig.project.ranks import of_plan
from jig.submit import Wanted, decide
from jig.targets import Given, SnapshotRef, Ticket, for_kind, for_run

SNAPSHOT = SnapshotRef("ab" * 32, 3, 1234)
WORDS = (
    *("--nnodes", "1", "--nproc-per-node", "{processes}", "--rdzv-backend", "c10d"),
    *("--rdzv-endpoint", "127.0.0.1:0", "--rdzv-id", "{id}", "{local}", "--log-dir", "{logs}"),
)


def given(project, keys, compute="type: local\npythonLocation: python\n"):
    project.write("train.py", "")
    project.write("aml_config/x.compute", compute)
    project.write("aml_config/x.runconfig", "Framework: Python\n" + keys)
    decided = decide(Wanted(str(project.path), "x", script="train.py", arguments=("--lr", "0.1")))
    return Given(decided.spec, SNAPSHOT, decided.environment, Ticket("proj_1", 7, 1.5, "ada"))


def planned(project, keys, *compute) -> Plan:
    what = given(project, keys, *compute)
    return for_run(what.spec.target, what.spec.run_config).plan(what)


def test_a_plan_is_the_places_with_torchrun_around_the_script(project):
    keys = "Distributed: {processes: 4, restarts: 2}\nGradientCompression: {kind: onebit, warmup_steps: 200}\n"
    what = given(project, keys)
    plan = planned(project, keys)
    ranks = Ranks(
        processes=4,
        words=(*WORDS, "--max-restarts", "2", "--no-python", "{rank}"),
        script=("{python}", "train.py", "--lr", "0.1"),
        backend="auto",
        restarts=2,
        compression=(("kind", "onebit"), ("warmup_steps", 200), ("block", 2048)),
    )
    assert plan == for_kind(what.spec.target).plan(what)._replace(ranks=ranks)
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_one_for_each_gpu(project):
    plan = planned(project, "Gpus: 2\nDistributed: {processes: gpus, backend: nccl}\n")
    assert (plan.ranks.processes, plan.ranks.backend, plan.ranks.compression) == (0, "nccl", ())
    assert plan.gpu.want == 2


DOCKER = "type: localdocker\nbaseDockerImage: python:3.11\n"


def test_in_a_container(project):
    plan = planned(project, "Gpus: 2\nDistributed: {processes: gpus}\n", DOCKER)
    assert plan.container.gpus == "2"
    assert plan.ranks.words == (*WORDS, "--max-restarts", "0", "--no-python", "{rank}")
    with pytest.raises(JigError) as refused:
        planned(project, "Distributed: {processes: gpus}\n", DOCKER)
    assert refused.value.message == (
        "aml_config/x.runconfig wants a process for each GPU, and containers of x get none"
    )
    assert "`nvidiaDocker: true`" in refused.value.hint
    assert planned(project, "Distributed: {processes: 4}\n", DOCKER).ranks.processes == 4


def test_what_a_person_sees(project):
    keys = "Distributed: {processes: gpus, restarts: 1}\nGradientCompression: {kind: onebit, warmup_steps: 200}\n"
    text = render(planned(project, keys), [])
    lines = text.splitlines()
    command = next(line for line in lines if line.startswith("command"))
    assert command == (
        "command            python -m torch.distributed.run --nnodes 1 --nproc-per-node {processes} --rdzv-backend c10d "
        "--rdzv-endpoint 127.0.0.1:0 --rdzv-id {id} {local} --log-dir {logs} --max-restarts 1 --no-python {rank} "
        "python train.py --lr 0.1"
    )
    for line in (
        "{processes}        as many as the run sees GPUs",
        "processes          one for each GPU that the run sees",
        "backend            nccl where there is a GPU for each process, else gloo",
        "restarts           1 of all processes, when one of them fails",
        "gradients          onebit after 200 steps in full precision, blocks of 2048: attached to each "
        "DistributedDataParallel",
    ):
        assert line in lines
    four = render(planned(project, "Distributed: {processes: 4, backend: gloo}\n"), [])
    assert "--nproc-per-node 4 " in four and "\nprocesses          4\nbackend            gloo\n" in four


def test_a_reproduction_has_the_same(project):
    keys = "Distributed: {processes: 4, restarts: 2}\nGradientCompression: {kind: onebit, warmup_steps: 200}\n"
    config = given(project, keys).spec.run_config
    ranks = planned(project, keys).to_json()["ranks"]
    assert of_plan(ranks) == {"distributed": config.distributed, "compression": config.compression}
    assert of_plan(planned(project, "Distributed: {processes: gpus}\n").to_json()["ranks"])["compression"] is None
    assert of_plan(None) == {"distributed": None, "compression": None}
