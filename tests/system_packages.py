"""Programs that tests need from the system: install what is missing."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path


def need(*packages: str) -> None:
    """Install the Debian packages that are missing; where that cannot be done, say what is missing."""
    if all(map(_is_there, packages)):
        return
    with open(Path(tempfile.gettempdir()) / f"jig-tests-packages-{os.getuid()}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [package for package in packages if not _is_there(package)]
        if not missing:
            return
        if os.getuid() != 0 or shutil.which("apt-get") is None:
            raise RuntimeError(f"these tests need {', '.join(missing)}: install them with the system's package manager")
        if _install(missing).returncode != 0:  # most likely the lists of packages are missing or old
            subprocess.run(["apt-get", "update"], check=True, capture_output=True, timeout=300)
            done = _install(missing)
            if done.returncode != 0:
                raise RuntimeError(f"apt-get could not install {', '.join(missing)}:\n{done.stdout}{done.stderr}")


def _is_there(package: str) -> bool:
    if shutil.which("dpkg") is None:
        return shutil.which(package) is not None
    said = subprocess.run(["dpkg", "-s", package], capture_output=True, text=True)
    return said.returncode == 0 and "\nStatus: install ok installed\n" in said.stdout


def _install(packages: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["apt-get", "install", "-y", "--no-install-recommends", *packages],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        capture_output=True,
        text=True,
        timeout=600,
    )
