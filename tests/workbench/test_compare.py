"""The page Compare: what the command line says of two runs, in one place."""

import pytest
from playwright.sync_api import expect

from tests.conftest import call
from tests.workbench.conftest import ready

HOSTILE = "<img src=x onerror=alert(1)>"
TRAIN = """
import sys, jig
rate = float(sys.argv[2])
for step in range(20_000):
    jig.log("loss", 1000.0 if step == 7_777 else rate / (1 + step), step=step)
jig.log({hostile!r}, rate)
"""


@pytest.fixture
def two(project):
    """Two runs: other arguments, other code."""
    found = []
    for rate in ("0.1", "0.5"):
        project.write("train.py", TRAIN.format(hostile=HOSTILE) + f"print({rate}, '{HOSTILE}')\n")
        said = call("submit", "-c", "local", "train.py", "--rate", rate)
        assert said.code == 0, said.err
        found.append(said.run_id)
    return found


def row(page, name):
    return page.locator(".jig-table tbody tr", has=page.get_by_text(name, exact=True))


def test_two_runs_are_selected_and_compared(serve, browse, project, two):
    page = browse(serve(project.path), "/history")
    for run in two:
        page.locator(f'[row-id="{run}"] input[type=checkbox]').check()
    with page.expect_navigation():
        page.get_by_role("button", name="Compare", exact=True).click()
    ready(page)
    assert set(page.url.partition("?runs=")[2].split(",")) == set(two)
    expect(page.locator(".jig-who a")).to_have_count(2)

    page.goto(page.url.partition("?")[0] + f"?runs={two[0]},{two[1]}")
    ready(page)
    expect(row(page, "--rate").locator("td")).to_have_text(["0.1", "0.5", ""])
    expect(row(page, HOSTILE).locator("td")).to_have_text(["0.1", "0.5", "+0.4"])
    expect(row(page, "train.py").locator("td")).to_have_text(["-", "+1 -1", ""])
    expect(row(page, "target")).to_have_count(0)
    page.get_by_text("What is the same, too").click()
    expect(row(page, "target").locator("td")).to_have_text(["local", "local", ""])

    patch = call("history", "diff", *two, "-o", "json").json()["files"][0]["patch"]
    shown = page.locator(".jig-patch").inner_text()
    assert [line for line in shown.splitlines() if line.startswith("+print")] == [f"+print(0.5, '{HOSTILE}')"]
    assert set(patch.split("\n")) - {""} <= set(shown.split("\n"))
    expect(page.get_by_role("img", name="loss")).to_contain_text("loss")
    expect(page.get_by_role("img", name=HOSTILE)).to_be_visible()
    expect(page.get_by_role("img", name="loss")).to_contain_text("1,000")  # one point of twenty thousand
    assert page.locator("img").count() == 0


def test_what_cannot_be_compared_is_said(serve, browse, project, two):
    server = serve(project.path)
    page = browse(server, f"/compare?runs={two[0]}")
    expect(page.get_by_role("alert")).to_contain_text("a comparison takes 2 to 26 runs, not 1")
    page.goto(f"{server.root}/compare?runs={two[0]},nobody")
    ready(page)
    expect(page.get_by_role("alert")).to_contain_text("there is no run nobody")
