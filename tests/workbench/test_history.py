"""The page History, as a person uses it."""

import json
import time

import pytest
from playwright.sync_api import expect

from tests.conftest import call, until
from tests.workbench.conftest import ready
from tests.workbench.many_runs import fill

HOSTILE = "<img src=x onerror=alert(1)>\"'`,:a"


def logged(number):
    return [
        {"params": {"lr": [0.1, 0.01, 0.001][number % 3], "optimizer": ["adam", "sgd"][number % 2]}},
        {"values": {"accuracy": number * 37 % 101 / 101}},
    ]


def cell(page, run, column):
    """A cell by the id of its run and the name above its column."""
    place = page.locator(".ag-header-cell", has=page.get_by_text(column, exact=True)).get_attribute("col-id")
    return page.locator(f'[row-id="{run}"] [col-id="{place}"]')


def shown(page):
    return page.locator('.ag-row [col-id="k0"] a')


def ask(page, query):
    field = page.get_by_label("Only runs that this is true of")
    field.fill(query)
    field.press("Enter")


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def check(page, run):
    page.locator(f'[row-id="{run}"] input[type=checkbox]').check()


@pytest.fixture
def history(serve, browse, project):
    return lambda: browse(serve(project.path), "/history")


def test_an_empty_project_says_what_to_do_and_a_run_appears(history, project):
    page = history()
    empty = page.get_by_role("heading", name="No runs yet")
    expect(empty).to_be_visible()
    project.write("quick.py", "import jig; jig.log('loss', 0.5)\n")
    run = call("submit", "-c", "local", "quick.py").run_id
    expect(page.get_by_role("link", name=run)).to_have_attribute("href", f"/runs/{run}")
    expect(empty).to_be_hidden()
    expect(page.get_by_text("1 run", exact=True)).to_be_visible()
    expect(cell(page, run, "status")).to_have_text("Completed")
    page.route("**/runs/*", lambda route: route.fulfill(body="the page of a run"))
    page.locator(f'[row-id="{run}"]').get_by_text("quick.py").click()
    page.wait_for_url(f"**/runs/{run}")


def test_queries_columns_sorting_and_views(history, project, jig_home, cli):
    ids = fill(project, jig_home, 31, logged)
    page = history()
    expect(page.get_by_text("30 runs")).to_be_visible()
    expect(shown(page).first).to_have_text(ids[-1])

    ask(page, "accuracy >> 3")
    said = cli("history", "list", "--where", "accuracy >> 3").err
    message, hint = said.removeprefix("error: ").rstrip().split("\n\nhint: ")
    alert = page.get_by_role("alert")
    expect(alert.locator(".jig-trouble-message")).to_have_text(message, use_inner_text=True)
    expect(alert).to_contain_text(hint)
    ask(page, "acuracy > 3")
    expect(alert).to_contain_text("did you mean accuracy?")
    ask(page, 'optimizer = "adam" and accuracy > 0.5')
    expect(alert).to_have_count(0)
    wanted = call("history", "list", "--where", 'optimizer = "adam" and accuracy > 0.5', "-o", "json").json()
    expect(shown(page)).to_have_text([one["run_id"] for one in wanted])

    button(page, "Columns").click()
    page.get_by_label("Shown, in this order").fill("opti")
    page.get_by_role("option", name="optimizer", exact=True).click()
    page.keyboard.press("Escape")
    button(page, "Close").click()
    expect(cell(page, wanted[0]["run_id"], "optimizer")).to_have_text("adam")
    page.locator(".ag-header-cell").get_by_text("accuracy", exact=True).click()
    best = sorted(wanted, key=lambda one: one["accuracy"])
    expect(shown(page).first).to_have_text(best[0]["run_id"])

    button(page, "Views").click()
    page.get_by_text("Save this view …").click()
    page.get_by_label("Name of the view").fill(HOSTILE)
    button(page, "Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    kept = json.loads((jig_home / "workbench.json").read_text())["views"]
    assert [(one["project"], one["name"], one["sort"]) for one in kept] == [("proj", HOSTILE, "`accuracy`")]
    page.reload()
    ready(page)
    expect(page.get_by_text("30 runs")).to_be_visible()
    button(page, "Views").click()
    page.get_by_text(HOSTILE, exact=True).click()
    expect(shown(page).first).to_have_text(best[0]["run_id"])
    expect(cell(page, wanted[0]["run_id"], "optimizer")).to_have_text("adam")
    assert page.locator("img").count() == 0

    button(page, "Parallel").click()
    expect(page.get_by_role("img", name="Parallel").locator("svg")).to_contain_text("duration")
    button(page, "Scatter").click()
    expect(page.get_by_role("img", name="Scatter").locator("svg")).to_contain_text("accuracy")


LOGS = """import os, sys, time, jig
jig.log(accuracy=1, loss=1)
while not os.path.exists(sys.argv[1]): time.sleep(0.05)
jig.log(accuracy=5000, loss=7)
while not os.path.exists(sys.argv[2]): time.sleep(0.05)
"""


def test_a_chart_goes_on_and_leaves_a_choice_that_is_being_made_alone(history, project, jig_home):
    fill(project, jig_home, 4, lambda number: [{"values": {"accuracy": number, "loss": 1 / number}}])
    project.write("logs.py", LOGS)
    more, end = (project.path.parent / name for name in ("more", "end"))
    call("submit", "-c", "local", "-a", "logs.py", str(more), str(end))
    page = history()
    button(page, "Scatter").click()
    chart = page.get_by_role("img", name="Scatter").locator("svg")
    expect(chart).to_contain_text("accuracy")
    page.get_by_label("Across").click()
    page.get_by_role("option", name="loss", exact=True).click()
    expect(chart).to_contain_text("loss")
    expect(chart).not_to_contain_text("5000")
    page.get_by_label("Across").click()
    expect(page.get_by_role("listbox")).to_be_visible()
    more.touch()
    expect(chart).to_contain_text("5000")
    page.get_by_role("option", name="duration", exact=True).click()
    expect(page.get_by_role("listbox")).to_have_count(0)
    expect(chart).to_contain_text("duration")
    end.touch()


def test_marks_and_a_selection_that_stays(history, project, jig_home, cli):
    one, two, three = fill(project, jig_home, 4, logged)
    page = history()
    expect(shown(page)).to_have_text([three, two, one])
    expect(button(page, "Compare")).to_be_disabled()
    check(page, one)
    check(page, three)
    expect(page.get_by_text("2 selected")).to_be_visible()

    button(page, "Tag").click()
    page.get_by_label("Tags to set").fill("stage")
    button(page, "Save").click()
    expect(page.get_by_role("alert")).to_contain_text("is no tag: it has no value")
    page.get_by_label("Tags to set").fill("stage=final")
    button(page, "Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    listed = cli("history", "list", "--where", 'tags.stage = "final"', "-o", "json").json()
    assert [record["run_id"] for record in listed] == [three, one]

    assert cli("history", "archive", two).code == 0  # elsewhere: the table follows, and the selection stays
    expect(shown(page)).to_have_text([three, one])
    expect(page.get_by_text("2 selected")).to_be_visible()
    expect(button(page, "Note")).to_be_disabled()
    page.locator(f'[row-id="{three}"] input[type=checkbox]').uncheck()
    button(page, "Note").click()
    page.get_by_label("What there is to say").fill("<b>good</b>")
    button(page, "Save").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert cli("history", "list", "--query", f"[?run_id=='{one}'] | [0].note").out.strip() == '"<b>good</b>"'
    button(page, "Archive").click()
    expect(shown(page)).to_have_text([three])
    page.get_by_label("Archived, too").click()
    expect(shown(page)).to_have_text([three, two, one])


def test_hostile_names_are_only_text(history, project, jig_home):
    said = [
        {"values": {HOSTILE: 0.5, "x": 1}, "params": {"p": HOSTILE}},
        {"tags": {HOSTILE: HOSTILE}},
        {"name": HOSTILE},
    ]
    ids = fill(project, jig_home, 4, lambda number: [*said, {"values": {"x": number}}])
    page = history()
    expect(page.locator(".ag-header-cell").get_by_text(HOSTILE, exact=True)).to_be_visible()
    expect(cell(page, ids[0], HOSTILE)).to_have_text("0.5")
    button(page, "Columns").click()
    for name in ("p", f"tags.{HOSTILE}"):
        page.get_by_label("Shown, in this order").fill(name)
        page.get_by_role("option", name=name, exact=True).click()
    page.keyboard.press("Escape")
    button(page, "Close").click()
    expect(cell(page, ids[0], "p")).to_have_text(HOSTILE)
    page.locator(".ag-header-cell").get_by_text(HOSTILE, exact=True).first.click()
    expect(shown(page)).to_have_count(3)
    for kind in ("Parallel", "Scatter"):
        button(page, kind).click()
        chart = page.get_by_role("img", name=kind)
        expect(chart.locator("svg")).to_contain_text("x")
        chart.hover()
    assert page.locator("img").count() == 0


def test_far_down_in_many_runs(history, project, jig_home):
    ids = fill(project, jig_home, 801)
    page = history()
    expect(page.get_by_text("800 runs")).to_be_visible()
    assert page.locator(".ag-center-cols-container .ag-row").count() < 60
    viewport, last = page.locator(".ag-body-viewport"), page.get_by_role("link", name=ids[0])
    until(lambda: viewport.evaluate("e => { e.scrollTop = 1e9 }") or last.count(), what="the last row")


@pytest.mark.soak
def test_ten_thousand_runs_are_there_at_once(serve, browse, project, jig_home):
    ids = fill(project, jig_home, 10_001, logged)
    call("history", "list", "-n", "1", timeout=600)
    server = serve(project.path)
    page = browse(server, "/history")
    expect(shown(page).first).to_have_text(ids[-1])
    began = time.monotonic()
    page.reload()
    expect(shown(page).first).to_have_text(ids[-1])
    print(f"10,000 runs: {time.monotonic() - began:.2f} s to the first row, browser's own time in it")
    began = time.monotonic()
    ask(page, "accuracy > 0.5")
    page.locator(".ag-header-cell").get_by_text("accuracy", exact=True).click()
    best = call("history", "list", "-w", "accuracy > 0.5", "-s", "accuracy", "-n", "1", "-o", "json").json()
    expect(shown(page).first).to_have_text(best[0]["run_id"])
    print(f"a query and an order: {time.monotonic() - began:.2f} s, a command line's own in it")
