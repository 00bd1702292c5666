"""Sample projects: plain folders beside this file, copied as they are."""

from __future__ import annotations

import os

from jig.errors import JigError, UsageError, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_SUMMARIES = {
    "blank": "one script that logs one metric, and the files that say where it runs",
    "digits": "trains a small classifier on drawn digits in seconds; metrics, a model and an image come back",
    "digits-ddp": "trains on digits in several processes, with gradients packed to one bit a number; torch wanted",
    "spark-ml": "a pipeline of Spark's machine learning on generated points; loss, accuracy and a model come back",
    "spark-wordcount": "counts words with Spark, which comes with the environment; on a cluster too",
}


def names() -> tuple[str, ...]:
    """The names of the sample projects, sorted."""
    return tuple(sorted(_SUMMARIES))


def summary(name: str) -> str:
    """One line on what the sample project holds; UsageError when there is none of that name."""
    return _SUMMARIES[_known(name)]


def create(template: str, path: str) -> tuple[str, ...]:
    """Write the sample project into a folder that is new or empty, and return its files, relative, with `/`.

    The folder appears whole: the files are written aside, then renamed. UsageError when there is no such sample or
    something is already there; JigError when the files cannot be written.
    """
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), _known(template))
    files = tuple(sorted(_files(source)))
    path = os.path.abspath(path)
    try:
        if os.path.lexists(path):
            _fill(source, files, path)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _appear(source, files, path)
    except OSError as error:
        raise JigError(
            f"could not write the sample project {template!r} into {path}: {error.strerror or error}",
            "Name a folder that you may write to with --path.",
        ) from error
    return files


def _known(name: str) -> str:
    if name in _SUMMARIES:
        return name
    guess = nearest(name, _SUMMARIES)
    raise UsageError(
        f"there is no sample project {name!r}; there are: {', '.join(names())}",
        f"Did you mean {guess!r}?" if guess else "`jig project sample list` says what each one holds.",
    )


def _files(source: str) -> Iterator[str]:
    for folder, folders, files in os.walk(source):
        folders[:] = [name for name in folders if name != "__pycache__"]  # installers compile what they install
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), source).replace(os.sep, "/")


def _fill(source: str, files: tuple[str, ...], path: str) -> None:
    """Write into an existing folder without replacing it: a shell may be standing in it."""
    if not os.path.isdir(path):
        raise UsageError(f"{path} is not a folder", "Name a folder that is new or empty with --path.")
    found = sorted(os.listdir(path))
    if found:
        listed = ", ".join(found[:3]) + (", ..." if len(found) > 3 else "")
        raise UsageError(f"the folder {path} is not empty: {listed}", "Name a folder that is new or empty with --path.")
    aside = _copy_aside(source, files, path)
    try:
        for name in os.listdir(aside):
            os.rename(os.path.join(aside, name), os.path.join(path, name))
    finally:
        _remove(aside)


def _appear(source: str, files: tuple[str, ...], path: str) -> None:
    aside = _copy_aside(source, files, os.path.dirname(path))
    try:
        os.rename(aside, path)
    except OSError as error:
        _remove(aside)
        if os.path.lexists(path):
            raise UsageError(
                f"{path} was made by someone else meanwhile", "Name a folder that is new or empty with --path."
            ) from error
        raise


def _copy_aside(source: str, files: tuple[str, ...], parent: str) -> str:
    """A new folder in `parent` with copies of the files; nothing is left behind on failure."""
    from shutil import copyfile

    aside = os.path.join(parent, f".jig-{os.getpid()}-{os.urandom(4).hex()}")
    os.mkdir(aside)
    try:
        for name in files:
            copy = os.path.join(aside, *name.split("/"))
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            copyfile(os.path.join(source, *name.split("/")), copy)
    except OSError:
        _remove(aside)
        raise
    return aside


def _remove(folder: str) -> None:
    from shutil import rmtree

    rmtree(folder, ignore_errors=True)
