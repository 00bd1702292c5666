"""PNG, written without any package: pixels in rows, compressed with zlib."""

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Channels of a pixel → the colour type that PNG calls it: grey, grey and alpha, colour, colour and alpha.
KINDS = {1: 0, 2: 4, 3: 2, 4: 6}


def encode(width: int, height: int, channels: int, pixels: bytes, level: int = 6) -> bytes:
    """An image of 8 bits a channel, from its rows one after the other; ValueError when they do not fit the size."""
    row = width * channels
    if channels not in KINDS or width < 1 or height < 1 or len(pixels) != row * height:
        raise ValueError("{} bytes are no {} x {} pixels of {} bytes".format(len(pixels), width, height, channels))
    rows = b"".join([b"\0" + pixels[start : start + row] for start in range(0, len(pixels), row)])
    head = struct.pack(">IIBBBBB", width, height, 8, KINDS[channels], 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, level)) + chunk(b"IEND", b"")


def chunk(kind: bytes, data: bytes) -> bytes:
    """A part of a PNG file: its length, its kind, the data, and a checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data) & 0xFFFFFFFF)
