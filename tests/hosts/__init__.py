"""Machines reached over SSH, for tests: real OpenSSH servers in namespaces of this machine, as root on Debian.

A conftest.py takes the fixtures by `from tests.hosts.fixtures import host, host_folder, jump, make_host, two_hosts`.
"""
