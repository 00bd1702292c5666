"""The article's walk-through, in the page alone: from an empty folder to a run that used the GPU of a machine over SSH, in a container."""

import pytest
from playwright.sync_api import expect

from tests.conda_channel import serve_channel
from tests.conftest import until
from tests.containers.test_seeds import BLOCKS, packages
from tests.engines.gpu import Driver
from tests.engines.gpu.driver import UUIDS
from tests.ssh.conftest import _archive, archive_at_hand, client, host_folder, key_pair, make_host
from tests.workbench.conftest import ready
from tests.workbench.test_attach import save
from tests.workbench.test_files import node
from tests.workbench.test_projects import button
from tests.workbench.test_targets import SLOW_MS, card, patient

__all__ = ["_archive", "archive_at_hand", "client", "host_folder", "key_pair", "make_host", "packages", "patient"]

IMAGE = "microsoft/mmlspark:plus-gpu-0.9.9"  # gone from Docker Hub: here the machine has one of that name
SCRIPT = """\
import os, subprocess, time, tensorflow
subprocess.check_call(["nvidia-smi", "-L"])
open("outputs/model.txt", "w").write("trained")
print("training", flush=True)
while not os.path.exists(os.environ["AZUREML_NATIVE_SHARE_DIRECTORY"] + "enough"):
    time.sleep(0.1)
"""


def on_the_device(host) -> "list[int]":
    """The script's process, as its machine numbers it."""
    found = host.run("pgrep -f '^/azureml-envs/.* my_script.py$'", user="root").stdout.split()
    return [int(pid) for pid in found]


def write(page, text: str) -> None:
    """Put this text in the place of all that is in the editor, as pasting does."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def go(page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    ready(page)


@pytest.mark.usefixtures("archive_at_hand", "no_settings", "client")
@pytest.mark.timeout(600)
def test_from_an_empty_folder_to_the_proof_of_the_gpu(make_docker_box, packages, tmp_path, serve, browse):
    box = make_docker_box(gpu=Driver.by_gpus)
    host = box.host
    box.engine.docker("tag", "jig-test/python:1", IMAGE)
    page = browse(serve())
    with serve_channel(packages, host.near_address) as channel:
        # A project
        page.get_by_role("button", name="Create a project from the template blank").click()
        page.get_by_label("Folder to make").fill(str(tmp_path / "gpu-demo"))
        button(page, "Create").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Files")
        ready(page)

        # Create a new compute target
        go(page, "Targets")
        button(page, "Attach").click()
        form = page.get_by_role("dialog", name="Attach a target")
        for label, text in (("Name", "my_dsvm"), ("Address", host.address), ("User name there", host.user)):
            form.get_by_label(label, exact=True).fill(text)
        form.get_by_label("Password", exact=True).fill(host.password)
        form.get_by_role("button", name="Attach").click()
        asked = page.get_by_role("dialog", name="Is this the right machine?")
        expect(asked).to_contain_text(host.host_fingerprint(), timeout=SLOW_MS)
        asked.get_by_role("button", name="Yes, it is the right one").click()
        expect(page.get_by_text("my_dsvm is attached")).to_be_visible(timeout=SLOW_MS)
        form.get_by_role("button", name="Close").click()

        # Its GPUs are shown with their load
        there = card(page, "my_dsvm")
        expect(there.get_by_role("meter", name="Load of GPU 1")).to_have_attribute(
            "aria-valuenow", "0", timeout=SLOW_MS
        )

        # Open my_dsvm.compute. Change `baseDockerImage`, and add a new line `nvidiaDocker: true`.
        go(page, "Files")
        node(page, "my_dsvm.compute").click()
        page.get_by_role("switch", name="Use the machine's NVIDIA GPUs").click()
        expect(page.locator(".cm-content")).to_contain_text("nvidiaDocker: true")
        image = page.get_by_label("Image (baseDockerImage)")
        image.fill(IMAGE)
        image.press("Enter")
        expect(page.locator(".cm-content")).to_contain_text(f"baseDockerImage: {IMAGE}")
        save(page)

        # Now, open my_dsvm.runconfig and change `Framework` from PySpark to Python.
        node(page, "my_dsvm.runconfig").click()
        expect(page.locator(".cm-content")).to_contain_text("Framework: PySpark")
        page.get_by_role("combobox", name="Framework").click()
        page.get_by_role("option", name="Python").click()
        expect(page.locator(".cm-content")).to_contain_text("Framework: Python")
        save(page)

        # Open conda_dependencies.yml: the block as it is, and the tests' own channel, for conda's is far away.
        node(page, "conda_dependencies.yml").click()
        expect(page.locator(".cm-content")).to_contain_text("project_environment")
        write(page, f"channels: ['{channel.url}']\n{(BLOCKS / 'es-tensorflow.yml').read_text()}")
        expect(page.get_by_text("No faults were found.")).to_be_visible()
        save(page)

        # Now you are ready to run. The script is saved by Run.
        button(page, "New file").click()
        page.get_by_label("Path in the project").fill("my_script.py")
        button(page, "Create").click()
        expect(page.locator(".jig-path-name")).to_have_text("my_script.py")
        write(page, SCRIPT)
        page.get_by_role("combobox", name="Run configuration").click()
        page.get_by_role("option", name="my_dsvm").click()
        page.get_by_label("Script", exact=True).fill("my_script.py")
        button(page, "Run").click()
        job = page.locator(".jig-jobs li").first
        expect(job).to_contain_text("Running", timeout=240_000)
        pids = until(lambda: on_the_device(host), what="the script there")
        box.driver.set(0, busy=90, used=512, process=[(pid, 512, 90) for pid in pids])

        # See that the GPU is used, while it runs and afterwards
        job.get_by_role("link").first.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Run")
        ready(page)
        page.get_by_role("tab", name="Curves").click()
        busy = page.locator(".jig-run-chart").filter(has_text="gpu_busy (%)")
        expect(busy).to_contain_text("last 90, 0, ", timeout=SLOW_MS)
        (host.home / ".azureml/share/gpu-demo/enough").touch()
        expect(page.locator(".jig-run-head .jig-state")).to_contain_text("Completed", timeout=SLOW_MS)
        page.get_by_role("tab", name="Summary").click()
        proof = page.get_by_role("region", name="What it did with the GPU")
        expect(proof).to_contain_text("GPU: used")
        expect(proof).to_contain_text(UUIDS[0])
        expect(proof).to_contain_text("peak memory 0.50GiB")
        page.get_by_role("tab", name="Log").click()
        expect(page.get_by_role("log")).to_contain_text(f"GPU 0: Pretended K80 (UUID: {UUIDS[0]})")
        page.get_by_role("tab", name="Outputs").click()
        page.get_by_role("button", name="Show outputs/model.txt").click()
        expect(page.locator(".jig-panels .jig-pre").last).to_have_text("trained")
    assert box.engine.docker("ps", "--all", "--quiet") == ""
