"""A Docker engine newer than this machine's, with CDI: the programs of Debian's next release, unpacked and not installed."""

import shutil
from pathlib import Path

from tests.engines.base_images import CACHE, locked, mirror, must

RELEASE, PACKAGES = "trixie", ("docker.io", "docker-cli", "containerd")
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
CDI_SINCE = 25


def newer_programs() -> str:
    """Folders with `dockerd`, `containerd` and `docker` that know CDI, to be first in PATH; empty when this machine's do."""
    said = must("/usr/sbin/dockerd", "--version")  # Docker version 20.10.24+dfsg1, build 5d6db84
    if int(said.split()[2].split(".")[0]) >= CDI_SINCE:
        return ""
    place = CACHE / f"{RELEASE}-docker"
    with locked(CACHE):
        if not place.is_dir():
            aside = place.with_suffix(".new")
            shutil.rmtree(aside, ignore_errors=True)  # of someone who was killed
            _fetch(aside)
            aside.rename(place)
    return f"{place}/usr/sbin:{place}/usr/bin"


def _fetch(place: Path) -> None:
    apart = place / "apt"
    (apart / "lists/partial").mkdir(parents=True)
    (apart / "sources.list").write_text(f"deb [signed-by={KEYS}] {mirror()} {RELEASE} main\n")
    places = {"Etc::sourcelist": "sources.list", "Etc::sourceparts": "none", "State::lists": "lists", "Cache": "cache"}
    options = [f"-oDir::{key}={apart / name}" for key, name in places.items()]
    must("apt-get", *options, "-oAcquire::Languages=none", "update")
    must("apt-get", *options, "-oAPT::Sandbox::User=root", "download", *PACKAGES, cwd=apart)
    for package in apart.glob("*.deb"):
        must("dpkg-deb", "-x", str(package), str(place))
    shutil.rmtree(apart)
