"""The GPUs of this machine: who has them, what they do, and whether a run used them."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

NO_DRIVER = "there is no NVIDIA driver on this machine"  # the `error` of a look where there is nothing to repair
VISIBLE = "CUDA_VISIBLE_DEVICES"


def is_asked_for(plan: "Mapping[str, Any]") -> bool:
    """Whether somebody expects a run of this plan to use a GPU."""
    gpu, container = plan.get("gpu") or {}, plan.get("container") or {}
    return any(gpu.get(wish) for wish in ("want", "require", "warn_s", "stop_s")) or bool(container.get("gpus"))
