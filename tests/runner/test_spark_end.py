"""Why a run under Spark failed, by what Spark prints: the reason is told, and nothing where it is the script's own affair."""

import json

import pytest

from jig.runner import spark

PLAN = {"spark": {"master": "spark://h:7077"}}
AT = "\tat org.apache.spark.deploy.SparkSubmit"
LOST = "ExecutorLostFailure (executor 1 exited caused by one of the running tasks) Reason: Command exited with code 137"
HEAP = "java.lang.OutOfMemoryError: Java heap space"
RETRIED = "26/11/19 04:17:20 WARN TaskSetManager: Lost task 0.0 in stage 0.0 (TID 0) (10.0.0.2 executor 1): %s\n" + AT


def failed(why: str) -> str:
    """How a script ends whose job has failed."""
    return f"""\
Traceback (most recent call last):
  File "/w/etl.py", line 7, in <module>
py4j.protocol.Py4JJavaError: An error occurred while calling o33.collect.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 4 times, \
most recent failure: Lost task 0.3 in stage 0.0 (TID 3) (10.0.0.2 executor 1): {why}
{AT}

Driver stacktrace:
{AT}"""


KEY_ERROR = """\
Traceback (most recent call last):
  File "/w/etl.py", line 9, in <module>
    row["lable"]
KeyError: 'lable'"""
CAUSED = "\n\nThe above exception was the direct cause of the following exception:\n\n"
WORKER = "org.apache.spark.api.python.PythonException: \nTraceback (most recent call last):\n  File worker.py\n"
SAID = [
    ("ERROR StandaloneSchedulerBackend: Application has been killed. Reason: Master removed our application: KILLED", "application-killed"),
    ("\t final status: KILLED\n\t tracking URL: http://head:8088/x", "application-killed"),
    ("Application has been killed. Reason: All masters are unresponsive! Giving up.", "cluster-gone"),
    ("WARN StandaloneSchedulerBackend: All masters are unresponsive! Giving up.", "cluster-gone"),
    (failed(WORKER + "pyspark.errors.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different version (3, 8)"), "python-mismatch"),
    (failed(WORKER + "Exception: Python in worker has different version 3.8 than that in driver 3.6, PySpark cannot run with different minor versions."), "python-mismatch"),
    (failed("Error from python worker:\n  jig: no Python for the executor: worker1 has no python3.12"), "python-mismatch"),
    ("java.lang.RuntimeException: [unresolved dependency: a#b;1: not found]\n" + KEY_ERROR, "packages-not-found"),
    (f'Exception in thread "main" {HEAP}', "heap-full"),
    (f"ERROR SparkUncaughtExceptionHandler: Uncaught exception in thread Thread[worker,5,main]\n{HEAP}\n{AT}\n{KEY_ERROR}", "heap-full"),
    (KEY_ERROR.replace("KeyError: 'lable'", f"py4j.protocol.Py4JJavaError: An error occurred while calling o3.x.\n: {HEAP}"), "heap-full"),
    (failed(HEAP), "heap-full"),
    (failed(LOST), "executors-lost"),
    (failed(LOST) + CAUSED + KEY_ERROR, "executors-lost"),
    (failed(LOST).partition("py4j")[2], "executors-lost"),
]  # fmt: skip
OWN = [
    "ZeroDivisionError: division by zero",
    KEY_ERROR,
    RETRIED % LOST,
    *(f"{RETRIED % why}\n{KEY_ERROR}" for why in (LOST, HEAP, "[PYTHON_VERSION_MISMATCH]")),
    f"{failed(LOST)}\ngoing on without it\n{KEY_ERROR}",
    f"{RETRIED % LOST}\n{failed('java.lang.ArithmeticException: / by zero')}",
    f"{failed('java.lang.ArithmeticException: / by zero')}\nWARN TaskSetManager: Lost task: {LOST}",
]


@pytest.mark.parametrize(("said", "reason"), SAID)
def test_the_reason_is_told(tmp_path, said, reason):
    log = tmp_path / "output.log"
    log.write_text(f"going\n{said}\n{AT}\n")
    told = spark.end(PLAN, 1, str(tmp_path), str(log))
    assert told["reason"] == reason and told["detail"]
    assert spark.end({"spark": None}, 1, str(tmp_path), str(log)) == {}, "a script without Spark may print that"
    assert spark.end(PLAN, 137, str(tmp_path), str(log)) == {}, "it was killed"


@pytest.mark.parametrize("said", OWN)
def test_the_scripts_own_affair(tmp_path, said):
    log = tmp_path / "output.log"
    assert spark.end(PLAN, 1, str(tmp_path), str(log)) == {}
    log.write_text(f"going\n{said}\n")
    assert spark.end(PLAN, 1, str(tmp_path), str(log)) == {}


def test_what_was_long_ago(tmp_path):
    log = tmp_path / "output.log"
    log.write_bytes(failed(LOST).encode() + b"x" * spark.TAIL_BYTES)
    assert spark.end(PLAN, 1, str(tmp_path), str(log)) == {}


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
