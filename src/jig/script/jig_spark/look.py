"""What a run would find, without starting it: jig_spark.look ORDERS, and the answer as JSON."""

import json
import sys

from jig_spark import __main__ as starter
from jig_spark import engine as engines
from jig_spark.refusal import Refused


def look(orders):
    """The Spark, the Java, and the master: each as it is, or what would be refused."""
    told = {}
    try:
        if not orders["brought"]:
            on_cluster = orders["master"].partition("[")[0] != "local"
            engine = engines.find(orders["submit"], on_cluster, orders["files"])
            told.update(spark=engine.version, submit=engine.submit)
            place, number, note = engines.java(engine.version)
            told.update(java=number, java_home=place, note=note)
        starter.check_master(orders["master"], orders["files"])
    except Refused as refused:
        told.update(detail=refused.detail, hint=refused.hint)
    return told


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(look(json.loads(sys.argv[1]))) + "\n")
