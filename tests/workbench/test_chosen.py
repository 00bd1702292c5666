"""What was clicked last is what is shown, whatever was clicked before and takes longer to read."""

import asyncio
import threading
from types import SimpleNamespace

from nicegui import ui
from nicegui.client import Client
from nicegui.page import page
from playwright.sync_api import expect

from jig.errors import UsageError
from jig.workbench.chosen import Chosen
from tests.workbench.conftest import in_a_loop
from tests.workbench.test_editor import text_of, type_at_end
from tests.workbench.test_files import files, node

SESSION = SimpleNamespace(work=asyncio.to_thread)


def words(place: ui.element) -> "list[str]":
    return [element.text for element in place.descendants() if isinstance(element, ui.label)]


def slow_then(second) -> "list[str]":
    """What is shown after a choice that takes its time and another one that does not."""

    async def choose() -> "list[str]":
        with Client(page("/chosen")):
            place = ui.element("div")
        chosen, may_end = Chosen(SESSION, place), threading.Event()
        slow = asyncio.create_task(chosen.show("slow", lambda: may_end.wait(10), lambda read: ui.label(f"read {read}")))
        await asyncio.sleep(0)
        await second(chosen, place)
        may_end.set()
        await slow
        return words(place)

    return in_a_loop(choose())


def test_the_last_choice_is_shown():
    async def quick(chosen, place):
        await chosen.show("quick", lambda: "at once", ui.label)

    assert slow_then(quick) == ["quick", "at once"]


def test_an_error_is_shown_in_place_of_what_was_there():
    def fail():
        raise UsageError("not there", "look elsewhere")

    async def wrong(chosen, place):
        await chosen.show("", lambda: "what was there", ui.label)
        await chosen.show("wrong", fail, ui.label)

    assert slow_then(wrong) == ["wrong", "not there", "hint:", "look elsewhere"]


def test_a_place_that_is_gone_is_left_alone():
    async def gone(chosen, place):
        place.delete()

    assert slow_then(gone) == []


def test_a_file_that_was_chosen_first_does_not_come_over_the_text_of_the_second(server, browse, project):
    project.write("slow.py", "x = 1\n" * 100_000)
    project.write("quick.py", "y = 2")
    page = files(browse, server)
    expect(node(page, "quick.py")).to_be_visible()
    page.evaluate(
        """() => { for (const name of ["slow.py", "quick.py"])
            [...document.querySelectorAll(".q-tree__node-header")].find(e => e.textContent.includes(name)).click() }"""
    )
    expect(page.locator(".jig-path-name")).to_have_text("quick.py")
    expect(page.locator(".cm-content")).to_have_text("y = 2")
    type_at_end(page, "  # mine")
    page.wait_for_timeout(500)
    assert text_of(page) == "y = 2  # mine"
