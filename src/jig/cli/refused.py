"""What the system refuses is no bug of jig: a folder that may not be written, a disk that fails. Told with its fix."""

from __future__ import annotations

import errno
import os

from jig.errors import JigError
from jig.runner.folder import default_home

REFUSALS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EIO, errno.ELOOP, errno.ESTALE)


def failure(error: OSError) -> JigError | None:
    """The error to show; None where it is none of these, or names no file."""
    try:
        os.getcwd()
    except OSError as gone:
        return JigError(
            f"the current folder cannot be used: {gone.strerror}", "it may have been removed: cd to another"
        )
    if error.errno not in REFUSALS or not isinstance(error.filename, (str, bytes)):
        return None
    path, home = os.path.abspath(os.fsdecode(error.filename)), default_home()
    if _within(path, home) or _within(home, path):
        return JigError(
            f"the jig home {home} cannot be used: {path}: {error.strerror}",
            "make it a folder that is yours and can be written, or name another one:  export JIG_HOME=FOLDER",
        )
    if error.errno == errno.EEXIST:  # anywhere else it is a question of who was first, and ours to answer
        return None
    return JigError(f"{path}: {error.strerror}", "see whose it is, and whether its disk can be written:  ls -ld, df")


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
