"""Targets: where runs can be, how each is now, and attaching another."""

from __future__ import annotations

from nicegui import ui
from nicegui.events import GenericEventArguments

from jig.workbench import frame
from jig.workbench.session import Session
from jig.workbench.targets.attach import Form
from jig.workbench.targets.card import Card
from jig.workbench.trouble import Trouble
from jig.workbench.words import say

EVERY_S = 3.0
# A page that nobody sees asks nothing.
SEEN = "document.addEventListener('visibilitychange', () => emitEvent('jig-seen', !document.hidden))"


async def build(session: Session) -> None:
    """The page; each card asks its machine once the page is there."""
    project = session.here()

    async def draw() -> None:
        """Bring the cards in line with the project's targets; those that stay are not asked again."""
        with trouble:
            names = await session.work(project.target_names)
            for name in [name for name in cards if name not in names]:
                cards.pop(name).element.delete()
            for name in names:
                if name not in cards:
                    with grid:
                        cards[name] = Card(session, name, draw)
                    cards[name].begin()

    async def again() -> None:
        await draw()
        for card in list(cards.values()):
            card.begin()

    cards: dict[str, Card] = {}
    with ui.element("div").classes("jig-line jig-page-head"):
        ui.label(say("targets.intro")).classes("jig-soft jig-grow")
        refresh = ui.button(say("targets.refresh"), icon="refresh", on_click=again).props("flat no-caps")
        add = ui.button(say("targets.attach"), icon="add", on_click=lambda: Form(session, draw))
        add.props("unelevated no-caps")
    frame.shortcut(refresh, "r", say("targets.refresh"))
    frame.shortcut(add, "a", say("targets.attach"))
    trouble = Trouble()
    grid = ui.element("div").classes("jig-targets")
    await draw()
    is_seen = True

    def seen(event: GenericEventArguments) -> None:
        nonlocal is_seen
        is_seen = bool(event.args)

    def look() -> None:
        for card in list(cards.values()) if is_seen else ():
            card.look()

    ui.on("jig-seen", seen)
    ui.run_javascript(SEEN)
    ui.timer(EVERY_S, look)
