"""`sweep.yml`: what it may say, and what it is told when it says something else."""

import re

import pytest

from jig.errors import ProjectError
from jig.sweep import reading
from jig.sweep.definition import Objective, Retries, Stop
from jig.sweep.reading import read
from tests.test_docs import ROOT, documented

HEAD = "script: train.py\n"


def sweep(text: str):
    return read(HEAD + text, "sweep.yml")


def faults(text: str) -> "list[str]":
    with pytest.raises(ProjectError) as caught:
        read(text, "sweep.yml")
    return [str(fault) for fault in caught.value.faults]


def first(text: str) -> "tuple[str, ...]":
    found = sweep(text)
    return found.words(found.points("id")[0])


def test_all_keys():
    found = read(
        "script: src/train.py\n"
        "arguments: [--epochs, 3]\n"
        "method: random\n"
        "parameters: {lr: {min: 1e-5, max: 0.1, log: true}}\n"
        "samples: 20\nseed: 7\nat_once: 4\n"
        "objective: {metric: loss, goal: minimize}\n"
        "retries: {times: 2, on: [Lost, out-of-memory], wait: 2m}\n"
        "stop: {max_runs: 30, max_time: 1.5h, objective: 0.1, running: cancel}\n"
        "pass: variables\n",
        "sweep.yml",
    )
    assert (found.script, found.arguments, found.method) == ("src/train.py", ("--epochs", "3"), "random")
    assert (found.samples, found.seed, found.at_once, found.passing) == (20, "7", 4, "variables")
    assert found.objective == Objective("loss", "minimize")
    assert found.retries == Retries(2, ("Lost", "out-of-memory"), 120.0)
    assert found.stop == Stop(30, 5400.0, 0.1, "cancel")


def test_what_is_not_said():
    found = sweep("parameters: {lr: 0.1}")
    assert (found.method, found.passing, found.at_once, found.objective) == ("grid", "arguments", None, None)
    assert (found.retries, found.stop) == (Retries(0, ("Lost", "machine-shutdown", "engine-stopped", "guard-killed"), 30.0), Stop())  # fmt: skip


@pytest.mark.parametrize(
    "values, expected",
    [
        (
            "[1e-3, 0.10, 7, yes please, 'on', true]",
            [(0.001, "1e-3"), (0.1, "0.10"), (7, "7"), ("yes please",) * 2, ("on",) * 2, (True, "true")],
        ),  # fmt: skip
        ("['1', \"0.5\"]", [("1", "1"), ("0.5", "0.5")]),
        ("0.5", [(0.5, "0.5")]),
        ("{values: [1, 2]}", [(1, "1"), (2, "2")]),
        ("{distribution: choice, values: [a]}", [("a", "a")]),
        ("{min: 1, max: 3}", [(1, "1"), (2, "2"), (3, "3")]),
        ("{min: 0, max: 1, count: 3}", [(0, "0"), (1, "1")]),
        ("{min: 0.0, max: 1, count: 3}", [(0.0, "0.0"), (0.5, "0.5"), (1.0, "1.0")]),
        ("{min: 0.1, max: 0.3, step: 0.1}", [(0.1, "0.1"), (0.2, "0.2"), (0.3, "0.3")]),
        ("{min: 1e-3, max: 0.1, step: 10, log: true}", [(0.001, "0.001"), (0.01, "0.01"), (0.1, "0.1")]),
    ],
)
def test_parameters(values, expected):
    points = sweep(f"parameters:\n  p: {values}\n").points("id")
    assert [(point[0].value, point[0].text) for point in points] == expected
    assert [type(point[0].value) for point in points] == [type(value) for value, _ in expected]


def test_arguments_come_after_the_fixed_ones():
    assert first("arguments: [--epochs, 3]\nparameters: {lr: [0.1], depth: [2]}") == ("--epochs", "3", "--lr=0.1", "--depth=2")  # fmt: skip


def test_templates():
    text = "arguments: [fit, '-l{lr}', 'model.depth={depth}', '{{lr}}', '{\"a\": 1}']\nparameters: {lr: [0.1], depth: [2], extra: [x]}"  # fmt: skip
    assert first(text) == ("fit", "-l0.1", "model.depth=2", "{lr}", '{"a": 1}', "--extra=x")


def test_variables():
    found = sweep("pass: variables\narguments: ['{a}']\nparameters: {a: [1], B: [x y]}")
    point = found.points("id")[0]
    assert found.words(point) == ("1",)
    assert found.variables(point) == (("B", "x y"),)
    assert sweep("parameters: {a: [1]}").variables(point) == ()


def test_without_a_seed_each_sweep_draws_its_own():
    found = sweep("method: random\nsamples: 3\nparameters: {lr: {min: 0.0, max: 1.0}}")
    assert found.points("one") == found.points("one") != found.points("other")
    seeded = sweep("method: random\nsamples: 3\nseed: one\nparameters: {lr: {min: 0.0, max: 1.0}}")
    assert seeded.points("x") == seeded.points("y") == found.points("one")


def test_every_fault_at_once():
    text = (
        "scrpt: train.py\n"
        "method: gird\n"
        "parameters:\n"
        "  lr: {min: 1, max: 0.5, stp: 2}\n"
        "  x: {min: 0.0, max: 1}\n"
        "  y: []\n"
        "  z z: [1]\n"
        "objective: {metrc: a}\n"
        "retries: {times: 2, on: [Lst, out-of-memry], wait: 30}\n"
        "stop: {objective: 1}\n"
        "at_once: 0\n"
        "samples: 3\n"
        "arguments: ['{lrr}', '{lr}']\n"
    )
    assert faults(text) == [
        "sweep.yml: `script` is missing\n    fix: write, for example, `script: train.py`",
        "sweep.yml:1: `scrpt` is not a key of a sweep file\n    fix: did you mean `script`?",
        "sweep.yml:2: `method` must be grid or random, but found `gird`\n    fix: write `method: grid`",
        "sweep.yml:4: `stp` is not a key of a sweep file under `parameters.lr`\n    fix: did you mean `step`?",
        "sweep.yml:4: `max` is less than `min`: 0.5 < 1\n    fix: exchange them",
        "sweep.yml:4: `lr` has no end of values: a grid needs `step` or `count`\n"
        "    fix: write `step: 0.1` or `count: 5` beside them, or a list, or `method: random`",
        "sweep.yml:5: `x` has no end of values: a grid needs `step` or `count`\n"
        "    fix: write `step: 0.1` or `count: 5` beside them, or a list, or `method: random`",
        "sweep.yml:6: `y` has no values\n    fix: write, for example, `y: [1, 2]`",
        "sweep.yml:7: 'z z' cannot be the name of a parameter\n    fix: use letters from a to z, digits and `_`",
        "sweep.yml:8: `metrc` is not a key of a sweep file under `objective`\n    fix: did you mean `metric`?",
        "sweep.yml:8: `objective` needs `metric`: what the script logs\n    fix: write `metric: accuracy`",
        "sweep.yml:9: `Lst` is no state or reason to try again for\n    fix: did you mean `Lost`?",
        "sweep.yml:9: `out-of-memry` is no state or reason to try again for\n    fix: did you mean `out-of-memory`?",
        "sweep.yml:9: `wait` must be a time with its unit (s, m, h or d), but found '30'\n"
        "    fix: write, for example, `wait: 90s`, `wait: 2m` or `wait: 1h`",
        "sweep.yml:11: `at_once` must be a whole number from 1 to 1,000, but found '0'",
        "sweep.yml:12: `samples` is for `method: random`; a grid has every point\n    fix: remove `samples`",
        "sweep.yml:13: `{lrr}` names a parameter that does not exist\n    fix: did you mean `{lr}`?",
    ]


@pytest.mark.parametrize(
    "text, line, said",
    [
        ("", 0, "`parameters` is missing"),
        ("parameters: {}", 2, "`parameters` names none"),
        ("parameters: [1]", 2, "`parameters` must hold keys with values"),
        ("parameters: {lr: [1, [2]]}", 2, "each value of `lr` must be one number or text"),
        ("parameters: {lr: [1, 1]}", 2, "`lr` has a value twice"),
        ("parameters: {lr: {max: 1}}", 2, "`lr` needs `min` and `max`"),
        ("parameters: {lr: {min: a, max: 1}}", 2, "`min` must be a number, but found 'a'"),
        ("parameters: {lr: {min: 0.0, max: 1, log: true, count: 2}}", 2, "both ends are more than 0, but `min` is 0.0"),
        ("parameters: {lr: {min: 1, max: 9, step: 1, log: true}}", 2, "`step` must be more than 1: it multiplies"),
        ("parameters: {lr: {min: 1, max: 9, step: 2, count: 3}}", 2, "`step` and `count` both say"),
        ("parameters: {lr: {distribution: uniform, min: 1, max: 9}}", 2, "is for `method: random`"),
        ("parameters: {lr: {distribution: int, min: 1.5, max: 9, step: 1}}", 2, "needs whole numbers"),
        ("parameters: {lr: {distribution: choice, values: [1], min: 1}}", 2, "`min` says nothing beside `values`"),
        ("parameters: {lr: {distribution: int, min: 1, max: 2, values: [1]}}", 2, "`values` says nothing beside"),
        ("parameters: {lr: {min: 0, max: 1, step: 1e-9}}", 2, "makes more than 100,000 values"),
        (
            "parameters: {lr: {min: 1, max: 10, log: true, step: 1.00000000000000000001}}",
            2,
            "makes more than 100,000 values",
        ),
        ("parameters: {a: {min: 1, max: 1000}, b: {min: 1, max: 1000}}", 2, "this grid has 1,000,000 points"),
        ("method: random\nparameters: {a: [1]}", 2, "`method: random` needs `samples`"),
        ("pass: variables\nparameters: {a-b: [1]}", 3, "'a-b' cannot be the name of a parameter"),
        ("parameters: {a: [1]}\nretries: {wait: 1s}", 3, "`retries` needs `times`"),
        ("parameters: {a: [1]}\nstop: {objective: 1}", 3, "`stop` has an `objective`, and the sweep has none"),
        ("parameters: {a: [1]}\nobjective: {metric: a}\nstop: {objective: high}", 4, "`objective` must be a number"),
        ("parameters: {a: [1]}\narguments: ['{b}']", 3, "`{b}` names a parameter that does not exist"),
    ],
)  # fmt: skip
def test_faults(text, line, said):
    found = faults(HEAD + text)
    assert len(found) == 1, found
    assert found[0].startswith(f"sweep.yml:{line}: " if line else "sweep.yml: ") and said in found[0]


def test_the_guide_names_every_key():
    assert set(documented("docs/sweep.md", "All keys")) == set(reading.KEYS)


def test_the_files_of_the_guide_are_right():
    blocks = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs/sweep.md").read_text(), re.MULTILINE | re.DOTALL)
    whole, random, rules = blocks
    assert len(read(whole, "sweep.yml").points("id")) == 6
    assert len(sweep(random.replace("…", "min: 0, max: 1")).points("id")) == 20
    assert sweep("objective: {metric: a}\nparameters: {a: 1}\n" + rules).stop == Stop(None, 28800.0, 0.95, "cancel")
