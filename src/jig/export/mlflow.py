"""A run as MLflow has it: what is sent, in which order, and what need not be sent again."""

from __future__ import annotations

import os
import tempfile

from jig.export import points
from jig.export.artifacts import Artifacts
from jig.export.facts import LONGEST_PARAM, LONGEST_TEXT, facts, param_text
from jig.export.mlflow_names import mapped
from jig.export.writer import Refused, Writer
from jig.runner.folder import RunFolder
from jig.runner.quick_json import dumps, loads
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jig.export.points import Point

BATCH = 1000  # points; MLflow takes no more at once
FEW = 100  # parameters or tags
LARGEST = (1 << 63) - 1  # of steps, and of milliseconds
ID = "jig.run_id"
# What is there already: points of each file, the files (by a digest of all), and the names of the run's own tags.
PLACE, SENT_FILES, SENT_TAGS = "jig.exported", "jig.artifacts", "jig.tags"


class Source(Value):
    """A run to export: what jig knows of it, and where its files are."""

    record: dict[str, Any]
    folder: RunFolder
    nested: str  # which of the runs nested in the folder's; empty for the run itself

    @property
    def id(self) -> str:
        """The run's id."""
        return str(self.record["run_id"])


class Sent(Value):
    """What an export of one run came to."""

    run_id: str
    mlflow_run_id: str
    known: bool
    points: int
    files: int
    notes: tuple[str, ...]


class Exporter:
    """Sends runs to one store; parents before their children, so that those find them."""

    def __init__(self, writer: Writer, experiment: str | None, progress: Callable[[int], None]) -> None:
        self._writer = writer
        self._experiment = experiment
        self._progress = progress  # told how many points went out

    def send(self, source: Source) -> Sent:
        """Everything of a run that MLflow does not have yet. Killed at any point, the next call goes on from there."""
        return _Sending(self._writer, self._experiment, self._progress, source).send()


class _Sending:
    """One run on its way."""

    def __init__(self, writer: Writer, experiment: str | None, progress: Callable[[int], None], source: Source) -> None:
        self._writer, self._progress, self._source = writer, progress, source
        self._facts = facts(source.record, source.folder, source.nested)
        self._names: dict[str, str] = {}
        self._notes: dict[str, None] = {}
        self._texts: dict[str, str] = {}  # the last text that was logged, by name
        self._artifacts = Artifacts(source.folder, source.nested)
        self._beside = self._artifacts.own  # the folder of what MLflow has no place for
        self._tags = {self._name(name): self._cut(name, value) for name, value in self._facts.tags.items()}
        head = {name: text for name, text in self._tags.items() if name == ID or name.startswith("mlflow.")}
        self._opened = writer.ask(
            "open",
            experiment=experiment or self._facts.experiment,
            name=self._facts.name,
            parent=self._facts.parent,
            start_ms=self._facts.start_ms,
            tags=head,
        )
        self._run = self._opened["run"]
        self._done: dict[str, int] = self._opened["done"]
        self._check = bool(self._opened["known"])  # the last batch may have arrived before its place was noted
        self._sent = 0

    def send(self) -> Sent:
        """Parameters, points, files, tags, and how it ended: in this order."""
        self._send_params()
        with tempfile.TemporaryDirectory(prefix="jig-export-") as aside:
            with open(os.path.join(aside, "values.jsonl"), "w", encoding="ascii") as values:
                for file, rows in self._files():
                    self._send_points(file, rows, values.write)
            files = self._send_files(aside)
        self._send_tags()
        self._writer.ask("end", run=self._run, status=self._facts.status, end_ms=self._facts.end_ms)
        for name, new in self._names.items():
            self._note(f"MLflow does not take the name {name[:80]!r}; there it is {new}")
        return Sent(self._source.id, self._run, self._opened["known"], self._sent, files, tuple(self._notes))

    def _note(self, text: str) -> None:
        self._notes[text] = None

    def _name(self, name: str) -> str:
        new = mapped(name)
        if new != name:
            self._names[name] = new
        return new

    def _cut(self, name: str, value: str, most: int = LONGEST_TEXT) -> str:
        """A text that MLflow takes: not too long, and one that UTF-8 can hold."""
        value = value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
        if len(value) <= most:
            return value
        self._note(f"the text of {name!r} is too long for MLflow and was cut; {self._beside}/record.json has it whole")
        return value[: most - 1] + "…"

    def _send_params(self) -> None:
        there, new = self._opened["params"], {}
        for name, value in self._facts.params.items():
            key, text = self._name(name), self._cut(name, param_text(value), LONGEST_PARAM)
            if key not in there:
                new[key] = text
            elif there[key] != text:
                self._note(f"the parameter {name!r} is {text} now; MLflow keeps the first value, {there[key]}")
        for some in _parts(new, FEW):
            self._writer.ask("batch", run=self._run, params=some)

    def _files(self) -> Iterator[tuple[str, Iterator[tuple[Point, str]]]]:
        """Each file with points, and those with the names that they get."""
        folder, nested = self._source.folder, self._source.nested
        for rank, file in points.files(folder).items():
            start = f"rank_{rank}/" if rank else ""
            yield file, ((point, start + point.name) for point in points.read(folder, file, nested))
        if not nested:
            yield points.SYSTEM, ((point, "system/" + point.name) for point in points.system(folder))

    def _send_points(self, file: str, found: Iterator[tuple[Point, str]], keep: Callable[[str], object]) -> None:
        """The points of one file that are not there yet, a thousand at a time, each batch with the place it reaches."""
        batch: list[list[Any]] = []
        place, before = 0, self._done.get(file, 0)
        counts: dict[str, int] = {}
        for point, name in found:
            rows = list(self._rows(point, name, counts))
            if not rows or isinstance(point.value, list):
                keep(_line(point, name))
            for row in rows:
                place += 1
                if place > before:
                    batch.append(row)
                if len(batch) == BATCH:
                    self._send_batch(file, batch, place)
                    batch = []
        if batch:
            self._send_batch(file, batch, place)

    def _send_batch(self, file: str, batch: list[list[Any]], place: int) -> None:
        self._done[file] = place
        tags = {PLACE: dumps(self._done)}
        self._sent += self._writer.ask("batch", run=self._run, metrics=batch, tags=tags, check=self._check)["sent"]
        self._check = False
        self._progress(len(batch))

    def _rows(self, point: Point, name: str, counts: dict[str, int]) -> Iterator[list[Any]]:
        """What MLflow gets of a point: a number as it is, the first list of numbers of a name as steps."""
        value, count = point.value, counts.get(name, 0)
        counts[name] = count + 1
        if isinstance(value, str):
            if not name.startswith(("mlflow.", "jig.")):
                self._texts[name] = value
        elif points.is_number(value):
            number = _float(value)
            if number is None:
                self._note(f"{name!r} has a number that no float can hold; {self._beside}/values.jsonl has it")
                return
            if abs(number) == float("inf"):
                self._note("MLflow's databases keep infinities as the largest number there is")
            yield [self._name(name), number, _milliseconds(point.time), self._step(point, name, count)]
        elif isinstance(value, list) and not count and value and all(map(points.is_number, value)):
            numbers = [_float(one) for one in value]
            if None not in numbers:
                yield from ([self._name(name), one, _milliseconds(point.time), at] for at, one in enumerate(numbers))

    def _step(self, point: Point, name: str, count: int) -> int:
        if point.step == int(point.step) and abs(point.step) <= LARGEST:
            return int(point.step)
        self._note(
            f"steps of {name!r} are no whole numbers: MLflow has the number of the point, the steps are in "
            f"{self._beside}/metrics.jsonl"
        )
        return count

    def _send_files(self, aside: str) -> int:
        """The outputs, and beside them what MLflow has no place for; nothing when all of it is there."""
        files = self._artifacts
        files.write(aside, "record.json", dumps(self._source.record))
        if self._names:
            files.write(aside, "names.json", dumps({new: name for name, new in self._names.items()}))
        files.add_if_any(os.path.join(aside, "values.jsonl"))
        digest = files.digest()
        if self._opened["tags"].get(SENT_FILES) == digest:
            return 0
        sent = 0
        for path, folder in files.listed:
            try:
                self._writer.ask("file", run=self._run, path=path, folder=folder)
                sent += 1
            except Refused as error:
                self._note(f"{os.path.basename(path)!r} was left out. {error.message}")
        self._tags[SENT_FILES] = digest if sent == len(files.listed) else ""
        return sent

    def _send_tags(self) -> None:
        """Tags as they are now; one that was sent before and is gone here goes there. What others set stays."""
        texts = {self._name(name): self._cut(name, text) for name, text in self._texts.items()}
        told = dumps([self._name(name) for name in self._source.record.get("tags") or ()])
        tags = {**texts, **self._tags, **({SENT_TAGS: told} if len(told) <= LONGEST_TEXT else {})}
        there = self._opened["tags"]
        for some in _parts({name: text for name, text in tags.items() if there.get(name) != text}, FEW):
            self._writer.ask("batch", run=self._run, tags=some)
        for name in loads(there.get(SENT_TAGS) or "[]"):
            if name in there and name not in tags:
                self._writer.ask("remove", run=self._run, tag=name)


def _line(point: Point, name: str) -> str:
    told = {"name": name, "step": point.step, "time": point.time, "value": point.value}
    return dumps(told) + "\n"


def _milliseconds(seconds: float) -> int:
    return max(0, min(round(seconds * 1000), LARGEST))


def _float(value: float) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _parts(told: dict[str, str], most: int) -> Iterator[dict[str, str]]:
    items = list(told.items())
    for start in range(0, len(items), most):
        yield dict(items[start : start + most])
