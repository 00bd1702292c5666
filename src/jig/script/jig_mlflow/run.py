"""One run as MLflow sees it: the jig run itself, or one nested in it."""

from jig_mlflow.values import shown, whole

ACTIVE, DELETED = "active", "deleted"
RUNNING = "RUNNING"
ENDS = ("FINISHED", "FAILED", "KILLED")
STATUSES = (RUNNING, "SCHEDULED") + ENDS
NAME, PARENT = "mlflow.runName", "mlflow.parentRunId"


class Run(object):
    """What is known of it. Of each metric the latest value is kept; the series is in the file."""

    def __init__(self, number, run_id, artifacts):
        self.number = number  # as the lines have it; empty for the jig run itself
        self.id = run_id
        self.artifacts = artifacts  # where its files go
        self.created = False  # by a client; the jig run is there before that
        self.name = run_id
        self.experiment = "0"
        self.user = ""
        self.status = RUNNING
        self.start = None
        self.end = None
        self.stage = ACTIVE
        self.parent = ""
        self.metrics = {}  # name → (step, milliseconds, value)
        self.newest = {}  # name → milliseconds of the latest point, by the clock
        self.counts = {}  # name → how many there are, of those that were logged without a step
        self.params = {}
        self.tags = {}
        self.datasets = []
        self.model_inputs = []
        self.model_outputs = []

    def take_metric(self, name, step, milliseconds, value):
        """One more point; the latest is the one with the highest step, as MLflow has it."""
        before = self.metrics.get(name)
        if before is None or (step, milliseconds) >= before[:2]:
            self.metrics[name] = (step, milliseconds, value)
        if milliseconds > self.newest.get(name, milliseconds - 1):
            self.newest[name] = milliseconds

    def take_plain(self, name, step, milliseconds, value):
        """A point of a script's own, which may be without a step: then it is the number of the point."""
        if step is None:
            step = self.counts.get(name, 0)
            self.counts[name] = step + 1
        self.take_metric(name, whole(step), milliseconds, value)

    def take_tags(self, tags):
        """Tags that were set, or removed where they are null."""
        for name, value in tags.items():
            if value is None:
                self.tags.pop(name, None)
            else:
                self.tags[name] = value if isinstance(value, str) else shown(value)
        if self.tags.get(NAME):
            self.name = self.tags[NAME]

    def add_dataset(self, given):
        """A dataset that went in; the same one is kept once."""
        about = given.get("dataset") or {}
        key = (about.get("name"), about.get("digest"))
        known = [(one["dataset"].get("name"), one["dataset"].get("digest")) for one in self.datasets]
        if key not in known:
            self.datasets.append({"tags": given.get("tags") or [], "dataset": about})

    def info(self):
        """What MLflow calls the run's info."""
        said = {
            "run_id": self.id,
            "run_uuid": self.id,
            "run_name": self.name,
            "experiment_id": self.experiment,
            "user_id": self.user,
            "status": self.status,
            "start_time": self.start or 0,
            "artifact_uri": self.artifacts,
            "lifecycle_stage": self.stage,
        }
        if self.end is not None:
            said["end_time"] = self.end
        return said

    def as_json(self):
        """All of it."""
        return {
            "info": self.info(),
            "data": {
                "metrics": [metric(name, *self.metrics[name]) for name in sorted(self.metrics)],
                "params": pairs(self.params),
                "tags": pairs(self.tags),
            },
            "inputs": {"dataset_inputs": self.datasets, "model_inputs": self.model_inputs},
            "outputs": {"model_outputs": self.model_outputs},
        }


def metric(name, step, milliseconds, value):
    """A point, as MLflow's JSON has it."""
    if value != value or value in (float("inf"), float("-inf")):
        value = "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return {"key": name, "value": value, "timestamp": milliseconds, "step": step}


def pairs(values):
    """A dictionary as a list of keys with values."""
    return [{"key": name, "value": values[name]} for name in sorted(values)]
