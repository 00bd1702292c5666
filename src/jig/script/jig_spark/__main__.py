"""Become spark-submit: jig_spark ORDERS, which are the plan's, as JSON."""

import json
import os
import sys
from urllib.parse import quote

from jig_spark import engine as engines
from jig_spark import ship, watch, words
from jig_spark.refusal import Refused

REFUSED = 94
HIDDEN = "JIG_SPARK_HIDDEN"
MASTER_S = 5.0
CONFIGURATIONS = ("/etc/hadoop/conf", "/etc/hadoop")


def main(given):
    """Start Spark in this process's place; returns the exit code only where that cannot be."""
    orders = json.loads(given[0])
    hidden = json.loads(os.environ.pop(HIDDEN, "{}"))
    folder = os.environ["JIG_RUN_DIR"]
    record = watch.Record(folder)
    try:
        argv, note = prepare(orders, hidden, record)
    except (Refused, OSError) as error:
        refused = error if isinstance(error, Refused) else cannot(error)
        place = os.path.join(folder, "spark-refused.json")
        with open(place + ".new", "w") as file:
            json.dump({"detail": refused.detail, "hint": refused.hint}, file)
        os.rename(place + ".new", place)
        return REFUSED
    if note:
        record.write(note=note)
    if orders["mode"] == "cluster":
        from jig_spark import elsewhere

        return elsewhere.run(argv, record)
    watch.leave_behind(record)
    return os.execv(argv[0], argv)


def cannot(error):
    """What the system would not let us do, as a refusal."""
    about = ": %s" % error.filename if error.filename else ""
    return Refused(
        "what Spark needs could not be made ready: %s%s" % (error.strerror or error, about),
        "mend that on the machine, and submit again",
    )


def prepare(orders, hidden, record):
    """The command, and what a person should know."""
    on_cluster = orders["master"].partition("[")[0] != "local"
    engine = engines.find(orders["submit"], on_cluster, orders["files"])
    java, number, note = engines.java(engine.version)
    address = check_master(orders["master"], orders["files"])
    file = engine.settings()
    theirs = words.settings_in(file)  # of the engine: below the person's, above ours
    said = dict(orders["settings"], **hidden)
    known = {
        "id": os.environ["JIG_RUN_ID"],
        "memory": words.memory(),
        "ui": str(words.page_port(orders["settings"], hidden, theirs)),
        "work": quote(os.getcwd()),  # in an address
        "home": quote(os.path.expanduser("~")),
        "ivy": ivy(),
        "address": address,
    }
    known["defaults"] = []
    for key, value in orders["defaults"].items():
        if key not in theirs and (address or value != "{address}"):
            known["defaults"] += ["--conf", "%s=%s" % (key, words.fill_word(value, known))]
    if on_cluster:
        known["environment"] = words.silent(ship.environment(orders, engine.version, record), said)
        known["modules"] = ship.modules(orders["script"][0])
    else:
        known["defaults"] += words.silent(ship.own_python(theirs), said)
    argv = [engine.submit] + words.joined(words.fill(orders["words"], known), orders["settings"], theirs)
    for key, value in orders["settings"].items():
        argv += ["--conf", "%s=%s" % (key, value)]
    argv += [words.resource(orders["script"][0])] + orders["script"][1:]
    if hidden:
        argv[1:1] = ["--properties-file", words.nameless(words.properties(hidden, file))]
    set_variables(engine, java, on_cluster, orders["script"][0])
    record.write(argv=argv, spark=engine.version, java=number, master=orders["master"])
    return argv, note


def set_variables(engine, java, on_cluster, script):
    """What Spark takes from its environment."""
    os.environ["JAVA_HOME"] = engines.startable(java, os.environ["JIG_RUN_DIR"])
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if engine.home:
        os.environ["SPARK_HOME"] = engine.home
    if not words.speaks_utf8():  # Java would take what is not ASCII in a command line for question marks
        os.environ["LC_ALL"] = "C.UTF-8"
    if not on_cluster:
        # Nobody else need reach it, and its page asks for no password.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # Tasks find what lies beside the script, as they do on a cluster.
        before = os.environ.get("PYTHONPATH")
        folder = os.path.dirname(os.path.abspath(script))
        os.environ["PYTHONPATH"] = folder + os.pathsep + before if before else folder


def ivy():
    """Where packages are kept that Spark has downloaded: in a container, a folder that outlives it."""
    share = os.environ.get("AZUREML_NATIVE_SHARE_DIRECTORY", "")
    folder = share if share and os.access(share, os.W_OK) else os.path.expanduser("~")
    return os.path.join(folder, ".ivy2")


def check_master(master, files):
    """Whether who gives out the work can be reached; Spark itself would take a minute to say that it cannot.

    Returns the address that this machine has there, where that is known: one that executors can reach it by.
    """
    if master == "yarn":
        check_yarn(files)
    scheme, _, rest = master.partition("://")
    if scheme != "spark":
        return ""
    import socket

    why = ""
    for place in rest.split(","):
        host, _, port = place.rpartition(":")
        try:
            connection = socket.create_connection((host.strip("[]"), int(port)), MASTER_S)
            try:
                return "" if "SPARK_LOCAL_IP" in os.environ else connection.getsockname()[0]
            finally:
                connection.close()
        except ValueError:
            why = "it has no port"
        except OSError as error:
            why = error.strerror or str(error)
    raise Refused(
        "the Spark master %s does not answer: %s" % (master, why),
        "is it running? The address is the one at the top of its page; %s has it as `sparkMaster`" % files[1],
    )


def check_yarn(files):
    """YARN is found by the files of its configuration."""
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        if os.path.isdir(os.environ.get(name, "")):
            return
    for folder in CONFIGURATIONS:
        if os.path.isfile(os.path.join(folder, "yarn-site.xml")):
            os.environ["HADOOP_CONF_DIR"] = folder
            return
    raise Refused(
        "the cluster is to be YARN's, and this machine has no configuration of Hadoop",
        "set HADOOP_CONF_DIR under EnvironmentVariables of %s; for a standalone cluster write "
        "`sparkMaster: spark://HOST:7077` into %s" % tuple(files),
    )


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.exit(code)
