"""Keys of a run configuration that make a run several processes."""

import pytest

from jig.project import RunConfig
from jig.project.ranks import Compression, Distributed


def read(project, text):
    return project({"x.runconfig": "Framework: Python\n" + text}).run_config("x")


def test_every_key(project):
    text = (
        "Distributed: {processes: 4, restarts: 3, backend: gloo, nodes: 1}\n"
        "GradientCompression: {kind: onebit, warmup_steps: 200, block: 1024}\n"
    )
    assert read(project, text) == RunConfig(
        "x",
        "x",
        framework="Python",
        framework_line=1,
        distributed=Distributed(4, 3, "gloo"),
        compression=Compression("onebit", 200, 1024),
    )


@pytest.mark.parametrize(
    ("written", "distributed", "compression"),
    [
        ("Distributed: {processes: gpus}\n", Distributed(0), None),
        ("Distributed: {processes: 1}\nGradientCompression: none\n", Distributed(1), None),
        ("Distributed: {processes: 2}\nGradientCompression: fp16\n", Distributed(2), Compression("fp16")),
        (
            "Distributed: {processes: 2}\nGradientCompression: {kind: onebit}\n",
            Distributed(2),
            Compression("onebit", 0, 2048),
        ),
        ("Distributed: {processes: 2}\nGradientCompression: {kind: none}\n", Distributed(2), None),
        ("Distributed: null\nGradientCompression: none\n", None, None),
    ],
)
def test_how_it_may_be_written(project, written, distributed, compression):
    config = read(project, written)
    assert (config.distributed, config.compression) == (distributed, compression)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Distributed: 4",
            (
                2,
                "Distributed",
                "`Distributed` must hold `processes`, and may hold more keys",
                "write `Distributed: {processes: 4}`",
            ),
        ),
        (
            "Distributed: {restarts: 1}",
            (
                2,
                "Distributed",
                "`Distributed` does not say how many `processes`",
                "write, for example, `Distributed: {processes: 4}`",
            ),
        ),
        (
            "Distributed:\n  processes: all",
            (
                3,
                "Distributed.processes",
                "`processes` must be a number from 1 to 1024, or `gpus`, but found 'all'",
                "write `processes: gpus` for one on each GPU, or, for example, `processes: 4`",
            ),
        ),
        (
            "Distributed: {proceses: 4, processes: 4}",
            (
                2,
                "Distributed.proceses",
                "`proceses` is not a key of a .runconfig file under `Distributed`",
                "did you mean `processes`?",
            ),
        ),
        (
            "Distributed: {processes: 4, nodes: 2}",
            (
                2,
                "Distributed.nodes",
                "`nodes: 2`: a run has its processes on one machine",
                "remove it, and write as `processes` how many there are on that machine",
            ),
        ),
        (
            "Distributed: {processes: 4, restarts: -1}",
            (
                2,
                "Distributed.restarts",
                "`restarts` must be a whole number from 0 to 1000, but found '-1'",
                "write, for example, `restarts: 3`",
            ),
        ),
        (
            "Distributed: {processes: 4, backend: ncl}",
            (
                2,
                "Distributed.backend",
                "`backend` must be auto or nccl or gloo, but found `ncl`",
                "write `backend: nccl`",
            ),
        ),
        (
            "Gpus: 0\nDistributed: {processes: gpus}",
            (
                3,
                "Distributed",
                "`processes: gpus` beside `Gpus: 0`, which gives the run none",
                "write how many processes: `Distributed: {processes: 4}`",
            ),
        ),
        (
            "GradientCompression: onebit",
            (
                2,
                "GradientCompression",
                "`GradientCompression` packs what several processes send each other, and this run is one process",
                "write `Distributed: {processes: gpus}` too; a script that starts its processes by itself calls "
                "`onebit.attach(model)`",
            ),
        ),
        (
            "Distributed: {processes: 2}\nGradientCompression: onbit",
            (
                3,
                "GradientCompression",
                "`GradientCompression` must be none or fp16 or onebit, but found `onbit`",
                "write `GradientCompression: onebit`",
            ),
        ),
        (
            "Distributed: {processes: 2}\nGradientCompression: {warmup_steps: 1}",
            (
                3,
                "GradientCompression",
                "`GradientCompression` does not say which `kind`",
                "write, for example, `GradientCompression: {kind: onebit, warmup_steps: 200}`",
            ),
        ),
        (
            "Distributed: {processes: 2}\nGradientCompression: {kind: onebit, block: 1000}",
            (
                3,
                "GradientCompression.block",
                "`block` must be a power of two, so that it fills words, but found 1000",
                "write `block: 512`",
            ),
        ),
        (
            "Distributed: {processes: 2}\nGradientCompression: {kind: fp16, block: 256}",
            (
                3,
                "GradientCompression.block",
                "`block` belongs to `onebit`: half precision has no blocks",
                "remove it",
            ),
        ),
    ],
)
def test_faults(faults, text, expected):
    assert faults("x.runconfig", f"Framework: Python\n{text}\n") == [expected]


@pytest.mark.parametrize(
    ("text", "said", "fix"),
    [
        ("", "PySpark, as it is where none is named", "write `Framework: Python` too"),
        ("Framework: PySpark\n", "PySpark", "remove one of them: Spark has its own processes"),
    ],
)
def test_spark_has_its_own_processes(faults, text, said, fix):
    ((_, key, message, hint),) = faults("x.runconfig", f"{text}Distributed: {{processes: 2}}\n")
    assert key == "Distributed"
    assert message == f"`Distributed` starts a Python script several times, and this run's framework is {said}"
    assert hint == fix
