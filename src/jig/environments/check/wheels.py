"""Wheels by URL: what their file names say of the system, the Python and the C library that they are made for."""

from __future__ import annotations

import re

from jig.environments.check import ERROR, WARNING, Remark
from jig.environments.check.aim import SYSTEMS
from jig.environments.check.python import named, series
from jig.environments.check.versions import numbers
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jig.environments.check.aim import Aim
    from jig.environments.check.lines import Content, Line
    from jig.environments.check.python import Series

CNTK = "write `cntk-gpu==2.7.post2`: PyPI has this last version, for Python 2.7, 3.5 and 3.6"
_ONE_BIT = re.compile(r"/[^/]*1-?bit-?sgd[^/]*/", re.IGNORECASE)
_LICENCE = "https://docs.microsoft.com/cognitive-toolkit/cntk-1bit-sgd-license"
_PLATFORM = re.compile(
    r"(?P<system>win|linux|macosx|musllinux|manylinux)(?P<old>1|2010|2014)?"
    r"(?:_(?P<major>\d{1,4})_(?P<minor>\d{1,4}))?_?(?P<machine>\w+)"
)
_SYSTEM_OF = {"macosx": "darwin", "win": "win32"}
_GLIBC_OF = {"1": (2, 5), "2010": (2, 12), "2014": (2, 17)}
_MACHINES_OF = {
    "32": ("i686",),
    "amd64": ("x86_64",),
    "arm64": ("aarch64",),
    "intel": ("i686", "x86_64"),
    "universal2": ("aarch64", "x86_64"),
}
_PYTHON = re.compile(r"(cp|py)(\d)(\d{0,4})")


class Platform(Value):
    """One of the platforms that a wheel is made for."""

    system: str
    machines: tuple[str, ...]
    glibc: tuple[int, ...] = ()  # the oldest that will do
    is_musl: bool = False


def remarks(content: Content, aim: Aim) -> Iterator[Remark]:
    """Wheels that cannot be installed there, and one whose licence a person should know of."""
    pythons = series(content)
    for line in content.lines:
        if line.url and _ONE_BIT.search(line.shown_url):
            message = f"`{line.file}` holds 1-bit SGD, whose licence is stricter than CNTK's own: {_LICENCE}"
            fix = (
                "PyTorch saves the same traffic without it: DistributedDataParallel with a hook of "
                "`torch.distributed.algorithms.ddp_comm_hooks`, such as `powerSGD_hook`"
            )
            yield Remark(WARNING, line.number, message, fix)
        # A condition after the URL may keep the wheel for the system that it is made for.
        if line.file.lower().endswith(".whl") and not line.has_marker:
            yield from _misfits(line, aim, pythons)


def _misfits(line: Line, aim: Aim, pythons: tuple[Series, ...]) -> Iterator[Remark]:
    tags = line.file[: -len(".whl")].split("-")[-3:]
    if len(tags) < 3:
        message = f"`{line.file}` does not name its Python and its system, as the name of a wheel must"
        yield Remark(ERROR, line.number, message, "give the file its whole name, as it was when it was made")
        return
    platforms = [_platform(tag) for tag in tags[2].split(".")]
    known = [platform for platform in platforms if platform]
    if len(known) == len(platforms):
        problem, fix = _wrong_platform(known, aim)
        if problem:
            fix = CNTK if line.name == "cntk" and aim.machine in ("", "x86_64") else fix
            yield Remark(ERROR, line.number, f"`{line.file}` {problem}", fix)
    if pythons and not any(_runs(tag, tags[1], one) for tag in tags[0].split(".") for one in pythons):
        message = (
            f"`{line.file}` is a wheel for {_versions(tags[0])}, and the file asks for Python {named(pythons[-1])}"
        )
        fix = f"name the wheel for it, with `cp{pythons[-1][0]}{pythons[-1][1]}` in its name, or ask for another Python"
        yield Remark(ERROR, line.number, message, fix)


def _platform(tag: str) -> Platform | None:
    """What a platform tag says; None for `any` and for one that is not known here."""
    found = _PLATFORM.fullmatch(tag.lower())
    if found is None:
        return None
    glibc = _GLIBC_OF.get(found["old"], ())
    if found["system"] == "manylinux" and found["major"]:
        glibc = (int(found["major"]), int(found["minor"]))
    machines = _MACHINES_OF.get(found["machine"], (found["machine"],))
    return Platform(_SYSTEM_OF.get(found["system"], "linux"), machines, glibc, found["system"] == "musllinux")


def _wrong_platform(platforms: list[Platform], aim: Aim) -> tuple[str, str]:
    """What is wrong with the wheel and what to do, both empty when it fits as far as is known."""
    here = aim.system_name
    fitting = [platform for platform in platforms if aim.system in ("", platform.system)]
    if not fitting:
        what = " and ".join(sorted({SYSTEMS[platform.system] for platform in platforms}))
        return f"is a wheel for {what}, and the target `{aim.name}` runs {here}", f"name the wheel for {here}"
    fitting = [platform for platform in fitting if not aim.machine or aim.machine in platform.machines]
    if not fitting:
        what = " and ".join(sorted({machine for platform in platforms for machine in platform.machines}))
        problem = f"is a wheel for {what} processors, and the target `{aim.name}` has {aim.machine}"
        return problem, f"name the wheel for {aim.machine}"
    glibc = numbers(aim.glibc)
    if glibc is None or any(not platform.is_musl and platform.glibc <= glibc for platform in fitting):
        return "", ""
    needed = min((platform.glibc for platform in fitting if not platform.is_musl), default=None)
    what = "is a wheel for the C library musl" if needed is None else f"needs glibc {needed[0]}.{needed[1]}"
    return f"{what}, and the target `{aim.name}` has glibc {aim.glibc}", f"name a wheel for glibc {aim.glibc} or older"


def _runs(tag: str, abi: str, one: Series) -> bool:
    """Whether a wheel with this tag can be installed into that Python."""
    found = _PYTHON.fullmatch(tag)
    if found is None:
        return True
    major, minor = int(found[2]), int(found[3] or 0)
    if found[1] == "py" or "abi3" in abi.split("."):
        return one[0] == major and one[1] >= minor
    return one == (major, minor)


def _versions(tag: str) -> str:
    found = [_PYTHON.fullmatch(part) for part in tag.split(".")]
    return "Python " + " and ".join(f"{one[2]}.{one[3]}".rstrip(".") for one in found if one)
