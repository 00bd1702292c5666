"""Curves of what a run used."""

import json

from jig.store import system_series


def write(path, *samples):
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    return str(path)


GPU = {"uuid": "GPU-1", "busy_percent": 50, "memory_bytes": 2 << 30, "power_w": 100.5, "temperature_c": 60}


def test_each_gpu_is_a_curve(tmp_path):
    other = {**GPU, "uuid": "GPU-2", "busy_percent": None}
    path = write(
        tmp_path / "s", {"time": 1.0, "gpus": [GPU, other]}, {"time": 2.0, "gpus": [{**GPU, "busy_percent": 70}, other]}
    )
    told = {
        name: {device: (list(xs), list(ys)) for device, (xs, ys) in system_series.read(path, name).items()}
        for name in system_series.NAMES
    }
    both = [1.0, 2.0]
    assert told == {
        "gpu_busy": {"GPU-1": (both, [50.0, 70.0])},
        "gpu_memory": {"GPU-1": (both, [2.0, 2.0]), "GPU-2": (both, [2.0, 2.0])},
        "gpu_power": {"GPU-1": (both, [100.5, 100.5]), "GPU-2": (both, [100.5, 100.5])},
        "gpu_temperature": {"GPU-1": (both, [60.0, 60.0]), "GPU-2": (both, [60.0, 60.0])},
        "cpu": {},
        "memory": {},
    }


def test_processor_and_memory_of_the_run(tmp_path):
    path = write(
        tmp_path / "s",
        {"time": 1.0, "cpu_s": 0.5, "memory_bytes": 1 << 30},
        {"time": 2.0, "cpu_s": 2.0, "memory_bytes": 1 << 29},
        {"time": 2.0, "cpu_s": 2.0},
        {"time": 4.0, "cpu_s": None},
    )
    assert {name: [list(one) for one in system_series.read(path, name)[""]] for name in ("cpu", "memory")} == {
        "cpu": [[2.0], [150.0]],
        "memory": [[1.0, 2.0], [1.0, 0.5]],
    }


def test_torn_lines_and_nonsense_are_left_out(tmp_path):
    path = tmp_path / "s"
    path.write_text(
        '{"time": 1.0, "gpus": [1, {"uuid": "G", "power_w": 5}]}\nx\n[1]\n{"gpus": 3}\n{"time": 2, "gpus": 3}\n{"time": 3.0, "gp'
    )
    assert {device: list(ys) for device, (_, ys) in system_series.read(str(path), "gpu_power").items()} == {"G": [5.0]}
    assert system_series.read(str(tmp_path / "absent"), "cpu") == {}
