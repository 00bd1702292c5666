"""The jobs panel: what was started elsewhere is there at once, and can be ended here."""

import re
import time

import pytest
from playwright.sync_api import expect

from tests.conftest import call
from tests.workbench.many_runs import fill

WAIT = "import os, sys, time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.05)\n"


@pytest.fixture
def page(page):
    page.keyboard.press("j")
    expect(page.locator(".jig-jobs")).to_contain_text("No runs yet")
    return page


def row(page, run):
    return page.locator(".jig-jobs li").filter(has_text=run)


def test_a_run_of_the_command_line_appears_and_ends(page, project):
    project.write("wait.py", WAIT)
    gate = project.path.parent / "gate"
    run = call("submit", "-c", "local", "-a", "wait.py", str(gate)).run_id
    began = time.monotonic()
    expect(row(page, run)).to_contain_text("Running")
    print(f"appeared after {time.monotonic() - began:.2f} s")
    gate.touch()
    expect(row(page, run)).to_contain_text("Completed")
    expect(row(page, run).get_by_role("button")).to_have_count(0)


def test_a_run_is_canceled_after_a_question(page, project, cli):
    project.write("wait.py", WAIT)
    run = call("submit", "-c", "local", "-a", "wait.py", "never").run_id
    expect(row(page, run)).to_contain_text("Running")
    page.get_by_role("button", name=f"Cancel {run}").click()
    page.get_by_role("button", name="Let it go on").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert cli("status", "-r", run, "-o", "json").json()["state"] == "Running"
    page.get_by_role("button", name=f"Cancel {run}").click()
    page.get_by_role("button", name="Cancel the run").click()
    expect(row(page, run)).to_contain_text("Canceled")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert cli("status", "-r", run, "-o", "json").json()["state"] == "Canceled"


def test_a_run_that_goes_on_is_there_however_many_came_later(page, project, jig_home):
    project.write("wait.py", WAIT)
    gate = project.path.parent / "gate"
    run = call("submit", "-c", "local", "-a", "wait.py", str(gate)).run_id
    fill(project, jig_home, 60)
    expect(page.locator(".jig-jobs li")).to_have_count(41)
    expect(page.locator(".jig-jobs li").first).to_contain_text(run)
    gate.touch()
    expect(page.locator(".jig-jobs li")).to_have_count(40)
    expect(row(page, run)).to_have_count(0)
    page.get_by_role("link", name=re.compile(r"Show all \d+")).click()
    page.wait_for_url("**/history")


def test_a_failure_is_told_with_its_reason(page, project):
    project.write("fail.py", "raise SystemExit(3)\n")
    run = call("submit", "-c", "local", "fail.py").run_id
    expect(row(page, run)).to_contain_text("Failed")
    expect(row(page, run)).to_contain_text("the script ended with exit code 3")
    expect(row(page, run)).to_contain_text(re.compile(r"on local · \d\d:\d\d · [\d.]+ s"))
    row(page, run).get_by_role("link", name=f"Log of {run}").click()
    expect(page.get_by_role("tab", name="Log")).to_have_attribute("aria-selected", "true")


def test_hostile_names_and_arguments_are_only_text(page, project):
    hostile = "<img src=x onerror=alert(1)>\" onclick='x"
    project.write("name.py", f"import jig.track\njig.track.tag(**{{'mlflow.runName': {hostile!r}}})\n")
    run = call("submit", "-c", "local", "name.py", hostile).run_id
    item = page.locator(".jig-jobs li").first
    expect(item).to_contain_text("Completed")
    expect(item).to_contain_text(hostile)
    expect(page.locator(".jig-jobs img")).to_have_count(0)
    item.get_by_role("link", name=f"{run}, Completed").click()
    page.wait_for_url(f"**/runs/{run}")
    expect(page.locator(".jig-run-head")).to_contain_text(hostile)
    expect(page.locator(".jig-facts")).to_contain_text("<img src=x")
    expect(page.locator("#main img")).to_have_count(0)
