"""A script under spark-submit: the words that start it, and what its end means."""

import os
import re

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

ABORTED = rb"Job aborted due to stage failure"
TRACEBACK = re.compile(rb"^Traceback \(most recent call last\):", re.MULTILINE)
CHAINED = (b"the direct cause of the following exception:", b"another exception occurred:")
OTHER_PYTHON = (
    "python-mismatch",
    "the executors run another version of Python than the driver",
    "let jig bring the environment (no `userManagedEnvironment: true`), or name a Python that all of them have",
)
HEAP_FULL = (
    "heap-full",
    "Java ran out of memory",
    "give it more under `configuration` of the Spark file: `spark.driver.memory` or `spark.executor.memory`",
)

# (what stands in the log, the reason, what it means, what to do), most telling first. These no application survives.
ENDS = (
    (
        rb"Master removed our application: KILLED",
        "application-killed",
        "the Spark application was killed on the cluster",
        "ask who looks after the cluster; its page tells when",
    ),
    (
        rb"All masters are unresponsive",
        "cluster-gone",
        "the Spark master does not answer",
        "is it running, and does it reach this machine? See `sparkMaster` in the .compute file",
    ),
    (rb"Application has been killed", "application-killed", "the cluster ended the Spark application", ""),
    (rb"final status: KILLED", "application-killed", "the Spark application was killed on the cluster", ""),
    (
        rb"unresolved dependency",
        "packages-not-found",
        "a package of the Spark file is in none of the repositories",
        "check `packages` and `repositories`: the log names the one that is missing, and where it was looked for",
    ),
    (rb"(?:[Ee]xception in thread [^\n]*|Terminating due to)\s*java\.lang\.OutOfMemoryError", *HEAP_FULL),
)
# From these Spark recovers by trying again: they count where the script's last words speak of them.
FAULTS = (
    (rb"PYTHON_VERSION_MISMATCH", *OTHER_PYTHON),
    (rb"PySpark cannot run with different minor versions", *OTHER_PYTHON),  # Spark 3
    (
        rb"jig: no Python for the executor",
        "python-mismatch",
        "an executor has no Python of the driver's version",
        "install that version on the workers, or name it in conda_dependencies.yml as a conda package: then it travels",
    ),
    (rb"java\.lang\.OutOfMemoryError", *HEAP_FULL),
    (
        ABORTED + rb"(?:(?!Driver stacktrace:)[\s\S])*?ExecutorLostFailure",
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
    if code > 128:  # a signal has ended it, whatever Spark had to say before
        return {}
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.path.getsize(log) - TAIL_BYTES))
            tail = file.read()
    except FileNotFoundError:  # the script removed its own run folder
        return {}
    # Where the driver is in the cluster the log is that of all its containers, in an order of its own.
    last = tail if plan["spark"].get("mode") == "cluster" else _last_words(tail)
    for text, marks in ((tail, ENDS), (last, FAULTS)):
        for mark, reason, detail, hint in marks:
            if re.search(mark, text):
                return dict({"reason": reason, "detail": detail}, **({"hint": hint} if hint else {}))
    return {}


def _last_words(log: bytes) -> bytes:
    """From the exception that ended the script on, and those that led to it; where none did, from a job's failure."""
    begins = [found.start() for found in TRACEBACK.finditer(log)]
    while len(begins) > 1 and log[: begins[-1]].rstrip().endswith(CHAINED):
        begins.pop()
    begin = begins[-1] if begins else log.rfind(ABORTED)
    return log[begin:] if begin >= 0 else b""


def _refusal(folder: str) -> "Dict[str, str]":
    from jig.runner.folder import read_plain

    place = os.path.join(folder, REFUSAL)
    try:
        said = loads(read_plain(place))
        os.unlink(place)
        return {"reason": "spark-refused", "detail": str(said["detail"]), "hint": str(said["hint"])}
    except (OSError, ValueError, KeyError, TypeError):  # none was written, or nonsense by the script
        return {}
