"""Why a run under Spark failed, by what Spark prints: the reason is told, and nothing where it is the script's own affair."""

import json

import pytest

from jig.runner import spark

PLAN = {"spark": {"master": "spark://h:7077"}}
SAID = [
    ("ERROR StandaloneSchedulerBackend: Application has been killed. Reason: Master removed our application: KILLED", "application-killed"),
    ("\t final status: KILLED\n\t tracking URL: http://head:8088/x", "application-killed"),
    ("Application has been killed. Reason: All masters are unresponsive! Giving up.", "cluster-gone"),
    ("WARN StandaloneSchedulerBackend: All masters are unresponsive! Giving up.", "cluster-gone"),
    ("pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version (3, 8)", "python-mismatch"),
    ("Exception: Python in worker has different version 3.8 than that in driver 3.6, PySpark cannot run with different minor versions.", "python-mismatch"),
    ("jig: no Python for the executor: worker1 has no python3.12", "python-mismatch"),
    ("java.lang.RuntimeException: [unresolved dependency: a#b;1: not found]", "packages-not-found"),
    ("java.lang.OutOfMemoryError: Java heap space", "heap-full"),
    ("ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: Command exited with code 137", "executors-lost"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "reason"), SAID)
def test_the_reason_is_told(tmp_path, said, reason):
    log = tmp_path / "output.log"
    log.write_text(f"going\n{said}\n\tat org.apache.spark.deploy.SparkSubmit\n")
    told = spark.end(PLAN, 1, str(tmp_path), str(log))
    assert told["reason"] == reason and told["detail"]
    assert spark.end({"spark": None}, 1, str(tmp_path), str(log)) == {}, "a script without Spark may print that"


def test_the_scripts_own_affair(tmp_path):
    log = tmp_path / "output.log"
    assert spark.end(PLAN, 1, str(tmp_path), str(log)) == {}
    log.write_text("ZeroDivisionError: division by zero\n")
    assert spark.end(PLAN, 1, str(tmp_path), str(log)) == {}
    log.write_bytes(b"java.lang.OutOfMemoryError\n" + b"x" * spark.TAIL_BYTES)
    assert spark.end(PLAN, 1, str(tmp_path), str(log)) == {}, "long ago"


def test_a_refusal(tmp_path):
    """Its exit code alone may be the script's; a text that makes no sense is none."""
    log, place = tmp_path / "output.log", tmp_path / spark.REFUSAL
    log.write_text("")
    assert spark.end(PLAN, spark.REFUSED, str(tmp_path), str(log)) == {}
    place.write_text("{}")
    assert spark.end(PLAN, spark.REFUSED, str(tmp_path), str(log)) == {}
    place.write_text(json.dumps({"detail": "there is no Java", "hint": "install one"}))
    told = {"reason": "spark-refused", "detail": "there is no Java", "hint": "install one"}
    assert spark.end(PLAN, spark.REFUSED, str(tmp_path), str(log)) == told and not place.exists()
