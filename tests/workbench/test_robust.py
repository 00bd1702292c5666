"""What goes wrong outside is told in place, on every page, and is over when it is over."""

import os

import pytest
from playwright.sync_api import expect

from tests.conftest import call
from tests.workbench.conftest import ready
from tests.workbench.test_every_page import TABS
from tests.workbench.test_projects import button


@pytest.fixture
def run(project):
    project.write("hello.py", "print('hi')\n")
    return call("submit", "-c", "local", "hello.py").run_id


def everywhere(run) -> "tuple[str, ...]":
    return ("/", "/files", "/targets", "/history", "/prompt", *(f"/runs/{run}?tab={tab}" for tab in TABS))


def visit(page, server, path: str) -> str:
    """What a page says, with its frame around it."""
    answer = page.goto(server.root + path)
    assert answer.status == 200, path
    ready(page)
    expect(page.get_by_role("navigation")).to_be_visible()
    page.wait_for_timeout(300)
    text = page.locator("#main").inner_text()
    assert "Server error" not in text and "500" not in text, path
    return text


def test_a_folder_that_vanishes_is_told_and_comes_back(serve, browse, project, run, monkeypatch):
    server = serve(project.path)
    page = browse(server, "/files")
    expect(page.locator(".jig-node", has_text="hello.py")).to_be_visible()
    page.locator(".jig-node", has_text="hello.py").click()
    expect(page.locator(".cm-content")).to_contain_text("print('hi')")
    os.chdir("/")
    away = project.path.rename(project.path.parent / "away")
    page.locator(".cm-content").click()
    page.keyboard.type("# more")
    button(page, "Save").click()
    expect(page.get_by_role("alert").first).to_contain_text("could not be")
    button(page, "Run").click()
    expect(page.get_by_role("dialog")).to_contain_text("This cannot be run")
    for path in everywhere(run):
        visit(page, server, path)
    visit(page, server, "/")
    expect(page.get_by_text("the folder is gone")).to_be_visible()
    away.rename(project.path)
    assert "hello.py" in visit(page, server, "/files")


def test_files_that_make_no_sense_are_told_where_they_are_needed(serve, browse, project, run, cli):
    project.write("aml_config/local.compute", "type: [\n")
    project.write("aml_config/local.runconfig", "Target: local\nFramwork: Python\n")
    project.write("aml_config/conda_dependencies.yml", "dependencies: 3\n")
    said = cli("submit", "-c", "local", "hello.py").err
    server = serve(project.path)
    page = browse(server, "/files")
    for path in everywhere(run):
        visit(page, server, path)
    visit(page, server, "/targets")
    expect(page.get_by_role("article", name="local").get_by_role("alert")).to_contain_text("aml_config/local.compute:")
    page.get_by_label("Script", exact=True).fill("hello.py")
    for name in ("Plan", "Run"):
        button(page, name).first.click()
        told = page.get_by_role("dialog").get_by_role("alert")
        expect(told).to_contain_text("`Framwork` is not a key")
        assert told.locator(".jig-trouble-message").inner_text().splitlines()[0] in said
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
