"""What kind of engine it is, found by asking, and kept in the jig home until the engine was started again."""

import os
import time

from jig.runner.blobs import sha256
from jig.runner.engine import home_key
from jig.runner.folder import make_private
from jig.runner.manifest import native
from jig.runner.quick_json import dumps_lines, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

    from jig.runner.engine import Engine

KEPT_S = 24 * 3600.0
# Written when an engine starts, or when somebody changes what it offers: systemd keeps the socket across a restart.
WATCHED = ("/var/run/docker.pid", "/etc/docker/daemon.json", "/etc/cdi", "/var/run/cdi")
DRIVER = "/dev/nvidiactl"


def facts(engine: "Engine", home: str, renew: bool = False) -> "Dict[str, Any]":
    """What is known of the engine, asked first where nothing is; see `engine_trial.ask`."""
    kept = {} if renew else recall(engine, home)
    if kept:
        return dict(kept["facts"])
    from jig.runner import engine_trial

    found = engine_trial.ask(engine, home)
    keep(engine, home, found, {})
    return found


def recall(engine: "Engine", home: str) -> "Dict[str, Any]":
    """What is kept of this engine; empty when there is nothing, or it may no longer be so."""
    try:
        with open(_place(engine, home), "rb") as file:
            kept = loads(file.read())
    except (OSError, ValueError):  # none yet, or torn by a power cut
        return {}
    fresh = isinstance(kept, dict) and kept.get("stamp") == _stamp(engine) and 0 <= time.time() - kept["at"] < KEPT_S
    return kept if fresh else {}


def keep(engine: "Engine", home: str, facts: "Dict[str, Any]", gpu: "Dict[str, str]") -> None:
    """Keep it for the next time, with the ways to GPUs that were seen to work."""
    place = _place(engine, home)
    make_private(os.path.dirname(place))
    aside = "%s.%d" % (place, os.getpid())
    with open(aside, "w") as file:
        file.write(dumps_lines({"at": time.time(), "stamp": _stamp(engine), "facts": facts, "gpu": gpu}))
    os.replace(aside, place)


def _place(engine: "Engine", home: str) -> str:
    text = native("\n".join([home_key(home), engine.address] + engine.program))
    return os.path.join(home, "engine", sha256(len(text), text).hexdigest()[:16] + ".json")


def _stamp(engine: "Engine") -> "List[int]":
    """Changes when the engine was started again, or what it offers was."""
    sockets = [engine.address[len("unix://") :]] if engine.address.startswith("unix://") else []
    stamp = [int(os.path.exists(DRIVER))]
    for path in sockets + list(WATCHED):
        try:
            status = os.stat(path)
        except OSError:
            stamp += [0, 0]
        else:
            stamp += [status.st_ino, status.st_mtime_ns]
    return stamp
