"""The rig itself; that jobs run on it is what the other tests show."""

import subprocess

import pytest

from tests.spark import engine


def test_the_engine_is_made_once(spark_engine, java):
    made = (spark_engine.folder / "stamp").stat().st_mtime_ns
    assert engine.spark_engine() == spark_engine and str(engine.java_home()) == java
    assert (spark_engine.folder / "stamp").stat().st_mtime_ns == made
    ask = "import numpy, pyspark; print(pyspark.__version__, pyspark.__path__[0])"
    said = subprocess.run([spark_engine.python, "-c", ask], capture_output=True, text=True)
    assert said.stdout == f"{spark_engine.version} {spark_engine.home}\n", said.stderr
    assert spark_engine.submit.is_file()


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
