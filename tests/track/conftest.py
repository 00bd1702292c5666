"""A run folder, and scripts that run in it with what the machine gives them: nothing but the copied modules."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import jig
from jig.track import lines, metrics, place

# Another interpreter can be named, to run the same scripts on every version that a user's script may have.
PYTHON = os.environ.get("JIG_TEST_PYTHON", sys.executable)
SOURCE = Path(jig.__file__).parent
OURS = ("JIG_", "RANK", "PYTHON")


class Script:
    """Runs Python code the way a run does."""

    def __init__(self, tmp_path: Path) -> None:
        self.run_dir = tmp_path / "runs" / "mnist_1 'ü\n"
        (self.run_dir / "work" / "outputs").mkdir(parents=True)
        self.outputs = self.run_dir / "work" / "outputs"
        self.modules = tmp_path / "script"
        self.python = PYTHON
        lay_out(self.modules)

    def __call__(self, code: str, *argv: str, path: tuple[object, ...] = (), rc: int = 0, **env: str) -> str:
        """What the code printed; stderr is in `.stderr`. `path` stands behind our folder, as site-packages does."""
        done = subprocess.run(
            [self.python, "-c", code, *argv],
            cwd=self.run_dir / "work",
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith(OURS)},
                "PYTHONPATH": os.pathsep.join(map(str, (self.modules, *path))),
                "JIG_RUN_ID": "mnist_1",
                "JIG_RUN_DIR": str(self.run_dir),
                **env,
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.stderr = done.stderr
        assert done.returncode == rc, done.stderr
        return done.stdout

    def metrics(self, name: str = "metrics.jsonl") -> list[dict[str, object]]:
        return read(self.run_dir / name)

    def values(self, name: str = "metrics.jsonl") -> list[object]:
        return [line["values"] for line in self.metrics(name)]


def lay_out(folder: Path) -> None:
    """Copy what a script is given, and only that, as the machine does."""
    (folder / "jig").mkdir(parents=True)
    shutil.copy(SOURCE / "__init__.py", folder / "jig")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE / "track", folder / "jig" / "track", ignore=ignore)
    shutil.copytree(SOURCE / "script" / "azureml", folder / "azureml", ignore=ignore)


def read(path: Path) -> list[dict[str, object]]:
    """Every line of a metrics file; blank ones are allowed, anything else must be JSON."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


@pytest.fixture
def script(tmp_path):
    return Script(tmp_path)


@pytest.fixture
def run_dir(tmp_path, monkeypatch):
    """A run that this very process belongs to."""
    for name in ("RANK",):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JIG_RUN_DIR", str(tmp_path))
    monkeypatch.setattr(metrics, "_file", lines.LineFile())
    monkeypatch.setattr(place, "_said", set())
    yield tmp_path
    forget_file()


def forget_file() -> None:
    """Log into a new file from here on."""
    descriptor, *_ = metrics._file._opened
    if descriptor >= 0:
        os.close(descriptor)
    metrics._file = lines.LineFile()
