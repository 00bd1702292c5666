"""Where a machine is: user, host and port, and the folder where this computer keeps what it knows of it."""

from __future__ import annotations

import os

from jig.errors import UsageError
from jig.runner.folder import default_home
from jig.values import Value

LONGEST_SLUG = 150  # a file name has 255 bytes, and some is added to this one
# What a shell would read as more than a name: a person's ssh settings may hand a user or a host on to one.
NOT_IN_A_NAME = "'\"`$;&<>|(){}/"


class Address(Value):
    """A login on a machine."""

    user: str
    host: str
    port: int | None = None

    @classmethod
    def parse(cls, user: str, address: str) -> Address:
        """From a name or an address, with `:port` if need be; an IPv6 address with a port stands in brackets."""
        host, port = address, ""
        if address.startswith("["):
            host, closed, port = address[1:].partition("]")
            host, port = (host if closed and port[:1] in ("", ":") else ""), port.removeprefix(":")
        elif address.count(":") == 1:
            host, _, port = address.partition(":")
        if "@" in host:
            raise UsageError(f"{address!r} holds a user name", "write it as the user, and the rest as the address")
        if not _is_name(host, "\\") or (port and not (port.isdecimal() and 0 < int(port) < 65536)):
            raise UsageError(f"{address!r} is not an address", "write a name or an IP address, with :PORT if need be")
        if not _is_name(user) or user.endswith("\\"):
            raise UsageError(f"{user!r} is not a user name")
        return cls(user, host, int(port) if port else None)

    @property
    def place(self) -> str:
        """Host and port, as `parse` takes them."""
        if self.port is None:
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def slug(self) -> str:
        """A file name that only this login has."""
        import zlib

        text = str(self)
        plain = "".join(c if c.isascii() and (c.isalnum() or c in "@.-") else "_" for c in text[:LONGEST_SLUG])
        return plain if plain == text else f"{plain}-{zlib.crc32(text.encode()):08x}"

    @property
    def folder(self) -> str:
        """What this computer knows of the machine: its pinned key, our own key for it, what was found there."""
        return os.path.join(default_home(), "machines", self.slug)

    def __str__(self) -> str:
        return f"{self.user}@{self.place}"


def _is_name(text: str, also_not: str = "") -> bool:
    """Whether ssh can be given the text as a user or a host: one word, no option, nothing for a shell to act on."""
    bad = any(c.isspace() or not c.isprintable() or c in NOT_IN_A_NAME or c in also_not for c in text)
    return bool(text) and text[0] != "-" and not bad
