"""Virtual environments with real clients of MLflow, made once under the repository's .cache."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.engines.base_images import locked

CACHE = Path(__file__).parents[2] / ".cache/mlflow"
LEARNING = ("numpy", "pandas", "scikit-learn")
WANTED = {
    "mlflow3": ("mlflow-skinny>=3.1", *LEARNING, "matplotlib", "pillow"),
    "mlflow2": ("mlflow-skinny<3", *LEARNING),
    "whole": ("mlflow>=3.1,<4",),  # with its databases, and its server
}
TORCH = "torch==2.13.0"
LIGHTNING = ("pytorch-lightning", "mlflow-skinny>=3.1")


def python_with(name: str) -> str:
    """The interpreter of one of them."""
    uv = str(Path(sys.executable).with_name("uv"))

    def make(place: Path) -> None:
        _must(uv, "venv", "--quiet", "--python", sys.executable, str(place))
        _must(
            uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(place / "bin/python"), *WANTED[name]
        )

    return _made(name, " ".join(WANTED[name]), make)


def python_with_lightning() -> str:
    """The interpreter of an environment with PyTorch; pip finds builds of it where uv does not look."""

    def make(place: Path) -> None:
        _must(sys.executable, "-m", "venv", str(place))
        for words in ((TORCH,), LIGHTNING):
            _must(str(place / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words)

    return _made("lightning", " ".join((TORCH, *LIGHTNING)), make)


def _made(name: str, stamp: str, make) -> str:
    place = CACHE / name
    stamp = f"{sys.version}\n{stamp}\n"
    with locked(CACHE):
        noted = place / "stamp"
        if not noted.exists() or noted.read_text() != stamp:
            shutil.rmtree(place, ignore_errors=True)
            make(place)
            noted.write_text(stamp)
    return str(place / "bin/python")


def _must(*argv: str) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, f"{argv}\n{done.stdout}"
