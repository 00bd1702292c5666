"""What several processes sent each other of their gradients, all of them together."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SUMMED, LONGEST = ("bytes_sent", "bytes_uncompressed"), ("steps", "exchange_s", "codec_s", "of_s")


def total(ranks: dict[str, Any] | None) -> dict[str, Any] | None:
    """Bytes are those of all, times and steps those of the slowest; None where nothing was compressed."""
    told = [rank for rank in (ranks or {}).values() if isinstance(rank, dict)]
    if not told:
        return None
    found: dict[str, Any] = {"kind": str(told[0].get("kind", "?"))}
    for names, of_all in ((SUMMED, sum), (LONGEST, max)):
        found.update({name: of_all(number(rank.get(name)) for rank in told) for name in names})
    sent = found["bytes_sent"]
    found["ratio"] = round(found["bytes_uncompressed"] / sent, 2) if sent else None
    return {**found, "ranks": ranks}


def number(value: Any) -> Any:
    """The number that a rank has written, 0 for anything else."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0
