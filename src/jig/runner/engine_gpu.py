"""How a container gets the GPUs of this machine: the way that this engine offers, found by trying each."""

import os

from jig.runner import engine_facts
from jig.runner.engine import Engine, probe_labels
from jig.runner.environment import find_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

PROBE_S = 120.0  # the first use of a driver that nobody keeps awake takes long where there are many GPUs
# What a machine with a driver has, and a container with a GPU: on most; inside WSL; on a small board.
NODES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvmap")
NOTHING = "the engine accepted it, and the container had no GPU"


class Way:
    """What to start a container with so that it has the GPUs."""

    __slots__ = ("environ", "name", "options", "program")

    def __init__(
        self,
        name: str,
        options: "List[str]",
        program: "Optional[List[str]]" = None,
        environ: "Optional[Dict[str, str]]" = None,
    ) -> None:
        self.name = name  # cdi, gpus, runtime or nvidia-docker
        self.options = options  # of `docker run` and `docker create`
        self.program = program  # to start instead of the engine's own; None: that one
        self.environ = environ or {}  # of the program


def choose(engine: Engine, home: str, wanted: "Union[str, int]", devices: "Sequence[str]" = ()) -> Way:
    """The way that gives a container `all` GPUs, or so many of them; `devices` says which, by number or UUID.

    It is tried once and then kept with the engine's facts. Raises EngineFailed, code gpu, which names what is missing.
    """
    chosen = list(devices) or (["all"] if wanted == "all" else [str(number) for number in range(int(wanted))])
    name = ",".join(chosen)
    kept = engine_facts.recall(engine, home)
    for way in ways(engine, chosen):
        if way.name == kept.get("gpu", {}).get(name):
            return way
    facts = engine_facts.facts(engine, home, renew=True)  # somebody may just have repaired what was missing
    way = _try_all(engine, home, facts, chosen)
    engine_facts.keep(engine, home, facts, dict(kept.get("gpu", {}), **{name: way.name}))
    return way


def forget(engine: Engine, home: str) -> None:
    """Try again next time: what was kept did not work."""
    kept = engine_facts.recall(engine, home)
    if kept.get("gpu"):
        engine_facts.keep(engine, home, kept["facts"], {})


def ways(engine: Engine, chosen: "Sequence[str]") -> "List[Way]":
    """Every way there is to give a container these GPUs, the best first."""
    names = ",".join(chosen)
    # Without the first a container has, silently, no GPU; without the second older toolkits give it nothing to compute.
    asked = ["-e", "NVIDIA_VISIBLE_DEVICES=" + names, "-e", "NVIDIA_DRIVER_CAPABILITIES=all"]
    found = [
        Way("cdi", [word for name in chosen for word in ("--device", "nvidia.com/gpu=" + name)]),
        Way("gpus", ["--gpus", "all" if names == "all" else '"device=%s"' % names]),  # docker reads it as a line of CSV
        Way("runtime", ["--runtime=nvidia"] + asked),
    ]
    if find_program("nvidia-docker", os.environ.get("PATH", os.defpath)):
        program, environ = ["nvidia-docker"], {} if names == "all" else {"NV_GPU": names}
        if engine.program[0] == "sudo":  # which hands on only what it is told to
            program = ["sudo", "-n"] + ["%s=%s" % pair for pair in environ.items()] + program + engine.program[3:]
            environ = {}
        found.append(Way("nvidia-docker", asked, program, environ))
    return found


def _try_all(engine: Engine, home: str, facts: "Dict[str, Any]", chosen: "Sequence[str]") -> Way:
    from jig.runner import engine_trial

    refused: "List[Tuple[str, str]]" = []
    offered = {"cdi": facts["cdi"], "runtime": "nvidia" in facts["runtimes"]}
    with engine_trial.probe_image(engine, home) as image:
        for way in ways(engine, chosen):
            said = _try(engine, home, facts, way, image) if offered.get(way.name, True) else "not offered"
            if not said:
                return way
            refused.append((way.name, said))
    from jig.runner import engine_gpu_lacks

    raise engine_gpu_lacks.explain(engine, facts, chosen, refused)


def _try(engine: Engine, home: str, facts: "Dict[str, Any]", way: Way, image: str) -> str:
    """Empty when a container started this way has a GPU, as far as that can be told; else what was said.

    A device is no program: the refusal to execute it proves that it is there.
    """
    here = [node for node in NODES if is_here(engine, facts) and os.path.exists(node)]
    node = (here or NODES)[0]
    starter = Engine(way.program or engine.program, engine.address, dict(engine.environ, **way.environ))
    words = ["run", "--rm", "--network", "none"] + probe_labels(home) + way.options
    said = starter.call(*(words + [image, node]), timeout_s=PROBE_S)
    text = said.err.lower().replace("\\", "")
    if "ldcache error" in text:  # comes after the devices, and is about the libraries of an image, which this has not
        return ""
    # As runc and crun say it. Only then did everything before it succeed.
    tried = any(form % node.lower() in text for form in ('exec: "%s": ', "executable file `%s` not found"))
    if "open executable: permission denied" in text or tried and "permission denied" in text:
        return ""
    if tried and not here:  # the device is elsewhere, or this kind of GPU has none of that name
        return ""
    return NOTHING if tried else said.err or "docker ended with %d" % said.code


def is_here(engine: Engine, facts: "Dict[str, Any]") -> bool:
    """Whether the engine's machine is this one, so that looking around here tells of it."""
    return engine.address.startswith("unix://") and bool(facts["sees"])
