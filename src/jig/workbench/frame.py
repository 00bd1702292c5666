"""What is around every page: header, navigation, run bar, jobs, keys, dark and light."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from importlib import import_module

from nicegui import App, app, ui

from jig import __version__
from jig.cli.terminal import printable
from jig.workbench import keys
from jig.workbench.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.workbench.live import Change
    from jig.workbench.pages import Page
    from jig.workbench.session import Session

# Parts of every page of an open project: modules with `build(session)`, plain or async, loaded when first shown.
# The run bar stands in the header, the jobs in the drawer on the right.
PARTS: dict[str, str] = {"run_bar": "jig.workbench.run_bar", "jobs": "jig.workbench.jobs"}
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0f766e"/>'
    '<path d="M8 9h5v14H8zM19 9h5v14h-5z" fill="#99f6e4"/><path d="M10 13h12v6H10z" fill="#fff"/></svg>'
)
ANSWER_S = 10.0
HEAD = '<link rel="stylesheet" href="/static/workbench.css?{v}"><script defer src="/static/keys.js?{v}"></script>'
HEAD += '<script defer src="/static/history.js?{v}"></script>'


def dress(framework: App) -> None:
    """The colours and files that all pages have."""
    framework.colors(primary="#0f766e", secondary="#475569", accent="#7c3aed", positive="#15803d", negative="#b91c1c")
    ui.add_head_html(HEAD.format(v=__version__), shared=True)


@contextlib.asynccontextmanager
async def around(session: Session, page: Page, listed: Sequence[Page]) -> AsyncIterator[None]:
    """Draw the frame of a page; what is built inside the `with` stands in its main part."""
    title, project = say(f"page.{page.name}"), session.project
    session.live.listen(lambda change: _follow(change, page, listed))  # before anything is waited for
    ui.page_title(
        say("app.title.page", page=title, project=project.name) if project else say("app.title.bare", page=title)
    )
    sheet = keys.Sheet()
    with ui.header().classes("jig-header").props("height-hint=48"):
        ui.link(say("frame.skip"), "#main").classes("jig-skip")
        menu = _button("menu", say("frame.menu"))
        _where(session)
        with ui.element("div").classes("jig-run-bar").props(f'role="region" aria-label="{say("frame.run_bar")}"'):
            await _part("run_bar", session)
        jobs = _button("view_sidebar", say("frame.jobs.toggle")) if _has("jobs", session) else None
        sheet.add(_dark(session), "d", say("frame.dark"))
        help_button = _button("keyboard", say("frame.help"), sheet.open)
        sheet.add(help_button, "?", say("frame.help"))
    drawer = ui.left_drawer(value=True, bordered=True).classes("jig-navigation").props("width=176 breakpoint=700")
    with drawer, ui.element("nav").props(f'aria-label="{say("frame.navigation")}"'):
        _links(session, page, listed, sheet)
    menu.on_click(drawer.toggle)
    if jobs is not None:
        with ui.right_drawer(value=False, bordered=True).classes("jig-jobs").props("width=420 breakpoint=700") as side:
            side.props(f'aria-label="{say("frame.jobs")}"')
            await _part("jobs", session)
        ui.context.client.jig_jobs = side  # type: ignore[attr-defined]
        jobs.on_click(side.toggle)
        sheet.add(jobs, "j", say("frame.jobs.toggle"))
    with ui.element("div").classes("jig-main").props('id="main" tabindex="-1"'):
        ui.label(title).classes("jig-unseen").props('role="heading" aria-level="1"')
        yield


def shortcut(element: ui.element, key: str, text: str) -> None:
    """Let a key, or two one after the other, click an element of the page; the help sheet says so."""
    keys.sheet().add(element, key, text)


def show_jobs() -> None:
    """Open the drawer with the jobs."""
    side: ui.right_drawer = ui.context.client.jig_jobs  # type: ignore[attr-defined]
    side.show()


def _where(session: Session) -> None:
    """The name of the open project, and where it is."""
    project = session.project
    with ui.element("div").classes("jig-where"):
        ui.html(ICON, sanitize=False).classes("jig-logo").props('aria-hidden="true"')
        name = ui.label(project.name if project else say("frame.no_project")).classes("jig-project")
        if project:
            name.tooltip(printable(project.root))


def _links(session: Session, page: Page, listed: Sequence[Page], sheet: keys.Sheet) -> None:
    for one in listed:
        text = say(f"page.{one.name}")
        link = ui.link(target=one.path).classes("jig-nav-link")
        with link:
            ui.icon(one.icon).props('aria-hidden="true"')
            ui.label(text)
        if one.name == page.name:
            link.classes("jig-here").props('aria-current="page"')
        if one.project and session.project is None:
            link.classes("jig-off").props('aria-disabled="true" tabindex="-1"')
        else:
            sheet.add(link, one.key, say("frame.go", page=text))


async def is_dark() -> bool | None:
    """Whether the browser shows the page dark now; None when it does not answer, because the page was left."""
    try:
        return bool(await ui.run_javascript("Quasar.Dark.isActive", timeout=ANSWER_S))
    except TimeoutError:
        return None


def _dark(session: Session) -> ui.button:
    mode = ui.dark_mode(session.kept.dark)

    async def switch() -> None:
        now = session.kept.dark
        if now is None:  # as the system has it: what that is, only the browser knows
            now = await is_dark() or False
        session.keep(session.kept._replace(dark=not now))
        mode.value = not now
        app.config.dark = not now  # so that the next page has it from its first paint

    return _button("contrast", say("frame.dark"), switch)


def _button(icon: str, label: str, click: Callable[[], object] | None = None) -> ui.button:
    button = ui.button(icon=icon, on_click=click).props(f'flat round dense aria-label="{label}"')
    return button.classes("jig-tool").tooltip(label)


def _has(part: str, session: Session) -> bool:
    return part in PARTS and session.project is not None


async def _part(part: str, session: Session) -> None:
    if _has(part, session):
        built = import_module(PARTS[part]).build(session)
        if inspect.isawaitable(built):
            await built


def _follow(change: Change, page: Page, listed: Sequence[Page]) -> None:
    """Another project was opened: a page shows the same of it, and Projects goes on to what is in it."""
    if not change.project:
        return
    if page.project:
        ui.navigate.reload()
    else:
        ui.navigate.to(next((one.path for one in listed if one.project), page.path))
