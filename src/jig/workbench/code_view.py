"""The code of a run as it was frozen, to read; and the packages that its environment had."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from jig.cli.terminal import human_bytes, printable
from jig.errors import JigError
from jig.frozen import Frozen
from jig.store.queries import Found
from jig.views import environment
from jig.workbench import trouble
from jig.workbench.chosen import Chosen
from jig.workbench.highlight import highlight
from jig.workbench.session import Session
from jig.workbench.words import say

MOST = 1000
PREVIEW_BYTES = 512 << 10


async def code(session: Session, found: Found) -> None:
    """The files beside the one that is read."""
    try:
        frozen = await session.work(lambda: Frozen(found))
    except JigError as error:
        trouble.show(error)
        return

    async def show(entry: list[Any]) -> None:
        await chosen.show(printable(entry[1]), lambda: _read(frozen, entry), lambda read: _draw(*read))

    files = [entry for entry in frozen.entries if entry[0] != "d"]
    script = str(found.plan()["script"])
    files.sort(key=lambda entry: (entry[1] != script, entry[1].count("/"), entry[1]))
    ui.label(say("code.about", count=len(files), id=frozen.id[:12])).classes("jig-soft")
    with ui.element("div").classes("jig-columns"):
        with ui.element("section").classes("jig-narrow"), ui.element("ul").classes("jig-list"):
            for entry in files[:MOST]:
                _row(entry, show)
        chosen = Chosen(session, ui.element("section").classes("jig-wide"))
    if files:
        await show(files[0])


def _read(frozen: Frozen, entry: list[Any]) -> tuple[str, str]:
    """The text of a file as HTML; else what is said in its place."""
    if entry[0] != "f":
        return "", say("code.link", target=printable(entry[2]))
    data = frozen.read(entry[4])[:PREVIEW_BYTES]
    if b"\0" in data[:8192]:
        return "", say("code.binary")
    return highlight(entry[1], data.decode("utf-8", "replace")), ""


def _draw(coloured: str, said: str) -> None:
    if said:
        ui.label(said).classes("jig-soft")
    else:
        ui.html(coloured, sanitize=False).classes("jig-pre").props('tabindex="0"')


def _row(entry: list[Any], show: Any) -> None:
    with ui.element("li").classes("jig-item"), ui.element("button").classes("jig-item-main") as main:
        main.props('type="button"').on("click", lambda: show(entry))
        main.props["aria-label"] = say("code.show", name=printable(entry[1]))
        ui.label(printable(entry[1])).classes("jig-wrap")
        ui.label(human_bytes(entry[3]) if entry[0] == "f" else "→").classes("jig-path")


async def packages(session: Session, found: Found) -> None:
    """What was installed, by name and version."""
    had = await session.work(lambda: environment(found))
    plan = found.plan()["environment"]
    if not had:
        python = plan.get("python") or "python"
        ui.label(say("packages.own" if plan["kind"] == "user" else "packages.none", python=python)).classes("jig-soft")
        return
    rows = [tuple(str(line).partition("==")[::2]) + (say("packages.pip"),) for line in had.get("pip") or ()]
    for one in had.get("conda") or ():
        if isinstance(one, dict):
            rows.append((str(one.get("name")), str(one.get("version")), say("packages.conda")))
    ui.label(say("packages.about", count=len(rows), platform=had.get("platform", "?"))).classes("jig-soft")
    with ui.element("table").classes("jig-table"), ui.element("tbody"):
        for name, version, kind in sorted(rows):
            with ui.element("tr"):
                with ui.element("th").props('scope="row"'):
                    ui.label(name)
                for text in (version, kind):
                    with ui.element("td"):
                        ui.label(text)
