"""The run bar: a script runs from it, its plan is shown, mistakes are told as on the command line."""

import threading

import pytest
from playwright.sync_api import expect

from jig.workbench import run_bar
from jig.workbench.run_bar import scripts
from jig.workbench.session import Session
from tests.workbench.conftest import in_a_loop, ready


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def bar(page):
    return page.get_by_role("region", name="Run")


@pytest.fixture
def page(project, server, browse):
    project.write("train.py", "import sys\nprint(sys.argv[1:])\n")
    project.write("lib/more.py", "")
    project.write(".hidden/no.py", "")
    project.write("aml_config/no.py", "")
    return browse(server)


def test_a_script_runs_from_the_bar_and_is_seen_to_complete(page):
    expect(bar(page).get_by_label("Script")).to_have_value("train.py")
    bar(page).get_by_label("Arguments").fill("--name 'two words' 3")
    button(page, "Run").click()
    jobs = page.get_by_role("complementary").filter(has_text="Jobs")
    expect(jobs.locator(".jig-state").first).to_contain_text("Completed")
    jobs.get_by_role("link").first.click()
    page.wait_for_url("**/runs/*")
    ready(page)
    expect(page.locator(".jig-facts")).to_contain_text("train.py --name 'two words' 3")
    expect(bar(page).get_by_label("Arguments")).to_have_value("--name 'two words' 3")  # from page to page
    page.get_by_role("tab", name="Log").click()
    expect(page.get_by_role("log")).to_contain_text("['--name', 'two words', '3']")


def test_scripts_of_the_project_are_offered(page, project):
    assert scripts(str(project.path)) == ["train.py", "lib/more.py"]
    offered = page.locator("datalist option")
    assert [one.get_attribute("value") for one in offered.all()] == ["train.py", "lib/more.py"]


def test_the_folder_is_walked_beside_the_pages(project, monkeypatch):
    """A disk that does not answer holds up the page that asks, and not the server."""
    threads = []
    monkeypatch.setattr(run_bar, "scripts", lambda root: threads.append(threading.current_thread()) or [])
    monkeypatch.setattr(run_bar, "RunBar", lambda *given: None)

    async def build() -> threading.Thread:
        await run_bar.build(Session(str(project.path)))
        return threading.current_thread()

    assert threads != [in_a_loop(build())]
    assert len(threads) == 1


def test_the_plan_is_what_a_dry_run_prints_and_nothing_is_started(page, cli):
    bar(page).get_by_label("Arguments").fill("7")
    button(page, "Plan").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("What this run would do")
    said = cli("submit", "-c", "local", "--dry-run", "train.py", "7").out
    assert dialog.locator(".jig-pre").inner_text().split() == said.split()
    assert cli("history", "list", "-o", "json").json() == []
    dialog.get_by_role("button", name="Run").click()
    expect(page.get_by_text("was submitted")).to_be_visible()
    expect(page.locator(".jig-jobs .jig-state").first).to_contain_text("Completed")


@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("none.py", "", "none.py"),
        ("train.py", "'open", "the arguments cannot be read"),
        ("../../etc/passwd", "", "passwd"),
        ("<img src=x onerror=alert(1)>.py", "", "<img src=x onerror=alert(1)>.py"),
    ],
)
def test_a_mistake_is_explained(page, script, arguments, message):
    bar(page).get_by_label("Script").fill(script)
    bar(page).get_by_label("Arguments").fill(arguments)
    button(page, "Run").click()
    expect(page.get_by_role("alert")).to_contain_text(message)
    expect(page.get_by_role("alert")).to_contain_text("hint:")
    expect(page.locator("main img, .q-dialog img")).to_have_count(0)
    button(page, "Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_run_configuration_that_is_broken_is_told_in_place(page, project):
    project.write("aml_config/local.runconfig", "Target: [\n")
    button(page, "Run").click()
    expect(page.get_by_role("alert")).to_contain_text("local.runconfig")
