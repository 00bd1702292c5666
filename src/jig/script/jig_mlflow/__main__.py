"""Started by the guard, or by init in a container, as `python -I -S …/jig_mlflow/__main__.py LISTENER RUN`.

Standard input has one line of JSON, with what to serve, and ends when the run does.
"""

import os
import sys

sys.path.insert(
    0, os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)  # an isolated Python does not look there

from jig_mlflow.serve import main  # noqa: E402

main(int(sys.argv[1]))
sys.stderr.flush()
os._exit(0)
