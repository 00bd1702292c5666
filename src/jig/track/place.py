"""Where a run keeps what its script logs, and how the tracker speaks to the person."""

import os
import sys

_MOST_SAID = 1000
_MOST_SUBJECTS = 1000

_said = set()  # type: set[str]


def metrics_path() -> "str | None":
    """The metrics file of this process, or None outside a run; each rank but the first has a file of its own."""
    run_dir = os.environ.get("JIG_RUN_DIR")
    if not run_dir:
        return None
    rank = os.environ.get("RANK", "")
    if rank.isdecimal() and int(rank) != 0:
        return os.path.join(run_dir, "metrics.{}.jsonl".format(int(rank)))
    return os.path.join(run_dir, "metrics.jsonl")


def outputs_dir() -> "str | None":
    """The folder that comes home when the run ends, or None outside a run."""
    run_dir = os.environ.get("JIG_RUN_DIR")
    return os.path.join(run_dir, "work", "outputs") if run_dir else None


def say_once(subject: str, text: str) -> None:
    """Print one line on stderr, the first time this process has something to say about `subject`."""
    if subject in _said or len(_said) > _MOST_SUBJECTS:
        return
    _said.add(subject)
    if len(_said) > _MOST_SUBJECTS:
        text = "there is more to say, and it is left out from here on"
    text = text.replace("\r", "\\r").replace("\n", "\\n")
    if len(text) > _MOST_SAID:
        text = text[:_MOST_SAID] + "..."
    try:
        sys.stderr.write("jig: " + text + "\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass  # stderr is missing, closed or on the same full disk: there is no one left to tell


def say_outside() -> None:
    """Tell, once, that nothing is kept because no run is going on."""
    say_once(
        "outside",
        "not in a run, metrics are not kept; to keep them, run the script with `jig experiment submit -c local SCRIPT`",
    )
