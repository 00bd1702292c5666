"""`sweep.yml` to a sweep; every fault is told at once, with its line and what was probably meant."""

from __future__ import annotations

import os

from jig.errors import UsageError, nearest
from jig.project.schema import Place, Section
from jig.project.yaml import MAP, parse
from jig.store.runs import REASONS
from jig.sweep import parameters, space
from jig.sweep.definition import TEMPLATE, USUAL, Objective, Retries, Stop, Sweep
from jig.sweep.scalars import number, seconds, whole

KEYS = (
    "script",
    "arguments",
    "method",
    "parameters",
    "samples",
    "seed",
    "at_once",
    "objective",
    "retries",
    "stop",
    "pass",
)
OBJECTIVE = ("metric", "goal")
RETRIES = ("times", "on", "wait")
STOP = ("max_runs", "max_time", "objective", "running")
METHODS = ("grid", "random")
GOALS = ("maximize", "minimize")
PASSES = ("arguments", "variables")
RUNNING = ("finish", "cancel")
# What a run may be tried again for: not that it completed, nor that a person ended it.
AGAIN = ("Failed", "Lost", *(reason for reason in REASONS if reason != "canceled"))
MOST_AT_ONCE = 1000
SMALLEST = """\
write it, for example:
  script: train.py
  parameters: {lr: [0.1, 0.01]}
  objective: {metric: accuracy}"""


def find(folder: str, root: str, path: str) -> str:
    """The file of that name, seen from where the person stands, or from the project's folder."""
    for base in (folder, root):
        place = os.path.normpath(os.path.join(base, path))
        if os.path.isfile(place):
            return place
    beside = [name for name in os.listdir(root) if name.endswith((".yml", ".yaml"))]
    guess = nearest(os.path.basename(path), [*beside, "show", "run"])
    advice = f"did you mean {guess}?" if guess else SMALLEST
    places = " or in ".join(dict.fromkeys((os.path.normpath(folder), root)))
    raise UsageError(f"there is no file {path} in {places}", advice)


def read(text: str, shown: str) -> Sweep:
    """The sweep that a text describes; raises ProjectError with every fault in it."""
    place = Place(shown, "a sweep file")
    root, faults = parse(text, shown)
    place.faults += faults
    section = Section(root, place, KEYS)
    method = section.choice("method", METHODS) or "grid"
    passing = section.choice("pass", PASSES) or "arguments"
    script = section.text("script")
    if not script:
        place.fault(section.line("script"), "script", "`script` is missing", "write, for example, `script: train.py`")
    found = parameters.read(section, method, passing)
    node = section.value("parameters")
    names = [key.text for key, _ in node.pairs()] if node is not None and node.kind == MAP else []
    objective = _objective(section)
    sweep = Sweep(
        script=script or "",
        parameters=found,
        arguments=_arguments(section, names),
        method=method,
        samples=_samples(section, method),
        seed=section.text("seed") or "",
        at_once=whole(section, "at_once", 1, MOST_AT_ONCE),
        objective=objective,
        retries=_retries(section),
        stop=_stop(section, objective),
        passing=passing,
    )
    if method == "grid" and not place.faults:
        count = space.size(found) or 0
        if count > space.MOST_POINTS:
            message = f"this grid has {count:,} points; a sweep has at most {space.MOST_POINTS:,}"
            section.fault("parameters", message, "take larger steps, or `method: random` with `samples`")
    place.close()
    return sweep


def _samples(section: Section, method: str) -> int:
    count = whole(section, "samples", 1, space.MOST_POINTS)
    if method == "random" and section.value("samples") is None:
        section.place.fault(
            section.line("method"),
            "samples",
            "`method: random` needs `samples`: how many points",
            "write `samples: 20`",
        )
    for key in ("samples", "seed"):
        if method == "grid" and section.value(key) is not None:
            section.fault(key, f"`{key}` is for `method: random`; a grid has every point", f"remove `{key}`")
    return count or 0


def _arguments(section: Section, names: list[str]) -> tuple[str, ...]:
    words = section.texts("arguments")
    for word, line in words:
        for found in TEMPLATE.finditer(word):
            if found[2] is not None and found[2] not in names:
                near = nearest(found[2], names)
                fix = f"did you mean `{{{near}}}`?" if near else f"write `{{{{{found[2]}}}}}` for the braces themselves"
                message = f"`{{{found[2]}}}` names a parameter that does not exist"
                section.place.fault(line, "arguments", message, fix)
    return tuple(word for word, _ in words)


def _objective(section: Section) -> Objective | None:
    node = section.value("objective")
    if node is None:
        return None
    inner = section.section("objective", OBJECTIVE)
    metric = inner.text("metric")
    if not metric and node.kind == MAP:
        section.fault("objective", "`objective` needs `metric`: what the script logs", "write `metric: accuracy`")
    return Objective(metric or "", inner.choice("goal", GOALS) or "maximize")


def _retries(section: Section) -> Retries:
    inner = section.section("retries", RETRIES)
    on = inner.texts("on")
    for word, line in on:
        if word not in AGAIN:
            near = nearest(word, AGAIN)
            fix = f"did you mean `{near}`?" if near else f"known are {', '.join(AGAIN)}"
            section.place.fault(line, "retries.on", f"`{word}` is no state or reason to try again for", fix)
    wait_s = seconds(inner, "wait")
    times = whole(inner, "times", 0, 100)
    if inner.entries and inner.value("times") is None:
        section.fault("retries", "`retries` needs `times`: how often a point is tried again", "write `times: 2`")
    return Retries(
        times or 0,
        tuple(word for word, _ in on) if inner.value("on") is not None else USUAL,
        Retries().wait_s if wait_s is None else wait_s,
    )


def _stop(section: Section, objective: Objective | None) -> Stop:
    inner = section.section("stop", STOP)
    text = inner.text("objective")
    wanted = None if text is None else number(text)
    if text is not None and wanted is None:
        inner.fault("objective", f"`objective` must be a number, but found {text!r}")
    if text is not None and objective is None:
        inner.fault("objective", "`stop` has an `objective`, and the sweep has none", "write `objective: {metric: …}`")
    return Stop(
        max_runs=whole(inner, "max_runs", 1, 10**9),
        max_time_s=seconds(inner, "max_time"),
        objective=wanted,
        running=inner.choice("running", RUNNING) or "finish",
    )
