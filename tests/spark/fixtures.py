"""The engine, a Java runtime and the cluster, as fixtures: a conftest.py takes them by their names."""

import contextlib
import os

import pytest

from tests.spark import engine
from tests.spark.cluster import SparkCluster
from tests.spark.engine import SparkEngine


@pytest.fixture(scope="session")
def spark_engine() -> SparkEngine:
    """Spark and numpy in a virtual environment, for the whole session and for later ones."""
    return engine.spark_engine()


@pytest.fixture(scope="session")
def java() -> str:
    """What JAVA_HOME is to be."""
    return str(engine.java_home())


@pytest.fixture(scope="package")
def _cluster(host_folder, spark_engine, java):
    try:
        cluster = SparkCluster(host_folder / "spark", spark_engine, java)
    except RuntimeError:  # a daemon whose first words are lost on a new cable is patient for longer than anybody here
        cluster = SparkCluster(host_folder / "spark", spark_engine, java)
    with contextlib.closing(cluster):
        yield cluster


@pytest.fixture
def spark_cluster(_cluster):
    """A master and two workers, which a test may kill: afterwards all are up again, and nothing else runs there."""
    yield _cluster
    _cluster.heal()


@pytest.fixture
def spark_environ(spark_engine, java):
    """The environment of a bare `spark-submit` on this machine: the engine's own Python, and no setting of the person's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "PYTHON"))}
    home = {"SPARK_HOME": str(spark_engine.home), "PYSPARK_PYTHON": str(spark_engine.python), "JAVA_HOME": java}
    return {**kept, **home, "JAVA_TOOL_OPTIONS": engine.QUICK_JAVA}
