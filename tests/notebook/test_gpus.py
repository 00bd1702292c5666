"""Kernels that want GPUs: each has its own, and waits for it."""

import json
import sys

from tests.conftest import until
from tests.gpu.test_runs import write_torch

DEVICE = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'])"


def test_a_kernel_waits_for_its_devices_and_gives_them_back(project, driver_here, open_notebook, cli, monkeypatch):
    # Where another test has left an event loop, Jupyter starts kernels in a thread; it must be one that sees the driver.
    monkeypatch.setattr("jupyter_core.utils._runner_map", {})
    project.write("aml_config/local.compute", f"type: local\npythonLocation: {json.dumps(sys.executable)}\n")
    write_torch(project, count=2)
    project.runconfig("local", Gpus=2, RequireGpu=True)
    first = open_notebook(project.path, "local")
    assert first.run(DEVICE) == "0,1\n"
    second = open_notebook(project.path, "local", wait=False)
    run_id = first.run("print(os.environ['JIG_RUN_ID'])").strip()
    until(lambda: "[local] queued, " in second.log.read_text(), what="that it waits")
    assert run_id in second.log.read_text(), "for whom is told, too"
    assert first.close() < 5
    second.become_ready()
    assert second.run(DEVICE) == "0,1\n"
    assert cli("history", "info", "-r", run_id).json()["gpu"]["verdict"] == "not used"
