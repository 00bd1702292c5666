"""Names of run configurations and compute targets, and the names of projects."""

from __future__ import annotations

import os

from jig.errors import Fault, ProjectError, UsageError, nearest

FOLDER = "aml_config"
RUN_SUFFIX = ".runconfig"
COMPUTE_SUFFIX = ".compute"
NAME_LIMIT = 64


def is_name(name: str) -> bool:
    """Whether the text may name a file of the project: never a path, an option or a hidden file."""
    return bool(name) and name[0] not in ".-" and all(letter.isalnum() or letter in "_-." for letter in name)


def check(noun: str, name: str) -> None:
    """Raises UsageError unless the text is a name."""
    if not is_name(name):
        raise UsageError(
            f"{name!r} cannot be the name of a {noun}: only letters, digits, `_`, `-` and `.`, not first `-` or `.`",
            f"give the name of a file in {FOLDER}/, without folder and extension",
        )


def listed(root: str, suffix: str) -> tuple[str, ...]:
    """The names that have a file with this suffix, sorted."""
    folder = os.path.join(root, FOLDER)
    try:
        found = [entry.name.removesuffix(suffix) for entry in os.scandir(folder) if entry.name.endswith(suffix)]
    except OSError as error:
        raise ProjectError([Fault(FOLDER, 0, "", f"could not be listed: {error.strerror}")]) from error
    return tuple(sorted(name for name in found if is_name(name)))


def missing(noun: str, name: str, existing: tuple[str, ...]) -> UsageError:
    """The error for a name that has no file: what exists, and which one was probably meant."""
    here = "this project has " + ", ".join(existing) if existing else "this project has none"
    stem = name.removesuffix(RUN_SUFFIX).removesuffix(COMPUTE_SUFFIX)
    near = stem if stem in existing else nearest(name, existing)
    suffix = COMPUTE_SUFFIX if noun == "compute target" else RUN_SUFFIX
    advice = f"did you mean `{near}`?" if near else f"it would be the file {FOLDER}/{name}{suffix}"
    if not near and suffix == RUN_SUFFIX:
        advice += f"; `jig computetarget attach remote -n {name} -a HOST -u USER` writes it for a machine over SSH"
    return UsageError(f"there is no {noun} `{name}`; {here}", advice)


def project_name(root: str) -> str:
    """The folder's name reduced to letters, digits and dashes: a safe start for run ids."""
    folder = os.path.basename(root)
    words = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in folder).split()
    return "-".join(words)[:NAME_LIMIT].strip("-") or "project"
