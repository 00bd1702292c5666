"""A machine over SSH beside this one."""

from tests.ssh.conftest import client, host, host_folder, key_pair, make_host

__all__ = ["client", "host", "host_folder", "key_pair", "make_host"]
