"""What a script's calls become: lines in the run's metrics file and files in its outputs folder.

Copied beside every script, so it stands alone: standard library only, Python 3.5, nothing else of jig imported.
"""

from jig.track.artifacts import upload
from jig.track.facts import params, tag
from jig.track.metrics import log
from jig.track.rich import log_image, log_table

__all__ = ["log", "log_image", "log_table", "params", "tag", "upload"]
