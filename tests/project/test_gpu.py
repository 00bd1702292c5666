"""Keys of a run configuration that speak of GPUs."""

import pytest

from jig.project import RunConfig


def test_every_key(project):
    text = "Gpus: 2\nRequireGpu: yes\nIdleGpu: {warn: 2m, stop: 1.5h}\nSharedGpu: true\nGpuSampling: 0.5\n"
    assert project({"x.runconfig": text}).run_config("x") == RunConfig(
        "x",
        "x",
        gpus=2,
        require_gpu=True,
        idle_gpu_warn_s=120.0,
        idle_gpu_stop_s=5400.0,
        shared_gpu=True,
        gpu_sampling_s=0.5,
    )


@pytest.mark.parametrize(
    ("written", "warn_s", "stop_s"),
    [
        ("{warn: 90s}", 90.0, None),
        ("{stop: 1h}", None, 3600.0),
        ("{warn: 0.5m, stop: 31s}", 30.0, 31.0),
        ("\n  warn: 2m\n  stop: '30m'", 120.0, 1800.0),
        ("{warn: , stop: 720h}", None, 2592000.0),
        ("null", None, None),
    ],
)
def test_how_long_idle(project, written, warn_s, stop_s):
    config = project({"x.runconfig": f"IdleGpu: {written}\n"}).run_config("x")
    assert (config.idle_gpu_warn_s, config.idle_gpu_stop_s) == (warn_s, stop_s)


@pytest.mark.parametrize(
    "text", ["90", "0s", "-2m", "2 m", "2M", "1d", "m", "1e3s", "inf s", "721h", "infs", "٣m", "1.2.3s"]
)
def test_a_time_has_a_unit(faults, text):
    ((line, key, message, fix),) = faults("x.runconfig", f"IdleGpu:\n  warn: {text}\n")
    assert (line, key) == (2, "IdleGpu.warn")
    assert message == f"`warn` must be a time with its unit (s, m or h), more than 0 and up to 720h, but found {text!r}"
    other = "write `warn: 90s` for seconds, `warn: 90m` for minutes, `warn: 90h` for hours"
    assert fix == (other if text == "90" else "write, for example, `warn: 90s`, `warn: 2m` or `warn: 1h`")


EXAMPLE = "write, for example, `IdleGpu: {warn: 2m, stop: 30m}`"
SHARED = (
    "`SharedGpu: true` does nothing without `Gpus`, which says how many the run leases",
    "write `Gpus: 1` too, or remove `SharedGpu`",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "IdleGpu: 30m",
            (
                1,
                "IdleGpu",
                "`IdleGpu` must hold `warn`, `stop` or both",
                "write `IdleGpu: {stop: 30m}` to end the run then, `IdleGpu: {warn: 30m}` to be told",
            ),
        ),
        ("IdleGpu: 30", (1, "IdleGpu", "`IdleGpu` must hold `warn`, `stop` or both", EXAMPLE)),
        ("IdleGpu: ''", (1, "IdleGpu", "`IdleGpu` must hold `warn`, `stop` or both", EXAMPLE)),
        ("IdleGpu: [2m]", (1, "IdleGpu", "`IdleGpu` must hold `warn`, `stop` or both", EXAMPLE)),
        ("IdleGpu: {}", (1, "IdleGpu", "`IdleGpu` holds nothing", EXAMPLE)),
        (
            "IdleGpu: {warn: 30m, stop: 30m}",
            (
                1,
                "IdleGpu.stop",
                "`stop` must be longer than `warn`: both count from the moment at which the GPU was busy last",
                EXAMPLE,
            ),
        ),
        (
            "IdleGpu: {warn: 2m}\nGpuSampling: 0",
            (
                2,
                "GpuSampling",
                "`GpuSampling: 0` looks at no GPU, and `IdleGpu` must know when it is idle",
                "remove one of the two",
            ),
        ),
        (
            "Gpus: 0\nRequireGpu: true",
            (2, "RequireGpu", "`RequireGpu: true` beside `Gpus: 0`, which gives the run none", "remove one of them"),
        ),
        (
            "Gpus: 0\nIdleGpu: {stop: 2m}",
            (2, "IdleGpu", "`IdleGpu` beside `Gpus: 0`, which gives the run none", "remove one of them"),
        ),
        (
            "Gpus: two",
            (
                1,
                "Gpus",
                "`Gpus` must be how many GPUs a run wants, a whole number, 0 or more and up to 999, but found 'two'",
                "write, for example, `Gpus: 1`",
            ),
        ),
        ("SharedGpu: true", (1, "SharedGpu", *SHARED)),
        ("Gpus: 0\nSharedGpu: true", (2, "SharedGpu", *SHARED)),
        (
            "RequireGPU: true",
            (1, "RequireGPU", "`RequireGPU` is not a key of a .runconfig file", "did you mean `RequireGpu`?"),
        ),
    ],
)
def test_faults(faults, text, expected):
    assert faults("x.runconfig", text + "\n") == [expected]


def test_an_unknown_limit(faults):
    ((line, key, message, fix),) = faults("x.runconfig", "IdleGpu: {warn: 2m, kill: 3m}\n")
    assert (line, key) == (1, "IdleGpu.kill")
    assert message == "`kill` is not a key of a .runconfig file under `IdleGpu`"
    assert fix == "remove it; known are warn, stop"


@pytest.mark.parametrize("text", ["-1", "often", "0.05", "61", "1s", "nan", ""])
def test_sampling(faults, text):
    ((line, key, message, fix),) = faults("x.runconfig", f"GpuSampling: '{text}'\n")
    assert (line, key, fix) == (1, "GpuSampling", "write, for example, `GpuSampling: 5`")
    assert message == (
        f"`GpuSampling` must be seconds between two looks at the GPU, 0.1 to 60, or 0 for none, but found {text!r}"
    )


@pytest.mark.parametrize("variable", ["CUDA_VISIBLE_DEVICES: 1", "CUDA_VISIBLE_DEVICES: {fromClient: true}"])
def test_devices_are_chosen_once(faults, project, variable):
    text = f"EnvironmentVariables:\n  A: b\n  {variable}\n"
    assert faults("x.runconfig", text + "Gpus: 1\n") == [
        (
            3,
            "EnvironmentVariables.CUDA_VISIBLE_DEVICES",
            "`Gpus` sets `CUDA_VISIBLE_DEVICES` to the devices that the run gets, and it is set here too",
            "remove it, or remove `Gpus`: then the run has every GPU, and this variable chooses",
        )
    ]
    assert project({"y.runconfig": text}).run_config("y").gpus is None
