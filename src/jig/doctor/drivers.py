"""Which CUDA a driver serves: its own, all before it, and newer ones of the same major version.

From NVIDIA's release notes of the CUDA toolkit, for Linux.
"""

from __future__ import annotations

from jig.environments.check.cuda import OLDEST_DRIVER
from jig.environments.check.versions import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Cuda = tuple[int, int]

# The driver that each toolkit came with: from it on, everything of that CUDA works.
OWN_DRIVER = (
    *(entry for entry in OLDEST_DRIVER if entry[0] < (11, 1)),
    ((11, 1), "455.23"),
    ((11, 2), "460.27.03"),
    ((11, 3), "465.19.01"),
    ((11, 4), "470.42.01"),
    ((11, 5), "495.29.05"),
    ((11, 6), "510.39.01"),
    ((11, 7), "515.43.04"),
    ((11, 8), "520.61.05"),
    ((12, 0), "525.60.13"),
    ((12, 1), "530.30.02"),
    ((12, 2), "535.54.03"),
    ((12, 3), "545.23.06"),
    ((12, 4), "550.54.14"),
    ((12, 5), "555.42.02"),
    ((12, 6), "560.28.03"),
    ((12, 8), "570.26"),
    ((12, 9), "575.51.03"),
    ((13, 0), "580.65.06"),
    ((13, 1), "590.44.01"),
)
MINOR_FROM = 11  # the first major version within which older drivers serve newer CUDA
FULL, MINOR, TOO_OLD = "full", "minor", "too old"


def served(look: dict[str, Any]) -> Cuda | None:
    """The newest CUDA that is the driver's own; None when there is no driver that says."""
    own = parsed(look.get("cuda") or "")
    driver = numbers(look.get("driver") or "")
    if own is None and driver is not None:
        own = next((cuda for cuda, oldest in reversed(OWN_DRIVER) if (numbers(oldest) or ()) <= driver), None)
    return own


def parsed(version: str) -> Cuda | None:
    """(12, 4) of `12.4.1`; None for what is no version."""
    found = numbers(version)
    return (found[0], found[1] if len(found) > 1 else 0) if found else None


def fit(wanted: Cuda, own: Cuda) -> str:
    """How a driver serves a build: FULL, MINOR (compiled code only, not PTX), or TOO_OLD."""
    if wanted <= own:
        return FULL
    return MINOR if wanted[0] == own[0] >= MINOR_FROM else TOO_OLD


def oldest(wanted: Cuda) -> str:
    """The oldest driver that serves a CUDA, if need be by minor-version compatibility."""
    return next((driver for cuda, driver in reversed(OLDEST_DRIVER) if cuda <= wanted), OLDEST_DRIVER[0][1])


def newest_served(own: Cuda) -> str:
    """What to ask for where the driver stays: `CUDA 12`, or before 11 an exact version."""
    return f"CUDA {own[0]}" if own[0] >= MINOR_FROM else f"CUDA {own[0]}.{own[1]}"
