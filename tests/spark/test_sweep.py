"""A sweep of a configuration for Spark: its runs are under the real engine, its own program is not."""

import json
from pathlib import Path

import pytest

from jig.runner.folder import Home
from jig.sweep import children
from tests.spark.engine import QUICK_JAVA

SCRIPT = """
import os, sys
import jig
from pyspark import SparkConf, SparkContext
SparkContext._ensure_initialized()
assert SparkConf().get("spark.x.token") == "psst"
jig.log(score=int(sys.argv[1][4:]))
print("around:", os.environ.get("SPARK_ENV_LOADED"))
"""
SETTINGS = "configuration:\n  spark.x.token: {fromClient: TOKEN}\n"


@pytest.fixture
def swept(project, spark_engine, java, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", java)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    project.write("aml_config/local.compute", f"type: local\npythonLocation: {spark_engine.python}\n")
    project.write("aml_config/spark.runconfig", "Target: local\nSparkDependenciesFile: spark.yml\n")
    project.write("spark.yml", SETTINGS)
    project.write("train.py", SCRIPT)
    project.write("sweep.yml", "script: train.py\nparameters: {x: [1, 2]}\nobjective: {metric: score}\n")
    return project


def plan(home: Home, run_id: str) -> "dict":
    return json.loads(Path(home.run(run_id).plan).read_text())


def test_a_sweep_under_spark(swept, cli, jig_home, monkeypatch):
    monkeypatch.setenv("TOKEN", "psst")
    home = Home(str(jig_home))
    said = cli("sweep", "-c", "spark", "sweep.yml")
    assert said.code == 0, said.out + said.err
    assert said.out.count("sweep of 2 points (grid)") == 1 and "Spark's page" not in said.out
    own = plan(home, said.run_id)
    assert (own["spark"], own["client_variables"]) == (None, ["TOKEN"])
    assert not Path(home.run(said.run_id).path, "spark.jsonl").exists()
    runs = children.find(said.run_id)[0]
    assert [child.point for child in runs] == [1, 2]
    for child in runs:
        assert "around: 1\n" in Path(child.folder.log).read_text()
    monkeypatch.delenv("TOKEN")
    refused = cli("sweep", "--resume", said.run_id)
    assert (refused.code, "takes the variable TOKEN from this computer" in refused.err) == (2, True), refused.err
    monkeypatch.setenv("TOKEN", "psst")
    again = cli("sweep", "--resume", said.run_id)
    assert again.code == 0, again.out + again.err
    assert f"going on with {said.run_id}: 2 done, 0 going\n" in again.out


def test_the_spark_file_has_to_be_among_the_frozen_ones(swept, cli, monkeypatch):
    monkeypatch.setenv("TOKEN", "psst")
    swept.write(".amlignore", "spark.yml\n")
    said = cli("sweep", "-c", "spark", "sweep.yml")
    assert said.code == 125 and "spark.yml is left out by the ignore rules" in said.err, said.err
