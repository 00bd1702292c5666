"""Environments that jig builds: against plain uv, found again, beside each other on the disk, and checked."""

from __future__ import annotations

import functools
import glob
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys

import projects
from conda import channel
from environments import jig
from figure import Figure
from folders import SOURCE, fresh, read, write
from timing import best_of, to_the_end_s, to_the_line_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

BUILD_BAR, DISK_BAR = 1.15, 1.5
FOUND_LIMIT_S, CHECK_LIMIT_S = 0.020, 2.0
COLD_ROUNDS, WARM_ROUNDS, FOUND_ROUNDS, CHECK_ROUNDS = 5, 6, 25, 2
LINE = "hello"
PACKAGES = ("numpy", "pandas", "scikit-learn", "matplotlib")
# One more for each of ten environments: small, and without requirements of their own.
ONE_MORE = ("attrs", "certifi", "click", "idna", "iniconfig", "pluggy", "tabulate", "toolz", "wheel", "zipp")
CACHED = 200
ABOUT = "jig-environment.json"
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
OWN = "type: local\n"
MANAGED = OWN + "userManagedEnvironment: false\n"
# What pip is told on this machine about indexes, as uv understands it: both sides get the same.
SETTINGS = """
import json, os
from jig.runner import pip_settings
found = pip_settings.uv_environment(dict(os.environ), os.path.expanduser("~"))
print(json.dumps({name: value for name, value in found.items() if os.environ.get(name) != value}))
"""


def measure() -> list[Figure]:
    """Whole commands on both sides; only the disk is not a matter of time."""
    return [*_builds(), *_found_again(), *_disk(), *_checks()]


class Setting:
    """A project with an environment that jig builds, in a jig home and with a cache of uv of its own."""

    def __init__(self, name: str, pip: Sequence[str] = (), managed: bool = True, **more: list[str]) -> None:
        self.folder = fresh("building", name)
        self.cache = os.path.join(self.folder, "cache")
        self.home = os.path.join(self.folder, "home")
        self.project = projects.create(os.path.join(self.folder, "project"), self.home)
        self.ask_for(pip, **more)
        write(os.path.join(self.project, "aml_config", "local.compute"), MANAGED if managed else OWN)
        projects.hello(self.project)

    @property
    def environ(self) -> dict[str, str]:
        """The variables of a timed command."""
        given = {name: value for name, value in jig().environ().items() if not name.startswith(("PIP_", "CONDA"))}
        own = {"PIP_CONFIG_FILE": os.devnull, "UV_CACHE_DIR": self.cache, "JIG_HOME": self.home}
        return given | index_settings() | own

    def ask_for(self, pip: Sequence[str], conda: Sequence[str] = (), channels: Sequence[str] = ()) -> None:
        """Write the conda file."""
        packages = [f"python={PYTHON}", *conda, *([{"pip": list(pip)}] if pip else [])]
        self.write_file(json.dumps({"channels": list(channels), "dependencies": packages}, indent=1) + "\n")

    def write_file(self, text: str) -> None:
        """Let this be the conda file."""
        write(os.path.join(self.project, "aml_config", "conda_dependencies.yml"), text)

    def prepare_s(self) -> float:
        """Seconds of `jig experiment prepare`."""
        return to_the_end_s((jig().program("jig"), "experiment", "prepare", "-c", "local"), self.environ, self.project)

    def submit_s(self) -> float:
        """Seconds of `jig submit` until the script's line is here."""
        return to_the_line_s(
            (jig().program("jig"), "submit", "-c", "local", "hello.py"), LINE, self.environ, self.project
        )

    def environments(self) -> list[str]:
        """The folders of what was built."""
        return [os.path.dirname(path) for path in glob.glob(os.path.join(self.home, "envs", "*", ABOUT))]


@functools.cache
def index_settings() -> dict[str, str]:
    """What uv is to be told so that it uses the indexes that pip uses here."""
    told: dict[str, str] = json.loads(subprocess.check_output((jig().program("python"), "-c", SETTINGS), text=True))
    return told


def _builds() -> list[Figure]:
    """Nothing is byte-compiled on either side: uv does not unless it is told to, and jig does not tell it."""
    setting, numbers = Setting("build", PACKAGES), itertools.count()
    uv, built, filled = jig().program("uv"), os.path.join(setting.home, "envs"), setting.cache

    # What was built is moved away and removed at the end: where many folders have just been removed, a file system may
    # take long to make others.
    def ours(cold: bool) -> float:
        if os.path.exists(built):
            os.rename(built, f"{built}-{next(numbers)}")
        setting.cache = f"{filled}-{next(numbers)}" if cold else filled
        return setting.prepare_s()

    def plain(cold: bool) -> float:
        venv = os.path.join(setting.folder, f"plain-{next(numbers)}")
        setting.cache = f"{filled}-{next(numbers)}" if cold else filled
        words = f"{uv} venv --quiet --python {PYTHON} {venv} && "
        words += f"{uv} pip install --quiet --python {venv}/bin/python {' '.join(PACKAGES)}"
        return to_the_end_s(("sh", "-c", words), setting.environ, setting.folder)

    ours(cold=False)  # fills the cache, and lays out the runner
    figures = []
    for what, cold, rounds in (("cold", True, COLD_ROUNDS), ("cached", False, WARM_ROUNDS)):
        ours_s, plain_s = best_of(rounds, functools.partial(ours, cold), functools.partial(plain, cold))
        figures.append(Figure("building", f"four packages, {what}", ours_s, "uv venv, install", plain_s, BUILD_BAR))
    shutil.rmtree(setting.folder)
    return figures


def _found_again() -> list[Figure]:
    """How much later the script's line comes than with the Python that is there."""
    own, built = Setting("own", managed=False), Setting("found", ["tabulate"])
    conda = Setting("conda", conda=["hello"], channels=[channel()])
    sides = [own.submit_s, built.submit_s, conda.submit_s]
    for side in sides:
        side()
    own_s, built_s, conda_s = best_of(FOUND_ROUNDS, *sides)
    figures = [_added("found again", built_s, own_s), _added("found, conda", conda_s, own_s)]
    _many(built)
    own_s, built_s = best_of(FOUND_ROUNDS, own.submit_s, built.submit_s)
    return [*figures, _added(f"found among {CACHED}", built_s, own_s)]


def _added(what: str, ours_s: float, own_s: float) -> Figure:
    return Figure("building", f"{what}, added", max(0.0, ours_s - own_s), "limit", FOUND_LIMIT_S, 1.0)


def _many(setting: Setting) -> None:
    """Copies of the one that was built, without its packages, each under another name."""
    (built,) = setting.environments()
    about = json.loads(read(os.path.join(built, ABOUT)))
    for number in range(CACHED - 1):
        name = f"{number:032x}"
        folder = os.path.join(os.path.dirname(built), name)
        for inside in about["times"]:
            os.makedirs(os.path.join(folder, inside))
        os.symlink(os.path.realpath(os.path.join(built, "bin", "python")), os.path.join(folder, "bin", "python"))
        write(os.path.join(folder, "jig-used"), "")
        write(os.path.join(folder, ABOUT), json.dumps({**about, "fingerprint": name}, indent=1))
        write(folder + ".lock", "")


def _disk() -> list[Figure]:
    """Home and cache of uv together, each file once, after one environment and after ten."""
    setting = Setting("disk")
    sizes = []
    for extra in ONE_MORE:
        setting.ask_for([*PACKAGES, extra])
        setting.prepare_s()
        told = subprocess.check_output(("du", "-sk", "-c", setting.home, setting.cache), text=True)
        sizes.append(int(told.splitlines()[-1].split()[0]) * 1024)
    if len(setting.environments()) != len(ONE_MORE):
        raise SystemExit(f"{len(setting.environments())} environments were built, not {len(ONE_MORE)}")
    ours = f"disk of {len(ONE_MORE)}"
    return [Figure("building", ours, sizes[-1], "disk of one", sizes[0], DISK_BAR, is_size=True)]


def _checks() -> list[Figure]:
    """The slowest of the published files, and one whose wheel is asked for and does not answer."""
    setting = Setting("check")
    seeds = sorted(glob.glob(os.path.join(SOURCE, "tests", "environments", "seeds", "*.yml")))
    jig_check = f"{jig().program('jig')} environment check -c local; test $? -le 1"  # 1: something was found

    def check_s(text: str) -> float:
        setting.write_file(text)
        return to_the_end_s(("sh", "-c", jig_check), setting.environ, setting.project)

    slowest_s = max(best_of(CHECK_ROUNDS, *(functools.partial(check_s, read(path)) for path in seeds)))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/cntk-2.1-cp35-cp35m-linux_x86_64.whl"
        text = json.dumps({"dependencies": ["python=3.5.2", {"pip": [address]}]})
        (silent_s,) = best_of(CHECK_ROUNDS, lambda: check_s(text))
    return [
        Figure("building", "check, slowest file", slowest_s, "limit", CHECK_LIMIT_S, 1.0),
        Figure("building", "check, silent address", silent_s, "limit", CHECK_LIMIT_S, 1.0),
    ]
