"""The engine, a Java runtime and the cluster, as fixtures: a conftest.py takes them by their names."""

import contextlib

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
