"""Runs when a rank's interpreter starts, and steps aside: for the user's own file of this name, and for children."""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _step_aside():
    sys.path[:] = [place for place in sys.path if place != _here]
    given = os.environ.get("PYTHONPATH", "")
    if given == _here:
        del os.environ["PYTHONPATH"]
    elif given.startswith(_here + os.pathsep):
        os.environ["PYTHONPATH"] = given[len(_here) + 1 :]


_step_aside()
try:
    from jig_ranks import hook
except ImportError:  # the script's way to what jig brought was changed: the script goes on without
    pass
else:
    hook.install()
_ours = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # noqa: F401
except ImportError as error:
    if error.name != "sitecustomize":
        raise  # the user's own fault, which Python tells as it always does
finally:
    sys.modules.setdefault("sitecustomize", _ours)
