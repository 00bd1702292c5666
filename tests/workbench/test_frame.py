"""What is around every page: keys, dark and light, landmarks, the way back after a restart."""

from playwright.sync_api import expect

from tests.workbench.conftest import ready


def test_keys_lead_to_pages_and_a_sheet_lists_them(page):
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog")
    expect(sheet).to_contain_text("Go to Projects")
    sheet.get_by_role("button", name="Close").click()
    expect(sheet).to_have_count(0)
    with page.expect_navigation():
        page.keyboard.type("gp")


def test_keys_do_nothing_where_text_is_typed(page):
    page.get_by_label("Folder of the project").fill("")
    page.keyboard.type("?gp")
    expect(page.get_by_label("Folder of the project")).to_have_value("?gp")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_dark_is_remembered(serve, browse, project):
    server = serve(project.path)
    page = browse(server)
    expect(page.locator("body")).to_have_class("desktop no-touch body--light")
    page.keyboard.press("d")
    expect(page.locator("body")).to_have_class("desktop no-touch body--dark")
    page.reload()
    ready(page)
    assert 'content="dark"' in page.content()
    page.context.close()
    server.end()
    page = browse(serve(project.path))
    expect(page.locator("body")).to_have_class("desktop no-touch body--dark")


def test_a_screen_reader_finds_its_way(page):
    assert page.get_by_role("navigation", name="Pages").count() == 1
    assert page.get_by_role("main").count() == 1
    assert page.get_by_role("banner").count() == 1
    expect(page.get_by_role("heading", level=1)).to_have_text("Projects")
    expect(page.get_by_role("link", name="Projects")).to_have_attribute("aria-current", "page")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    unnamed = "e => !(e.ariaLabel || e.innerText.trim() || e.labels?.length)"
    assert page.eval_on_selector_all("button, a, input", f"all => all.filter({unnamed}).map(e => e.outerHTML)") == []


def test_after_a_restart_the_page_goes_on(serve, browse, project):
    first = serve(project.path)
    page = browse(first)
    page.evaluate("window.before = true")
    first.end()
    second = serve(project.path)
    assert second.port == first.port
    page.wait_for_function("window.before === undefined")
    ready(page)
    expect(page.locator(".jig-project")).to_have_text("proj")
    page.context.close()
    browse.complaints.clear()  # the browser says that it could not connect for a while


def test_it_fits_on_a_small_screen(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
