"""Giving ssh one secret without a file, an argument or a variable holding it: through a FIFO in a private folder."""

from __future__ import annotations

import contextlib
import os
import sys

from jig.errors import MachineError
from jig.runner.folder import default_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN_BYTES = 100  # of a key's path, when ssh asks for its passphrase
# `read` and `printf` are the shell's own: the secret is in no process's arguments.
# The question must begin as ssh begins it for our login, or for our key: what follows, a server may have written.
# The FIFO is renamed first, so that the secret is given once and a second question is refused.
SCRIPT = """#!/bin/sh
case "$1" in
    "$JIG_ASKPASS_FOR's password:"* | "($JIG_ASKPASS_FOR) "* | "Enter passphrase for key '$JIG_ASKPASS_KEY'"*) ;;
    *) exit 1 ;;
esac
mv "$JIG_ASKPASS_FIFO" "$JIG_ASKPASS_FIFO.used" 2> /dev/null || exit 1
IFS= read -r secret < "$JIG_ASKPASS_FIFO.used"
printf '%s\\n' "$secret"
"""


@contextlib.contextmanager
def answering(secret: str, login: str, key_file: str = "") -> Iterator[dict[str, str]]:
    """The environment in which ssh asks our script, which gets the secret once; afterwards nothing of it is left."""
    if sys.platform == "win32":
        raise MachineError(
            "passwords are not given to ssh on Windows", "attach with a key:  --private-key-file FILE, or -k"
        )
    import shutil
    import tempfile

    base = tempfile.gettempdir()
    if os.statvfs(base).f_flag & getattr(os, "ST_NOEXEC", 0):  # ssh could not run the script there
        base = default_home()
    folder = tempfile.mkdtemp(prefix="jig-", dir=base)  # mode 0700
    fifo, script = os.path.join(folder, "fifo"), os.path.join(folder, "ask")
    os.mkfifo(fifo, 0o600)
    with open(os.open(script, os.O_WRONLY | os.O_CREAT, 0o700), "w") as file:
        file.write(SCRIPT)
    held = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)  # the kernel holds the bytes until they are read, once
    try:
        os.write(held, secret.encode(errors="surrogateescape") + b"\n")
        ours = {
            "SSH_ASKPASS": script,
            "SSH_ASKPASS_REQUIRE": "force",
            "JIG_ASKPASS_FIFO": fifo,
            "JIG_ASKPASS_FOR": login,
            "JIG_ASKPASS_KEY": os.fsdecode(os.fsencode(key_file)[:SHOWN_BYTES]),
        }
        yield {**os.environ, "DISPLAY": os.environ.get("DISPLAY", ":0"), **ours}
    finally:
        os.close(held)
        shutil.rmtree(folder)
