"""PySpark in a container of the real engine: Spark and Java lie in the share folder, the Python is the image's."""

import json
import re
import shutil
import subprocess
import urllib.request

import pytest

from tests.conftest import spawn, until
from tests.containers.conftest import BASE, docker
from tests.spark.engine import QUICK_JAVA
from tests.ssh.conftest import attach_words, client, key_pair

__all__ = ["client", "docker", "key_pair"]

SCRIPT = """
import os, sys, time
import jig
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
jig.log(total=spark.sparkContext.parallelize(range(20), 20).map(lambda n: time.sleep(0.1) or n).sum())
print("in", os.getcwd(), spark.sparkContext.getConf().get("spark.jars.ivy"), flush=True)
while not os.path.exists(os.environ["AZUREML_NATIVE_SHARE_DIRECTORY"] + "go"):
    time.sleep(0.05)
"""


def bring(engine, java, folder):
    """An engine and a Java in this folder."""
    folder.mkdir(parents=True)
    subprocess.run(["cp", "-a", "--reflink=auto", engine.home, folder / "pyspark"], check=True)
    # Links to settings elsewhere become files; some lead nowhere.
    shutil.copytree(java, folder / "java", ignore_dangling_symlinks=True)
    return folder


@pytest.fixture
def sparks(docker, spark_engine, java, tmp_path):
    """A project whose share folder has an engine and a Java: links to the same files, and no copies."""
    share = tmp_path / "share"
    mine = bring(spark_engine, java, share / "proj")
    docker.target(nativeSharedDirectory=f"{share}/", sparkSubmitLocation="/azureml-share/pyspark/bin/spark-submit")
    variables = {"JAVA_HOME": "/azureml-share/java", "JAVA_TOOL_OPTIONS": QUICK_JAVA}
    docker.runconfig("docker", Framework="PySpark", EnvironmentVariables=variables)
    docker.write("a.py", SCRIPT)
    docker.share = mine
    return docker


def test_a_whole_run(sparks, jig_home):
    going = spawn("submit", "-c", "docker", "a.py")
    try:
        said = b""
        assert going.stdout is not None
        while not (page := re.search(rb"jig: Spark's page: (http://127\.0\.0\.1:\d+) \(as long", said)):
            line = going.stdout.readline()
            said += line
            assert line, said.decode()
        with urllib.request.urlopen(f"{page.group(1).decode()}/jobs/", timeout=60) as answer:
            assert "Spark Jobs" in answer.read().decode(), "by way of the engine"
        (sparks.share / "go").write_text("")
        rest, err = going.communicate(timeout=120)
    finally:
        going.kill()
        going.communicate()
    said += rest
    assert going.returncode == 0, said.decode() + err.decode()
    assert b"in /azureml-run /azureml-share/.ivy2\n" in said and b"Metrics: total 190\n" in said
    (folder,) = (jig_home / "runs").glob("proj_*")
    told = [json.loads(line) for line in (folder / "spark.jsonl").read_text().splitlines()]
    assert told[0]["argv"][0] == "/azureml-share/pyspark/bin/spark-submit"
    assert any(stage["tasks"] == 20 for line in told for stage in line.get("stages", ()))
    until(lambda: sparks.containers() == [])


@pytest.mark.parametrize("shared", [True, False])
def test_without_a_java(sparks, cli, shared):
    """Refused by what stands in the script's place; the reason comes out of the container, mounted or copied."""
    if shared:
        sparks.runconfig("docker", Framework="PySpark")
    else:
        sparks.target(sharedVolumes=False)
        sparks.runconfig("docker", Framework="PySpark")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 125 and "Status: Failed: Spark could not be started: " in said.out
    assert ("and there is no Java" if shared else "the run asks for PySpark, and there is no Spark") in said.out
    assert "Fix: " in said.out


def test_in_a_container_over_ssh(project, docker_box, spark_engine, java, client, key_pair, cli):
    """`remotedocker`, as attach writes it: `Framework: PySpark` is there already."""
    host = docker_box.host
    client.give_key(key_pair)
    host.authorize(key_pair.with_suffix(".pub").read_text())
    said = cli(*attach_words(host, "--image", BASE, name="box", kind="remotedocker"))
    assert said.code == 0, said.err
    mine = bring(spark_engine, java, host.home / "share/proj")
    subprocess.run(["chmod", "-R", "a+rX", mine.parent], check=True)
    subprocess.run(["chown", "-R", f"{host.home.stat().st_uid}:{host.home.stat().st_gid}", mine.parent], check=True)
    compute = (project.path / "aml_config/box.compute").read_text().replace("~/.azureml/share/", "~/share/")
    keys = "userManagedEnvironment: true\nsparkSubmitLocation: /azureml-share/pyspark/bin/spark-submit\n"
    project.write("aml_config/box.compute", compute + keys)
    config = (project.path / "aml_config/box.runconfig").read_text()
    assert "Framework: PySpark\n" in config
    variables = f"EnvironmentVariables: {{JAVA_HOME: /azureml-share/java, JAVA_TOOL_OPTIONS: '{QUICK_JAVA}'}}\n"
    project.write("aml_config/box.runconfig", config.replace("EnvironmentVariables:\n", variables))
    project.write("a.py", SCRIPT.partition("while not")[0])
    said = cli("submit", "-c", "box", "a.py")
    assert said.code == 0 and "Metrics: total 190\n" in said.out, said.out + said.err
