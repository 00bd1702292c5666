"""The page Files: the tree, what may be opened, new, renamed, deleted; nothing outside of the project."""

import os
import shutil
import stat

from playwright.sync_api import expect

from jig.workbench.files.listing import listing
from jig.workbench.run_bar import scripts
from tests.conftest import until
from tests.workbench.conftest import ready
from tests.workbench.test_projects import button


def files(browse, server):
    return browse(server, "/files")


def node(page, name):
    return page.locator(".jig-tree .jig-node").get_by_text(name, exact=True)


def test_the_tree_shows_files_as_they_come_and_go(server, browse, project):
    project.write(".gitignore", "data/\n")
    project.write("data/big.bin", b"\0")
    project.write("src/deep/model.py", "x = 1\n")
    page = files(browse, server)
    expect(node(page, "local.runconfig")).to_be_visible()
    expect(node(page, "deep")).to_be_visible()
    expect(page.locator(".jig-ignored > span")).to_have_text("data")
    project.write("later.py", "")
    expect(node(page, "later.py")).to_be_visible()
    (project.path / "later.py").unlink()
    expect(node(page, "later.py")).to_have_count(0)
    project.write("now.py", "")
    page.keyboard.press("r")
    expect(node(page, "now.py")).to_be_visible()


def test_what_is_no_text_is_told_and_not_opened(server, browse, project):
    project.write("picture.png", b"\x89PNG\0\1")
    project.write("huge.txt", b"x" * 2_000_001)
    page = files(browse, server)
    node(page, "picture.png").click()
    expect(page.get_by_role("alert")).to_contain_text("picture.png is not text (UTF-8), and is not opened")
    node(page, "huge.txt").click()
    expect(page.get_by_role("alert")).to_contain_text("huge.txt is larger than 2,000,000 bytes")


def test_new_rename_and_delete_stay_inside(server, browse, project, tmp_path):
    page = files(browse, server)
    expect(node(page, "local.compute")).to_be_visible()
    for name, kept in (("../out.py", False), (str(tmp_path / "out.py"), False), ("lib/in.py", True)):
        button(page, "New file").click()
        page.get_by_label("Path in the project").fill(name)
        button(page, "Create").click()
        if not kept:
            expect(page.get_by_role("alert")).to_contain_text("is outside of")
        expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".jig-path-name")).to_have_text("lib/in.py")
    assert (project.path / "lib/in.py").read_text() == ""
    button(page, "Rename").click()
    page.get_by_label("New path in the project").fill("lib/<b>new.py")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    until((project.path / "lib/<b>new.py").exists, what="the new name")
    expect(node(page, "<b>new.py")).to_be_visible()
    assert not (tmp_path / "out.py").exists()


def test_delete_asks_and_takes_the_link_not_what_it_leads_to(server, browse, project, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("keep")
    os.symlink(outside, project.path / "link.txt")
    page = files(browse, server)
    node(page, "link.txt").click()
    expect(page.get_by_role("alert")).to_contain_text("is outside of")
    node(page, "link.txt").click()
    button(page, "Delete").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Delete link.txt?")
    dialog.get_by_role("button", name="Delete").click()
    expect(node(page, "link.txt")).to_have_count(0)
    assert outside.read_text() == "keep"


def test_saving_keeps_the_mode_and_the_line_ends(server, browse, project):
    place = project.write("run.sh", b"#!/bin/sh\r\necho hi\r\n")
    place.chmod(0o750)
    page = files(browse, server)
    node(page, "run.sh").click()
    page.locator(".cm-content").get_by_text("echo hi").click()
    page.keyboard.press("End")
    page.keyboard.type(" there")
    expect(page.get_by_text("not saved")).to_be_visible()
    page.keyboard.press("Control+s")
    expect(page.get_by_text("saved", exact=True)).to_be_visible()
    assert place.read_bytes() == b"#!/bin/sh\r\necho hi there\r\n"
    assert stat.S_IMODE(place.stat().st_mode) == 0o750
    assert sorted(os.listdir(project.path)) == ["aml_config", "run.sh"]


def test_a_listing_ends_somewhere(project, monkeypatch):
    monkeypatch.setattr("jig.workbench.files.listing.LIMIT", 5)
    for number in range(10):
        project.write(f"{number}.py", "")
    assert not listing(str(project.path)).is_whole


def test_a_name_that_is_no_text_harms_nothing(server, browse, project):
    odd = os.fsencode(project.path) + b"/caf\xe9"
    os.mkdir(odd)
    for place in (odd + b".py", odd + b"/inside.py", odd + b".ipynb"):
        with open(place, "wb") as file:
            file.write(b"print('hello')\n")
    project.write("good.py", "print('good')\n")
    assert scripts(str(project.path)) == ["good.py"]
    page = files(browse, server)
    expect(node(page, r"caf\udce9")).to_be_visible()
    node(page, r"caf\udce9.py").click()
    expect(page.get_by_role("alert")).to_contain_text(r"the name caf\udce9.py is not UTF-8")
    button(page, "Delete").click()
    expect(page.get_by_role("alert")).to_contain_text("give it another name on the command prompt")
    assert os.path.exists(odd + b".py")
    node(page, "good.py").click()
    expect(page.locator(".cm-content")).to_contain_text("good")
    for path in ("/", "/notebooks", "/targets", "/history"):
        page.goto(server.root + path)
        ready(page)
        expect(page.get_by_role("alert")).to_have_count(0)


def test_a_project_whose_folder_is_no_text_is_open_all_the_same(serve, browse, project, tmp_path):
    odd = tmp_path / os.fsdecode(b"proj\xe9")
    shutil.copytree(project.path, odd)
    page = browse(serve(odd), "/files")
    expect(node(page, "local.runconfig")).to_be_visible()
    page.goto(page.url.replace("/files", "/"))
    ready(page)
    expect(page.get_by_role("button", name=r"Open the project proj\udce9")).to_be_visible()
