"""The page Targets: a card for each, asked on its own; fixes to copy; preparing; detaching."""

import os
import socket

import pytest
from playwright.sync_api import expect

from jig.project import Project
from tests.conftest import call
from tests.ssh.attaching import two_files
from tests.workbench.conftest import fill
from tests.workbench.test_projects import button

SLOW_MS = 60_000  # a doctor's look, on a machine that does other things too


def card(page, name):
    return page.get_by_role("article", name=name)


@pytest.fixture(autouse=True)
def patient():
    expect.set_options(timeout=30_000)
    yield
    expect.set_options(timeout=5_000)


def test_each_target_tells_how_it_is(project, server, browse):
    project.write("aml_config/gone.compute", 'type: remote\naddress: "192.0.2.1"\nusername: ada\n')
    project.write("aml_config/broken.compute", "type: lokal\nadress: x\n")
    page = browse(server, "/targets")
    here = card(page, "local")
    expect(here).to_contain_text("local · this computer")
    expect(here).to_contain_text("reachable", timeout=SLOW_MS)
    expect(here).to_contain_text("free for")
    expect(here.get_by_role("button", name="Detach")).to_be_hidden()
    gone = card(page, "gone")
    expect(gone).to_contain_text("cannot be used now")
    expect(gone.get_by_role("alert")).to_contain_text("jig computetarget attach")
    broken = card(page, "broken")
    expect(broken.get_by_role("alert")).to_contain_text("aml_config/broken.compute:2: `adress` is not a key")
    project.write("aml_config/broken.compute", "type: local\n")
    button(page, "Look at broken again").click()
    expect(broken).to_contain_text("reachable", timeout=SLOW_MS)
    expect(broken.get_by_role("alert")).to_have_count(0)


def test_a_fix_can_be_copied(project, server, browse):
    project.write("aml_config/local.runconfig", "Target: local\nFramework: Python\nGpus: 0\n")
    page = browse(server, "/targets")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    card(page, "local").get_by_role("button", name="Copy the fix for Gpus").click(timeout=SLOW_MS)
    expect(page.get_by_text("Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith("remove the line (the run then sees every GPU)")


def test_a_fix_that_is_a_line_of_a_file_is_made_after_a_question(project, server, browse):
    text = "# mine\nTarget: local\nFramework: Python\nGpus: 0  # for now\n"
    place = project.write("aml_config/local.runconfig", text)
    page = browse(server, "/targets")
    fix = card(page, "local").get_by_role("button", name="Fix: Gpus")
    fix.click(timeout=SLOW_MS)
    asked = page.get_by_role("dialog", name="Fix this?")
    expect(asked).to_contain_text("The line of `Gpus` is removed from aml_config/local.runconfig")
    asked.get_by_role("button", name="Cancel").click()
    expect(asked).to_have_count(0)
    assert place.read_text() == text
    fix.click()
    asked.get_by_role("button", name="Change the file").click()
    expect(fix).to_have_count(0, timeout=SLOW_MS)
    assert place.read_text() == "# mine\nTarget: local\nFramework: Python\n"


def test_the_load_of_each_gpu_is_shown_as_it_changes(project, driver_here, serve, browse):
    driver_here.set(0, busy=12)
    page = browse(serve(project.path), "/targets")
    here = card(page, "local")
    load = here.get_by_role("meter", name="Load of GPU 0")
    expect(load).to_have_attribute("aria-valuenow", "12", timeout=SLOW_MS)
    expect(here).to_contain_text("GPU 1 · Pretended K80")
    expect(here).to_contain_text("nobody waits for a GPU")
    for percent in (97, 45):
        driver_here.set(0, busy=percent, used=4000, power_mw=150_000, process=[(os.getpid(), 3000, percent)])
        expect(load).to_have_attribute("aria-valuenow", str(percent), timeout=10_000)
    expect(here.locator(".jig-gpu").first).to_contain_text("3.91GiB of 11.17GiB")
    expect(here.locator(".jig-gpu").first).to_contain_text("150 W")
    expect(here.locator(".jig-gpu").first).to_contain_text(f"process {os.getpid()}: ")
    driver_here.set(0, used=0, process=None)
    project.runconfig(Gpus=2)
    project.write("wait.py", "import time; time.sleep(120)\n")
    first, second = (call("submit", "-a", "-c", "local", "wait.py").run_id for _ in range(2))
    expect(here).to_contain_text(f"leased by {first}", timeout=15_000)
    expect(here).to_contain_text(f"waiting for 2 GPUs, 1 of 1: {second}")
    for run in (second, first):
        assert call("cancel", run).code == 0


def test_a_cluster_is_attached_by_its_master_alone(project, server, browse):
    page = browse(server, "/targets")
    with socket.create_server(("127.0.0.1", 0)) as master:
        address = f"127.0.0.1:{master.getsockname()[1]}"
        button(page, "Attach").click()
        form = page.get_by_role("dialog", name="Attach a target")
        form.get_by_role("combobox", name="Kind").click()
        page.get_by_role("option", name="cluster: Spark, by the address of its master alone").click()
        expect(form.get_by_label("User name there")).to_be_hidden()
        fill(form.get_by_label("Name", exact=True), "spark")
        form.get_by_role("button", name="Attach").click()
        expect(form.get_by_role("alert")).to_contain_text("write it as spark://HOST:7077")
        fill(form.get_by_label("Spark master"), f"spark://{address}")
        form.get_by_role("button", name="Attach").click()
        expect(page.get_by_text("spark is attached")).to_be_visible(timeout=SLOW_MS)
        expect(form).to_contain_text(f"Spark master{address} answers")
        form.get_by_role("button", name="Close").click()
        expect(card(page, "spark")).to_contain_text(f"cluster · spark://{address}")
        expect(card(page, "spark")).to_contain_text("reachable", timeout=SLOW_MS)
    target = Project.find(str(project.path)).compute_target("spark")
    assert (target.kind, target.spark_master, target.address) == ("cluster", f"spark://{address}", None)
    button(page, "Look at spark again").click()
    expect(card(page, "spark")).to_contain_text("does not answer: Connection refused")
    expect(card(page, "spark")).to_contain_text("fix: start the master")


def test_preparing_tells_how_it_went(project, server, browse):
    project.write("aml_config/local.compute", "type: local\nuserManagedEnvironment: false\n")
    project.write("aml_config/conda_dependencies.yml", "dependencies:\n  - tensorflow: 1.4\n")
    page = browse(server, "/targets")
    here = card(page, "local")
    here.get_by_role("button", name="Prepare the environment").click(timeout=SLOW_MS)
    expect(here.get_by_role("alert")).to_contain_text("write `- tensorflow=1.4`")


def test_docker_here_is_attached_and_detached(project, server, browse):
    page = browse(server, "/targets")
    button(page, "Attach").click()
    form = page.get_by_role("dialog", name="Attach a target")
    form.get_by_role("combobox", name="Kind").click()
    page.get_by_role("option", name="localdocker: containers on this computer").click()
    expect(form.get_by_label("Address")).to_be_hidden()
    form.get_by_role("button", name="Attach").click()
    expect(form.get_by_role("alert")).to_contain_text("--name")
    fill(form.get_by_label("Name", exact=True), "docker")
    fill(form.get_by_label("Image", exact=True), "Python:3")
    form.get_by_role("button", name="Attach").click()
    expect(form.get_by_role("alert")).to_contain_text("has capital letters in its name")
    fill(form.get_by_label("Image", exact=True), "python:3.12-slim")
    form.get_by_role("switch", name="Use the machine's NVIDIA GPUs").click()
    form.get_by_role("button", name="Attach").click()
    expect(page.get_by_text("docker is attached")).to_be_visible(timeout=SLOW_MS)
    text = (project.path / "aml_config/docker.compute").read_text()
    assert "\nnvidiaDocker: true\n" in text and "\nbaseDockerImage: python:3.12-slim\n" in text
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(card(page, "docker")).to_contain_text("localdocker · this computer")
    card(page, "docker").get_by_role("button", name="Detach").click()
    page.get_by_role("dialog").get_by_role("button", name="Detach", exact=True).click()
    expect(card(page, "docker")).to_have_count(0)
    assert two_files(project, "docker") == set()
