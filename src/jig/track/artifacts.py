"""Artifacts: files a script hands over as text or bytes, kept in the run's outputs folder."""

import os
from time import time

from jig.track.place import outputs_dir, say_once, say_outside


def upload(path: str, content: "str | bytes | bytearray | memoryview") -> None:
    """Keep `content` as the file `path` of the outputs folder, whole or not at all; an older one is replaced.

    Raises ValueError for a path that leaves the folder and TypeError for content that is not text or bytes. A disk
    that is full or refuses is told on stderr and not raised. Outside a run it does nothing, once saying so.
    """
    inside = _inside(path)
    if isinstance(content, str):
        data = content.encode("utf-8", "backslashreplace")
    elif isinstance(content, (bytes, bytearray, memoryview)):
        data = bytes(content)
    else:
        raise TypeError("the content of {!r} must be text or bytes; found {}".format(path, type(content).__name__))
    folder = outputs_dir()
    if folder is None:
        say_outside()
        return
    try:
        _write(os.path.join(folder, inside), data)
    except OSError as error:
        say_once("artifact " + inside, "ARTIFACT LOST: {}: {}; the script goes on".format(inside, error.strerror))


def _inside(path: str) -> str:
    """The path below the outputs folder; one that is absolute or climbs out is an error."""
    found = os.path.normpath(path)
    parts = found.split(os.sep)
    if os.path.isabs(found) or os.path.splitdrive(found)[0] or parts[0] == os.pardir:
        raise ValueError("an artifact is named by its path inside outputs/; {!r} leads out of it".format(path))
    if parts[0] == "outputs":
        del parts[0]
    if not parts or parts == [os.curdir] or path[-1:] in (os.sep, os.altsep):
        raise ValueError("an artifact needs a file name; {!r} names a folder".format(path))
    return os.path.join(*parts)


def _write(path: str, data: bytes) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    # Written aside and renamed, so that whoever looks meanwhile never finds half a file.
    aside = os.path.join(folder, ".jig-{}-{:.9f}.part".format(os.getpid(), time()))
    try:
        with open(aside, "xb") as file:
            file.write(data)
        os.replace(aside, path)
    except OSError:
        if os.path.lexists(aside):
            os.remove(aside)
        raise
