"""What holds of every page, dark and light: it can be read by everyone, reached by keys, fits, and asks nobody else for anything.

That nothing is asked of another host is held by `browse` itself, for these and for all other tests.
"""

from pathlib import Path

import axe_playwright_python
import pytest

from tests.conftest import call
from tests.workbench.conftest import ready

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
RULES = "{resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}"
# Behind a dialog's button axe sees the page and not the card: colours are those of the pages, where they are looked at.
IN_A_DIALOG = RULES.replace("]}", "], rules: {'color-contrast': {enabled: false}}}")
TABS = ("summary", "log", "curves", "images", "outputs", "code", "environment", "timeline")
SCRIPT = """\
import os, jig.track as track
track.params(lr=0.5)
for step in range(20): track.log(loss=1 / (1 + step), accuracy=step)
os.makedirs("outputs", exist_ok=True)
open("outputs/notes.txt", "w").write("what was found")
print("\\x1b[31mred\\x1b[0m \\x1b[32mgreen\\x1b[0m \\x1b[33myellow\\x1b[0m \\x1b[34mblue\\x1b[0m \\x1b[2mdim\\x1b[0m")
"""


@pytest.fixture
def runs(project):
    """Two that completed and one that failed, in a project with a target that is down and a file that has faults."""
    project.write("train.py", SCRIPT)
    project.write("fail.py", "raise ValueError('no such dataset')\n")
    project.write("aml_config/conda_dependencies.yml", "dependencies:\n  - numpy\n")
    project.write("aml_config/gone.compute", 'type: remote\naddress: "192.0.2.1"\nusername: ada\n')
    project.write("aml_config/broken.compute", "type: lokal\n")
    return [call("submit", "-c", "local", name).run_id for name in ("train.py", "train.py", "fail.py")]


def pages(runs) -> "dict[str, str]":
    """The address of each page, and of each part of the page of a run."""
    there = {name: f"/{name}" for name in ("files", "targets", "history", "prompt")}
    of_a_run = {tab: f"/runs/{runs[0]}?tab={tab}" for tab in TABS}
    return {
        "projects": "/",
        **there,
        "compare": f"/compare?runs={runs[0]},{runs[1]}",
        **of_a_run,
        "failed": f"/runs/{runs[2]}",
    }


def opened(page) -> None:
    """What is behind a click on some pages, so that it is looked at too."""
    path = page.url.partition("//")[2].partition("/")[2]
    if path == "files":
        page.locator(".jig-node", has_text="broken.compute").click()
        page.wait_for_selector(".jig-fault")
    elif path == "targets":
        page.wait_for_selector("article:has-text('cannot be used now')")
        page.get_by_role("article", name="local").get_by_text("reachable", exact=True).wait_for(timeout=60_000)
    elif path == "history":
        page.wait_for_selector(".ag-row a")
    elif path.startswith("compare"):
        page.wait_for_selector(".q-chip")
    elif path == "":
        page.keyboard.press("j")
        page.wait_for_selector(".jig-jobs li")
    page.wait_for_timeout(250)  # a tooltip, a page that fades in


def violations(page, place: str = "html", rules: str = RULES) -> "list[str]":
    """What axe finds that keeps somebody out."""
    if not page.evaluate("!!window.axe"):
        page.evaluate(AXE)
    found = page.evaluate(f"axe.run({place!r}, {rules})")["violations"]
    return [
        f"{one['id']}: {one['help']}: {node['target']} {node['html'][:200]} {node['failureSummary'][:300]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.parametrize("look", ["light", "dark"])
def test_no_page_keeps_anybody_out_and_each_fits(serve, browse, project, runs, look):
    server = serve(project.path)
    page = browse(server)
    if page.evaluate("Quasar.Dark.isActive") != (look == "dark"):
        page.keyboard.press("d")
        page.wait_for_function(f"Quasar.Dark.isActive === {'true' if look == 'dark' else 'false'}")
    told = {}
    for name, path in pages(runs).items():
        page.goto(server.root + path)
        ready(page)
        opened(page)
        told[name] = violations(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280, name
        assert page.evaluate(
            "document.querySelector('#main').scrollWidth <= document.querySelector('#main').clientWidth"
        ), name
    page.goto(server.root + "/targets")
    ready(page)
    for name, key in (("attach", "a"), ("help", "?")):
        page.keyboard.press(key)
        page.get_by_role("dialog").wait_for()
        page.wait_for_timeout(400)
        told[name] = violations(page, "[role=dialog]", IN_A_DIALOG)
        page.get_by_role("dialog").get_by_role("button", name="Cancel" if key == "a" else "Close").click()
        page.get_by_role("dialog").wait_for(state="detached" if key == "a" else "hidden")
    text = "\n".join(f"{name}: {one}" for name, them in told.items() for one in them)
    assert not text, text


# What a person could use with a mouse, less what has arrows of its own inside: the table, the editor, the terminal, tabs, the tree.
REACHABLE = """() => [...document.querySelectorAll('a[href], button, input, [tabindex="0"]')].filter(e =>
  e.checkVisibility({visibilityProperty: true, opacityProperty: true}) && !e.disabled && e.tabIndex >= 0 && !e.matches('.q-field__focus-target, .disabled')
  && !e.closest('.ag-root-wrapper, .cm-editor, .xterm, .q-tree, [role=tablist], .q-toggle, .q-checkbox, [aria-disabled=true]'))"""
FOCUSED = """() => {
  const e = document.activeElement, style = getComputedStyle(e);
  e.jigReached = true;
  const shows = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
  const field = e.closest('.q-field, .q-toggle, .q-checkbox, .cm-editor, .ag-root-wrapper, .xterm, .q-tree');
  return [e === document.body, shows || !!field, e.outerHTML.slice(0, 160)];
}"""


def test_everything_is_reached_by_keys_and_shows_it(serve, browse, project, runs):
    server = serve(project.path)
    page = browse(server)
    for name, path in pages(runs).items():
        page.goto(server.root + path)
        ready(page)
        opened(page)
        if name == "prompt":
            continue  # Tab is the terminal's
        for _ in range(3):  # what is drawn anew while Tab goes around is another element
            go_around(page, name)
            left = page.evaluate(f"({REACHABLE})().filter(e => !e.jigReached).map(e => e.outerHTML.slice(0, 160))")
            if not left:
                break
        assert left == [], name


def go_around(page, name: str) -> None:
    """Press Tab until the page has been gone through, and note what is reached; all of it must show that it is."""
    page.evaluate("document.activeElement.blur()")
    ends = 0  # it begins where the last click was
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("!!document.activeElement.closest('.cm-editor')"):  # Escape, then Tab, leaves an editor
            page.keyboard.press("Escape")
        is_over, shows, what = page.evaluate(FOCUSED)
        ends += is_over
        if ends == 2:
            return
        assert shows or is_over, f"{name}: nobody sees that this has the focus: {what}"
