"""Training steps on a real GPU, with sampling and without: `python bench/gpu_steps.py PYTHON`, which has PyTorch.

It stands by itself: it needs a GPU, and nothing is installed for it. jig is taken from this checkout.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

from figure import Figure
from folders import SOURCE, write

BAR, ROUNDS, SECONDS = 1.01, 4, 8
LINE = "median step"
SCRIPT = f"""
import time, torch
net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(8)]).cuda()
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
x = torch.randn(256, 4096, device="cuda")
times, end = [], time.time() + {SECONDS}
while time.time() < end:
    start = time.perf_counter()
    loss = net(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - start)
times.sort()
print("{LINE}", times[len(times) // 2])
"""


def main() -> int:
    """Measure, in turns."""
    python = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        write(os.path.join(folder, "train.py"), SCRIPT)
        config = os.path.join(folder, "aml_config", "{}.{}")
        for name, every in (("on", 1), ("off", 0)):
            write(config.format(name, "compute"), f"type: local\npythonLocation: {python}\n")
            text = f"Target: {name}\nFramework: Python\nGpuSampling: {every}\n"
            write(config.format(name, "runconfig"), text)
        times: dict[str, list[float]] = {"on": [], "off": []}
        for number in range(ROUNDS):
            for name in ("on", "off") if number % 2 else ("off", "on"):
                times[name].append(_step_s(folder, name))
    on_s, off_s = (statistics.median(times[name]) for name in ("on", "off"))
    found = Figure("sampling", "training step, sampled", on_s, "not sampled", off_s, BAR)
    print(found.line())
    return 0 if found.ok else 1


def _step_s(folder: str, name: str) -> float:
    environ = {**os.environ, "JIG_HOME": os.path.join(folder, "home")}
    environ["PYTHONPATH"] = os.pathsep.join(
        [os.path.join(SOURCE, "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    argv = (sys.executable, "-m", "jig", "submit", "-c", name, "train.py")
    done = subprocess.run(argv, cwd=folder, env=environ, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        if line.startswith(LINE):
            return float(line.split()[-1])
    raise SystemExit(f"the run printed no {LINE}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
