"""Spark as PyPI has it, in a virtual environment made once under the repository's .cache; and Java, which it needs."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.engines.base_images import locked
from tests.system_packages import need

CACHE = Path(__file__).parents[2] / ".cache/spark"
WANTED = ("pyspark>=4.1,<5", "numpy")  # pyspark.ml imports numpy
# Debian's own: test hosts have /usr and nothing else of this machine, and the environment has to work there too.
PYTHON = "/usr/bin/python3"
JVMS = Path("/usr/lib/jvm")
OLDEST_JAVA = 17
# Of use as JAVA_TOOL_OPTIONS: what lives for seconds only starts with half the work so.
QUICK_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


@dataclass(frozen=True)
class SparkEngine:
    """A virtual environment with pyspark and numpy: nobody writes to it."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin/python"

    @property
    def home(self) -> Path:
        """What SPARK_HOME is to be."""
        (found,) = self.folder.glob("lib/python3*/site-packages/pyspark")
        return found

    @property
    def submit(self) -> Path:
        return self.home / "bin/spark-submit"

    @property
    def version(self) -> str:
        """Such as `4.3.0`."""
        (found,) = self.home.parent.glob("pyspark-*.dist-info")
        return found.name.removeprefix("pyspark-").removesuffix(".dist-info")


def spark_engine() -> SparkEngine:
    """The engine, made first where it is missing (a minute: 430 MB come from the package index)."""
    need("python3")
    place, stamp = CACHE / "engine", f"{_python_version()}\n{' '.join(WANTED)}\n"
    noted = place / "stamp"
    with locked(CACHE):
        if not noted.exists() or noted.read_text() != stamp:
            aside = place.with_name("engine.new")
            shutil.rmtree(aside, ignore_errors=True)  # of someone who was killed
            _make(aside)
            _say_where(aside, place)
            (aside / "stamp").write_text(stamp)
            shutil.rmtree(place, ignore_errors=True)
            aside.rename(place)
    return SparkEngine(place)


def _make(place: Path) -> None:
    uv = str(Path(sys.executable).with_name("uv"))
    _must(uv, "venv", "--quiet", "--relocatable", "--python", PYTHON, str(place))
    # By pip: the settings that say where packages are on a machine are pip's.
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", f"--python={place}/bin/python")
    _must(*pip, "install", "--compile", *WANTED)


def _say_where(aside: Path, place: Path) -> None:
    """Scripts name their interpreter by its whole path: it is to be the last one."""
    for script in (aside / "bin").iterdir():
        if script.is_file() and not script.is_symlink():
            script.write_bytes(script.read_bytes().replace(os.fsencode(aside), os.fsencode(place)))


def _python_version() -> str:
    return subprocess.run([PYTHON, "-VV"], check=True, capture_output=True, text=True).stdout.strip()


def _must(*argv: str) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(argv, env=environ, umask=0o022, text=True, check=False, timeout=600, **output)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)} failed:\n{done.stdout[-2000:]}")


def java_home() -> Path:
    """The oldest runtime under /usr/lib/jvm that Spark can use; Debian's own is installed where there is none."""
    if not (found := _runtimes()):
        need("default-jre-headless")
        found = _runtimes()
    if not found:
        raise RuntimeError(f"{JVMS} has no Java {OLDEST_JAVA} or newer: install the system's package of one")
    return min(found)[1]


def _runtimes() -> "list[tuple[int, Path]]":
    """Number and place of each whole one, as its file `release` tells."""
    found = []
    for place in {each.resolve() for each in JVMS.glob("*") if (each / "bin/java").exists()}:
        release = place / "release"
        number = re.search(r'^JAVA_VERSION="(\d+)', release.read_text(), re.M) if release.exists() else None
        if number and int(number[1]) >= OLDEST_JAVA:
            found.append((int(number[1]), place))
    return found
