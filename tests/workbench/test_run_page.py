"""The page of a run: what happened and why, curves, outputs that cannot do anything, the code, and what can be done."""

import os
import struct
import zlib

import pytest
from playwright.sync_api import expect

from jig.runner.folder import Home, default_home
from jig.workbench.curve_data import Curve
from tests.conftest import call, until
from tests.workbench.conftest import ready
from tests.workbench.test_guard import cookie_of, get

HOSTILE = "<script>document.title = 'taken'</script><img src=x onerror=alert(1)>"
SCRIPT = f"""
import os, sys, time
import jig.track as track
track.params(lr=0.5, name={HOSTILE!r})
for step in range(50):
    track.log(loss=100.0 if step == 20 else 1 / (1 + step))
os.makedirs("outputs/deep", exist_ok=True)
for name in ("page.html", "drawing.svg", "deep/notes.txt"):
    open("outputs/" + name, "w").write({HOSTILE!r})
open("outputs/picture.png", "wb").write(bytes.fromhex(sys.argv[1]))
track.log_image("sample", bytes.fromhex(sys.argv[1]), step=3)
open("outputs/binary.bin", "wb").write(b"\\0\\1")
os.symlink("/etc/passwd", "outputs/passwd")
os.symlink("../../plan.json", "outputs/plan")
"""


def png() -> str:
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    rows = zlib.compress(2 * (b"\0" + b"\xff\0\0" * 2))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")).hex()


@pytest.fixture
def run(project):
    project.write("train.py", SCRIPT)
    said = call("submit", "-c", "local", "train.py", png())
    assert said.code == 0, said.out
    return said.run_id


@pytest.fixture
def page(run, server, browse):
    return browse(server, f"/runs/{run}")


def tab(page, name):
    page.get_by_role("tab", name=name).click()


def test_the_summary_is_first(page, run):
    facts = page.locator(".jig-facts")
    expect(facts).to_contain_text("Completed")
    expect(facts).to_contain_text("local, run configuration local")
    expect(facts).to_contain_text("train.py")
    expect(page.locator(".jig-values").first).to_contain_text("0.02")
    expect(page.locator(".jig-values").nth(1)).to_contain_text(HOSTILE)
    assert page.title().startswith("Run")
    tab(page, "Timeline")
    expect(page.locator(".jig-legend")).to_contain_text("Running")
    expect(page.locator(".jig-panels .jig-table")).to_contain_text("completed")
    tab(page, "Environment")
    expect(page.get_by_text("your own interpreter")).to_be_visible()
    expect(page.get_by_text("your own interpreter")).to_have_count(1)
    expect(page.locator("#main img")).to_have_count(0)


def test_a_failure_has_its_reason_its_exit_code_and_its_first_error(project, server, browse):
    project.write("fail.py", "print('so far')\nraise ValueError('no such dataset')\n")
    run = call("submit", "-c", "local", "fail.py").run_id
    page = browse(server, f"/runs/{run}")
    expect(page.locator(".jig-facts")).to_contain_text("the script ended with exit code 1")
    expect(page.locator(".jig-end-of-log")).to_contain_text("ValueError: no such dataset")
    tab(page, "Log")
    expect(page.get_by_role("log")).to_contain_text("ValueError: no such dataset")
    page.get_by_role("button", name="First error").click()
    expect(page.locator(".jig-log-mark")).to_have_text("Traceback (most recent call last):")


def test_curves_are_drawn_with_every_spike(page):
    tab(page, "Curves")
    chart = page.locator(".jig-run-chart").first
    expect(chart).to_contain_text("loss")
    expect(chart).to_contain_text("last 0.02, 50 points")
    expect(chart.locator("canvas")).to_be_visible()
    page.get_by_text("Smoothed line too").click()
    page.get_by_text("Logarithmic").click()
    page.get_by_role("button", name="By time").click()
    expect(chart.locator("canvas")).to_be_visible()


def test_each_gpu_is_a_curve_of_the_same_chart_and_a_zoom_is_one_of_all(project, driver_here, serve, browse):
    """Metrics by time and the machine's curves have one axis."""
    project.write(
        "busy.py",
        "import os, sys, time, jig.track\n"
        "for number in (0, 1):\n"
        "    with open(sys.argv[1] + f'/{number}', 'a') as device: print(f'process {os.getpid()} 512 80', file=device)\n"
        "for step in range(25): jig.track.log(loss=1 / (1 + step)); time.sleep(0.1)\n",
    )
    for number, percent in ((0, 80), (1, 40)):
        driver_here.set(number, busy=percent)
    run = call("submit", "-c", "local", "busy.py", str(driver_here.folder / "driver/lib/nvidia-devices")).run_id
    page = browse(serve(project.path), f"/runs/{run}")
    proof = page.get_by_role("region", name="What it did with the GPU")
    expect(proof).to_contain_text("GPU: used")
    expect(proof.locator(".jig-proof-device")).to_have_count(2)
    tab(page, "Curves")
    busy = page.locator(".jig-run-chart").filter(has_text="gpu_busy (%)")
    expect(busy.locator(".jig-device")).to_have_text(["GPU 0", "GPU 1"])
    expect(busy).to_contain_text("last 80, 40, ")
    page.get_by_role("button", name="By time").click()
    charts = "[...document.querySelectorAll('.jig-echart')].map(e => getElement(+e.id.slice(1)).chart)"
    extents = f"{charts}.map(c => [c.getOption().xAxis[0].min, c.getOption().xAxis[0].max].join())"
    page.wait_for_function(f"{charts}.every(c => c?.group === 'time') && new Set({extents}).size === 1")
    page.evaluate(f"{charts}[0].dispatchAction({{type: 'dataZoom', start: 20, end: 60}})")
    page.wait_for_function(f"{charts}.every(c => Math.round(c.getOption().dataZoom[0].start) === 20)")


def test_no_spike_disappears_and_zooming_shows_more():
    from array import array

    across, values = array("d", range(1_000_000)), array("d", bytes(8_000_000))
    values[777_777], values[10] = 5.0, float("nan")
    curve = Curve("loss", "", across, values)
    points, calm = curve.drawn(None, True)
    assert (777_777, 5.0) in points
    assert (10, None) in points
    assert len(points) < 3000
    assert len(calm) < 3000
    assert curve.strange == 1
    near, _ = curve.drawn((777_700.0, 777_800.0), False)
    assert len(near) == 103
    assert (777_777, 5.0) in near


def test_curves_grow_with_the_run(project, server, browse):
    project.write(
        "grow.py",
        "import os, sys, time, jig.track\n"
        "for step in range(10_000):\n"
        "    jig.track.log(loss=step); time.sleep(0.05)\n"
        "    if os.path.exists(sys.argv[1]): break\n",
    )
    gate = project.path.parent / "gate"
    run = call("submit", "-c", "local", "-a", "grow.py", str(gate)).run_id
    page = browse(server, f"/runs/{run}?tab=curves")
    said = page.locator(".jig-run-chart .jig-soft").first
    expect(said).to_contain_text("points")
    before = said.inner_text()
    expect(said).not_to_have_text(before)
    expect(page.locator(".jig-run-chart").filter(has_text="memory")).to_contain_text("points")
    gate.touch()
    expect(page.locator(".jig-run-head .jig-state")).to_contain_text("Completed")


def test_outputs_are_shown_inert(page, run, server):
    tab(page, "Outputs")
    page.wait_for_function(
        "document.querySelector('img.jig-shown')?.naturalWidth === 2"
    )  # the first picture is shown at once
    names = page.locator(".jig-list button.jig-item-main")
    expect(names.filter(has_text="outputs/deep/notes.txt")).to_be_visible()
    for name in ("outputs/page.html", "outputs/drawing.svg"):
        page.get_by_role("button", name=f"Show {name}").click()
        expect(page.locator(".jig-pre")).to_have_text(HOSTILE)
        expect(page.locator("#main img, #main iframe, #main object")).to_have_count(0)
    page.get_by_role("button", name="Show outputs/picture.png").click()
    page.wait_for_function("document.querySelector('img.jig-shown')?.naturalWidth === 2")
    page.get_by_role("button", name="Show outputs/binary.bin").click()
    expect(page.get_by_role("alert")).to_contain_text("no text")
    expect(names.filter(has_text="passwd")).to_have_count(0)
    assert "taken" not in page.title()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download outputs/page.html").click()
    assert download.value.suggested_filename == "page.html"


def test_pictures_stand_side_by_side_as_they_come_and_nothing_else_does(page):
    tab(page, "Images")
    expect(page.locator(".jig-image")).to_have_count(2)  # what was logged, and what was written; no drawing.svg
    page.wait_for_function("[...document.querySelectorAll('.jig-image img')].every(e => e.naturalWidth === 2)")
    page.get_by_role("button", name="Show outputs/picture.png large").click()
    expect(page.get_by_role("dialog").locator("img")).to_be_visible()


def test_what_is_downloaded_is_never_a_page(run, server):
    cookie = cookie_of(server)
    for name in ("page.html", "drawing.svg"):
        for query in ("", "?picture=true"):
            status, headers, text = get(server, f"/runs/{run}/artifacts/outputs/{name}{query}", Cookie=cookie)
            assert (status, text) == (200, HOSTILE)
            assert headers["content-type"] == "application/octet-stream"
            assert headers["content-disposition"].startswith("attachment")
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["content-security-policy"].startswith("sandbox")
    status, headers, _ = get(server, f"/runs/{run}/artifacts/outputs/picture.png?picture=true", Cookie=cookie)
    assert (status, headers["content-type"]) == (200, "image/png")
    assert get(server, f"/runs/{run}/artifacts/outputs/page.html")[0] == 403  # without the cookie


@pytest.mark.parametrize(
    "name",
    [
        "../plan.json", "..%2Fplan.json", "outputs/../../plan.json", "outputs/..%2f..%2fplan.json", "%2Fetc%2Fpasswd",
        "/etc/passwd", "outputs/passwd", "outputs/plan", "outputs/none", "outputs", "outputs/%00", "train.py", "",
    ],
)  # fmt: skip
def test_nothing_else_is_had(run, server, name):
    status, _, text = get(server, f"/runs/{run}/artifacts/{name}", Cookie=cookie_of(server))
    assert status == 404
    assert "root:" not in text
    assert "run_id" not in text


def test_a_log_that_is_a_link_is_not_read(project, browse, server):
    project.write("fail.py", "print('before it failed')\nraise SystemExit(1)\n")
    run = call("submit", "-c", "local", "fail.py").run_id
    page = browse(server, f"/runs/{run}")
    expect(page.locator(".jig-end-of-log")).to_contain_text("before it failed")
    log = Home(default_home()).run(run).log
    os.unlink(log)
    os.symlink("/etc/passwd", log)
    page.reload()
    ready(page)
    expect(page.locator(".jig-summary")).to_be_visible()
    expect(page.locator(".jig-end-of-log")).to_have_count(0)
    for query in ("log?before=-1", "artifacts/driver_log"):
        status, _, text = get(server, f"/runs/{run}/{query}", Cookie=cookie_of(server))
        assert (status, "root:" in text) == (404, False)


@pytest.mark.parametrize("run_id", ["none_1", "..", "%2e%2e", "a%2Fb", "<b>"])
def test_a_run_that_is_not_there_is_told(server, browse, run_id):
    status, _, _ = get(server, f"/runs/{run_id}/log", Cookie=cookie_of(server))
    assert status == 404
    if run_id == "none_1":
        page = browse(server, f"/runs/{run_id}")
        expect(page.get_by_role("alert")).to_contain_text("there is no run none_1")


def test_the_code_as_it_ran(page, project):
    project.write("train.py", "changed since\n")
    tab(page, "Code")
    shown = page.locator(".jig-panels .jig-pre")
    expect(shown).to_contain_text("track.params(lr=0.5")
    assert shown.evaluate("element => element.textContent") == SCRIPT
    expect(shown.locator(".hl-kn").first).to_have_text("import")
    expect(shown.locator("script, img")).to_have_count(0)
    colours = "element => [getComputedStyle(element).color, getComputedStyle(element.parentElement).color]"
    word, text = shown.locator(".hl-kn").first.evaluate(colours)
    assert word != text
    page.get_by_role("button", name="Show aml_config/local.compute").click()
    expect(shown).to_contain_text("type: local")
    expect(shown.locator(".hl-nt").first).to_have_text("type")


def test_code_that_is_no_text_says_what_it_is(project, server, browse):
    project.write("x.py", "print(1)")
    project.write("blob.bin", b"\0\1")
    (project.path / "link.py").symlink_to("x.py")
    page = browse(server, f"/runs/{call('submit', '-c', 'local', 'x.py').run_id}?tab=code")
    for name, said in (("link.py", "A link to x.py"), ("blob.bin", "This is no text.")):
        page.get_by_role("button", name=f"Show {name}").click()
        expect(page.locator(".jig-panels .jig-wide .jig-soft")).to_contain_text(said)
        expect(page.get_by_role("alert")).to_have_count(0)


def test_restore_refuses_to_lose_work_and_then_restores(page, project):
    project.write("train.py", "changed since\n")
    page.get_by_role("button", name="Restore").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Restore").click()
    expect(dialog.get_by_role("alert")).to_contain_text("neither committed nor part of a run")
    assert (project.path / "train.py").read_text() == "changed since\n"
    dialog.get_by_role("checkbox").click()
    dialog.get_by_role("button", name="Restore").click()
    expect(dialog).to_contain_text("restored  train.py")
    expect(dialog).to_contain_text("to have it back:  jig project restore --run-id")
    assert (project.path / "train.py").read_text() == SCRIPT


def test_reproduce_shows_what_is_the_same_and_leads_to_the_new_run(page, run):
    page.get_by_role("button", name="Reproduce").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(f"the same as in {run}: code, arguments")
    dialog.get_by_role("button", name="Reproduce").click()
    page.wait_for_url(lambda url: "/runs/" in url and run not in url)
    ready(page)
    expect(page.locator(".jig-facts")).to_contain_text(run)
    expect(page.locator(".jig-run-head .jig-state")).to_contain_text("Completed")


def test_an_output_is_promoted(page, project, run):
    tab(page, "Outputs")
    page.get_by_role("button", name="Promote outputs/deep/notes.txt").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name of the asset").fill("../bad")
    dialog.get_by_role("button", name="Promote").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    dialog.get_by_label("Name of the asset").fill("notes")
    dialog.get_by_role("button", name="Promote").click()
    expect(dialog).to_contain_text(f"assets/notes.link: version 1, outputs/deep/notes.txt of {run}")
    assert (project.path / "assets/notes.link").exists()


def test_names_that_are_no_text_are_shown_read_and_had(project, serve, browse):
    project.write("train.py", (
        "import os\nos.makedirs('outputs', exist_ok=True)\n"
        "open(b'outputs/caf\\xe9.txt', 'w').write('what was found')\n"
        f"open(b'outputs/caf\\xe9.png', 'wb').write(bytes.fromhex({png()!r}))\n"
    ))  # fmt: skip
    with open(os.fsencode(project.path) + b"/caf\xe9.py", "w") as file:
        file.write("frozen = True\n")
    said = call("submit", "-c", "local", "train.py")
    assert said.code == 0, said.out
    server = serve(project.path)
    page = browse(server, f"/runs/{said.run_id}?tab=outputs")
    picture = page.locator("img.jig-shown")
    until(lambda: picture.evaluate("it => it.naturalWidth") == 2, what="the picture")
    page.get_by_role("button", name=r"Show outputs/caf\udce9.txt").click()
    expect(page.get_by_text("what was found")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_label(r"Download outputs/caf\udce9.txt").click()
    assert download.value.path().read_text() == "what was found"
    tab(page, "Images")
    expect(page.get_by_role("button", name=r"Show outputs/caf\udce9.png large")).to_be_visible()
    tab(page, "Code")
    page.get_by_role("button", name=r"Show caf\udce9.py").click()
    expect(page.get_by_text("frozen = True")).to_be_visible()
