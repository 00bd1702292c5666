"""MLflow's filter language, and what an order means."""

import pytest
from jig_mlflow import filters, search
from jig_mlflow.failure import Refused
from jig_mlflow.run import Run

RUNS = []
for number, (loss, rate, name) in enumerate([(0.5, "0.1", "Ada"), (0.25, "0.2", "bob"), (None, "0.1", "Cleo")]):
    run = Run(str(number), f"r-{number}", "file:///x")
    run.start = 1000 + number
    run.take_tags({"mlflow.runName": name, "team.a b": "x_y"} if number else {"mlflow.runName": name})
    run.params["rate"] = rate
    if loss is not None:
        run.take_metric("val/loss", 1, 1, loss)
    RUNS.append(run)
RUNS[2].take_metric("odd", 1, 1, float("nan"))


def found(text, *orders, most=100, token=""):
    runs, token = search.find(RUNS, search.RunFields, text, search.order(orders), most, token)
    return [int(run.number) for run in runs], token


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", [0, 1, 2]),
        ("metrics.`val/loss` < 0.3", [1]),
        ('metrics."val/loss" >= 0.25', [0, 1]),
        ("metric.val/loss != 0.25", [0]),
        ("metrics.odd > 0", []),
        ("params.rate = '0.1'", [0, 2]),
        ('parameters.rate = "0.1" and metrics.`val/loss` > 0', [0]),
        ("param.rate != '0.1'", [1]),
        ("tags.mlflow.runName = 'bob'", [1]),
        ("tags.`mlflow.runName` LIKE '%b'", [1]),
        ("tags.mlflow.runName LIKE 'a%'", []),
        ("tags.mlflow.runName ILIKE 'a%'", [0]),
        ("tags.`team.a b` LIKE 'x\\_y'", []),
        ("tags.`team.a b` LIKE 'x_y'", [1, 2]),
        ("tags.`team.a b` IS NULL", [0]),
        ("tags.`team.a b` is not null", [1, 2]),
        ("attributes.run_id IN ('r-0', 'r-2')", [0, 2]),
        ("run_id NOT IN ('r-0')", [1, 2]),
        ("run_name = 'Cleo'", [2]),
        ("attributes.start_time >= 1001 AND attr.status = 'RUNNING'", [1, 2]),
        ("metrics.none = 1", []),
        ("params.rate='0.1'AND run_name='Ada'", [0]),
    ],
)
def test_what_a_filter_finds(text, numbers):
    assert found(text)[0] == numbers


@pytest.mark.parametrize(
    ("orders", "numbers"),
    [
        (["metrics.`val/loss` ASC"], [1, 0, 2]),
        (["metrics.val/loss DESC"], [0, 1, 2]),
        (["params.rate DESC", "start_time DESC"], [1, 2, 0]),
        (["tags.mlflow.runName"], [0, 2, 1]),
        (["metrics.odd", "attributes.start_time desc"], [2, 1, 0]),
    ],
)
def test_orders(orders, numbers):
    assert found("", *orders)[0] == numbers


def test_pages():
    first, token = found("", most=2)
    second, end = found("", most=2, token=token)
    assert (first, second, end) == ([0, 1], [2], "")


@pytest.mark.parametrize(
    "text",
    ["metrics.a", "metrics.a >", "metrics.a > 'x", "metrics.a > b", "a.b = 'c'", "params.a = b", "params.a > 'b'",
     "metrics.a > 1 or metrics.b > 1", "metrics.a > 1 metrics.b > 1", "(metrics.a > 1)", "attributes.none = 'x'",
     "run_id IN 'a'", "run_id IN ('a'", "params.a IS 'b'", "params.a NOT = 'b'", "! = 1", "= = =",
     "metrics.a LIKE 5", "start_time NOT LIKE 5"],
)  # fmt: skip
def test_filters_that_make_no_sense(text):
    with pytest.raises(Refused) as refused:
        found(text)
    assert refused.value.code == "INVALID_PARAMETER_VALUE"


def test_orders_that_make_no_sense():
    for clause in ("", "metrics.a UP", "metrics.a DESC b", "none.a"):
        with pytest.raises(Refused):
            found("", clause)


def test_a_pattern_means_what_it_says():
    assert filters.holds("a.b", "LIKE", "a.b") and not filters.holds("axb", "LIKE", "a.b")
    assert filters.holds("a\nb", "LIKE", "a%") and not filters.holds("ab\n", "LIKE", "ab")
    assert filters.holds("ab", "NOT LIKE", "b%") and not filters.holds("ab", "NOT ILIKE", "AB")
