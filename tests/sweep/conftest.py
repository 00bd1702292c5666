"""A project to sweep, whose script waits for a word of the test's at every point."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from jig.runner import events
from jig.runner.folder import Home
from jig.runner.tree import supervised_by
from jig.store.runs import fold
from jig.sweep import children
from tests.conftest import until

TRAIN = """
import os, sys, time, jig
values = dict(word[2:].split("=") for word in sys.argv[1:])
x, place = values["x"], {place!r}
with open(f"{{place}}/began-{{x}}-{{os.environ['JIG_RUN_ID']}}", "w"):
    pass
while not (os.path.exists(f"{{place}}/go-{{x}}") or os.path.exists(f"{{place}}/go")):
    time.sleep(0.01)
print("as submitted", flush=True)
jig.log(score=int(x) * 10)
fail = f"{{place}}/fail-{{x}}"
if os.path.exists(fail):
    with open(fail) as file:
        how = file.read()
    os.unlink(fail)
    os.kill(os.getpid(), int(how)) if how else sys.exit(3)
"""
FILE = """
script: train.py
parameters: {{x: {values}}}
objective: {{metric: score, goal: maximize}}
"""


class Sweeping:
    """The sweeps of one test."""

    def __init__(self, project, cli, jig_home: Path, place: Path) -> None:
        self.project, self.cli, self.home, self.place = project, cli, Home(str(jig_home)), place
        place.mkdir(exist_ok=True)
        project.write("train.py", TRAIN.format(place=str(place)))
        self.config = "local"

    def file(self, values: str = "[1, 2, 3]", more: str = "", name: str = "sweep.yml") -> None:
        self.project.write(name, FILE.format(values=values) + more)

    def let(self, *words: object) -> None:
        """Let these points go on; all, when none is named."""
        for word in words or ("",):
            (self.place / (f"go-{word}" if words else "go")).touch()

    def fail(self, point: int, how: str = "") -> None:
        """Let the next run of a point fail, or be killed by this signal."""
        (self.place / f"fail-{point}").write_text(how)

    def start(self, *words: str, name: str = "sweep.yml") -> str:
        said = self.cli("sweep", "-a", "-c", self.config, *words, name)
        assert said.code == 0, said.out + said.err
        return said.run_id

    def resume(self, sweep_id: str, *words: str) -> str:
        said = self.cli("sweep", "-a", "--resume", sweep_id, *words)
        assert said.code == 0, said.out + said.err
        return said.run_id

    def run(self, run_id: str):
        return fold(events.read(self.home.run(run_id).events))

    def log(self, run_id: str) -> str:
        path = Path(self.home.run(run_id).log)
        return path.read_text() if path.exists() else ""

    def end(self, run_id: str, timeout: float = 30.0):
        """Wait until the sweep has ended; its run."""
        until(lambda: self._ended(run_id), timeout, f"the end of {run_id}: {self.log(run_id)}")
        return self.run(run_id)

    def _ended(self, run_id: str) -> bool:
        return self.cli("status", run_id, "-o", "json").json()["state"] in ("Completed", "Failed", "Canceled", "Lost")

    def began(self, point: "int | None" = None) -> "list[str]":
        """The runs whose script began, of a point or of all."""
        pattern = re.compile(rf"began-{r'.+?' if point is None else point}-(.+)")
        return sorted(match[1] for name in os.listdir(self.place) if (match := pattern.fullmatch(name)))

    def children(self, sweep_id: str) -> "dict[int, list[str]]":
        """The runs of each point, in the order of their submits."""
        found: dict[int, list[str]] = {}
        for child in children.find(sweep_id)[0]:
            found.setdefault(child.point, []).append(child.run_id)
        return found

    def states(self, sweep_id: str) -> "dict[int, list[str]]":
        return {
            point: [fold(events.read(child.folder.events)).state for child in children.find(sweep_id)[0] if child.point == point]
            for point in self.children(sweep_id)
        }  # fmt: skip

    def show(self, *words: str) -> "dict":
        said = self.cli("sweep", "show", *words, "-o", "json")
        assert said.code == 0, said.err
        return said.json()

    def plan(self, run_id: str) -> "dict":
        return json.loads(Path(self.home.run(run_id).plan).read_text())

    def processes(self, run_id: str) -> "dict[str, int]":
        """The supervisor, the guard and the program of a sweep's run."""
        found = {}
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                environ = Path(f"/proc/{name}/environ").read_bytes()
                parent = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if supervised_by(int(name)) == run_id:
                found["guard" if supervised_by(parent) == run_id else "supervisor"] = int(name)
            elif f"JIG_RUN_ID={run_id}".encode() in environ.split(b"\0") and any(
                w.endswith(b"sweep/__main__.py") for w in words
            ):
                found["program"] = int(name)
        return found  # fmt: skip

    def kill(self, run_id: str, who: str) -> None:
        until(lambda: who in self.processes(run_id), what=f"the {who}")
        os.kill(self.processes(run_id)[who], signal.SIGKILL)


@pytest.fixture
def sweeping(project, cli, jig_home, tmp_path):
    made = Sweeping(project, cli, jig_home, tmp_path / "words")
    yield made
    made.let()
