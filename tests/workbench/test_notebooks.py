"""The page Notebooks: previews that execute nothing, and a real Jupyter that is started, used and stopped there."""

import base64
import io
import json
import signal
import subprocess
import sys

import pytest
from PIL import Image
from playwright.sync_api import expect

from jig.errors import JigError, UsageError
from jig.project import Project
from jig.workbench.jupyters import Jupyters
from jig.workbench.notebook_file import Output, read
from tests.conftest import alive, until
from tests.workbench.conftest import ready

EVIL = "<img src=x onerror='window.evil = 1'><script>window.evil = 1</script>"


def picture() -> str:
    data = io.BytesIO()
    Image.new("RGB", (20, 10), "red").save(data, "PNG")
    return base64.encodebytes(data.getvalue()).decode()


def notebook(*outputs: dict) -> str:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", EVIL], "metadata": {}},
        {"cell_type": "code", "source": f"print({EVIL!r})", "execution_count": 3, "outputs": list(outputs)},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


OUTPUTS = (
    {"output_type": "stream", "name": "stdout", "text": ["\x1b[31mred\x1b[0m\n", EVIL]},
    {"output_type": "display_data", "data": {"text/html": EVIL, "text/plain": "<Figure>"}},
    {"output_type": "display_data", "data": {"image/png": picture(), "text/plain": "<Figure>"}},
    {"output_type": "display_data", "data": {"text/html": EVIL}},
    {"output_type": "display_data", "data": {"image/png": 'x" onerror="window.evil = 1'}},
    {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["\x1b[0;31mValueError\x1b[0m: no"]},
)


def test_previews_execute_nothing(server, browse, project):
    project.write("work/one.ipynb", notebook(*OUTPUTS))
    project.write("broken.ipynb", "{")
    page = browse(server, "/notebooks")
    page.get_by_role("button", name="Show work/one.ipynb").click()
    cells = page.locator(".jig-cell")
    expect(cells).to_have_count(2)
    expect(cells.nth(0)).to_contain_text("# Title")
    expect(cells.nth(0)).to_contain_text(EVIL)
    expect(cells.nth(1)).to_contain_text("[3]")
    expect(cells.nth(1)).to_contain_text("red")
    expect(cells.nth(1)).to_contain_text("ValueError: no")
    expect(cells.nth(1)).to_contain_text("Not shown here: text/html")
    shown = cells.nth(1).locator("img")
    expect(shown).to_have_count(1)
    until(lambda: shown.evaluate("it => it.naturalWidth") == 20, what="the picture")
    assert page.evaluate("window.evil") is None
    page.get_by_role("button", name="Show broken.ipynb").click()
    expect(page.get_by_role("alert")).to_contain_text("this file is no notebook")


def test_jupyter_is_started_opened_and_stopped(serve, browse, project, chromium):
    project.write("aml_config/local.compute", f"type: local\npythonLocation: {json.dumps(sys.executable)}\n")
    server = serve(project.path)
    page = browse(server)
    page.keyboard.type("gn")
    page.wait_for_url("**/notebooks")
    ready(page)
    expect(page.get_by_text("No notebooks yet")).to_be_visible()
    expect(page.get_by_text("not started", exact=True)).to_be_visible()
    page.get_by_label("Kernel of a new notebook").click()
    page.get_by_role("option", name="local").click()
    page.get_by_role("button", name="Start", exact=True).click()
    link = page.get_by_role("link", name="Open Jupyter")
    expect(link).to_be_visible(timeout=60_000)
    expect(page.get_by_text("started; kernel of a new notebook: local")).to_be_visible()
    address = link.get_attribute("href")
    assert address.startswith("http://127.0.0.1:") and "token=" in address
    context = chromium.new_context()
    try:
        specs = context.new_page()
        specs.goto(address.replace("/?", "/api/kernelspecs?"))
        assert "proj local" in specs.content()
    finally:
        context.close()
    project.write("one.ipynb", notebook())  # as Jupyter would
    expect(page.get_by_role("link", name="Open one.ipynb in Jupyter")).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text("not started", exact=True)).to_be_visible(timeout=60_000)
    assert alive("jupyter_server") == [one for one in alive("jupyter_server") if str(project.path) not in one]
    page.get_by_role("button", name="Start", exact=True).click()
    expect(link).to_be_visible(timeout=60_000)
    page.context.close()
    assert server.end() == 0
    until(lambda: not [one for one in alive("jupyter_server") if str(project.path) in one], what="its end")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGKILL])
def test_jupyter_does_not_outlive_the_workbench(serve, browse, project, number):
    """The terminal is closed, or the Workbench is killed; before that two tabs start the one server that there is."""
    server = serve(project.path)
    pages = [browse(server, "/notebooks") for _ in range(2)]
    for page in pages:
        page.get_by_role("button", name="Start", exact=True).click()
    for page in pages:
        expect(page.get_by_role("link", name="Open Jupyter")).to_be_visible(timeout=60_000)
        expect(page.get_by_role("alert")).to_have_count(0)
    going = [one for one in alive(str(project.path)) if "notebook start" in one or "ServerApp" in one]
    assert len(going) == 2, going  # what looks after it, and Jupyter
    for page in pages:
        page.context.close()
    assert server.end(number) == (-number if number == signal.SIGKILL else 0)
    until(lambda: not [one for one in going if one in alive(str(project.path))], what="its end")


def test_one_that_does_not_end_is_told(project, tmp_path, monkeypatch):
    monkeypatch.setattr("jig.workbench.jupyters.END_S", 0.05)
    there = Jupyters(str(tmp_path / "home"))
    found = Project.find(str(project.path))
    there._there[found.root] = process = subprocess.Popen(["sleep", "1000"])
    with pytest.raises(JigError, match="Jupyter has not ended yet"):
        there.stop(found)
    there.close()
    assert process.poll() is not None


def test_why_it_does_not_start_is_told(serve, browse, project, jig_home):
    settings = jig_home.parent / ".jupyter"
    settings.mkdir()
    (settings / "jupyter_server_config.py").write_text("c.PasswordIdentityProvider.token = ''\n")
    page = browse(serve(project.path), "/notebooks")
    page.get_by_role("button", name="Start", exact=True).click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("the Jupyter server would let anybody in, without a token", timeout=60_000)
    expect(alert).to_contain_text("hint:")
    expect(page.get_by_text("not started", exact=True)).to_be_visible()


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"cells": 1}', '{"cells": [1]}', '{"cells": [{"outputs": [[]]}]}', '{"worksheets": []}']
)
def test_what_is_no_notebook(tmp_path, text):
    (tmp_path / "a.ipynb").write_text(text)
    with pytest.raises(UsageError):
        read(str(tmp_path / "a.ipynb"))


def test_a_picture_that_is_mostly_nothing_is_read_all_the_same(tmp_path):
    """In one pass: with a look back at each of these spaces it would take days."""
    hostile = {"output_type": "display_data", "data": {"image/png": "A" + " " * 4_000_000 + "!"}}
    broken = {"output_type": "display_data", "data": {"image/png": ["iVBO\n", " Rw0K = =\n"]}}
    (tmp_path / "a.ipynb").write_text(notebook(hostile, broken))
    (_, cell), _ = read(str(tmp_path / "a.ipynb"))
    assert cell.outputs == (Output("hidden", "image/png"), Output("picture", "data:image/png;base64,iVBORw0K=="))


def test_an_old_notebook(tmp_path):
    cell = {"cell_type": "code", "input": "1", "prompt_number": 2, "outputs": [{"output_type": "pyout", "text": "1"}]}
    (tmp_path / "a.ipynb").write_text(json.dumps({"worksheets": [{"cells": [cell]}], "nbformat": 3}))
    ((found,), count) = read(str(tmp_path / "a.ipynb"))
    assert (found.source, found.number, found.outputs, count) == ("1", "2", (Output("text", "1"),), 1)
