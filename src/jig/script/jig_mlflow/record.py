"""What the metrics file says, as MLflow has it: runs, experiments and models; and the way to say more."""

import json
import os
import time
from collections import OrderedDict

from jig_mlflow import values
from jig_mlflow.experiment import DEFAULT, Experiment
from jig_mlflow.failure import invalid, missing
from jig_mlflow.lines import Lines
from jig_mlflow.model import Model
from jig_mlflow.run import ACTIVE, NAME, PARENT, Run
from jig_mlflow.values import line, shown

NESTED = "nested"  # the folder in outputs/ with the files of nested runs
RECENT = 1024  # pieces of metrics that are remembered, so that one that is sent again is kept once
TAIL_BYTES = 1 << 20


class Record(object):
    """The state of one jig run. `again`: another process served before, and may have died before it answered."""

    def __init__(self, run_id, folder, work, complain, again=False):
        self.outputs = os.path.join(work, "outputs")
        self.own = Run("", run_id, location(self.outputs))
        self.runs = OrderedDict([(run_id, self.own)])
        self.experiments = OrderedDict([("0", Experiment("0", DEFAULT))])
        self.models = OrderedDict()
        self._by_number = {"": self.own}
        self._highest = 0
        self._made = None  # the run that was made last, while nothing has been said of it
        self._recent = OrderedDict()
        self.lines = Lines(os.path.join(folder, "metrics.jsonl"), self._take, complain)
        self._tail = self.lines.tail(TAIL_BYTES) if again else b""
        self.look()
        self._unanswered = self._made if again else None  # whoever made it may have died before the answer

    def look(self):
        """Take in what the script has logged itself."""
        self.lines.look()

    def run(self, run_id):
        """The run with this id; Refused when there is none."""
        found = self.runs.get(run_id)
        if found is None:
            raise missing("Run with id=%s not found" % run_id)
        if found is self._unanswered:
            self._unanswered = None  # its client has its id
        return found

    def active(self, run_id):
        """The same, of those that may be changed."""
        found = self.run(run_id)
        if found.stage != ACTIVE:
            raise invalid("The run %s must be in the 'active' state. Current state is %s." % (found.id, found.stage))
        return found

    def say(self, run=None, **said):
        """Write a line, about the jig run, or the one that is named, and know what it says."""
        told = dict(said, time=now())
        number = run.number if run is not None else ""
        self.lines.append(line(told["time"], number, **said))
        self._know(dict(told, run=number))

    def say_points(self, text):
        """Write lines of metrics, which the caller knows already; False when they were sent, and kept, before."""
        data = text.encode()
        key = hash(data)
        if key in self._recent or (self._tail and data in self._tail):
            return False
        self.lines.append(data)
        self._recent[key] = True
        if len(self._recent) > RECENT:
            self._recent.popitem(last=False)
        return True

    def create(self, name, experiment, user, start, tags):
        """The first run that a client makes is the jig run itself; the others are nested in it."""
        about = {"experiment": experiment, "user": user, "start": start}
        made = self._unanswered
        if made is not None and (made.experiment, made.user, made.start) == (experiment, user, start):
            run, self._unanswered = made, None  # its answer was lost, and it is asked for again
        elif not self.own.created:
            run = self.own
            self.say(run, mlflow={"created": about})
        else:
            number = str(self._highest + 1)
            run = self._nested(number)
            parent = self.runs.get(tags.get(PARENT))
            parent = parent.number if parent is not None else ""
            self.say(run, name=name or run.id, status="RUNNING", parent=parent, mlflow={"created": about})
        self.say(run, tags=dict(tags, **{NAME: name or run.id}))
        return run

    def _nested(self, number):
        run = self._by_number.get(number)
        if run is None:
            run_id = "%s-%s" % (self.own.id, number)
            run = Run(number, run_id, location(os.path.join(self.outputs, NESTED, number)))
            self._by_number[number] = self.runs[run_id] = run
            self._highest = max(self._highest, int(number))
        return run

    def _take(self, raw):
        """A line that the script, or another one that served before us, has written."""
        if not raw:
            return
        try:
            said = json.loads(raw.decode())
        except (ValueError, RecursionError):  # cut short by a kill, or not ours
            return
        if isinstance(said, dict) and isinstance(said.get("time"), (int, float)):
            try:
                self._know(said)
            except (
                AttributeError,
                KeyError,
                OverflowError,
                TypeError,
                ValueError,
            ):  # nobody of us writes that
                return

    def _know(self, said):
        number = said.get("run") or ""
        run = self._nested(number) if number else self.own
        if "created" in said.get("mlflow", {}):
            self._made = run
        elif run is self._made and NAME not in said.get("tags", {}):
            self._made = None
        milliseconds = values.whole(round(said["time"] * 1000))
        for name, value in said.get("values", {}).items():
            if isinstance(value, (int, float)):
                run.take_plain(name, said.get("step"), milliseconds, float(value))
                if "model" in said and said["model"] in self.models:
                    self.models[said["model"]].take_metric(name, said.get("step") or 0, milliseconds, float(value), run)
        run.params.update((name, shown(value)) for name, value in said.get("params", {}).items())
        run.take_tags(said.get("tags", {}))
        if number:
            run.created = True
            run.name = said.get("name", run.name)
            run.status = said.get("status", run.status)
            run.parent = said.get("parent", run.parent)
            run.start = milliseconds if run.start is None else run.start
        self._know_mlflow(run, said.get("mlflow", {}), milliseconds)

    def _know_mlflow(self, run, said, milliseconds):
        created = said.get("created")
        if created is not None:
            run.created = True
            run.experiment, run.user, run.start = created["experiment"], created["user"], created["start"]
        run.status = said.get("status", run.status)
        run.end = said.get("end", run.end)
        run.stage = said.get("stage", run.stage)
        for given in said.get("datasets", ()):
            run.add_dataset(given)
        run.model_inputs += said.get("model_inputs", [])
        run.model_outputs += said.get("model_outputs", [])
        about = said.get("experiment")
        if about is not None:
            known = self.experiments.setdefault(about["id"], Experiment(about["id"], about["id"]))
            known.take(about, milliseconds)
        about = said.get("model")
        if about is not None:
            known = self.models.setdefault(about["id"], Model(about["id"]))
            known.take(about, milliseconds)
            for point in about.get("metrics", ()):
                value = values.number(point["key"], point["value"])
                known.take_metric(point["key"], point["step"], point["timestamp"], value, run)


def now():
    """Seconds since 1970, as the lines have them."""
    return round(time.time(), 6)


def location(path):
    """A folder as MLflow wants it; what stands in a path may mean something else in an address."""
    from urllib.parse import quote_from_bytes

    return "file://" + quote_from_bytes(os.fsencode(path))
