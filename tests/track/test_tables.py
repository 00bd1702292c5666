"""Tables: data frames, rows and columns, in the metrics file or, large, as a file of the run."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest

import jig
from jig.track import tables

from .conftest import read


@pytest.fixture
def outputs(run_dir):
    folder = run_dir / "work" / "outputs"
    folder.mkdir(parents=True)
    return folder


def logged(run_dir):
    return [line["values"] for line in read(run_dir / "metrics.jsonl")]


ROWS = {"columns": ["a", "b"], "rows": [[1, "x"], [2, "y"]]}


class Polars:
    """Behaves as a data frame of polars: `rows` and `item` and no `to_dict`."""

    columns = ("a", "b")

    def head(self, count):
        return self

    def rows(self):
        return [(1, "x"), (2, "y")]

    def item(self):
        raise ValueError("is not one cell")


Polars.__name__ = "DataFrame"


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}),
        Polars(),
        [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
        {"a": [1, 2], "b": ["x", "y"]},
        {"a": np.array([1, 2]), "b": ("x", "y")},
    ],
    ids=["pandas", "polars", "dictionaries", "columns", "arrays"],
)
def test_every_form_of_a_table(run_dir, outputs, table, capsys):
    jig.log_table("t", table, step=2)
    assert read(run_dir / "metrics.jsonl")[0]["step"] == 2
    assert logged(run_dir) == [{"t": {"table": ROWS}}]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("frame", [pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), Polars()], ids=["pandas", "polars"])
def test_a_data_frame_is_a_table_to_log_as_well(run_dir, outputs, frame):
    jig.log("t", frame, step=1)
    jig.log(t=frame, loss=0.5)
    assert logged(run_dir) == [{"t": {"table": ROWS}}, {"t": {"table": ROWS}, "loss": 0.5}]


def test_rows_with_columns_and_without(run_dir, outputs):
    jig.log_table("t", [[1, 2.5], (3, np.float32(0.5))], columns=["a", "b"])
    jig.log_table("t", np.array([[1, 2], [3, 4]]))
    jig.log_table("t", [{"a": 1}, {"b": 2}])
    jig.log_table("t", [{"a": 1, "b": 2}], columns=["b"])
    jig.log_table("t", [])
    assert logged(run_dir) == [
        {"t": {"table": {"columns": ["a", "b"], "rows": [[1, 2.5], [3, 0.5]]}}},
        {"t": {"table": {"columns": ["0", "1"], "rows": [[1, 2], [3, 4]]}}},
        {"t": {"table": {"columns": ["a", "b"], "rows": [[1, None], [None, 2]]}}},
        {"t": {"table": {"columns": ["b"], "rows": [[2]]}}},
        {"t": {"table": {"columns": [], "rows": []}}},
    ]


def test_rows_that_have_names_keep_them(run_dir, outputs):
    frame = pd.DataFrame({"n": [1, 2]}, index=["cat", "dog"])
    jig.log_table("t", frame)
    assert logged(run_dir)[0]["t"]["table"] == {"columns": ["index", "n"], "rows": [["cat", 1], ["dog", 2]]}


def test_cells_of_any_kind(run_dir, outputs):
    day = datetime.date(2020, 1, 2)
    jig.log_table("t", [[None, day, {"a": 1}, [1, 2], float("inf"), True, pd.Timestamp("2020-01-02")]])
    (row,) = logged(run_dir)[0]["t"]["table"]["rows"]
    assert row == [None, "2020-01-02", "{'a': 1}", [1, 2], float("inf"), True, "2020-01-02 00:00:00"]


def test_a_large_table_is_a_file(run_dir, outputs):
    frame = pd.DataFrame({"n": range(5000)})
    jig.log_table("val/preds", frame)
    assert logged(run_dir) == [{"val/preds": {"table": "outputs/tables/val/preds-1.json"}}]
    kept = json.loads((outputs / "tables" / "val" / "preds-1.json").read_text())
    assert kept == {"columns": ["n"], "rows": [[n] for n in range(5000)]}


@pytest.mark.parametrize("form", ["frame", "rows", "columns"])
def test_of_an_endless_table_the_first_rows_are_kept_and_that_is_told(run_dir, outputs, form, capsys, monkeypatch):
    monkeypatch.setattr(tables, "_MOST_ROWS", 3)
    numbers = range(1000)
    table = {"frame": pd.DataFrame({"n": numbers}), "rows": ([n] for n in numbers), "columns": {"n": list(numbers)}}
    jig.log_table("t", table[form], columns=["n"])
    assert logged(run_dir)[0]["t"]["table"] == {"columns": ["n"], "rows": [[0], [1], [2]]}
    assert capsys.readouterr().err == (
        "jig: 't' has more than 3 rows, and the first of them are kept; a file in outputs/ can have all\n"
    )


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (5, "int is no data frame, list of rows, or columns by name"),
        ("text", "str is no data frame, list of rows, or columns by name"),
        ([1, 2], "int is no data frame, list of rows, or columns by name"),
        ({"a": [1], "b": [1, 2]}, "the columns are of different lengths"),
        ([[1], [1, 2]], "a row has 2 cells, and there are 1 columns"),
    ],
)
def test_what_is_no_table_is_told_once_and_not_raised(run_dir, outputs, table, reason, capsys):
    jig.log_table("t", table)
    jig.log_table("t", table)
    assert capsys.readouterr().err == f"jig: 't' is not kept as a table: {reason}\n"
    assert not (run_dir / "metrics.jsonl").exists()
