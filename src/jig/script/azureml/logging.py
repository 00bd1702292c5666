"""The logging interface of Azure ML Workbench: what a script logs or uploads is kept with its run."""

from jig.track import log, upload

__all__ = ["get_azureml_logger"]


class Stored:
    """The answer to a call that has already done its work."""

    def wait(self, timeout=None):
        """Return at once: what was logged was stored when the call returned."""


class Logger:
    """Keeps metrics and artifacts of the run that the script belongs to."""

    def log(self, name, value):
        """Keep a number, a text or a list of them under the name; never raises."""
        log(name, value)
        return Stored()

    def upload(self, path, content):
        """Keep text or bytes as the file `path` in outputs/; raises ValueError for a path that leads out of it."""
        upload(path, content)
        return Stored()


def get_azureml_logger():
    """The logger of this run."""
    return Logger()
