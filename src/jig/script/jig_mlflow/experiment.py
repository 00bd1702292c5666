"""An experiment: a name for some of a run's MLflow runs."""

from jig_mlflow.run import ACTIVE, pairs

DEFAULT = "Default"


class Experiment(object):
    """What is known of it."""

    def __init__(self, number, name):
        self.id = number
        self.name = name
        self.tags = {}
        self.stage = ACTIVE
        self.created = 0
        self.updated = 0

    def take(self, said, milliseconds):
        """What a line says of it."""
        self.name = said.get("name", self.name)
        self.stage = said.get("stage", self.stage)
        for key, value in said.get("tags", {}).items():
            if value is None:
                self.tags.pop(key, None)
            else:
                self.tags[key] = value
        self.created = self.created or milliseconds
        self.updated = milliseconds

    def as_json(self, artifacts):
        """As MLflow has it."""
        return {
            "experiment_id": self.id,
            "name": self.name,
            "artifact_location": artifacts,
            "lifecycle_stage": self.stage,
            "creation_time": self.created,
            "last_update_time": self.updated,
            "tags": pairs(self.tags),
        }
