"""What released builds of frameworks contain: the CUDA they are made with, and the GPUs they have code for.

PyTorch: its build scripts, for Linux on x86-64. A build that is installed tells better, and is asked first.
"""

from __future__ import annotations

from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.doctor.drivers import Cuda

    Capability = tuple[int, int]

_FIVE_TO_NINE = "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90"
_BLACKWELL = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"


class Release(Value):
    """A build of PyTorch."""

    version: tuple[int, int]
    cuda: Cuda
    arches: str

    @property
    def url(self) -> str:
        """Where pip finds it."""
        return f"https://download.pytorch.org/whl/cu{self.cuda[0]}{self.cuda[1]}"


# The newest first; of each version first the one that PyPI has.
TORCH = (
    Release((2, 11), (13, 0), _BLACKWELL),
    Release((2, 10), (12, 8), f"sm_70 {_BLACKWELL}"),
    Release((2, 10), (12, 6), _FIVE_TO_NINE),
    Release((2, 10), (13, 0), _BLACKWELL),
    Release((2, 9), (12, 8), f"sm_70 {_BLACKWELL}"),
    Release((2, 9), (12, 6), _FIVE_TO_NINE),
    Release((2, 9), (13, 0), f"{_BLACKWELL} compute_120"),
    Release((2, 8), (12, 8), f"sm_70 {_BLACKWELL}"),
    Release((2, 8), (12, 6), _FIVE_TO_NINE),
    Release((2, 8), (12, 9), f"sm_70 {_BLACKWELL} compute_120"),
    Release((2, 7), (12, 6), _FIVE_TO_NINE),
    Release((2, 7), (12, 8), f"{_BLACKWELL} compute_120"),
    Release((2, 7), (11, 8), f"sm_37 {_FIVE_TO_NINE}"),
    Release((2, 6), (12, 4), _FIVE_TO_NINE),
    Release((2, 6), (12, 6), _FIVE_TO_NINE),
    Release((2, 6), (11, 8), f"sm_37 {_FIVE_TO_NINE}"),
    Release((2, 5), (12, 4), _FIVE_TO_NINE),
    Release((2, 5), (12, 1), _FIVE_TO_NINE),
    Release((2, 5), (11, 8), f"sm_37 {_FIVE_TO_NINE}"),
    Release((2, 4), (12, 1), _FIVE_TO_NINE),
    Release((2, 4), (12, 4), _FIVE_TO_NINE),
    Release((2, 4), (11, 8), f"sm_37 {_FIVE_TO_NINE}"),
    *(
        Release((2, minor), cuda, arches)
        for minor in (3, 2, 1)
        for cuda, arches in (((12, 1), _FIVE_TO_NINE), ((11, 8), f"sm_37 {_FIVE_TO_NINE}"))
    ),
    Release((2, 0), (11, 7), "sm_37 sm_50 sm_60 sm_70 sm_75 sm_80 sm_86"),
    Release((2, 0), (11, 8), f"sm_37 {_FIVE_TO_NINE}"),
    Release((1, 13), (11, 7), "sm_37 sm_50 sm_60 sm_70 sm_75 sm_80 sm_86"),
    Release((1, 12), (10, 2), "sm_37 sm_50 sm_60 sm_70"),
    Release((1, 12), (11, 3), "sm_37 sm_50 sm_60 sm_70 sm_75 sm_80 sm_86"),
)
# TensorFlow from this version on: the CUDA that its wheels are made with.
TENSORFLOW = (
    ((1, 3), "8.0"),
    ((1, 5), "9.0"),
    ((1, 13), "10.0"),
    ((2, 1), "10.1"),
    ((2, 4), "11.0"),
    ((2, 5), "11.2"),
    ((2, 12), "11.8"),
    ((2, 15), "12.2"),
    ((2, 16), "12.3"),
    ((2, 18), "12.5"),
)


def runs_on(arches: tuple[str, ...], here: Capability, ptx: bool) -> bool:
    """Whether a build has code for a GPU: compiled for its major version, or (`ptx`) to be compiled by the driver."""
    for arch in arches:
        kind, _, digits = arch.partition("_")
        number = digits.rstrip("af")
        made_for = int(number[:-1]), int(number[-1])
        if kind == "compute" and ptx and made_for <= here:
            return True
        exact = digits.endswith("a")  # this one GPU and no other
        if kind == "sm" and (made_for == here if exact else made_for[0] == here[0] and made_for <= here):
            return True
    return False
