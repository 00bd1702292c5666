"""`jig.params` and `jig.tag`: what a script says of its run besides metrics."""

import argparse
import dataclasses
import pathlib
import types

import numpy as np
import pytest

import jig

from .conftest import read


@dataclasses.dataclass
class Optimizer:
    lr: float = 0.1
    betas: tuple = (0.9, 0.99)


class Config:
    """Behaves as a configuration of omegaconf: names and values, and no dictionary."""

    def __init__(self, **named):
        self._named = named

    def keys(self):
        return self._named.keys()

    def items(self):
        return self._named.items()


class Broken:
    def __repr__(self):
        raise KeyError("no")


def logged(run_dir):
    return [{key: line[key] for key in line if key != "time"} for line in read(run_dir / "metrics.jsonl")]


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        (lambda: jig.params(lr=0.1, layers=[64, 64]), {"lr": 0.1, "layers": [64, 64]}),
        (lambda: jig.params({"lr": 0.1}, lr=0.2), {"lr": 0.2}),
        (lambda: jig.params("lr", 0.1), {"lr": 0.1}),
        (lambda: jig.params(argparse.Namespace(lr=0.1, name="a")), {"lr": 0.1, "name": "a"}),
        (lambda: jig.params(types.SimpleNamespace(lr=0.1)), {"lr": 0.1}),
        (lambda: jig.params(Optimizer()), {"lr": 0.1, "betas": [0.9, 0.99]}),
        (lambda: jig.params(Config(a=Config(b=1))), {"a.b": 1}),
        (lambda: jig.params(model={"layers": 2, "opt": Optimizer(0.5, ())}), {"model.layers": 2, "model.opt.lr": 0.5, "model.opt.betas": []}),
        (lambda: jig.params(seed=None, fast=True, empty={}), {"seed": None, "fast": True, "empty": "{}"}),
        (lambda: jig.params(n=np.int64(3), a=np.array([1.5])), {"n": 3, "a": [1.5]}),
        (lambda: jig.params(data=pathlib.PurePosixPath("/data/x"), kind=int), {"data": "/data/x", "kind": "<class 'int'>"}),
        (lambda: jig.params({3: "x"}, broken=Broken()), {"3": "x", "broken": "<Broken whose repr raised KeyError>"}),
        (lambda: jig.params(step=4, args=1, values=2), {"step": 4, "args": 1, "values": 2}),
    ],
)  # fmt: skip
def test_every_form_of_parameters(run_dir, call, kept, capsys):
    call()
    assert logged(run_dir) == [{"params": kept}]
    assert capsys.readouterr().err == ""


def test_a_configuration_that_holds_itself_ends(run_dir):
    around = {}
    around["self"] = around
    jig.params(around)
    (line,) = logged(run_dir)
    assert list(line["params"]) == [".".join(["self"] * 20)]


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        (lambda: jig.tag("best"), {"best": ""}),
        (lambda: jig.tag("stage", "pretrain"), {"stage": "pretrain"}),
        (lambda: jig.tag(stage="pretrain", n=3), {"stage": "pretrain", "n": "3"}),
        (lambda: jig.tag({"a": "b"}, c=None), {"a": "b", "c": None}),
        (lambda: jig.tag("best", None), {"best": None}),
    ],
)
def test_every_form_of_a_tag(run_dir, call, kept, capsys):
    call()
    assert logged(run_dir) == [{"tags": kept}]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: jig.params(5), "jig: params takes names as keywords, a dictionary, "),
        (lambda: jig.params("lr"), "jig: params takes names as keywords, a dictionary, "),
        (lambda: jig.tag(5), "jig: tag takes a name, "),
        (lambda: jig.tag("a", "b", "c"), "jig: tag takes a name, "),
    ],
)
def test_a_call_that_cannot_be_understood_is_told_once_and_not_raised(run_dir, call, told, capsys):
    call()
    call()
    said = capsys.readouterr().err
    assert said.startswith(told)
    assert said.count("\n") == 1
    assert not (run_dir / "metrics.jsonl").exists()


def test_a_configuration_whose_own_code_fails_is_told(run_dir, capsys):
    class Fails(Config):
        def items(self):
            raise RuntimeError("interpolation")

    jig.params(Fails(), lr=0.1)
    assert capsys.readouterr().err == "jig: parameters are not kept (RuntimeError: interpolation)\n"


def test_nothing_to_keep_keeps_nothing(run_dir):
    jig.params()
    jig.tag()
    jig.params({})
    assert not (run_dir / "metrics.jsonl").exists()


def test_outside_a_run_nothing_is_kept(script):
    script("import jig; jig.params(lr=1); jig.tag('x')", JIG_RUN_DIR="")
    assert script.stderr.startswith("jig: not in a run")
    assert script.stderr.count("\n") == 1


def test_there_is_an_end_to_what_is_said(run_dir, capsys):
    for number in range(3000):
        jig.log(f"name {number}", {})
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1001
    assert told[-1] == "jig: there is more to say, and it is left out from here on"
