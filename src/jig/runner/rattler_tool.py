"""py-rattler on a machine: the unpacked wheel, which the client brings or uv fetches, in a folder of its own."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

    from jig.runner.blobs import BlobStore

UNFINISHED = ".new-rattler-"
VERSION = "0.28.0"  # its interface changes with every version
CERTIFICATES = "certificates.pem"  # beside one that the client brought: the client's own, for a machine without any


def place(home: str) -> str:
    """The folder of this version: the unpacked wheel."""
    return os.path.join(home, "tools", "rattler-" + VERSION)


def has_rattler(home: str, environment: "Optional[Dict[str, Any]]" = None) -> bool:
    """Whether this machine has py-rattler already."""
    return bool((environment or {}).get("rattler_python")) or os.path.isdir(place(home))


def keep_rattler(store: "BlobStore", name: str, home: str) -> None:
    """Unpack the wheel that the client brought where this jig home looks for it."""
    import zipfile

    unpacked = aside(home)
    with zipfile.ZipFile(store.place(name)) as wheel:
        wheel.extractall(unpacked)
    settle(unpacked, home)


def aside(home: str) -> str:
    """Where it is unpacked until it is whole."""
    from jig.runner.folder import make_private

    make_private(os.path.dirname(place(home)))
    return os.path.join(home, "tools", "%s%s-%d" % (UNFINISHED, VERSION, os.getpid()))


def settle(unpacked: str, home: str) -> None:
    """Give the folder its name; one that is there already is as good."""
    from jig.runner.env_cache import remove

    try:
        os.rename(unpacked, place(home))
    except OSError:
        remove(unpacked)
        if not os.path.isdir(place(home)):
            raise
