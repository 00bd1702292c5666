"""CUDA that is newer than the machine's driver serves."""

from __future__ import annotations

import re

from jig.environments.check import ERROR, Remark
from jig.environments.check.versions import numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jig.environments.check.aim import Aim
    from jig.environments.check.lines import Content, Line, Option
    from jig.environments.check.versions import Numbers

# NVIDIA's release notes: CUDA from this version on needs this driver on Linux; from 11 on, the same for a whole major.
OLDEST_DRIVER = (
    ((7, 0), "346.46"),
    ((7, 5), "352.31"),
    ((8, 0), "367.48"),
    ((9, 0), "384.81"),
    ((9, 1), "390.46"),
    ((9, 2), "396.26"),
    ((10, 0), "410.48"),
    ((10, 1), "418.39"),
    ((10, 2), "440.33"),
    ((11, 0), "450.36.06"),
    ((11, 1), "450.80.02"),
    ((12, 0), "525.60.13"),
    ((13, 0), "580.65.06"),
)
_TOOLKITS = ("cuda", "cuda-toolkit", "cuda-version", "cudatoolkit", "pytorch-cuda")
_FROM = ("=", "==", ">=", "~=", ">")
_IN_BUILD = re.compile(r"cuda_?(\d{1,4}(?:\.\d{1,4})?)")
_IN_PIP = re.compile(r"\+cu(\d{1,4})$")
_IN_INDEX = re.compile(r"/whl/(?:nightly/)?cu(\d{1,4})(?:/|$)")


def remarks(content: Content, aim: Aim) -> Iterator[Remark]:
    """Every line that asks for CUDA which the driver cannot serve."""
    driver = numbers(aim.driver)
    # `cuda-compat` is NVIDIA's way to run newer CUDA on an older driver.
    if driver is None or aim.system != "linux" or content.named("cuda-compat"):
        return
    found = [(line.number, line.text, asked(line)) for line in content.lines if not line.has_marker]
    found += [(option.number, option.text, of_index(option)) for option in content.options]
    for number, text, version in found:
        needed = next((oldest for first, oldest in reversed(OLDEST_DRIVER) if version and version >= first), "")
        if version and needed and driver < (numbers(needed) or ()):
            cuda = f"CUDA {version[0]}.{version[1]}"
            message = f"`{text}` brings {cuda}, which needs driver {needed}; the target `{aim.name}` has {aim.driver}"
            yield Remark(ERROR, number, message, _fix(driver))


def _fix(driver: Numbers) -> str:
    served = [first for first, oldest in OLDEST_DRIVER if (numbers(oldest) or ()) <= driver]
    if not served:
        return "update the driver"
    major, minor = served[-1]
    return f"ask for CUDA {major if major > 10 else f'{major}.{minor}'} or older, or update the driver"


def of_index(option: Option) -> Numbers | None:
    """The CUDA of the builds that an index of PyTorch's holds."""
    found = _IN_INDEX.search(option.text)
    return _read(found[1]) if found else None


def asked(line: Line) -> Numbers | None:
    """The oldest CUDA that the line is content with."""
    if line.is_pip:
        found = _IN_PIP.search((line.clauses or ())[0].version) if line.clauses else None
        return _read(found[1]) if found else None
    if line.name in _TOOLKITS:
        lowest = [clause.version.removesuffix(".*") for clause in line.clauses or () if clause.operator in _FROM]
        return max(((*version, 0)[:2] for version in map(numbers, lowest) if version), default=None)
    found = _IN_BUILD.search(line.build)
    return _read(found[1]) if found else None


def _read(digits: str) -> Numbers:
    """(11, 8) of `118` or `11.8`, (9, 2) of `92`, (12, 0) of `12`."""
    if "." in digits or len(digits) < 2:
        return (*(numbers(digits) or (0,)), 0)[:2]
    whole = 2 if digits.startswith("1") else 1
    return int(digits[:whole]), int(digits[whole:] or 0)
