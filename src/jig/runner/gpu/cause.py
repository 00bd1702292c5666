"""Why a run used no GPU though it was to: told from what its own interpreter says of its frameworks. Pure."""

from jig.runner.gpu import VISIBLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Tuple

DRIVER = "cuda"  # the answer of the driver itself, where there is no framework
# How a framework is told to use the GPU, and how a build of it that can is installed.
MOVES = {
    "torch": "move the model and each batch there: `model.to('cuda')`, `x.to('cuda')`",
    "tensorflow": "nothing in it may stand under `tf.device('CPU')`, or hide the GPU with `set_visible_devices`",
    "jax": "look for `jax_platform_name` or JAX_PLATFORMS set to cpu",
}
_FILE = "in conda_dependencies.yml, below pip: "
BUILDS = {
    "torch": _FILE + "`--extra-index-url https://download.pytorch.org/whl/cu126`, then `torch`",
    "tensorflow": _FILE + "`tensorflow[and-cuda]` (or `tensorflow-gpu` before 2.1)",
    "jax": _FILE + "`jax[cuda12]`",
}


# What needs no asking.
OTHERS = {
    "no gpu": ("the run asked for a GPU, and its machine has none that works", "`jig doctor` says why"),
    "idle": (
        "a process of the run held memory of a GPU, and next to nothing was computed there",
        "look whether batches are moved there too, and whether the script waits for its data",
    ),
}


def hidden(variables: "Dict[str, str]") -> str:
    """The value by which the run's variables hide every GPU; empty when they do not."""
    value = variables.get(VISIBLE)
    return VISIBLE + "=" + value if value is not None and value.strip() in ("", "-1", "NoDevFiles") else ""


def why(said: "Dict[str, Dict[str, Any]]", variables: "Dict[str, str]") -> "Tuple[str, str]":
    """The likely reason, and what to do. `said` is what `jig_gpu.py ask` found; empty when it could not be asked."""
    if hidden(variables):
        return "the run's variables hide every GPU: `%s`" % hidden(variables), "remove it from EnvironmentVariables"
    able = sorted(name for name in said if said[name]["devices"] and name != DRIVER)
    if able:
        moves = "; ".join(MOVES[name] for name in able)
        return "%s can use the GPU, and the script never put anything there" % _names(said, able), moves
    without = sorted(name for name in said if name != DRIVER and said[name]["version"] and not said[name]["built"])
    if without:
        fixes = "; ".join(BUILDS[name] for name in without)
        return "%s is built without CUDA: it can only compute on the CPU" % _names(said, without), fixes
    broken = sorted(name for name in said if name != DRIVER)
    if broken:
        name = broken[0]
        told = said[name]["error"] or "it sees no device"
        return "%s cannot use the GPU: %s" % (_names(said, [name]), told), "`jig doctor` says what does not fit"
    if said and said[DRIVER]["devices"]:
        reason = "none of torch, tensorflow and jax is installed for the run's Python"
        return reason, "name the one that the script uses in conda_dependencies.yml"
    if said:
        return "no program sees a GPU there: %s" % (said[DRIVER]["error"] or "the driver lists none"), "`jig doctor`"
    return "its interpreter could not be asked why", "`jig doctor` looks at driver and packages"


def _names(said: "Dict[str, Dict[str, Any]]", names: "Any") -> str:
    return " and ".join(" ".join(filter(None, (name, said[name]["version"]))) for name in names)
