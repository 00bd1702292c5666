"""A Docker engine for the benchmarks: Debian's, in a folder of its own, with an image to run and to build on."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from typing import NamedTuple

from folders import SOURCE, fresh, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BASE, IMAGE = "jig-test/python:1", "jig-bench/hello:1"
PACKAGES = ("docker.io", "iptables", "iproute2")
HELLO = 'print("hello")\n'
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"  # in the image they are this machine's


class Docker(NamedTuple):
    """An engine that runs, and the network that its containers are given when nobody says which."""

    address: str
    network: str  # "host": it has no bridge

    @property
    def run(self) -> tuple[str, ...]:
        """The start of a `docker run` as a person would write it."""
        return ("docker", "run", "--rm", *(("--network", "host") if self.network == "host" else ()))

    def do(self, *words: str) -> str:
        """What `docker WORDS` prints; it is not timed."""
        given = {**os.environ, "DOCKER_HOST": self.address, "DOCKER_BUILDKIT": "0"}
        done = subprocess.run(("docker", *words), env=given, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"docker {' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
        return done.stdout

    def let_in(self, group: int) -> None:
        """Let the members of a group use it."""
        os.chown(self.address.removeprefix("unix://"), -1, group)


@contextlib.contextmanager
def engine(network: str) -> Iterator[Docker]:
    """An engine for as long as it is needed: `bridge`, in a network of its own that leads nowhere, or `host`."""
    if SOURCE not in sys.path:
        sys.path.append(SOURCE)
    from tests.engines.engine import Engine
    from tests.engines.prepared import furnish
    from tests.hosts.folders import own_folder
    from tests.system_packages import need

    if os.geteuid() != 0:
        raise SystemExit("the figures `containers` start a Docker engine, which only root may: name others with --only")
    need(*PACKAGES)
    with own_folder() as folder:
        folder.chmod(0o711)  # to the socket
        furnish(folder / "engine/data")
        with contextlib.closing(Engine(folder / "engine", own_network=network == "bridge")) as found:
            docker = Docker(found.address, network)
            _make_image(docker)
            yield docker


def _make_image(docker: Docker) -> None:
    context = fresh("containers", "image")
    write(os.path.join(context, "tree", "hello.py"), HELLO)
    bundle, place = os.environ.get("SSL_CERT_FILE", CERTIFICATES), os.path.join(context, "tree" + CERTIFICATES)
    if os.path.exists(bundle):
        os.makedirs(os.path.dirname(place))
        shutil.copyfile(bundle, place)
    write(os.path.join(context, "Dockerfile"), f"FROM {BASE}\nCOPY tree /\n")
    docker.do("build", "--tag", IMAGE, context)
