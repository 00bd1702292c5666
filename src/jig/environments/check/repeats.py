"""Packages that stand in the file more than once, and versions that no version can be."""

from __future__ import annotations

from jig.environments.check import ERROR, WARNING, Remark
from jig.environments.check.versions import satisfiable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jig.environments.check.lines import Content, Line

# One project under two names: conda's and PyPI's.
SAME = {
    "matplotlib-base": "matplotlib",
    "msgpack-python": "msgpack",
    "opencv": "opencv-python",
    "py-opencv": "opencv-python",
    "py-xgboost": "xgboost",
    "pytables": "tables",
    "pytorch": "torch",
    "pytorch-gpu": "torch",
}


def remarks(content: Content) -> Iterator[Remark]:
    """Repeated, contradicting and impossible versions."""
    first: dict[str, Line] = {}
    for line in content.lines:
        if not satisfiable(line.clauses or ()):
            yield Remark(ERROR, line.number, f"no version can be `{line.text}`", "widen the versions")
        name = SAME.get(line.name, line.name) if not line.is_pip else line.name
        if not name or line.has_marker:  # conditions may tell two lines apart
            continue
        if name in first:
            yield _again(first[name], line)
        first.setdefault(name, line)


def _again(earlier: Line, line: Line) -> Remark:
    before = f"`{_shown(earlier)}` on line {earlier.number}"
    if _contradict(earlier, line):
        message = f"`{_shown(line)}` contradicts {before}"
        return Remark(ERROR, line.number, message, "keep one of the two lines")
    if earlier.is_pip != line.is_pip:
        message = f"`{_shown(line)}` comes from pip, over what {before} has conda install"
        return Remark(WARNING, line.number, message, "keep one of the two lines")
    return Remark(
        WARNING, line.number, f"`{_shown(line)}` stands here again, after {before}", "keep one of the two lines"
    )


def _shown(line: Line) -> str:
    return line.file if line.url and line.file else line.text


def _contradict(earlier: Line, line: Line) -> bool:
    if earlier.url and line.url:
        return earlier.url != line.url
    both = (*(earlier.clauses or ()), *(line.clauses or ()))
    builds = {clause.version.partition("+")[2] for clause in both if "+" in clause.version}
    return len(builds) > 1 or not satisfiable(both)
