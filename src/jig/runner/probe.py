"""What a machine has: Python, GPUs, disk, Docker, and whether a run outlives the login that started it.

With `container` in the request, what a container of that image, with those GPUs, would find there.
"""

import os
import subprocess
import sys

assert sys.platform != "win32"  # before the imports, so that the type checker leaves them out on Windows

from jig.runner.folder import Home
from jig.runner.probe_engine import look
from jig.runner.virtual_packages import machine_platform
from jig.system import host_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

TIMEOUT_S = 5.0
GPU_FIELDS = ("name", "uuid", "driver_version", "memory.total")


def probe(home: Home, container: "Optional[Dict[str, str]]" = None) -> "Dict[str, Any]":
    """Everything in one answer; each question has a few seconds and may go unanswered."""
    engine = look(home.path, container)
    found = dict(machine(home), gpus=gpus(), docker=engine["docker"], logout=logout())
    found.update(disk(home), virtual=machine_platform()["virtual"])
    if container is not None:
        found["engine"] = engine
    return found


def machine(home: Home) -> "Dict[str, Any]":
    """What takes no looking."""
    return {
        "host": host_name(),
        "platform": "%s %s" % (sys.platform, os.uname().machine),
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "user_home": os.path.expanduser("~"),
        "home": home.path,
    }


def disk(home: Home) -> "Dict[str, Any]":
    """Whether runs can be kept, and how many bytes of them."""
    place = _existing(home.path)
    found = os.statvfs(place)
    return {"free_bytes": found.f_bavail * found.f_frsize, "writable": os.access(place, os.W_OK | os.X_OK)}


def _existing(path: str) -> str:
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def _said(*argv: str) -> "Optional[str]":
    """What a program printed; None when it is not there, failed or took too long."""
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def gpus() -> "List[Dict[str, str]]":
    """The NVIDIA GPUs, as nvidia-smi lists them."""
    said = _said("nvidia-smi", "--query-gpu=" + ",".join(GPU_FIELDS), "--format=csv,noheader")
    rows = [line.split(", ") for line in (said or "").splitlines()]
    return [dict(zip(GPU_FIELDS, row)) for row in rows if len(row) == len(GPU_FIELDS)]


def logout() -> str:
    """What the end of a login does to its processes: `survive`, `scope` (in a scope of their own), or `killed`."""
    bus = ("busctl", "get-property", "org.freedesktop.login1", "/org/freedesktop/login1")
    kills = _said(*(bus + ("org.freedesktop.login1.Manager", "KillUserProcesses")))
    if kills is None or "true" not in kills:
        return "survive"
    lingers = "yes" in (_said("loginctl", "show-user", str(os.getuid()), "-p", "Linger") or "")
    stays = lingers or _said("loginctl", "enable-linger") is not None
    return "scope" if stays and _said("systemd-run", "--user", "--scope", "--quiet", "true") is not None else "killed"
