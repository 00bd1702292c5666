"""Names as MLflow takes them: what it forbids is written as `_u3d_`, and can be read back."""

from __future__ import annotations

import re

LONGEST_NAME = 250
FORBIDDEN = r"[^/\w.\- :]"
# An underscore that would read as the beginning of such a mark is written as one itself.
LOOKS_LIKE_A_MARK = re.compile(rf"_(?=u[0-9a-f]*(?:_|{FORBIDDEN}))")
MARK = re.compile(r"_u([0-9a-f]*)_")


def mapped(name: str) -> str:
    """The name for MLflow: its own where that may be. One that is too long is cut, and told apart by a digest."""
    text = LOOKS_LIKE_A_MARK.sub("_u5f_", name)
    text = re.sub(FORBIDDEN, lambda found: f"_u{ord(found[0]):x}_", text)
    # A name must not be another one when it is read as a path.
    text = "/".join(_part(part) for part in text.split("/"))
    if len(text) <= LONGEST_NAME:
        return text
    from hashlib import sha256

    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text[: LONGEST_NAME - 17].rstrip('/')}_{digest}"


def _part(part: str) -> str:
    if part in ("", ".", ".."):
        return "_u2e_" * len(part) or "_u_"
    return "_u2e_" + part[1:] if part.startswith("..") else part


def original(text: str) -> str:
    """The name that was mapped to this, unless it was cut."""
    return MARK.sub(lambda found: chr(int(found[1], 16)) if found[1] else "", text)
