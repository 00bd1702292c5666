"""Names for exactly these bytes."""

from __future__ import annotations


def name_of(data: bytes, size: int = 32) -> str:
    """A name of `size` bytes in hexadecimal, straight from the C module: hashlib loads OpenSSL, which takes 3 ms."""
    from _blake2 import blake2b

    return str(blake2b(data, digest_size=size).hexdigest())
