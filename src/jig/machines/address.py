"""Where a machine is: user, host and port, and the folder where this computer keeps what it knows of it."""

from __future__ import annotations

import os

from jig.errors import UsageError
from jig.runner.folder import default_home
from jig.values import Value


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
        bad = not host or host.startswith("-") or any(c.isspace() or not c.isprintable() or c in "/'\"" for c in host)
        if bad or (port and not (port.isdigit() and 0 < int(port) < 65536)):
            raise UsageError(f"{address!r} is not an address", "write a name or an IP address, with :PORT if need be")
        if not user or user.startswith("-") or any(c.isspace() or not c.isprintable() for c in user):
            raise UsageError(f"{user!r} is not a user name")
        return cls(user, host, int(port) if port else None)

    @property
    def slug(self) -> str:
        """A file name that only this login has."""
        import zlib

        text = f"{self.user}@{self.host}" + (f":{self.port}" if self.port else "")
        plain = "".join(c if c.isascii() and (c.isalnum() or c in "@.-") else "_" for c in text)
        return plain if plain == text else f"{plain}-{zlib.crc32(text.encode()):08x}"

    @property
    def folder(self) -> str:
        """What this computer knows of the machine: its pinned key, our own key for it, what was found there."""
        return os.path.join(default_home(), "machines", self.slug)

    def __str__(self) -> str:
        return f"{self.user}@{self.host}" + (f":{self.port}" if self.port else "")
