"""`jig history plot`: in a pipe, at a terminal, as a picture, and while a run goes on."""

import sys
import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image

from jig.cli import history_plot
from jig.store import system_series
from tests.conftest import until
from tests.terminal import Terminal

SCRIPT = """
import jig, sys
for step in range(50):
    jig.log({"loss": float(sys.argv[1]) / (step + 1)}, step=step * 10)
jig.log("best", 7)
jig.log("confusion", [[1, 2], [3, 4]])
jig.log("note", "text")
if len(sys.argv) > 2:
    jig.log("loss", float("nan"), step=1000)
"""
JIG = (sys.executable, "-m", "jig")


@pytest.fixture
def two(project, cli):
    project.write("train.py", SCRIPT)
    return [cli("submit", "-c", "local", "train.py", *arguments).run_id for arguments in (("1",), ("2", "nan"))]


def test_the_latest_run_in_a_pipe(two, cli):
    said = cli("history", "plot", "-m", "loss")
    lines = said.out.splitlines()
    assert (said.code, said.err) == (0, "")
    assert lines[0] == "loss"
    assert lines[2].startswith("2.0 ┤") or lines[1].startswith("2.0 ┤")
    assert lines[-2].split() == ["0", "200", "400", "600", "800", "step"]
    assert lines[-1] == f"━━ {two[1]}  last nan, min 0.04 at 490, max 2 at 0, first NaN at 1000"
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in said.out


def test_several_runs_are_told_apart_without_colour(two, cli):
    said = cli("history", "plot", two[0], "last", "-m", "loss", "-m", "best")
    lines = said.out.splitlines()
    titles = [line for line in lines if line in ("loss", "best")]
    assert titles == ["loss", "best"]
    named = [line for line in lines if "  last " in line]
    assert [line[:2] + line.split()[1] for line in named] == [f"a {two[0]}", f"b {two[1]}"] * 2
    assert any("a" in line.partition("│")[2] for line in lines)


def test_the_same_run_twice_is_drawn_once(two, cli):
    said = cli("history", "plot", two[0], two[0], "-r", two[0], "-m", "loss", "-m", "loss")
    assert said.out.count(two[0]) == 1


def test_without_metrics_the_first_ones_are_drawn(two, cli):
    out = cli("history", "plot").out.splitlines()
    assert [line for line in out if line in ("loss", "best", "confusion", "note")] == ["loss", "best"]


def test_more_metrics_than_are_drawn_unasked_are_named(project, cli):
    project.write("train.py", "import jig\nfor n in range(6): jig.log('m%d' % n, n)")
    cli("submit", "-c", "local", "train.py")
    said = cli("history", "plot")
    assert said.err == "warning: drawn are the first 4 metrics; -m draws others: m4, m5\n"
    assert [line for line in said.out.splitlines() if line.startswith("m")] == ["m0", "m1", "m2", "m3"]


@pytest.mark.parametrize(
    ("words", "code", "error", "hint"),
    [
        (("-m", "los"), 2, "the run {1} did not log los", "did you mean loss?"),
        (("-m", "qqqq"), 2, "the run {1} did not log qqqq", "numbers, which can be drawn, are loss, best"),
        (("-m", "confusion"), 2, "confusion is a list, and only numbers can be drawn", "numbers, which can be drawn, are loss, best"),
        (("-m", "note"), 2, "note is text, and only numbers can be drawn", "numbers, which can be drawn, are loss, best"),
        (("{0}", "{1}", "-m", "qqqq"), 2, "none of these runs logged qqqq", "numbers, which can be drawn, are loss, best"),
        (("--save", "loss.pdf"), 2, "--save loss.pdf: a picture is a file that ends with .png or .svg", ""),
        (("--save", "absent/loss.png"), 125, "absent/loss.png could not be written: No such file or directory", ""),
        (("--follow",), 2, "--follow draws at a terminal", "with --save it keeps a picture up to date"),
        (("-o", "json", "--follow"), 2, "--output and --query are for programs: they go with neither --save nor --follow", ""),
        (("--system", "gpu_busy"), 125, "there are no samples of gpu_busy", "a run without a GPU has none of it, nor one with GpuSampling: 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn(two, cli, words, code, error, hint):
    said = cli("history", "plot", *(word.format(*two) for word in words))
    assert (said.code, said.out) == (code, "")
    assert said.err == f"error: {error.format(*two)}\n" + (f"\nhint: {hint}\n" if hint else "")


def test_a_run_without_numbers(project, cli):
    project.write("a.py", "import jig; jig.log('names', ['x'])")
    project.write("b.py", "pass")
    one, other = (cli("submit", "-c", "local", name).run_id for name in ("a.py", "b.py"))
    assert (
        cli("history", "plot", one).err == f"error: the run {one} logged no numbers\n\nhint: it logged names (list)\n"
    )
    assert cli("history", "plot", other).err == (
        f'error: the run {other} logged no numbers\n\nhint: a script logs with jig.log("loss", 0.1)\n'
    )


def test_the_latest_run_has_none_and_an_earlier_one_has(two, project, cli):
    project.write("b.py", "import jig; jig.log('text', 'x')")
    latest = cli("submit", "-c", "local", "b.py").run_id
    said = cli("history", "plot", "-m", "loss")
    assert said.err == (
        f"error: the run {latest} did not log loss\n\n"
        f"hint: no numbers were logged\nthe latest run with loss:  jig history plot {two[1]} -m loss\n"
    )
    assert said.code == 2
    assert cli("history", "plot").err.endswith(f"\nthe latest run with numbers:  jig history plot {two[1]}\n")
    assert "the latest" not in cli("history", "plot", latest).err, "a run that was named is meant"


def test_one_run_of_several_without_the_metric_is_told(two, project, cli):
    project.write("other.py", "import jig; jig.log('acc', 1)")
    other = cli("submit", "-c", "local", "other.py").run_id
    said = cli("history", "plot", two[0], other, "-m", "loss")
    assert (said.code, said.err) == (0, f"warning: {other} has no loss\n")


def test_points_for_programs(two, cli):
    found = cli("history", "plot", two[0], two[1], "-m", "loss", "-o", "json").json()
    assert [(one["run_id"], one["metric"], one["x"], one["smoothed"]) for one in found] == [
        (two[0], "loss", "step", False),
        (two[1], "loss", "step", False),
    ]
    assert found[0]["points"] == [[step * 10, 1 / (step + 1)] for step in range(50)]
    assert found[1]["points"][-1] == [1000, "NaN"]
    assert cli("history", "plot", "-m", "loss", "--query", "length([0].points)").json() == 51
    rows = cli("history", "plot", two[0], "-m", "best", "-o", "tsv").out
    assert rows == f"{two[0]}\tbest\t0.0\t7.0\n"


def test_over_time_and_over_the_clock(two, cli):
    started = cli("history", "plot", "-m", "loss", "--x", "time", "-o", "json").json()[0]["points"]
    clock = cli("history", "plot", "-m", "loss", "--x", "wall", "-o", "json").json()[0]["points"]
    assert 0 < started[0][0] < started[-1][0] < 60
    assert clock[0][0] > 1.6e9
    assert clock[-1][0] - clock[0][0] == pytest.approx(started[-1][0] - started[0][0], abs=1e-3)
    assert "time (s)" in cli("history", "plot", "-m", "loss", "--x", "time").out


def test_logarithm_and_average(two, cli):
    assert cli("history", "plot", two[0], "-m", "loss", "--log").out.startswith("loss (log)\n")
    raw, calm = cli("history", "plot", two[0], "-m", "loss", "--smooth", "-o", "json").json()
    assert (raw["smoothed"], calm["smoothed"]) == (False, True)
    assert [len(one["points"]) for one in (raw, calm)] == [50, 50]


def test_nothing_that_has_a_logarithm(project, cli):
    project.write("train.py", "import jig; jig.log('zero', 0); jig.log('nan', float('nan'))")
    run = cli("submit", "-c", "local", "train.py").run_id
    assert cli("history", "plot", "--log").out == (
        f"zero: no value can be drawn\n━━ {run}  last 0, first without a logarithm at 0\n\n"
        f"nan: no value can be drawn\n━━ {run}  last nan, first NaN at 0\n"
    )


def test_pictures(two, cli, tmp_path):
    said = cli("history", "plot", *two, "-m", "loss", "-m", "best", "--save", str(tmp_path / "a.png"))
    assert (said.code, said.out) == (0, f"{tmp_path}/a.png\n")
    with Image.open(tmp_path / "a.png") as image:
        assert image.size == (1000, 754)
    cli("history", "plot", two[0], "-m", "loss", "--save", str(tmp_path / "a.SVG"))
    texts = [element.text for element in ElementTree.parse(tmp_path / "a.SVG").iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:2] == [f"{two[0]}   last 0.02, min 0.02 at 490, max 1 at 0", "loss"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".tmp") == []


def test_what_a_run_used(project, cli):
    project.runconfig(GpuSampling=0.2)
    project.write("train.py", "import time; time.sleep(0.9); x = b'x' * (1 << 27); time.sleep(0.5)")
    assert cli("submit", "-c", "local", "train.py").code == 0
    said = cli("history", "plot", "--system", "memory", "--system", "cpu")
    assert said.code == 0, said.err
    titles = [line for line in said.out.splitlines() if line.endswith((" (GiB)", " (%)"))]
    assert titles == ["memory (GiB)", "cpu (%)"]
    assert "time (s)" in said.out


def test_the_words_for_what_a_run_used():
    assert history_plot.SYSTEM == system_series.NAMES


GOES_ON = """
import jig, os, time
for step in range(10000):
    jig.log("loss", 1.0 / (step + 1), step=step)
    if os.path.exists("../../../../go"): break
    time.sleep(0.02)
"""


def test_following_a_run_at_a_terminal(project, cli, jig_home):
    project.write("train.py", GOES_ON)
    run = cli("submit", "-c", "local", "--async", "train.py").run_id
    with Terminal(*JIG, "history", "plot", run, "-m", "loss", "--follow", rows=20, columns=60) as terminal:
        terminal.read_until("going; Ctrl-C leaves, and the run goes on")
        terminal.read_until("\x1b[")  # drawn over
        terminal.read_until("going; Ctrl-C leaves, and the run goes on")
        (jig_home.parent / "go").touch()
        terminal.read_until("ended")
        assert terminal.process.wait(20) == 0
    assert run in terminal.seen
    assert "⠤" in terminal.seen or "⣀" in terminal.seen


def test_following_before_the_first_value_and_into_a_picture(project, cli, tmp_path, jig_home):
    project.write(
        "train.py",
        "import jig, os, time\nwhile not os.path.exists('../../../../go'): time.sleep(0.02)\njig.log('loss', 1)",
    )
    run = cli("submit", "-c", "local", "--async", "train.py").run_id
    with Terminal(*JIG, "history", "plot", run, "-m", "loss", "--follow", rows=20, columns=60) as terminal:
        terminal.read_until("loss: nothing to draw yet")
        (jig_home.parent / "go").touch()
        terminal.read_until("last 1")
        terminal.read_until("ended")
    said = cli("history", "plot", run, "-m", "loss", "--follow", "--save", str(tmp_path / "a.png"))
    assert said.code == 0
    assert said.out.startswith(f"{tmp_path}/a.png at ")
    until(lambda: (tmp_path / "a.png").exists())


def test_a_console_without_braille(two, cli, monkeypatch):
    monkeypatch.setenv("TERM", "linux")
    out = cli("history", "plot", "-m", "loss").out
    assert out.isascii()
    assert "+" in out


def test_an_old_encoding(two):
    with Terminal(*JIG, "history", "plot", "-m", "loss", PYTHONIOENCODING="latin-1") as terminal:
        terminal.read_until("first NaN")
    assert "⣀" not in terminal.seen


def test_nested_runs(project, cli):
    project.write(
        "train.py",
        "import os\nfile = open(os.path.join(os.environ['JIG_RUN_DIR'], 'metrics.jsonl'), 'w')\n"
        'file.write(\'{"time": 1.0, "run": "1", "name": "fold", "status": "FINISHED", "parent": ""}\\n\')\n'
        'file.write(\'{"time": 1.0, "run": "1", "values": {"loss": 5}}\\n{"time": 1.0, "values": {"loss": 9}}\\n\')',
    )
    run = cli("submit", "-c", "local", "train.py").run_id
    assert cli("history", "plot", f"{run}-1", "-m", "loss", "-o", "json").json()[0]["points"] == [[0, 5]]
    assert cli("history", "plot", run, "-m", "loss", "-o", "json").json()[0]["points"] == [[0, 9]]
