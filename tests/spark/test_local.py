"""PySpark on this machine, with the real engine: what a script finds, what the record has, how it ends."""

import json
import os
import signal
import urllib.request

import pytest

from jig.runner import events
from tests.conftest import alive, call, environ, spawn, until
from tests.spark.engine import QUICK_JAVA
from tests.spark.maven import MavenFolder

ETL = """
import os, sys, time
import jig
from beside import wait
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
conf = spark.sparkContext.getConf()
for name in sys.argv[2].split(","):
    print(name, conf.get(name))
loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
print("resources", *(loader.getResource(name) is not None for name in ("words.txt", "base.txt", "no.txt")))
slow = spark.sparkContext.parallelize(range(40), 40).map(lambda n: wait() or n).sum()
jig.log(total=slow, partitions=spark.range(10).repartition(3).rdd.getNumPartitions())
with open("outputs/total.txt", "w") as file:
    file.write(str(slow))
print("third", sys.argv[3])
print("hidden", [name for name in os.environ if "HIDDEN" in name], flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
"""
SHOWN = ("spark.app.name", "spark.sql.shuffle.partitions", "spark.x.secret.key", "spark.x.token", "spark.driver.memory")
SETTINGS = """\
configuration:
  spark.sql.shuffle.partitions: 3
  spark.x.secret.key: "hush:  =\\\\ ü"
  spark.x.token: {{fromClient: TOKEN}}
  spark.jars.ivySettings: {settings}
  spark.jars.ivy: {ivy}
repositories: [maven]
packages:
  - {{group: org.example, artifact: words, version: 1.0}}
"""


@pytest.fixture
def sparks(project, spark_engine, java, monkeypatch):
    """A project whose `local` has the engine's Python, and a configuration `spark` without Framework."""
    monkeypatch.setenv("JAVA_HOME", java)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    project.write("aml_config/local.compute", f"type: local\npythonLocation: {spark_engine.python}\n")
    project.write("aml_config/spark.runconfig", "Target: local\n")
    return project


def told(folder):
    """What the run's Spark has told so far."""
    place = folder / "spark.jsonl"
    return [json.loads(line) for line in place.read_text().splitlines()] if place.exists() else []


def test_a_whole_run(sparks, spark_engine, jig_home, tmp_path, monkeypatch):
    monkeypatch.setenv("TOKEN", "psst")
    maven = MavenFolder(sparks.path / "maven")
    maven.add("org.example:base:1.0", {"base.txt": "x"})
    maven.add("org.example:words:1.0", {"words.txt": "x"}, needs="org.example:base:1.0")
    elsewhere = MavenFolder(tmp_path / "settings").settings()
    sparks.write("aml_config/spark_dependencies.yml", SETTINGS.format(settings=elsewhere, ivy=tmp_path / "ivy"))
    sparks.write("code/etl.py", ETL)
    sparks.write("code/beside.py", "import time\ndef wait():\n    time.sleep(0.1)\n")
    go = tmp_path / "go"
    words = ("code/etl.py", str(go), ",".join(SHOWN), "{id} {work} ü")
    client = spawn("submit", "-c", "spark", *words, env={**environ(), "LC_ALL": "C"})
    try:
        (folder,) = until(lambda: list((jig_home / "runs").glob("proj_*")))
        page = until(lambda: [line["ui"] for line in told(folder) if "ui" in line], 60)
        with urllib.request.urlopen(f"http://127.0.0.1:{page[0]}/api/v1/applications", timeout=30) as answer:
            (application,) = json.load(answer)
        assert folder.name in application["name"]
        with urllib.request.urlopen(f"{answer.url}/{application['id']}/environment", timeout=30) as answer:
            shown = answer.read().decode()
        assert "spark.x.token" in shown and "hush" not in shown and "psst" not in shown
        words = alive("org.apache.spark.deploy.SparkSubmit")
        assert words and not any("hush" in one or "psst" in one for one in words)
        go.write_text("")
        out, err = (text.decode() for text in client.communicate(timeout=120))
    finally:
        client.kill()
    assert client.returncode == 0, out + err
    assert f"spark.app.name code/etl.py ({folder.name})\n" in out
    assert "spark.sql.shuffle.partitions 3\n" in out
    assert "spark.x.secret.key hush:  =\\ ü\n" in out and "spark.x.token psst\n" in out
    assert "third {id} {work} ü\n" in out, "what is the person's is nobody's to fill in"
    assert "resources True True False\n" in out and "repo1.maven.org" not in out
    assert "hidden []\n" in out
    assert f"jig: Spark's page: http://127.0.0.1:{page[0]}\n" in out
    assert "Status: Completed\n" in out and "Metrics: total 780, partitions 3\n" in out
    assert (folder / "work/outputs/total.txt").read_text() == "780"
    first, *rest = told(folder)
    assert (
        first["spark"] == spark_engine.version and first["java"] >= 17 and first["argv"][0] == str(spark_engine.submit)
    )
    stages = [stage for line in rest for stage in line.get("stages", ())]
    assert any(
        stage["tasks"] == 40 and "etl.py:" in stage["name"] and "/work/" not in stage["name"] for stage in stages
    )
    kept = (folder / "plan.json").read_text() + (folder / "spark.jsonl").read_text()
    assert "hush" not in kept and "psst" not in kept and "[REDACTED]" not in kept
    assert "stands in the project's files, which the record keeps" in err


WHICH = "import os; print('around:', os.environ.get('SPARK_ENV_LOADED'))"


def test_both_frameworks_run_the_same_project(sparks, spark_engine, cli):
    """As the seeds say: change Framework from PySpark to Python."""
    sparks.write("which.py", WHICH)
    said = cli("submit", "-c", "spark", "which.py")
    assert said.code == 0 and "around: 1\n" in said.out
    sparks.write("aml_config/spark.runconfig", 'Target: local\n"Framework": "Python"\n')
    said = cli("submit", "-c", "spark", "which.py")
    assert said.code == 0 and "around: None\n" in said.out
    again = cli("experiment", "reproduce", "-r", "last~1")
    assert again.code == 0 and "around: 1\n" in again.out
    told = cli("history", "compare", "last~2", "last~1", "last", "-o", "json").json()
    assert told["environment"]["spark"]["values"] == [spark_engine.version, None, spark_engine.version]
    assert told["configuration"]["spark master"]["values"] == ["local[*]", None, "local[*]"]


def test_how_it_ends(sparks, cli, jig_home):
    sparks.write("ends.py", "import os, sys\nsys.exit(3) if sys.argv[1] == 'exit' else os.kill(os.getpid(), 9)\n")
    said = cli("submit", "-c", "spark", "ends.py", "exit")
    assert said.code == 3 and "Status: Failed: the script ended with exit code 3" in said.out
    said = cli("submit", "-c", "spark", "ends.py", "kill")
    assert said.code == 137 and "Status: Failed: the script was killed by SIGKILL" in said.out


FULL = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(1).selectExpr("length(repeat('x', cast(2000000000 + id as int)))").collect()
"""


def test_a_heap_that_is_full(sparks, cli):
    """A task takes Java with it: what the script says last is only that nobody answers any more."""
    sparks.write("aml_config/spark_dependencies.yml", "configuration: {spark.driver.memory: 600m}\n")
    sparks.write("full.py", FULL)
    said = cli("submit", "-c", "spark", "full.py")
    assert said.code == 52 and "Status: Failed: Java ran out of memory" in said.out, said.out


def test_canceled_and_killed(sparks, cli, jig_home):
    """Java, the script and who watches are all gone, whoever ends them."""
    sparks.write("waits.py", "import os, time; print('pid', os.getpid(), flush=True); time.sleep(600)")
    runs = []
    for end in ("cancel", "kill"):
        run_id = cli("submit", "-a", "-c", "spark", "waits.py").run_id
        runs.append(run_id)
        log = jig_home / "runs" / run_id / "output.log"
        until(lambda log=log: log.exists() and b"pid" in log.read_bytes(), 60)
        if end == "cancel":
            assert cli("cancel", run_id).out == f"{run_id}: Canceled\n"
        else:
            words = (jig_home / "runs" / run_id / "events.jsonl").as_posix()
            supervisor = next(event["pid"] for event in events.read(words) if "pid" in event)
            os.kill(supervisor, signal.SIGKILL)
            until(lambda run_id=run_id: cli("status", run_id, "-o", "json").json()["state"] == "Lost")
        until(lambda run_id=run_id: not alive(run_id), 30, "the end of every process")


def test_without_spark(project, java, monkeypatch, tmp_path):
    """A newcomer with an old project: told in a moment what to write."""
    import venv

    venv.create(tmp_path / "bare", with_pip=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    project.write("aml_config/local.compute", f"type: local\npythonLocation: {tmp_path}/bare/bin/python\n")
    project.write("aml_config/docker.runconfig", "Target: local\n")
    project.write("a.py", "print(1)")
    said = call("submit", "-c", "docker", "a.py", env={**os.environ, "PATH": "/usr/bin:/bin", "PYTHONPATH": ""})
    assert said.code == 125 and "Status: Failed: Spark could not be started: the run asks for PySpark" in said.out
    assert "write `Framework: Python` into aml_config/docker.runconfig" in said.out


@pytest.mark.parametrize("template", ["spark-wordcount", "spark-ml"])
def test_the_templates(template, sparks, spark_engine, cli, tmp_path, monkeypatch):
    """With the engine that is here: making an environment of it takes long, and is the environments' affair."""
    assert cli("project", "create", "--path", str(tmp_path / "new"), "--template", template).code == 0
    monkeypatch.chdir(tmp_path / "new")
    (tmp_path / "new/aml_config/local.compute").write_text(f"type: local\npythonLocation: {spark_engine.python}\n")
    script = ("train.py", "--rows", "2000") if template == "spark-ml" else ("wordcount.py",)
    said = cli("submit", "-c", "local", *script)
    assert said.code == 0, said.out
    if template == "spark-ml":
        assert "accuracy 0." in said.out and "Outputs: outputs/model.json" in said.out
    else:
        assert "     9  the\n" in said.out and "Metrics: lines 4, words 55, different 29\n" in said.out
