"""A logged model of MLflow 3: a folder in outputs/ with a name, parameters, tags and metrics."""

from jig_mlflow.run import ACTIVE, metric, pairs

PENDING = "LOGGED_MODEL_PENDING"


class Model(object):
    """What is known of it."""

    def __init__(self, number):
        self.id = number
        self.name = ""
        self.kind = ""
        self.experiment = "0"
        self.run = ""
        self.artifacts = ""
        self.status = PENDING
        self.stage = ACTIVE
        self.params = {}
        self.tags = {}
        self.metrics = {}  # (name, run) → point
        self.created = 0
        self.updated = 0

    def take(self, said, milliseconds):
        """What a line says of it."""
        for name in ("name", "kind", "experiment", "run", "artifacts", "status", "stage"):
            if name in said:
                setattr(self, name, said[name])
        self.params.update(said.get("params", {}))
        for key, value in said.get("tags", {}).items():
            if value is None:
                self.tags.pop(key, None)
            else:
                self.tags[key] = value
        self.created = self.created or milliseconds
        self.updated = milliseconds

    def take_metric(self, name, step, milliseconds, value, run):
        """A point that was logged of this model, in a run."""
        point = dict(metric(name, step, milliseconds, value), model_id=self.id, run_id=run.id)
        before = self.metrics.get((name, run.id))
        if before is None or (step, milliseconds) >= (before["step"], before["timestamp"]):
            self.metrics[name, run.id] = point

    def as_json(self):
        """As MLflow has it."""
        return {
            "info": {
                "model_id": self.id,
                "experiment_id": self.experiment,
                "name": self.name,
                "creation_timestamp_ms": self.created,
                "last_updated_timestamp_ms": self.updated,
                "artifact_uri": self.artifacts,
                "status": self.status,
                "model_type": self.kind,
                "source_run_id": self.run,
                "tags": pairs(self.tags),
            },
            "data": {"params": pairs(self.params), "metrics": [self.metrics[key] for key in sorted(self.metrics)]},
        }
