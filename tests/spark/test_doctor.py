"""What `jig doctor` tells of Spark before a run: which one, which Java, whether the master answers."""

import socket

import pytest

from tests.spark.test_starter import make_java, make_spark

CLUSTER = "type: cluster\nuserManagedEnvironment: true\n"


@pytest.fixture
def told(project, cli, tmp_path):
    """told(compute, spark's version) → what the doctor finds about Spark: (what, status, found, fix) each."""

    def look(compute: str, version: str = "3.5.1", conda: str = "") -> "list[tuple[str, str, str, str]]":
        submit = make_spark(tmp_path / version, version)
        project.write("aml_config/s.compute", f"{compute}sparkSubmitLocation: {submit.parent.parent}\n")
        project.write("aml_config/conda_dependencies.yml", conda)
        said = cli("doctor", "-c", "s", "-o", "json").json()
        return [tuple(one[key] for key in ("what", "status", "found", "fix")) for one in said if one["what"] in SHOWN]

    java = make_java(tmp_path / "java", "17.0.1")
    project.runconfig("s", Framework="PySpark", EnvironmentVariables={"JAVA_HOME": str(java)})
    return look


SHOWN = ("spark", "cluster")


def test_a_spark_and_its_java(told, tmp_path):
    """By the variables that the run will have."""
    found = f"Spark 3.5.1 ({tmp_path}/3.5.1/bin/spark-submit), Java 17 ({tmp_path}/java)"
    assert told("type: local\n") == [("spark", "ok", found, "")]


def test_what_a_run_would_be_refused_for(told):
    ((what, status, found, fix),) = told("type: local\n", "2.4.8")
    assert (what, status) == ("spark", "bad") and found.startswith(
        "Spark 2.4.8 needs Java 8, and there is only Java 17"
    )
    assert "openjdk-8-jre-headless" in fix


def test_a_spark_that_the_environment_will_bring(told):
    conda = "dependencies:\n  - pip: ['pyspark>=4']\n"
    found = "comes with the environment, from aml_config/conda_dependencies.yml"
    assert told("type: local\nuserManagedEnvironment: false\n", conda=conda) == [("spark", "ok", found, "")]


def test_a_master(told):
    with socket.create_server(("127.0.0.1", 0)) as master:
        address = f"spark://127.0.0.1:{master.getsockname()[1]}"
        _, (what, status, found, _) = told(f"{CLUSTER}sparkMaster: {address}\n")
    assert (what, status, found) == ("cluster", "ok", f"{address} answers")
    _, (what, status, found, fix) = told(f"{CLUSTER}sparkMaster: {address}\n", "3.5.2")
    assert (what, status) == ("cluster", "bad") and "does not answer: Connection refused" in found
    assert "aml_config/s.compute has it as `sparkMaster`" in fix
