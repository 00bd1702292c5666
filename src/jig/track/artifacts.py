"""Artifacts: files a script hands over as text or bytes, kept in the run's outputs folder."""

import os
from time import time

from jig.track.place import outputs_dir, say_once, say_outside

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_LONGEST_PART = 60
_DEEPEST = 4
_MOST_NUMBERS = 1000

_numbers = {}  # type: dict[str, int]


def upload(path: str, content: "str | bytes | bytearray | memoryview") -> None:
    """Keep `content` as the file `path` of the outputs folder, whole or not at all; an older one is replaced.

    Raises ValueError for a path that leaves the folder, or that no file can have, and TypeError for content that is
    not text or bytes. A disk that is full or refuses is told on stderr and not raised. Outside a run it does nothing,
    once saying so.
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


def keep_new(folder: str, name: str, ending: str, data: bytes) -> "str | None":
    """Keep the bytes as a new file, numbered by the name, of a folder of the outputs; outside a run nothing is done.

    The path from the script's working folder. Raises OSError: the caller knows what is lost.
    """
    outputs = outputs_dir()
    if outputs is None:
        say_outside()
        return None
    start = os.path.join(folder, _file_name(name))
    os.makedirs(os.path.dirname(os.path.join(outputs, start)), exist_ok=True)
    while True:
        if len(_numbers) >= _MOST_NUMBERS:
            _numbers.clear()
        _numbers[start] = _numbers.get(start, 0) + 1
        inside = "{}-{}.{}".format(start, _numbers[start], ending)
        try:
            # Reserved first: other processes of the run, and earlier ones, number theirs in the same way.
            os.close(os.open(os.path.join(outputs, inside), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            continue
        _write(os.path.join(outputs, inside), data)
        return "outputs/" + inside.replace(os.sep, "/")


def _file_name(name: str) -> str:
    """The name as a path that every file system takes; where that changed it, with a word that tells it from others."""
    parts = [
        "".join([c if c in _PLAIN else "_" for c in part]).strip(".")[:_LONGEST_PART] or "_" for part in name.split("/")
    ]
    path = os.path.join(*parts[-_DEEPEST:])
    if "/".join(parts[-_DEEPEST:]) == name:
        return path
    import zlib

    return "{}-{:08x}".format(path, zlib.crc32(name.encode("utf-8", "backslashreplace")) & 0xFFFFFFFF)


def _inside(path: str) -> str:
    """The path below the outputs folder; one that is absolute or climbs out is an error."""
    if hasattr(path, "__fspath__"):
        path = path.__fspath__()
    try:
        os.fsencode(path)
        impossible = "\0" in path
    except UnicodeEncodeError:
        impossible = True
    if impossible:
        raise ValueError("no file can have the name {!r}".format(path))
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
    except BaseException:  # Ctrl-C too
        if os.path.lexists(aside):
            os.remove(aside)
        raise
