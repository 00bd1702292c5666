"""PySpark on a real cluster of three hosts: the driver here, and on the head over SSH; and what can happen to it."""

import os
import re
import signal
import urllib.request

import pytest

from jig.runner import events
from tests.conftest import spawn, until
from tests.runner.wheels import make_wheel, serve
from tests.spark.daemon import kill, pids
from tests.spark.engine import QUICK_JAVA
from tests.ssh.conftest import attach_words, client, key_pair

__all__ = ["client", "key_pair"]

# Names the machines that tasks ran on; each task needs a package of the environment, and a module beside the script.
WORK = """
import socket, sys, time
import jig
from pyspark.sql import SparkSession
from beside import answer
def where(_):
    import alpha, os
    time.sleep(0.3)
    return socket.gethostname(), alpha.VERSION, answer(), sys.version_info[:2], os.getcwd() in alpha.__file__
spark = SparkSession.builder.getOrCreate()
found = set()
while len({one[0] for one in found}) < 2:
    found |= set(spark.sparkContext.parallelize(range(4), 4).map(where).collect())
for one in sorted(found):
    print(*one[:3], one[3] == sys.version_info[:2], one[4])
jig.log(machines=len(found))
with open("outputs/driver.txt", "w") as file:
    file.write("home")
"""
# Goes on for as long as it is told to, a task on each worker.
LASTS = """
import sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
found = spark.sparkContext.parallelize(range(2), 2).map(lambda n: n).collect()
print("going", flush=True)
steps = int(sys.argv[1])
print(spark.sparkContext.parallelize(range(2 * steps), 2 * steps).map(lambda n: time.sleep(1) or 1).sum(), flush=True)
if sys.argv[2:]:
    raise KeyError(sys.argv[2])
"""


@pytest.fixture
def here(project, spark_cluster, spark_engine, java, cli, monkeypatch):
    """A project with the cluster attached by its master: the driver runs on this machine."""
    monkeypatch.setenv("SPARK_HOME", str(spark_engine.home))
    monkeypatch.setenv("JAVA_HOME", java)
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK_JAVA)
    said = cli("computetarget", "attach", "cluster", "-n", "spark", "-a", spark_cluster.master_url)
    assert said.code == 0 and "answers" in said.out, said.out + said.err
    return project


def theirs(project, cluster, python):
    """The Python is looked after by whoever has the cluster: nothing is installed, nothing sent."""
    with open(project.path / "aml_config/spark.compute", "a") as file:
        file.write(f"userManagedEnvironment: true\npythonLocation: {python}\n")
    project.write("aml_config/spark_dependencies.yml", f"configuration: {{spark.pyspark.python: {cluster.python}}}\n")


@pytest.mark.usefixtures("no_settings")
def test_environment_and_modules_travel(here, spark_cluster, cli, jig_home, tmp_path, monkeypatch):
    """Executors have neither the package nor this machine's Python, until the run brings them."""
    wheels = tmp_path / "wheels"
    make_wheel(wheels, "alpha", "1.0")
    with serve(wheels) as index:
        monkeypatch.setenv("PIP_INDEX_URL", f"{index.url}/simple")
        here.write("aml_config/conda_dependencies.yml", "dependencies:\n  - python=3.11\n  - pip: [alpha]\n")
        here.write("work.py", WORK)
        here.write(
            "beside.py", "import jig\nfrom azureml.logging import get_azureml_logger\ndef answer():\n    return 42\n"
        )
        said = cli("submit", "-c", "spark", "work.py")
    assert said.code == 0, said.out + said.err + spark_cluster.logs()
    assert "worker1 1.0 42 True True\nworker2 1.0 42 True True\n" in said.out
    assert "jig: packing the environment for the executors, once\n" in said.out
    assert "FINISHED" in spark_cluster.applications().values()
    assert "Metrics: machines 2\n" in said.out and "outputs/driver.txt" in said.out
    until(lambda: not spark_cluster.others(), what="the end of all that it started")
    assert len(list((jig_home / "envs").glob("*/jig-executors.tar.gz"))) == 1


def begun(project, cli, jig_home, *arguments):
    """A run that has begun its work, followed by nobody."""
    project.write("lasts.py", LASTS)
    run_id = cli("submit", "-a", "-c", "spark", "lasts.py", *arguments).run_id
    folder = jig_home / "runs" / run_id
    log = folder / "output.log"
    until(lambda: log.exists() and b"going" in log.read_bytes(), 90, "the first job")
    return run_id, folder


def ended(cli, run_id):
    until(lambda: cli("status", run_id, "-o", "json").json()["end_time_utc"], 90, "the end")
    return cli("status", run_id, "-o", "json").json()


def test_a_worker_an_executor_and_the_master_die_and_the_run_goes_on(here, spark_cluster, spark_engine, cli, jig_home):
    theirs(here, spark_cluster, spark_engine.python)
    run_id, folder = begun(here, cli, jig_home, "5")
    spark_cluster.kill_worker(1)
    spark_cluster.kill_executor(0)
    until(lambda: [worker for worker, _ in spark_cluster.executors()] == [0], 30, "another executor")
    spark_cluster.kill_master()
    how = ended(cli, run_id)
    assert how["state"] == "Completed", (folder / "output.log").read_text()
    assert "10" in (folder / "output.log").read_text().splitlines()
    until(lambda: not spark_cluster.others(), 30, "the end of all that it started")


def test_what_spark_recovered_from_is_not_the_reason(here, spark_cluster, spark_engine, cli, jig_home):
    theirs(here, spark_cluster, spark_engine.python)
    run_id, folder = begun(here, cli, jig_home, "4", "lable")
    spark_cluster.kill_executor(0)
    how = ended(cli, run_id)
    said = (folder / "output.log").read_text()
    assert "ExecutorLostFailure" in said or "Lost executor" in said, said
    assert (how["state"], how["reason"]) == ("Failed", "exited"), said


def test_killed_on_the_clusters_side(here, spark_cluster, spark_engine, cli, jig_home):
    theirs(here, spark_cluster, spark_engine.python)
    run_id, folder = begun(here, cli, jig_home, "600")
    (application,) = spark_cluster.alive_applications()
    spark_cluster.kill_application(application)
    how = ended(cli, run_id)
    assert (how["state"], how["reason"]) == ("Failed", "application-killed"), (folder / "output.log").read_text()
    assert how["description"] == "the Spark application was killed on the cluster"
    assert spark_cluster.applications()[application] == "KILLED" and application in spark_cluster.logs()
    until(lambda: not spark_cluster.others(), what="the end of all that it started")


def test_the_driver_dies(here, spark_cluster, spark_engine, cli, jig_home):
    theirs(here, spark_cluster, spark_engine.python)
    run_id, folder = begun(here, cli, jig_home, "600")
    guard = events.read(str(folder / "events.jsonl"))
    assert [event["event"] for event in guard][-1] != "failed"
    (java,) = [
        int(name)
        for name in os.listdir("/proc")
        if name.isdigit() and _is_driver(name, run_id)
    ]  # fmt: skip
    os.kill(java, signal.SIGKILL)
    how = ended(cli, run_id)
    assert (how["state"], how["reason"]) == ("Failed", "killed") and "SIGKILL" in how["description"]
    until(lambda: not spark_cluster.others(), what="the end of all that it started")
    assert spark_cluster.alive_applications() == []


def _is_driver(pid, run_id):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return False
    return b"org.apache.spark.deploy.SparkSubmit" in words and any(run_id.encode() in word for word in words)


def test_a_master_that_is_not_there(here, spark_cluster, spark_engine, cli):
    theirs(here, spark_cluster, spark_engine.python)
    spark_cluster.kill_master()
    here.write("lasts.py", LASTS)
    said = cli("submit", "-c", "spark", "lasts.py", "1")
    assert said.code == 125 and f"the Spark master {spark_cluster.master_url} does not answer" in said.out
    assert "aml_config/spark.compute has it as `sparkMaster`" in said.out
    assert cli("computetarget", "check", "spark").code == 1
    assert cli("computetarget", "detach", "spark").code == 0


def test_from_the_head_over_ssh(project, spark_cluster, client, key_pair, cli, jig_home, java):
    """The driver is on the head; its page is seen here; whatever ends it leaves nothing there."""
    head = spark_cluster.head
    client.give_key(key_pair)
    head.authorize(key_pair.with_suffix(".pub").read_text())
    said = cli(*attach_words(head, "--master", spark_cluster.master_url, name="spark", kind="cluster"))
    assert said.code == 0, said.err
    with open(project.path / "aml_config/spark.compute", "a") as file:
        file.write(f"userManagedEnvironment: true\npythonLocation: {spark_cluster.python}\n")
        file.write(f"sparkSubmitLocation: {spark_cluster.submit}\n")
    project.runconfig(
        "spark", Framework="PySpark", EnvironmentVariables={"JAVA_HOME": java, "JAVA_TOOL_OPTIONS": QUICK_JAVA}
    )
    project.write("lasts.py", LASTS)
    going = spawn("submit", "-c", "spark", "lasts.py", "600")
    try:
        assert going.stdout is not None
        page = ""
        while not page:
            line = going.stdout.readline().decode()
            assert line, "the run ended"
            found = re.match(r"jig: Spark's page: (http://127\.0\.0\.1:\d+) \(as long as this command runs\)", line)
            page = found.group(1) if found else ""
        with urllib.request.urlopen(f"{page}/jobs/", timeout=60) as answer:
            text = answer.read().decode()
        assert "lasts.py" in text and "Spark Jobs" in text
        (mirrored,) = (jig_home / "mirror").glob("*/proj_*")
        run_id = mirrored.name
        until(lambda: '"stages": [{' in (mirrored / "spark.jsonl").read_text(), 60, "stages in the copy here")
        assert cli("cancel", run_id).out == f"{run_id}: Canceled\n"
        assert going.wait(60) == 143
    finally:
        going.kill()
        going.communicate()
    gone(spark_cluster)
    for end, reason in ((_kill_application, "application-killed"), (_kill_driver, "killed")):
        run_id = cli("submit", "-a", "-c", "spark", "lasts.py", "600").run_id
        until(lambda: len(spark_cluster.executors()) == 2, 90, "the executors")
        end(spark_cluster)
        how = ended(cli, run_id)
        assert (how["state"], how["reason"]) == ("Failed", reason), how
        gone(spark_cluster)


def gone(cluster):
    until(lambda: cluster.alive_applications() == [], 30)
    until(lambda: not [one for one in cluster.others() if "sshd" not in one], 30, "the end of all that it started")


def _kill_application(cluster):
    (application,) = cluster.alive_applications()
    cluster.kill_application(application)


def _kill_driver(cluster):
    kill(cluster.head, pids(cluster.head, "org.apache.spark.deploy.SparkSubmit"))


def test_one_machine_over_ssh(project, spark_cluster, client, key_pair, cli, java):
    """`remote`: everything in one process there."""
    head = spark_cluster.head
    client.give_key(key_pair)
    head.authorize(key_pair.with_suffix(".pub").read_text())
    assert cli(*attach_words(head, name="spark")).code == 0
    with open(project.path / "aml_config/spark.compute", "a") as file:
        file.write(f"sparkSubmitLocation: {spark_cluster.submit}\n")
    project.runconfig("spark", EnvironmentVariables={"JAVA_HOME": java, "JAVA_TOOL_OPTIONS": QUICK_JAVA})
    config = (project.path / "aml_config/spark.runconfig").read_text()
    project.write("aml_config/spark.runconfig", config.replace('Framework: "Python"\n', ""))  # the default
    project.write("lasts.py", LASTS)
    said = cli("submit", "-c", "spark", "lasts.py", "1")
    assert said.code == 0 and "going\n" in said.out and "\n2\n" in said.out, said.out
    assert "(as long as this command runs)" in said.out
