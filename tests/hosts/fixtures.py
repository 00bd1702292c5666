"""The hosts of a test: each is made for it, and gone after it."""

import contextlib
import itertools
import os
import shutil

import pytest

from tests.hosts.folders import own_folder
from tests.hosts.host import Host
from tests.system_packages import need

PACKAGES = ("openssh-server", "openssh-client", "iproute2", "python3", "tcsh", "fish")
# With OpenSSH's own first choice every connection takes half as long again.
QUICK = {"KexAlgorithms": "curve25519-sha256"}


@pytest.fixture(scope="session")
def host_folder():
    if os.geteuid() != 0:
        raise RuntimeError("hosts for tests are made of namespaces, by root only: run these tests as root")
    need(*PACKAGES)
    with own_folder() as folder:
        yield folder


@pytest.fixture
def make_host(host_folder):
    """make_host() → a new Host; make_host(behind=other) → one that is reached from the other host only."""
    with contextlib.ExitStack() as ends:
        numbers = itertools.count(1)

        def make(name: "str | None" = None, behind: "Host | None" = None) -> Host:
            name = name or f"box{next(numbers)}"
            folder = host_folder / name
            folder.mkdir()
            ends.callback(shutil.rmtree, folder)
            host = Host(name, folder, behind, **QUICK)
            ends.callback(host.close)
            return host

        yield make


@pytest.fixture
def host(make_host):
    """A host with a clean home."""
    return make_host()


@pytest.fixture
def two_hosts(make_host):
    """Two hosts that know nothing of each other."""
    return make_host(), make_host()


@pytest.fixture
def jump(make_host):
    """(gate, inner): the inner host is reached from the gate only."""
    gate = make_host("gate")
    return gate, make_host("inner", behind=gate)
