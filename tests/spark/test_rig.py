"""The rig itself, with nothing but `spark-submit`."""

import subprocess

import pytest

from tests.conftest import until
from tests.hosts.plain_ssh import PlainSsh
from tests.spark import engine
from tests.spark.maven import MavenFolder

# Says on which machines it ran: a task waits until there is one on each of the two workers.
WHERE = """
import socket, sys, time
from pyspark.sql import SparkSession
def where(_):
    import numpy
    time.sleep(0.5)
    return socket.gethostname()
spark = SparkSession.builder.appName("where").getOrCreate()
found = set()
while len(found) < 2:
    found |= set(spark.sparkContext.parallelize(range(4), 4).map(where).collect())
print(*sorted(found), flush=True)
rest_s = float(sys.argv[1])
spark.sparkContext.parallelize(range(2), 2).foreach(lambda _: time.sleep(rest_s))
"""
READ = """
from pyspark.sql import SparkSession
loader = SparkSession.builder.getOrCreate()._jvm.java.lang.Thread.currentThread().getContextClassLoader()
print(*(loader.getResource(name) for name in ("words.txt", "base.txt")))
"""


@pytest.fixture
def ssh(tmp_path):
    return PlainSsh(tmp_path / "client")


def test_the_engine_is_made_once(spark_engine, java):
    made = (spark_engine.folder / "stamp").stat().st_mtime_ns
    assert engine.spark_engine() == spark_engine and str(engine.java_home()) == java
    assert (spark_engine.folder / "stamp").stat().st_mtime_ns == made
    ask = "import numpy, pyspark; print(pyspark.__version__, pyspark.__path__[0])"
    said = subprocess.run([spark_engine.python, "-c", ask], capture_output=True, text=True)
    assert said.stdout == f"{spark_engine.version} {spark_engine.home}\n", said.stderr
    assert spark_engine.submit.is_file()


def test_a_job_from_the_head(spark_cluster, ssh):
    head = spark_cluster.head
    head.authorize(ssh.public_key)
    head.write("where.py", WHERE)
    settings = " ".join(f"{name}='{value}'" for name, value in spark_cluster.environ.items())
    command = f"{settings} {spark_cluster.submit} --master {spark_cluster.master_url} where.py 0"
    said = ssh(head, command)
    assert said.stdout == "worker1 worker2\n", said.stderr
    assert "FINISHED" in spark_cluster.applications().values()
    until(lambda: not spark_cluster.others(), what="the end of all that it started")


def test_a_job_from_here_which_the_cluster_kills(spark_cluster, spark_engine, spark_environ, tmp_path):
    (tmp_path / "where.py").write_text(WHERE)
    settings = {
        "spark.driver.host": spark_cluster.driver_address,
        "spark.pyspark.python": str(spark_cluster.python),
        "spark.pyspark.driver.python": str(spark_engine.python),
    }
    options = [f"--conf={name}={value}" for name, value in settings.items()]
    command = [spark_engine.submit, "--master", spark_cluster.master_url, *options, tmp_path / "where.py", "600"]
    with open(tmp_path / "err", "w+") as err, subprocess.Popen(
        command, env=spark_environ, stdout=subprocess.PIPE, stderr=err, text=True
    ) as driver:  # fmt: skip
        try:
            assert driver.stdout.readline() == "worker1 worker2\n", (tmp_path / "err").read_text()
            (app_id,) = spark_cluster.alive_applications()
            before = spark_cluster.executors()
            assert [worker for worker, _ in before] == [0, 1]
            spark_cluster.kill_executor(1)
            until(lambda: [worker for worker, _ in spark_cluster.executors()] == [0, 1], what="another executor")
            assert spark_cluster.executors()[0] == before[0] and spark_cluster.executors()[1] != before[1]
            spark_cluster.kill_application(app_id)
            assert driver.wait(30) != 0
        finally:
            driver.kill()
    assert spark_cluster.applications()[app_id] == "KILLED"
    until(lambda: not spark_cluster.executors(), what="the end of the executors")
    assert app_id in spark_cluster.logs()


def test_daemons_die_and_come_back(spark_cluster):
    spark_cluster.kill_worker(0)
    assert [each["state"] for each in spark_cluster.page()["workers"]].count("ALIVE") == 1
    spark_cluster.start_worker(0)
    spark_cluster.kill_master()
    with pytest.raises(ConnectionRefusedError):
        spark_cluster.page()
    spark_cluster.heal()
    assert spark_cluster.page()["aliveworkers"] == 2
    assert spark_cluster.others() == []


def test_a_folder_that_all_hosts_have(spark_cluster):
    (spark_cluster.shared / "a").write_text("here")
    for host in spark_cluster.hosts:
        said = host.run(
            f"cat {spark_cluster.shared}/a; touch {spark_cluster.shared}/{host.name} {spark_cluster.home}/x"
        )
        assert said.stdout == "here" and "Read-only file system" in said.stderr
        assert (spark_cluster.shared / host.name).exists()


def test_packages_from_a_folder(spark_engine, spark_environ, tmp_path):
    maven = MavenFolder(tmp_path / "maven")
    maven.add("org.example:base:1.0", {"base.txt": "deep"})
    maven.add("org.example:words:2.1", {"words.txt": "hello"}, needs="org.example:base:1.0")
    (tmp_path / "read.py").write_text(READ)
    settings = [f"--conf=spark.jars.ivySettings={maven.settings()}", f"--conf=spark.jars.ivy={tmp_path}/ivy"]
    packages = ["--repositories", maven.url, "--packages", "org.example:words:2.1"]
    command = [spark_engine.submit, "--master", "local[1]", *settings, *packages, tmp_path / "read.py"]
    said = subprocess.run(command, env=spark_environ, capture_output=True, text=True, timeout=120)
    jars = f"jar:file:{tmp_path}/ivy/jars/org.example"
    *_, last = said.stdout.splitlines()  # the name of the settings file comes first
    assert last == f"{jars}_words-2.1.jar!/words.txt {jars}_base-1.0.jar!/base.txt", said.stderr
    assert "found org.example#words;2.1 in repo-1" in said.stderr
    assert "repo1.maven.org" not in said.stderr
