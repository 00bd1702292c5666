"""The common settings of a project file beside its text; each change is one of the text."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from jig.errors import JigError
from jig.project.compute import CONTAINERS, IMAGE
from jig.project.keys import FRAMEWORKS
from jig.workbench.dialogs import heading
from jig.workbench.files import checks, settings
from jig.workbench.words import say

Change = Callable[[str], str]  # from the text to the new text
Apply = Callable[[Change], None]
HAVE = (checks.COMPUTE, checks.RUN, checks.CONDA)
KEYS = {checks.COMPUTE: ("type", "baseDockerImage", "nvidiaDocker"), checks.RUN: ("Framework", "Gpus")}


def fields(kind: str, text: str) -> tuple[object, ...]:
    """What the form of this kind shows of the text; a text that has faults shows nothing."""
    try:
        return tuple(settings.value(text, key) for key in KEYS[kind]) if kind in KEYS else settings.packages(text)
    except JigError:
        return ()


def build(kind: str, text: str, apply: Apply) -> None:
    """Draw the form for this text."""
    heading(say("form.title"))
    if not fields(kind, text):
        ui.label(say("form.faults")).classes("jig-soft")
    elif kind == checks.CONDA:
        _packages(*settings.packages(text), apply)
    else:
        {checks.COMPUTE: _compute, checks.RUN: _run}[kind](lambda key: settings.value(text, key) or "", apply)


def _compute(value: Callable[[str], str], apply: Apply) -> None:
    kind = value("type")
    ui.label(say("form.type", kind=kind)).classes("jig-soft")
    if kind not in CONTAINERS:
        ui.label(say("form.no_container")).classes("jig-soft")
        return
    on = value("nvidiaDocker").lower() in ("true", "yes", "on")

    def switch() -> None:
        new = "true" if toggle.value else "false"
        apply(lambda text: settings.with_value(text, "nvidiaDocker", new))

    toggle = ui.switch(say("form.gpu"), value=on, on_change=switch)
    ui.label(say("form.gpu.help")).classes("jig-soft jig-small")
    _line(say("form.image"), value("baseDockerImage"), "baseDockerImage", apply, IMAGE)


def _run(value: Callable[[str], str], apply: Apply) -> None:
    shown = value("Framework") if value("Framework") in FRAMEWORKS else "PySpark"

    def choose() -> None:
        new = str(choice.value)
        apply(lambda text: settings.with_value(text, "Framework", new))

    choice = ui.select(list(FRAMEWORKS), label=say("form.framework"), value=shown, on_change=choose)
    choice.props("outlined dense").classes("jig-full")
    ui.label(say("form.framework.help")).classes("jig-soft jig-small")
    _line(say("form.gpus"), value("Gpus"), "Gpus", apply, say("form.gpus.none"))
    ui.label(say("form.gpus.help")).classes("jig-soft jig-small")


def _line(label: str, value: str, key: str, apply: Apply, example: str) -> None:
    """A field of one line; taken over with Enter, or when it is left."""

    taken = value

    def take() -> None:
        nonlocal taken
        new = field.value.strip()
        if new != taken:
            taken = new
            apply(lambda text: settings.with_value(text, key, new or None))

    field = ui.input(label, value=value, placeholder=example).props("outlined dense stack-label spellcheck=false")
    field.classes("jig-full").on("change", take)


def _packages(conda: list[str], pip: list[str], apply: Apply) -> None:
    for packages, is_pip, title in ((conda, False, say("form.conda")), (pip, True, say("form.pip"))):
        ui.label(title).classes("jig-strong")
        with ui.element("ul").classes("jig-packages"):
            for package in packages:
                _package(package, is_pip, apply)
        if not packages:
            ui.label(say("form.packages.none")).classes("jig-soft jig-small")
        _add(is_pip, apply)


def _package(package: str, is_pip: bool, apply: Apply) -> None:
    with ui.element("li"):
        ui.label(package).classes("jig-package")
        away = ui.button(icon="close", on_click=lambda: apply(lambda t: settings.without_package(t, package, is_pip)))
        away.props("flat round dense size=xs").classes("jig-tool")
        away.props["aria-label"] = say("form.packages.remove", package=package)


def _add(is_pip: bool, apply: Apply) -> None:
    def take() -> None:
        new = field.value.strip()
        if new:
            field.value = ""
            apply(lambda text: settings.with_package(text, new, is_pip))

    label = say("form.pip.add") if is_pip else say("form.conda.add")
    field = ui.input(label).props("outlined dense spellcheck=false").classes("jig-full")
    field.on("keydown.enter", take)
