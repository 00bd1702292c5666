"""What a script's calls become: lines in the run's metrics file and files in its outputs folder.

Copied beside every script, so it stands alone: standard library only, Python 3.5, nothing else of jig imported.
"""

from jig.track.artifacts import upload
from jig.track.metrics import log

__all__ = ["log", "upload"]
