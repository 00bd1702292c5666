"""A run of several processes, in words: what they are, who failed, what their exchange was."""

from __future__ import annotations

import os

from jig.cli.terminal import human_bytes, human_duration, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.runner.folder import RunFolder
    from jig.store.runs import Run


def shown(folder: RunFolder, plan: dict[str, Any], rank: int | None) -> dict[str, Any]:
    """How `follow` is to read the logs of this run."""
    if not plan.get("ranks"):
        return {}
    from jig.interleaved import Interleaved, log_name

    return {"merged": Interleaved(folder)} if rank is None else {"log": os.path.join(folder.path, log_name(rank))}


def told(event: dict[str, Any]) -> str:
    """What happened to the processes."""
    if event["event"] == "ranks":
        count = event["processes"]
        return f"{count} process{'es' if count > 1 else ''} under torchrun, {event['backend']}, torch {event['torch']}"
    return f"{event.get('detail', 'a rank failed')}; all are started again ({event['restart']} of {event['of']})"


def accusation(run: Run) -> list[str]:
    """Who failed first, with its last words; nothing for a run that ended otherwise."""
    if run.rank is None or not run.said:
        return []
    return ["", f"Rank {run.rank} failed first. It said last:", *(f"  {printable(line)}" for line in run.said)]


def exchange(total: dict[str, Any] | None) -> str:
    """What compression saved, and what it cost; empty where there was none."""
    if not total:
        return ""
    sent, full = total["bytes_sent"], total["bytes_uncompressed"]
    ratio = f" ({total['ratio']:.1f}x)" if total["ratio"] else ""
    own = f", {human_duration(total['codec_s'])} packing" if total["codec_s"] else ""
    return (
        f"{total['kind']}: {human_bytes(sent)} sent instead of {human_bytes(full)}{ratio}, "
        f"{human_duration(total['exchange_s'])} in exchange{own}, of {human_duration(total['of_s'])} of training"
    )
