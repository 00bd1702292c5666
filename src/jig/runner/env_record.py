"""What a built environment really has, package by package: written down once, when it is built; each run gets a copy.

Looking it up is on the path of every run: nothing is imported here that takes time.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

HERE = "jig-packages.json"  # in the folder of an environment
IMAGE = "%s.packages.json"  # among the facts of images, for the environment in one
NAME = "environment.json"  # in the folder of a run


def of_folder(place: str) -> str:
    """Where the record of an environment in a folder lies."""
    return os.path.join(place, HERE)


def of_image(home: str, image_id: str) -> str:
    """Where the record of the environment in an image lies."""
    return os.path.join(home, "images", IMAGE % image_id.rpartition(":")[2])


def make(about: "Dict[str, Any]", platform: str, installed: "List[str]", records: "List[Dict[str, Any]]") -> str:
    """The record: what the builder noted, the pip packages as `name==version`, and the whole records of conda's."""
    import time

    from jig.runner.quick_json import dumps, dumps_lines

    found = dict(about, platform=platform, built=time.time(), pip=sorted(installed))
    text = dumps_lines(dict(found, conda=[]))
    if not records:
        return text
    rows = ",\n".join("  " + dumps(record) for record in records)  # one a line: they are long
    head, _, tail = text.rpartition('"conda": []')
    return '%s"conda": [\n%s\n ]%s' % (head, rows, tail)


def read(path: str) -> "Dict[str, Any]":
    """The record; empty when there is none, or it is torn."""
    from jig.runner.quick_json import loads

    try:
        with open(path, "rb") as file:
            found = loads(file.read())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write(path: str, text: str) -> None:
    """Put a record in its place, whole."""
    aside = "%s.%d" % (path, os.getpid())
    with open(aside, "w") as file:
        file.write(text)
    os.replace(aside, path)


def keep(path: str, folder: str) -> None:
    """Give a run its copy: a second name of the same file where that can be. One built by an older jig has none."""
    place = os.path.join(folder, NAME)
    try:
        os.link(path, place)
    except FileNotFoundError:
        return
    except OSError:  # another disk, or one without links
        with open(path) as file:
            write(place, file.read())
