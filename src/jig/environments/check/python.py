"""The Python that the file asks for: whether there is such a one, and whether it still gets anything new."""

from __future__ import annotations

from jig.environments.check import ERROR, NOTE, WARNING, Remark
from jig.environments.check.versions import exact, numbers, satisfiable
from jig.environments.conda_packages import Clause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jig.environments.check.aim import Aim
    from jig.environments.check.lines import Content

    Series = tuple[int, int]

NEWEST = (3, 15)  # when this was written
_LAST_PATCH: dict[tuple[int, ...], int] = {(2, 7): 18, (3, 4): 10, (3, 5): 10, (3, 6): 15, (3, 7): 17, (3, 8): 20}
_ENDED = {(3, 4): "March 2019", (3, 5): "September 2020", (3, 6): "December 2021", (3, 7): "June 2023"}
_EVERY = tuple((major, minor) for major, last in ((2, 7), (3, 40), (4, 0)) for minor in range(last + 1))
_EXAMPLE = "write for example `python=3.11`"


def series(content: Content) -> tuple[Series, ...]:
    """The series (3.5, 3.6, …) that the file's `python` can be of; empty when it does not say."""
    clauses = _clauses(content)
    return tuple(one for one in _EVERY if clauses and satisfiable((*clauses, Clause("=", named(one)))))


def _clauses(content: Content) -> list[Clause]:
    return [clause for line in content.named("python") for clause in line.clauses or ()]


def named(one: Series) -> str:
    """`3.5`."""
    return f"{one[0]}.{one[1]}"


def remarks(content: Content, aim: Aim) -> Iterator[Remark]:
    """A Python that nobody has, and one that nobody makes anything for any more."""
    found = series(content)
    for line in content.named("python")[:1]:
        missing = _missing(content, aim, found)
        wanted = numbers(exact(line.clauses)) or ()
        last = _LAST_PATCH.get(wanted[:2]) if len(wanted) == 3 else None
        if missing:
            yield Remark(ERROR, line.number, f"`{line.text}`: {missing}", _EXAMPLE)
        elif last is not None and wanted[2] > last:
            bare = f"{wanted[0]}.{wanted[1]}"
            message = f"`{line.text}`: there is no such Python; the last {bare} is {bare}.{last}"
            yield Remark(ERROR, line.number, message, f"write `python={bare}`")
        elif _clauses(content) and satisfiable(_clauses(content)) and (not found or found[0] > NEWEST):
            message = f"`{line.text}`: the newest Python that this version of jig knows is {named(NEWEST)}"
            yield Remark(WARNING, line.number, message, _EXAMPLE)
        elif found and found[-1] < (3, 0):
            message = (
                "Python 2 ended in January 2020, and a script's `import jig` and `import azureml` need 3.5 or newer"
            )
            yield Remark(WARNING, line.number, message, _EXAMPLE + ", and bring the script's syntax up to it")
        elif found and found[-1] in _ENDED:
            message = f"Python {named(found[-1])} ended in {_ENDED[found[-1]]}: only old versions of packages fit it"
            yield Remark(NOTE, line.number, message, _EXAMPLE + " if the script allows it")


def _missing(content: Content, aim: Aim, found: tuple[Series, ...]) -> str:
    """Why no channel has the Python; empty where one may have it, which solving will tell."""
    if not found or not all(channel in ("conda-forge", "defaults", "nodefaults") for channel in content.channels):
        return ""
    if all(one < (2, 7) or (3, 0) <= one < (3, 4) for one in found):
        return "neither conda-forge nor uv has a Python that old"
    if aim.system == "darwin" and aim.machine == "aarch64" and found[-1] < (3, 8):
        return f"there is none for Macs with Apple's processors, where {named((3, 8))} is the oldest"
    return ""
