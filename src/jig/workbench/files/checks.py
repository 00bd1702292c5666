"""The faults of a project file while it is being typed: found by what the command line reads it with."""

from __future__ import annotations

import os
import tempfile

from jig.errors import Fault, ProjectError
from jig.project import CONDA_FILE, SPARK_FILE, compute, dependencies, keys, names, runconfig

COMPUTE, RUN, CONDA, SPARK = "compute", "run", "conda", "spark"
KEYS = {COMPUTE: keys.COMPUTE, RUN: keys.RUN, CONDA: keys.CONDA, SPARK: keys.SPARK}


def kind(path: str) -> str | None:
    """What a file of the project is to jig, by its path from the project's folder; None for any other file."""
    folder, _, name = path.rpartition("/")
    if folder == names.FOLDER:
        for suffix, found in ((names.COMPUTE_SUFFIX, COMPUTE), (names.RUN_SUFFIX, RUN)):
            if name.endswith(suffix):
                return found
    found_by_name = {os.path.basename(CONDA_FILE): CONDA, os.path.basename(SPARK_FILE): SPARK}
    return found_by_name.get(name)


def faults(path: str, text: str) -> tuple[Fault, ...]:
    """All that the command line would find wrong with this text in the file at this path."""
    name = os.path.splitext(os.path.basename(path))[0]
    what = kind(path)
    if what is None:
        return ()
    # They read files; this one is for this user alone, and gone at once: a .compute file may hold a password.
    with tempfile.TemporaryDirectory(prefix="jig-") as folder:
        place = os.path.join(folder, "text")
        with open(place, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        try:
            if what == COMPUTE:
                compute.read(place, path, name, None, to_run=True)
            elif what == RUN:
                runconfig.read(place, path, name, None)
            elif what == CONDA:
                dependencies.read_conda(place, path, None)
            else:
                dependencies.read_spark(place, path, None)
        except ProjectError as error:
            return error.faults
    return ()
