"""The compiled codec: made by the C compiler that is there, once for each computer, and kept in the user's cache."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "codec.c")
# The order of float operations is the codec's meaning: nothing may be contracted.
EXACT = ("-ffp-contract=off", "-fno-strict-aliasing", "-shared", "-fPIC")
SPEEDS = (("-O3", "-march=native"), ("-O3",))
LIMIT_S = 60


def library() -> ctypes.CDLL | None:
    """The compiled codec, or None. `ONEBIT_CODEC=torch` in the environment is a wish to go without."""
    if os.environ.get("ONEBIT_CODEC") == "torch":
        return None
    try:
        with open(SOURCE, "rb") as file:
            source = file.read()
    except OSError:  # imported from an archive, say
        return None
    name, folder = _name(source), _cache()
    if folder and (kept := _load(os.path.join(folder, name))):
        return kept
    try:
        with tempfile.TemporaryDirectory(prefix=".onebit-", dir=folder, ignore_cleanup_errors=True) as aside:
            for words in _commands():
                made = os.path.join(aside, name)
                if _compile((*words, "-o", made, SOURCE)) and (loaded := _load(made)):
                    if folder:  # whole or not at all: other ranks do the same at this moment
                        os.replace(made, os.path.join(folder, name))
                    return loaded
    except OSError:  # a full disk
        return None
    return None


def _commands() -> Iterator[tuple[str, ...]]:
    given = os.environ.get("CC", "").split()
    for compiler in filter(None, (given, ["cc"], ["gcc"], ["clang"])):
        if shutil.which(compiler[0]):
            for speed in SPEEDS:
                yield (*compiler, *speed, *EXACT)


def _compile(words: tuple[str, ...]) -> bool:
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _name(source: bytes) -> str:
    """A home may be shared by computers whose processors differ: what one can run, another may not."""
    digest = hashlib.sha256(source)
    digest.update("\0".join((*EXACT, platform.system(), platform.machine(), _processor())).encode())
    return f"codec-{digest.hexdigest()[:24]}.so"


def _processor() -> str:
    """What this computer's processor can do."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = [line for line in file if line.partition(":")[0].strip() in ("model name", "flags", "Features")]
    except OSError:
        return platform.processor()
    return "".join(sorted(set(lines)))


def _cache() -> str | None:
    """A folder that nobody else can write to, if there can be one."""
    if sys.platform == "win32":  # owners are another matter there
        return None
    folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "onebit")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        folder = os.path.realpath(folder)  # what is checked is what is used, wherever a link leads tomorrow
        status = os.lstat(folder)
        private = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022
        return folder if private and _stays(folder, os.getuid()) else None
    except OSError:
        return None


def _stays(folder: str, owner: int) -> bool:
    """Whether nobody else can put another folder in its place."""
    while folder != (folder := os.path.dirname(folder)):
        status = os.lstat(folder)
        open_to_others = status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX
        if open_to_others or status.st_uid not in (0, owner):
            return False
    return True


def _load(path: str) -> ctypes.CDLL | None:
    if not os.path.isfile(path):
        return None
    try:
        loaded = ctypes.CDLL(path)
        whole, pointer, single = ctypes.c_int64, ctypes.c_void_p, ctypes.c_float
        run = (pointer, pointer, whole, ctypes.c_int)  # words, means, elements, block
        loaded.onebit_encode.argtypes = (pointer, pointer, single, pointer, *run)
        loaded.onebit_average.argtypes = (pointer, pointer, whole, ctypes.c_int, single, pointer, single, *run)
        loaded.onebit_decode.argtypes = (pointer, pointer, pointer, whole, ctypes.c_int)
        loaded.onebit_average.restype = loaded.onebit_decode.restype = None
    except (OSError, AttributeError):  # cut short, or for another kind of processor
        return None
    return loaded
