"""What the run's own interpreter says of its frameworks: `script/jig_gpu.py`, started and understood."""

import os
import sys

from jig.runner.quick_json import loads

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

SCRIPT = "jig_gpu.py"
REFUSED = 93  # its exit code where no GPU can be used
REFUSAL = "gpu-refused.json"  # what it then leaves in the run's folder
MARK = "jig-gpu:"  # before its answer
ASK_S = 60.0  # importing a framework from a slow disk takes long


def requires(plan: "Dict[str, Any]") -> bool:
    """Whether the script may only start where its framework can use a GPU."""
    return bool((plan.get("gpu") or {}).get("require"))


def guarded(plan: "Dict[str, Any]", python: str, folder: str, argv: "List[str]") -> "List[str]":
    """The words that start the script; where a GPU is required, those that ask for it first, and become the script."""
    return [python, folder + "/" + SCRIPT, "require"] + argv if requires(plan) else argv


def ask(python: str, folder: str, work: str, environ: "Dict[str, str]") -> "Dict[str, Any]":
    """What the frameworks for this Python say; nothing when it does not answer."""
    from jig.runner import engine_call

    try:
        done = engine_call.run([python, folder + "/" + SCRIPT, "ask", work], environ, b"", ASK_S)
    except OSError:  # the script has removed its interpreter
        return {}
    return answered(done[1]) if done else {}


def answered(out: bytes) -> "Dict[str, Any]":
    """The answer among all that was printed."""
    for line in reversed(out.decode("utf-8", "replace").splitlines()):
        if line.startswith(MARK):
            return dict(loads(line[len(MARK) :]))
    return {}


def refusal(folder: str, variables: "Dict[str, str]") -> "Dict[str, str]":
    """Why a run that requires a GPU was not started; empty where the script itself ended with that code."""
    from jig.runner.folder import read_plain
    from jig.runner.gpu import cause

    place = os.path.join(folder, REFUSAL)
    try:
        said = loads(read_plain(place))
        os.unlink(place)
        reason, fix = cause.why(said, variables)
    except (OSError, ValueError, KeyError, TypeError):  # none was written, or nonsense by the script
        return {}
    return {"detail": reason, "hint": fix}
