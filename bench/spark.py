"""PySpark through jig against bare `spark-submit` of the same engine: to the first line, and the job itself."""

from __future__ import annotations

import os
import subprocess

import projects
from environments import jig, pyspark
from figure import Figure
from folders import fresh, write
from timing import best_of, median_of, to_the_line_s

START_BAR, JOB_BAR = 1.1, 1.02
ROUNDS, JOB_ROUNDS = 9, 11
LINE = "hello"
# More than a gigabyte that are made, shuffled and added up; the time is the script's own, of a session that is warm.
JOB = """\
import time
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, sum
spark = SparkSession.builder.getOrCreate()
def work(rows):
    numbers = spark.range(rows).selectExpr("id % 1000 as part", "sha2(cast(id as string), 256) as text", "id")
    return numbers.repartition(16, "part").groupBy("part").agg(sum(col("id"))).count()
work(100000)
began = time.perf_counter()
work(16000000)
print("took", time.perf_counter() - began)
"""
SETTINGS = {"spark.driver.memory": "2g", "spark.log.level": "WARN"}  # both sides have them


def measure() -> list[Figure]:
    """Both figures, in turns with the floor."""
    home, folder = fresh("spark", "home"), fresh("spark", "project")
    python = pyspark().program("python")
    projects.create(os.path.join(folder, "p"), home)
    project = os.path.join(folder, "p")
    write(os.path.join(project, "aml_config", "local.compute"), f"type: local\npythonLocation: {python}\n")
    write(os.path.join(project, "aml_config", "local.runconfig"), "Target: local\nFramework: PySpark\n")
    lines = "".join(f"  {key}: {value}\n" for key, value in SETTINGS.items())
    write(os.path.join(project, "aml_config", "spark_dependencies.yml"), f"configuration:\n{lines}")
    write(os.path.join(project, "job.py"), JOB)
    projects.hello(project)
    spark_home = os.path.join(_site(python), "pyspark")
    # Both bind to the loopback: looking for another address takes Spark a moment.
    environ = jig().environ(JIG_HOME=home, SPARK_LOCAL_IP="127.0.0.1")
    bare = {**environ, "SPARK_HOME": spark_home, "PYSPARK_PYTHON": python}
    options = [word for key, value in SETTINGS.items() for word in ("--conf", f"{key}={value}")]

    def ours(script: str) -> tuple[str, ...]:
        return (jig().program("jig"), "submit", "-c", "local", script)

    def theirs(script: str) -> tuple[str, ...]:
        return (os.path.join(spark_home, "bin", "spark-submit"), "--master", "local[*]", *options, script)

    def line(argv: tuple[str, ...], variables: dict[str, str]) -> float:
        return to_the_line_s(argv, LINE, variables, project)

    def job(argv: tuple[str, ...], variables: dict[str, str]) -> float:
        out = subprocess.run(argv, env=variables, cwd=project, capture_output=True, text=True, check=True).stdout
        return float(out.partition("took ")[2].split()[0])

    line(ours("hello.py"), environ), line(theirs("hello.py"), bare)
    start, floor = best_of(ROUNDS, lambda: line(ours("hello.py"), environ), lambda: line(theirs("hello.py"), bare))
    job_s, job_floor = median_of(JOB_ROUNDS, lambda: job(ours("job.py"), environ), lambda: job(theirs("job.py"), bare))
    return [
        Figure("spark", "submit, first line", start, "spark-submit", floor, START_BAR),
        Figure("spark", "the job itself", job_s, "under spark-submit", job_floor, JOB_BAR),
    ]


def _site(python: str) -> str:
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return subprocess.check_output((python, "-c", ask), text=True).strip()
