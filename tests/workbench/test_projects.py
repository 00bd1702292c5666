"""The page Projects, as a person uses it."""

import re
import shutil

from playwright.sync_api import expect

from tests.workbench.conftest import ready


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def test_the_first_time_it_says_what_to_do(serve, browse):
    page = browse(serve())
    expect(page.get_by_text("Start here")).to_be_visible()
    expect(page.get_by_text("No project is open")).to_be_visible()
    expect(page).to_have_title("Projects · jig")
    assert "token" not in page.url


def test_create_a_project_from_a_template_and_open_it(serve, browse, tmp_path):
    page = browse(serve())
    button(page, "Create a project from the template digits").click()
    field = page.get_by_label("Folder to make")
    expect(field).to_have_value(str(tmp_path / "digits"))
    field.fill(str(tmp_path / "mine" / "my digits"))
    button(page, "Create").click()
    expect(page.locator(".jig-project")).to_have_text("my-digits")
    assert (tmp_path / "mine/my digits/train.py").exists()
    expect(page).to_have_title(re.compile("my-digits"))


def test_a_folder_that_is_not_empty_is_refused_in_place(serve, browse, project):
    page = browse(serve())
    button(page, "Create a project from the template blank").click()
    page.get_by_label("Folder to make").fill(str(project.path))
    page.keyboard.press("Enter")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(f"the folder {project.path} is not empty")
    expect(alert).to_contain_text("hint:")
    button(page, "Cancel").click()
    expect(alert).to_have_count(0)


def test_a_folder_is_opened_and_a_bad_one_explained_as_on_the_command_line(serve, browse, project, tmp_path, cli):
    page = browse(serve())
    field = page.get_by_label("Folder of the project")
    field.fill(str(tmp_path))
    button(page, "Open").click()
    said = cli("workbench", "--no-browser", "--project", str(tmp_path)).err
    message, hint = said.removeprefix("error: ").rstrip().split("\n\nhint: ")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(message)
    expect(alert).to_contain_text(hint)
    field.fill(str(project.path / "aml_config"))
    field.press("Enter")
    expect(page.locator(".jig-project")).to_have_text("proj")


def test_recent_ones_are_opened_forgotten_and_said_to_be_gone(serve, browse, project, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(project.path, other)
    server = serve(project.path)
    server.end()
    page = browse(serve(other))
    expect(page.locator(".jig-project")).to_have_text("other")
    button(page, "Open the project proj").click()
    expect(page.locator(".jig-project")).to_have_text("proj")
    ready(page)
    shutil.rmtree(other)
    page.get_by_role("link", name="Projects").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Projects")
    ready(page)
    expect(page.get_by_text("the folder is gone")).to_be_visible()
    button(page, "Take other off this list").click()
    expect(page.get_by_text("the folder is gone")).to_have_count(0)


def test_another_tab_follows(serve, browse, project):
    server = serve()
    one, two = browse(server), browse(server)
    one.get_by_label("Folder of the project").fill(str(project.path))
    button(one, "Open").click()
    expect(two.locator(".jig-project")).to_have_text("proj")


def test_hostile_names_are_only_text(serve, browse, project, tmp_path):
    hostile = tmp_path / "<img src=x onerror=alert(1)> \" aria-label='x"
    shutil.copytree(project.path, hostile)
    page = browse(serve(hostile))
    expect(page.locator(".jig-path")).to_have_text(str(hostile))
    expect(page.locator("main img, #main img")).to_have_count(0)
