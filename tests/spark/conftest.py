"""A Spark of their own for the tests of this folder."""

from tests.spark.fixtures import _cluster, java, spark_cluster, spark_engine

__all__ = ["_cluster", "java", "spark_cluster", "spark_engine"]
