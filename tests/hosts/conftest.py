"""The hosts, for the tests of the rig itself."""

from tests.hosts.fixtures import host, host_folder, jump, make_host, two_hosts

__all__ = ["host", "host_folder", "jump", "make_host", "two_hosts"]
