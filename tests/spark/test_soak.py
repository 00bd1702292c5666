"""Hundreds of megabytes on the cluster, so that stages take seconds, with workers that die: the counts are exact."""

import json
import os

import pytest

from tests.conftest import until
from tests.spark.engine import QUICK_JAVA

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

LINES, FILES = 1_000_000, 12  # about 300 MB
COUNT = """
import sys
import jig
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, explode, split, sum
spark = SparkSession.builder.getOrCreate()
words = spark.read.text(sys.argv[1]).select(explode(split(col("value"), " ")).alias("word"))
counts = words.repartition(24).groupBy("word").agg(count("*").alias("times"))
print("going", flush=True)
found = {row["word"]: row["times"] for row in counts.collect()}
jig.log(different=len(found), all=__builtins__.sum(found.values()))
"""


def test_three_hundred_megabytes(project, spark_cluster, spark_engine, java, cli, jig_home, monkeypatch):
    monkeypatch.setenv("SPARK_HOME", str(spark_engine.home))
    monkeypatch.setenv("JAVA_HOME", java)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
    data = spark_cluster.shared / "data"
    data.mkdir()
    block = "".join(f"word{n % 1000} other{n % 7} same\n" for n in range(LINES))
    for number in range(FILES):
        (data / f"{number}.txt").write_text(block)
    assert sum(os.path.getsize(path) for path in data.iterdir()) > 200 << 20
    assert cli("computetarget", "attach", "cluster", "-n", "spark", "-a", spark_cluster.master_url).code == 0
    with open(project.path / "aml_config/spark.compute", "a") as file:
        file.write(f"userManagedEnvironment: true\npythonLocation: {spark_engine.python}\n")
    settings = f"configuration: {{spark.pyspark.python: {spark_cluster.python}, spark.executor.memory: 768m}}\n"
    project.write("aml_config/spark_dependencies.yml", settings)
    project.write("count.py", COUNT)
    run_id = cli("submit", "-a", "-c", "spark", "count.py", f"file://{data}").run_id
    folder = jig_home / "runs" / run_id
    log = folder / "output.log"
    until(lambda: log.exists() and b"going" in log.read_bytes(), 120)

    def most_done():
        told = [json.loads(line) for line in (folder / "spark.jsonl").read_text().splitlines()]
        return max((stage["done"] for line in told for stage in line.get("stages", ())), default=0)

    until(lambda: most_done() >= 5, 300, "five tasks")
    spark_cluster.kill_worker(1)
    until(lambda: cli("status", run_id, "-o", "json").json()["end_time_utc"], 900, "the end")
    record = cli("history", "info", "-r", run_id).json()
    assert record["status"] == "Completed", (folder / "output.log").read_text()
    assert (record["different"], record["all"]) == (1008, LINES * FILES * 3)
    until(lambda: not spark_cluster.others(), 60)
