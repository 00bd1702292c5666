"""`jig history plot`: curves of what runs logged, in the terminal or as a picture."""

from __future__ import annotations

import os
import sys
import time

from jig.cli.grammar import Argument, Command, Option
from jig.cli.options import FOR_PROGRAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args
    from jig.cli.plot_curves import Sheet
    from jig.plot.chart import Chart
    from jig.plot.text import Look
    from jig.store.queries import Found

ENDINGS = (".png", ".svg")
EVERY_S = 1.0
SAVED_EVERY_S = 5.0
ALONE_ROWS, TOGETHER_ROWS, FEWEST_ROWS = 16, 10, 4
BESIDES_ROWS = 4  # a chart's title, axis and ticks, and the empty line below it
RUNS_LOOKED_AT = 100  # for one that has the metric, where the latest has not
INK = (36, 33, 35, 32, 34, 31)  # of a terminal
BRAILLE = "\u28ff"
# The same words as in store.system_series, which is not loaded to read a command line; a test compares.
SYSTEM = ("gpu_busy", "gpu_memory", "gpu_power", "gpu_temperature", "cpu", "memory")


def plot(args: Args) -> int:
    """Draw metrics of runs."""
    from jig.cli.here import find_runs
    from jig.cli.plot_curves import Sheet, Wanted
    from jig.cli.terminal import is_terminal
    from jig.errors import UsageError

    save, output, query = args.text("save"), args.text("output"), args.text("query")
    program = output is not None or query is not None
    if save is not None and not save.lower().endswith(ENDINGS):
        raise UsageError(f"--save {save}: a picture is a file that ends with {' or '.join(ENDINGS)}")
    if program and (save is not None or args.flag("follow")):
        raise UsageError("--output and --query are for programs: they go with neither --save nor --follow")
    if args.flag("follow") and save is None and not is_terminal(sys.stdout):
        raise UsageError("--follow draws at a terminal", "with --save it keeps a picture up to date")
    runs = find_runs((*args.many("run"), *args.many("ids")) or (None,))
    runs = list({found.id: found for found in runs}.values())
    _bring(runs)
    wanted = Wanted(
        tuple(dict.fromkeys(args.many("metric"))),
        tuple(dict.fromkeys(args.many("system"))),
        args.text("x") or "step",
        args.flag("log"),
        args.flag("smooth"),
    )
    sheet = Sheet(runs, wanted)
    if args.flag("follow"):
        return _follow(sheet, runs, save)
    charts = _charts(sheet, named=args.flag("run") or args.flag("ids"))
    if program:
        return _show(charts, output, query)
    if save is not None:
        _save(sheet, charts, save)
        print(save)
        return 0
    _write("".join(line + "\n" for line in _lines(sheet, charts)))
    return 0


def _charts(sheet: Sheet, named: bool) -> list[Chart]:
    """The charts; where nobody named the run, the error says which one could be drawn."""
    from jig.errors import StoreError, UsageError

    try:
        return sheet.charts()
    except (StoreError, UsageError) as error:
        other = "" if named or sheet.wanted.system else _other_run(sheet.wanted.metrics)
        if other:
            error.hint = f"{error.hint}\n{other}".lstrip()
        raise


def _other_run(metrics: tuple[str, ...]) -> str:
    """The command for the latest run that has these metrics as numbers, any where none is named; empty without one."""
    import shlex

    from jig.cli.here import project_name, store
    from jig.cli.terminal import printable
    from jig.compare.rows import is_number

    for record in store().list(project_name(), RUNS_LOOKED_AT):
        numbers = [name for name, value in record["metrics"].items() if is_number(value)]
        if numbers and all(name in numbers for name in metrics):
            chosen = "".join(f" -m {shlex.quote(name)}" for name in metrics)
            what = " and ".join(map(printable, metrics)) or "numbers"
            return f"the latest run with {what}:  jig history plot {record['run_id']}{chosen}"
    return ""


def _bring(runs: list[Found]) -> bool:
    """What is new of runs elsewhere comes home, if their machine can be reached; whether all of them have ended."""
    from jig.cli.terminal import warn
    from jig.errors import MachineError, StoreError

    ended = True
    for found in runs:
        try:
            ended = found.run().final and ended
        except MachineError as error:
            warn(f"{error.message}; drawn is what is here")
            ended = False
        except StoreError as error:
            warn(error.message)
    return ended


def _show(charts: list[Chart], output: str | None, query: str | None) -> int:
    from jig.cli.plot_curves import for_programs
    from jig.cli.show import show

    found = for_programs(charts)
    if output in ("table", "tsv") and query is None:
        names = ("run_id", "metric", "x", "value")
        rows = [
            dict(zip(names, (one["run_id"], one["metric"], *point), strict=True))
            for one in found
            for point in one["points"]
        ]
        show(rows, output=output, columns=names)
    else:
        show(found, output=output or "json", query=query)
    return 0


def _look(curves: int) -> Look:
    """What the terminal can show; more curves than it has colours are told apart by letters."""
    from jig.cli.terminal import has_colour, width_of
    from jig.plot.text import Look

    try:
        BRAILLE.encode(sys.stdout.encoding or "ascii")
        braille = os.environ.get("TERM") not in ("linux", "dumb")  # the console of Linux has no such characters
    except (UnicodeEncodeError, LookupError):
        braille = False
    painted = has_colour(sys.stdout) and curves <= len(INK)
    return Look(
        min(width_of(sys.stdout), 200) - 1,
        braille,
        (lambda text, number: f"\x1b[{INK[number]}m{text}\x1b[0m") if painted else None,
    )


def _lines(sheet: Sheet, charts: list[Chart], most: int | None = None) -> list[str]:
    """Every chart in lines, each with its curves named below; no more than `most` of them where that can be."""
    from jig.cli.plot_curves import thinned, told
    from jig.cli.terminal import cut
    from jig.plot.text import draw

    look = _look(len(sheet.labels))
    rows = ALONE_ROWS if len(charts) == 1 else TOGETHER_ROWS
    if most is not None and charts:
        named = sum(len(chart.curves) for chart in charts)
        rows = max(FEWEST_ROWS, min(rows, (most - named) // len(charts) - BESIDES_ROWS))
    mark = "…" if look.braille else "..."
    lines: list[str] = []
    for chart in charts:
        curves = tuple(curve for curve in chart.curves if not curve.faint)
        if any(curve.shown(chart.log) for curve in curves):
            few = thinned(
                chart._replace(curves=curves, title=cut(chart.title, look.columns - 6, mark)), 2 * look.columns
            )
            lines += draw(few, look, rows)
        else:
            lines.append(f"{chart.title}: {'no value can be drawn' if curves else 'nothing to draw yet'}")
        marks = look.marks(len({curve.colour for curve in curves}))
        for curve in curves:
            text = f"{curve.label}  {told(curve, chart.log)}"
            lines.append(f"{look.line(marks, curve.colour)} {cut(text, look.columns - 3, mark)}")
        lines.append("")
    return lines[:-1]


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def _save(sheet: Sheet, charts: list[Chart], path: str) -> None:
    """Write the picture, aside first: whoever looks meanwhile never finds half of one."""
    from jig.cli.plot_curves import thinned, told
    from jig.errors import StoreError
    from jig.plot import picture, raster, svg

    legend = []
    for label, colour in sheet.labels.items():
        of_label = [(curve, chart) for chart in charts for curve in chart.curves if curve.label == label]
        shown = [told(curve, chart.log) for curve, chart in of_label if not curve.faint]
        legend.append((colour, label + (f"   {shown[0]}" if len(charts) == 1 and shown else "")))
    made = picture.compose("", [thinned(chart, picture.WIDTH) for chart in charts], legend)
    data = svg.render(made) if path.lower().endswith(".svg") else raster.render(made)
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(aside, "wb") as file:
            file.write(data)
        os.replace(aside, path)
    except OSError as error:
        raise StoreError(f"{path} could not be written: {error.strerror}") from error
    finally:
        if os.path.exists(aside):
            os.unlink(aside)


def _follow(sheet: Sheet, runs: list[Found], save: str | None) -> int:
    """Draw again and again until all runs have ended; Ctrl-C leaves them going."""
    drawn, saved = 0, 0.0
    while True:
        ended = _bring(runs)
        charts = sheet.charts(patient=not ended)
        if save is None:
            size = os.get_terminal_size(sys.stdout.fileno())
            state = "ended" if ended else "going; Ctrl-C leaves, and the run goes on"
            lines = [*_lines(sheet, charts, size.lines - 3), state][: size.lines - 1]
            up = f"\x1b[{drawn}A" if drawn else ""
            _write(up + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
            drawn = len(lines)
        elif (ended or time.monotonic() - saved > SAVED_EVERY_S) and any(chart.curves for chart in charts):
            _save(sheet, charts, save)
            print(f"{save} at {time.strftime('%H:%M:%S')}", flush=True)
            saved = time.monotonic()
        if ended:
            return 0
        time.sleep(EVERY_S)


COMMAND = Command(
    "plot",
    "Draw metrics of runs, in the terminal or as a picture.\n\n"
    "Every point counts: of a long series each column shows the lowest and the highest, so that no spike disappears. "
    "Without -m the first metrics are drawn, without runs those of the latest.",
    plot,
    (
        Option(
            ("-m", "--metric"),
            "metric",
            "A metric to draw, in a chart of its own; may be given again.",
            "NAME",
            many=True,
        ),
        Option(("-r", "--run"), "run", "A run to draw; may be given more than once.", "ID", many=True, complete="run"),
        Option(
            ("--system",),
            "system",
            "Draw what the runs used, by time; may be given more than once.",
            many=True,
            choices=SYSTEM,
        ),
        Option(
            ("--x",),
            "x",
            "Over steps, time since the start, or the clock; step when not given.",
            choices=("step", "time", "wall"),
        ),
        Option(("--log",), "log", "Draw values by their logarithm."),
        Option(("--smooth",), "smooth", "Draw a moving average; in a picture with the values behind it."),
        Option(("--save",), "save", "Write a picture, .png or .svg, instead.", "FILE", complete="file"),
        Option(("-f", "--follow"), "follow", "Draw again while the runs go on."),
        *FOR_PROGRAMS,
    ),
    (
        Argument(
            "ids",
            "RUN",
            "Runs: ids, unique beginnings of them, last, last~1; the latest when none is given.",
            many=True,
            complete="run",
        ),
    ),
    (
        "jig history plot -m loss",
        "jig history plot last last~1 -m loss --log",
        "jig history plot -m loss -m accuracy --save curves.png",
        "jig history plot -m loss --system gpu_busy --x time --follow",
    ),
)
