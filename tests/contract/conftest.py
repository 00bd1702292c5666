"""A machine over SSH beside this one."""

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
