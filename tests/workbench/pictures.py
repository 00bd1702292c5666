"""Pictures of every page, over runs that were really made: `python -m pytest tests/workbench/pictures.py`.

Looked at when a page is changed; a few of them, made smaller, are the documentation's. JIG_PICTURES names the folder, which keeps
the project and its runs from one time to the next.
"""

import os
import re
import threading
import time
from pathlib import Path

import pytest

from tests.conftest import call
from tests.workbench.conftest import ready

PLACE = Path(os.environ.get("JIG_PICTURES", "pictures")).absolute()  # a home, with a project in it
SIZES = {"small": (1280, 720), "large": (1680, 1050)}
ONLY, LOOKS = os.environ.get("JIG_PICTURES_ONLY", "."), os.environ.get("JIG_PICTURES_LOOKS", ".")
EPOCHS = "24"
SWEEP = """\
script: train.py
arguments: [--epochs, 4, --samples, 400]
parameters:
  learning-rate: [0.02, 0.1, 0.5]
  seed: [1, 2]
objective: {metric: accuracy, goal: maximize}
"""
BROKEN = """\
import json

settings = json.loads('{"learning_rate": 0.1}')
print("reading settings")
print("\\x1b[33mwarning\\x1b[0m: no validation images were given")
print(settings["learning-rate"])
"""


@pytest.fixture
def jig_home(monkeypatch, tmp_path):
    """One that stays."""
    PLACE.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("HOME", str(PLACE))
    monkeypatch.setenv("JIG_HOME", str(PLACE / ".jig"))
    return PLACE / ".jig"


class Training(threading.Thread):
    """Shows the processes of runs on the pretended devices, as a training would look."""

    def __init__(self, driver) -> None:
        super().__init__(daemon=True)
        self.driver, self.ended, self.began = driver, threading.Event(), time.monotonic()
        for number in (0, 1):  # of its own, so that no lease of another test is in the way
            driver.add(number, f"GPU-2c2c2c2c-2222-4222-8222-22222222222{number}", 40960, "Pretended A100")

    def run(self) -> None:
        import math
        import random

        while not self.ended.wait(0.4):
            at = time.monotonic() - self.began
            busy = int(78 + 14 * math.sin(at / 4) + random.uniform(-5, 5))
            pids = [pid for pid in os.listdir("/proc") if pid.isdigit() and _trains(pid)]
            for number, share in ((0, 1.0), (1, 0.4)):
                percent = int(busy * share) if pids else 0
                used = 21400 + int(900 * math.sin(at / 9)) if pids else 3
                self.driver.set(
                    number, busy=percent, used=used if number == 0 or not pids else 8200,
                    power_mw=56000 + percent * 3200, temperature=31 + percent // 3,
                    process=[(int(pid), used // max(len(pids), 1), percent) for pid in pids] or None,
                )  # fmt: skip


def _trains(pid: str) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return (
            any(word in (b"train.py", b"hold.py") for word in words[:6])
            and b"JIG_RUN_ID" in Path(f"/proc/{pid}/environ").read_bytes()
        )
    except OSError:
        return False


def make(home: Path) -> Path:
    """The project with its runs, unless it is there."""
    folder = PLACE / "digits"
    if (PLACE / "made").exists():
        return folder
    said = call("project", "create", "--path", str(folder), "--template", "digits")
    assert said.code == 0, said.err

    def jig(*words: str) -> str:
        said = call(*words, cwd=folder, timeout=400)
        assert said.out.startswith("RunId"), said.out + said.err
        return said.run_id

    (folder / "sweep.yml").write_text(SWEEP)
    (folder / "evaluate.py").write_text(BROKEN)
    (folder / "aml_config/docker.compute").write_text(
        "# Attached by `jig computetarget attach localdocker`.\ntype: localdocker\nbaseDockerImage: nvidia/cuda:12.6.3-base-ubuntu24.04\nnvidiaDocker: true\n"
    )
    (folder / "aml_config/docker.runconfig").write_text(
        "Target: docker\nFramework: Python\nCondaDependenciesFile: aml_config/conda_dependencies.yml\n"
    )
    (folder / "aml_config/my_dsvm.compute").write_text(
        "type: remotedocker\naddress: gpu-box.example.invalid\nusername: ada\nbaseDockerImage: nvidia/cuda:12.6.3-base-ubuntu24.04\nnvidiaDocker: true\n"
    )
    (folder / "aml_config/my_dsvm.runconfig").write_text("Target: my_dsvm\nFramework: Python\n")
    jig("submit", "-c", "local", "train.py", "--epochs", EPOCHS, "--learning-rate", "0.1")
    jig("submit", "-c", "local", "train.py", "--epochs", EPOCHS, "--learning-rate", "0.4")
    jig("submit", "-c", "local", "train.py", "--epochs", EPOCHS, "--learning-rate", "0.02", "--seed", "7")
    print(call("sweep", "-c", "local", "sweep.yml", cwd=folder, timeout=400).out[-300:])
    jig("submit", "-c", "local", "evaluate.py")
    (PLACE / "made").touch()
    return folder


def test_pictures(serve, browse, chromium, jig_home, driver_here):
    training = Training(driver_here)
    training.start()
    folder = make(jig_home)
    shots = PLACE / "shots"
    shots.mkdir(exist_ok=True)
    (folder / "hold.py").write_text(
        "import time, jig\nfor n in range(600):\n    jig.log('loss', 1/(n+1)); print('step', n, flush=True); time.sleep(1)\n"
    )
    (folder / "aml_config/two.runconfig").write_text("Target: local\nFramework: Python\nGpus: 2\n")
    going = [call("submit", "-a", "-c", "two", "hold.py", cwd=folder).run_id for _ in range(2)]
    try:
        listed = call("history", "list", "-n", "20", "-o", "json", cwd=folder).json()
        first = [one["run_id"] for one in listed if EPOCHS in map(str, one["arguments"])]
        failed = next(one["run_id"] for one in listed if one["status"] == "Failed")
        server = serve(folder)
        addresses = {
            "projects": "/", "files": "/files", "targets": "/targets", "history": "/history",
            "compare": "/compare?runs=" + ",".join(first[:3]), "prompt": "/prompt",
            **{f"run-{tab}": f"/runs/{first[0]}?tab={tab}" for tab in
               ("summary", "log", "curves", "images", "outputs", "code", "environment", "timeline")},
            "failed": f"/runs/{failed}", "failed-log": f"/runs/{failed}?tab=log", "going": f"/runs/{going[0]}?tab=curves",
        }  # fmt: skip
        for dark, size in [(dark, size) for dark in (False, True) for size in SIZES]:
            if re.search(LOOKS, f"{size}-{'dark' if dark else 'light'}"):
                width, height = SIZES[size]
                page = browse(server)
                page.set_viewport_size({"width": width, "height": height})
                page.keyboard.press("d")
                time.sleep(0.5)
                if page.evaluate("Quasar.Dark.isActive") != dark:
                    page.keyboard.press("d")
                time.sleep(0.5)
                for name, address in addresses.items():
                    if not re.match(ONLY, name):
                        continue
                    page.goto(server.root + address)
                    ready(page)
                    steps = STEPS.get(name, {"": lambda page: time.sleep(1.2)})
                    for step, act in steps.items():
                        act(page)
                        page.screenshot(path=shots / f"{name}{step}-{size}-{'dark' if dark else 'light'}.png")
                        wide = page.evaluate("document.documentElement.scrollWidth")
                        if wide > width:
                            print(f"too wide: {name}{step} {size}: {wide}")
                page.close()
    finally:
        training.ended.set()
        for run in reversed(going):
            call("cancel", run, cwd=folder)
    browse.complaints.clear()


def files(page):
    page.get_by_role("treeitem").filter(has_text="train.py").last.click()
    time.sleep(1.2)


def compute(page):
    tree = page.locator(".jig-node", has_text="docker.compute")
    if not tree.count():
        page.locator(".jig-node", has_text="aml_config").click()
    page.locator(".jig-node", has_text="docker.compute").click()
    time.sleep(1.2)


def faulty(page):
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("nvidiaDoker: true\n")
    time.sleep(1.2)


def steady(page):
    """Until the small curves of the GPUs have a shape."""
    page.get_by_role("article", name="local").get_by_text("reachable", exact=True).wait_for(timeout=60_000)
    time.sleep(40)


def wait(seconds):
    return lambda page: time.sleep(seconds)


def press(key, seconds=0.8):
    def act(page):
        page.keyboard.press(key)
        time.sleep(seconds)

    return act


def click(name, seconds=1.0, role="button"):
    def act(page):
        page.get_by_role(role, name=name, exact=True).first.click()
        time.sleep(seconds)

    return act


STEPS = {
    "files": {"": files, "-compute": compute, "-fault": faulty},
    "targets": {"": steady, "-attach": click("Attach")},
    "projects": {"": wait(0.8), "-jobs": press("j"), "-help": press("?")},
    "history": {"": wait(1.5), "-parallel": click("Parallel"), "-scatter": click("Scatter")},
    "run-summary": {"": wait(0.8), "-plan": click("Plan", 2.5)},
    "run-curves": {"": wait(2)},
    "going": {"": wait(4), "-jobs": press("j", 1.5)},
    "run-outputs": {"": wait(1)},
    "prompt": {"": wait(2.5)},
}
