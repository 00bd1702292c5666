"""Attaching a real machine over SSH in the page, and then the walk through its files."""

import pytest
from playwright.sync_api import expect

from jig.project import Project
from tests.ssh.attaching import authorized, two_files
from tests.ssh.conftest import client, key_pair
from tests.workbench.conftest import ready
from tests.workbench.test_files import node
from tests.workbench.test_projects import button
from tests.workbench.test_targets import SLOW_MS, card, patient

__all__ = ["client", "key_pair", "patient"]


@pytest.fixture
def form(client, project, server, browse, make_host):
    """(page, the form filled with a host that nobody here knows, that host)."""
    page = browse(server, "/targets")
    host = make_host()
    button(page, "Attach").click()
    found = page.get_by_role("dialog", name="Attach a target")
    found.get_by_label("Name", exact=True).fill("my_dsvm")
    found.get_by_label("Address").fill(host.address)
    found.get_by_label("User name there").fill(host.user)
    return page, found, host


def test_the_walk_through_in_the_page(form, project):
    page, found, host = form
    found.get_by_label("Password", exact=True).fill(host.password)
    found.get_by_role("button", name="Attach").click()
    asked = page.get_by_role("dialog", name="Is this the right machine?")
    expect(asked).to_contain_text(host.host_fingerprint(), timeout=SLOW_MS)
    assert two_files(project, "my_dsvm") == set()
    asked.get_by_role("button", name="Yes, it is the right one").click()
    expect(page.get_by_text("my_dsvm is attached")).to_be_visible(timeout=SLOW_MS)
    expect(found).to_contain_text("machine")
    found.get_by_role("button", name="Close").click()
    expect(card(page, "my_dsvm")).to_contain_text(f"remotedocker · {host.user}@{host.address}")
    expect(card(page, "my_dsvm")).to_contain_text("reachable", timeout=SLOW_MS)
    page.get_by_role("link", name="Files").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Files")
    ready(page)
    edit(page)
    target = Project.find(str(project.path)).compute_target("my_dsvm")
    assert (target.nvidia_docker, target.base_docker_image) == (True, "nvidia/cuda:12.6.3-base-ubuntu24.04")
    assert Project.find(str(project.path)).run_config("my_dsvm").framework == "Python"
    assert [one.text for one in Project.find(str(project.path)).conda().pip] == ["torch"]
    assert "# There is no password here" in (project.path / "aml_config/my_dsvm.compute").read_text()


def edit(page) -> None:
    """GPUs, image, framework and packages, as the walk-through has them."""
    node(page, "my_dsvm.compute").click()
    page.get_by_role("switch", name="Use the machine's NVIDIA GPUs").click()
    image = page.get_by_label("Image (baseDockerImage)")
    image.fill("nvidia/cuda:12.6.3-base-ubuntu24.04")
    image.press("Enter")
    expect(page.locator(".cm-content")).to_contain_text("baseDockerImage: nvidia/cuda:12.6.3-base-ubuntu24.04")
    save(page)
    node(page, "my_dsvm.runconfig").click()
    page.get_by_role("combobox", name="Framework").click()
    page.get_by_role("option", name="Python").click()
    expect(page.locator(".cm-content")).to_contain_text("Framework: Python")
    save(page)
    button(page, "New file").click()
    page.get_by_label("Path in the project").fill("aml_config/conda_dependencies.yml")
    button(page, "Create").click()
    page.get_by_label("Add a pip package").fill("torch")
    page.get_by_label("Add a pip package").press("Enter")
    expect(page.locator(".cm-content")).to_contain_text("- torch")
    save(page)


def save(page) -> None:
    button(page, "Save").click()
    expect(page.get_by_text("saved", exact=True)).to_be_visible()


def test_a_host_key_that_is_not_accepted_leaves_nothing(form, project, jig_home):
    page, found, host = form
    found.get_by_role("button", name="Attach").click()
    asked = page.get_by_role("dialog", name="Is this the right machine?")
    expect(asked).to_contain_text(host.host_fingerprint(), timeout=SLOW_MS)
    asked.get_by_role("button", name="Cancel").click()
    expect(found.get_by_role("alert")).to_contain_text("the host key was not accepted")
    expect(found.get_by_label("Name", exact=True)).to_have_value("my_dsvm")
    assert two_files(project, "my_dsvm") == set() and authorized(host) == []


def test_a_password_is_asked_for_and_detach_takes_the_key_away(form, project):
    page, found, host = form
    found.get_by_role("button", name="Attach").click()
    page.get_by_role("button", name="Yes, it is the right one").click(timeout=SLOW_MS)
    field = page.get_by_label(f"{host.user}'s password on")
    field.fill(host.password, timeout=SLOW_MS)
    field.press("Enter")
    expect(page.get_by_text("my_dsvm is attached")).to_be_visible(timeout=SLOW_MS)
    found.get_by_role("button", name="Close").click()
    assert len(authorized(host)) == 1
    there = card(page, "my_dsvm")
    expect(there).to_contain_text("reachable", timeout=SLOW_MS)
    host.kill_sshd()
    button(page, "Look at my_dsvm again").click()
    expect(there).to_contain_text("cannot be used now", timeout=SLOW_MS)
    expect(there.get_by_role("alert")).to_contain_text(host.address)
    host.start_sshd()
    button(page, "Look at my_dsvm again").click()
    expect(there).to_contain_text("reachable", timeout=SLOW_MS)
    expect(there.get_by_role("alert")).to_have_count(0)
    card(page, "my_dsvm").get_by_role("button", name="Detach").click()
    page.get_by_role("button", name="Detach, and remove the key there").click()
    expect(card(page, "my_dsvm")).to_have_count(0)
    assert authorized(host) == [] and two_files(project, "my_dsvm") == set()
