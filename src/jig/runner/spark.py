"""A script under spark-submit: the words that start it, and what its end means."""

import os

from jig.runner.quick_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

STARTER = "jig_spark"  # the folder of script/ that becomes spark-submit
HIDDEN = "JIG_SPARK_HIDDEN"  # the variable by which it gets the settings that nobody else is to see
RECORD = "spark.jsonl"  # what it, and who it leaves behind to watch, write down
REFUSED = 94  # its exit code where there is no Spark, or nothing that Spark can run on
REFUSAL = "spark-refused.json"
TAIL_BYTES = 512 * 1024

# (what stands in the log, the reason, what it means, what to do), most telling first.
ENDS = (
    (
        b"Master removed our application: KILLED",
        "application-killed",
        "the Spark application was killed on the cluster",
        "ask who looks after the cluster; its page tells when",
    ),
    (
        b"All masters are unresponsive",
        "cluster-gone",
        "the Spark master does not answer",
        "is it running, and does it reach this machine? See `sparkMaster` in the .compute file",
    ),
    (b"Application has been killed", "application-killed", "the cluster ended the Spark application", ""),
    (b"final status: KILLED", "application-killed", "the Spark application was killed on the cluster", ""),
    (
        b"PYTHON_VERSION_MISMATCH",
        "python-mismatch",
        "the executors run another version of Python than the driver",
        "let jig bring the environment (no `userManagedEnvironment: true`), or name a Python that all of them have",
    ),
    (
        b"PySpark cannot run with different minor versions",  # Spark 3
        "python-mismatch",
        "the executors run another version of Python than the driver",
        "let jig bring the environment (no `userManagedEnvironment: true`), or name a Python that all of them have",
    ),
    (
        b"jig: no Python for the executor",
        "python-mismatch",
        "an executor has no Python of the driver's version",
        "install that version on the workers, or name it in conda_dependencies.yml as a conda package: then it travels",
    ),
    (
        b"unresolved dependency",
        "packages-not-found",
        "a package of the Spark file is in none of the repositories",
        "check `packages` and `repositories`: the log names the one that is missing, and where it was looked for",
    ),
    (
        b"java.lang.OutOfMemoryError",
        "heap-full",
        "Java ran out of memory",
        "give it more under `configuration` of the Spark file: `spark.driver.memory` or `spark.executor.memory`",
    ),
    (
        b"ExecutorLostFailure",
        "executors-lost",
        "executors died again and again",
        "for want of memory? `spark.executor.memoryOverhead` gives Python more; the cluster's page has their logs",
    ),
)


def started(plan: "Dict[str, Any]", python: str, folder: str, argv: "List[str]") -> "List[str]":
    """The words that start the script, through Spark where the plan has it."""
    if not plan.get("spark"):
        return argv
    orders = dict(plan["spark"], managed=plan["environment"]["kind"] != "user")
    orders["files"] = ["aml_config/%s.runconfig" % plan["run_config"], "aml_config/%s.compute" % plan["target"]]
    return [python, folder + "/" + STARTER, dumps(orders)]


def end(plan: "Dict[str, Any]", code: int, folder: str, log: str) -> "Dict[str, str]":
    """Why a run under Spark failed, as far as that can be told: reason, detail, hint. Empty: the script's affair."""
    if not plan.get("spark"):
        return {}
    if code == REFUSED:
        refused = _refusal(folder)
        if refused:
            return refused
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.path.getsize(log) - TAIL_BYTES))
            tail = file.read()
    except FileNotFoundError:  # the script removed its own run folder
        return {}
    for mark, reason, detail, hint in ENDS:
        if mark in tail:
            return {"reason": reason, "detail": detail, "hint": hint} if hint else {"reason": reason, "detail": detail}
    return {}


def _refusal(folder: str) -> "Dict[str, str]":
    from jig.runner.folder import read_plain

    place = os.path.join(folder, REFUSAL)
    try:
        said = loads(read_plain(place))
        os.unlink(place)
        return {"reason": "spark-refused", "detail": str(said["detail"]), "hint": str(said["hint"])}
    except (OSError, ValueError, KeyError, TypeError):  # none was written, or nonsense by the script
        return {}
