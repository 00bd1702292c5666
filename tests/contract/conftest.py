"""Machines beside this one: over SSH, and with a Docker engine."""

import contextlib
import shutil

import pytest

from tests.engines.box import DockerBox
from tests.engines.prepared import furnish
from tests.hosts.fixtures import QUICK
from tests.hosts.host import Host
from tests.ssh.conftest import _archive, archive_at_hand, client, host, host_folder, key_pair, lasting_host, make_host

__all__ = [
    "_archive",
    "archive_at_hand",
    "client",
    "host",
    "host_folder",
    "key_pair",
    "lasting_host",
    "make_host",
]


@pytest.fixture(scope="module")
def lasting_box(engine_folder, host_folder):
    """One host with an engine for all tests of a module, as `lasting_host`."""
    folder = host_folder / "lastingbox"
    folder.mkdir()
    with contextlib.ExitStack() as ends:
        ends.callback(shutil.rmtree, folder)
        box = DockerBox(Host("lastingbox", folder, **QUICK))
        ends.callback(box.host.close)
        furnish(box.folder / "data")
        box.start()
        ends.callback(box.engine.close)
        yield box
