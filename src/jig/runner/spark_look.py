"""What a PySpark run would find on this machine: asked of the Python that it would have."""

import os
import sys

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict

    from jig.runner.folder import Home

LOOK_S = 20.0  # a Java may have to say its version


def look(home: "Home", environment: "Dict[str, Any]", orders: "Dict[str, Any]") -> "Dict[str, Any]":
    """The answer of `jig_spark.look`; an environment that is not built yet may bring what is not there."""
    from jig.runner import engine_call, env_store
    from jig.runner.environment import NotStarted, find, find_user_python
    from jig.runner.folder import runner_root
    from jig.runner.quick_json import dumps, loads

    brought = False
    if environment["kind"] == "user":
        python = find_user_python(environment["python"], os.environ.get("PATH", os.defpath))
    else:
        place = find(environment, home.path)
        python = os.path.join(place, env_store.PYTHON) if place else sys.executable
        brought = bool(orders["brought"]) and not place
    orders = dict(orders, brought=brought)
    # As it lies on a machine; this computer is asked by jig as it is installed.
    places = [os.path.join(runner_root(), place) for place in ("script", os.path.join("jig", "script"))]
    said = engine_call.run(
        [python, "-m", "jig_spark.look", dumps(orders)],
        dict(orders["variables"], PYTHONPATH=os.pathsep.join(places)),
        b"",
        LOOK_S,
    )
    if said is None or said[0]:
        why = "does not answer" if said is None else said[2].decode("utf-8", "replace").strip()[-300:]
        raise NotStarted("%s %s" % (python, why))
    return dict(loads(said[1].decode().splitlines()[-1]), brought=brought, master=orders["master"])
