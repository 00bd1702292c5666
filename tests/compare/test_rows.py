"""Rows of a comparison, from values alone."""

from jig.compare import packages, sameness
from jig.compare.rows import Row, View, compare
from jig.compare.spark import again_rows

PLAN = {
    "run_id": "p_1",
    "script": "train.py",
    "arguments": [],
    "snapshot": {"id": "f" * 64},
    "environment": {"kind": "uv", "python": "3.11"},
    "target": "local",
    "target_kind": "local",
    "run_config": "local",
    "project": "p",
    "user": "ada",
    "origin": {},
}


def view(record=None, environment=None, **plan) -> View:
    return View(record or {}, {**PLAN, **plan}, environment or {})


def rows(section: str, *views: View, same: bool = False) -> dict:
    return {row.name: row.values for row in compare(views)[section] if row.same == same}


def test_arguments_by_name():
    one = view(arguments=["--lr", "0.1", "--fast", "in.csv", "-n=3", "--shift", "-1.5"])
    two = view(arguments=["--lr=0.2", "--fast", "in.csv", "-n", "4", "--shift", "-1.5", "--lr", "7"])
    assert rows("arguments", one, two) == {"--lr": ("0.1", "0.2"), "-n": ("3", "4"), "--lr (2)": (None, "7")}
    assert rows("arguments", one, two, same=True) == {
        "script": ("train.py", "train.py"),
        "--fast": ("in.csv", "in.csv"),  # whether a word is a value or stands alone only the script knows
        "--shift": ("-1.5", "-1.5"),
    }


def test_metrics_and_numbers():
    one = view({"metrics": {"loss": 0.5, "best": [1], "n": 3, "odd": float("nan"), "yes": True}})
    two = view({"metrics": {"loss": 0.25, "best": [1], "n": 4, "odd": float("nan"), "yes": 1}})
    found = {row.name: row for row in compare([one, two])["metrics"]}
    assert {name: (row.same, row.difference) for name, row in found.items() if name != "odd"} == {
        "loss": (False, -0.25),
        "best": (True, None),
        "n": (False, 1),
        "yes": (False, None),
    }
    assert found["odd"].same, "neither has a number there"
    assert [row.same for row in compare([one, two])["metrics"]] == [False, False, False, True, True]
    assert Row("x", (1, 2, 4)).difference is None
    assert Row("x", (10**400, 0.5)).difference is None, "no float can hold it"
    assert Row("x", (10**400, 10**400 + 1)).difference == 1


def test_packages_of_the_record_else_the_lines():
    had = {"python": "3.11.7", "platform": "Linux", "pip": ["Six==1.15", "delta==3.0 (from file:///x/delta.whl)"]}
    had["conda"] = [
        {"name": "six", "version": "1.0", "build": "py_0"},
        {"name": "zlib", "version": "1.3", "build": "h1"},
    ]
    assert packages.versions(had) == {"six": "1.15", "zlib": "1.3 h1", "delta": "3.0"}
    other = view(environment={**had, "pip": ["six==1.16"]})
    assert rows("environment", view(environment=had), other) == {"six": ("1.15", "1.16"), "delta": ("3.0", None)}
    asked = [view(environment={}), view(environment={})]
    asked[0].plan["environment"] = {"kind": "uv", "python": "3.11", "requirements": ["six"]}
    asked[1].plan["environment"] = {"kind": "uv", "python": "3.11", "requirements": ["six>1"]}
    assert rows("environment", *asked) == {"asked: six": (True, None), "asked: six>1": (None, True)}


def test_a_hostile_record_does_no_harm():
    assert packages.versions({"pip": [1, "x", "a==1 b", None], "conda": ["x", {"name": None}]}) == {"None": "None"}


def test_rows_of_sameness():
    then = {"python": "3.11.7", "pip": ["a==1", "b==2"]}
    assert sameness.packages_rows(then, then, ()) == [
        ("python", "3.11.7", "3.11.7", "same"),
        ("packages", "2", "2", "same"),
    ]
    now = {"python": "3.11.9", "pip": ["a==1", "b==3", "c==1"]}
    assert sameness.packages_rows(then, now, ["b"]) == [
        ("python", "3.11.7", "3.11.9", "different"),
        ("package b", "2", "3", "that version cannot be had any more"),
        ("package c", "-", "1", "different"),
    ]
    many = {"python": "3.11.7", "pip": [f"p{number:02}==1" for number in range(20)]}
    found = sameness.packages_rows(then, many, ())
    assert len(found) == 14 and found[-1] == ("packages", "2", "20", "10 more differ")
    assert sameness.packages_rows({}, now, ())[1][3] == "that run did not write down what it had"


def test_kinds_of_gpu():
    look = {"devices": [{"name": "A100", "uuid": "1"}, {"name": "A100", "uuid": "2"}, {"name": "T4", "uuid": "3"}]}
    assert sameness.kinds(look) == ("A100", "T4")
    assert sameness.kinds(look, ["3"]) == ("T4",)
    assert sameness.kinds(None) is None
    assert sameness.gpu_row(("T4",), ("A100", "T4")) == ("GPU", "T4", "A100, T4", "same")
    assert sameness.gpu_row(("T4",), ()) == ("GPU", "T4", "none", "different")
    assert sameness.gpu_row((), ("T4",)) == ("GPU", "none", "T4", "different")
    assert sameness.gpu_row(None, ()) == ("GPU", "?", "none", "not known")


SPARK = {
    "submit": "spark-submit",
    "words": ["--master", "local[*]", "{defaults}", "--repositories", "https://one/m", "--packages", "a:b:1"],
    "master": "local[*]",
    "mode": "client",
    "settings": {"spark.executor.memory": "4g", "spark.sql.shuffle.partitions": "3"},
    "hidden": ["spark.x.token"],
    "file": "aml_config/spark_dependencies.yml",
}


def test_what_spark_is_told():
    other = {**SPARK, "master": "yarn", "mode": "cluster", "words": ["--packages", "a:b:2"], "hidden": []}
    other["settings"] = {"spark.executor.memory": "8g", "spark.sql.shuffle.partitions": "3"}
    one, two = (view(spark=spark) for spark in (SPARK, other))
    assert rows("configuration", one, two) == {
        "spark master": ("local[*]", "yarn"),
        "spark mode": ("client", "cluster"),
        "spark packages": ("a:b:1", "a:b:2"),
        "spark repositories": ("https://one/m", None),
        "setting spark.executor.memory": ("4g", "8g"),
        "setting spark.x.token": ("(secret)", None),
    }
    assert rows("configuration", one, view())["spark master"] == ("local[*]", None)
    had, has = ({"spark": version, "java": 17, "argv": ["x"]} for version in ("4.0.1", "4.3.0"))
    assert rows("environment", view()._replace(spark=had), view()._replace(spark=has)) == {"spark": ("4.0.1", "4.3.0")}


def test_what_spark_is_told_again():
    told = {"spark": "4.3.0", "java": 17}
    unknown = ("spark", "4.3.0, Java 17", "?", "not checked: the run finds it, and Java, when it starts")
    assert again_rows(None, None, (), {}) == []
    assert again_rows(SPARK, SPARK, (), told) == [("spark settings", "9", "9", "same"), unknown]
    secret = ("setting spark.x.token", "(secret)", "(secret)", "its value is never written down")
    assert again_rows(SPARK, SPARK, ["spark.x.token"], told) == [secret, unknown]
    now = {**SPARK, "hidden": [], "submit": "/opt/spark/bin/spark-submit"}
    assert again_rows(SPARK, now, (), told) == [
        ("spark-submit", "spark-submit", "/opt/spark/bin/spark-submit", "different"),
        ("setting spark.x.token", "(secret)", "-", "the project's Spark file does not take it from this computer now"),
        unknown,
    ]
