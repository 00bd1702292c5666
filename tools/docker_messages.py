"""Prints docs/reference/docker.md from the tables that tell what an engine, its program or a registry refused.

python tools/docker_messages.py > docs/reference/docker.md
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from jig.runner.engine_errors import GROUP, REACH, SUDO  # noqa: E402
from jig.runner.engine_refusals import NVIDIA, REFUSALS  # noqa: E402

HEAD = """\
# What Docker says, and what to do

<!-- Printed by tools/docker_messages.py; a test compares. Do not edit by hand. -->

jig reads what the engine, its program, NVIDIA's toolkit and registries print, and says it in one sentence, with the fix
as the hint. These are the sentences; `…` stands for a name, or for their own words. Those that are met most, and those
about environments and scripts, are in the [guide](../containers.md#when-it-fails). *There* is the engine's machine.
"""
# Heading, and the codes of the rows below it.
SECTIONS = (
    ("The GPU", ("gpu",)),
    ("Folders", ("mount",)),
    ("Images and the disk", ("no-image", "disk-full")),
    ("Containers", ("refused",)),
)


def page() -> str:
    """The whole page."""
    sudo = [(f"docker cannot be started through sudo: {sentence}", GROUP) for _, sentence in SUDO]
    parts = [HEAD, _table("The engine cannot be reached", [(reason, hint) for _, _, reason, hint in REACH] + sudo)]
    for heading, codes in SECTIONS:
        rows = [(reason, hint) for code, _, reason, hint in (*NVIDIA, *REFUSALS[len(NVIDIA) :]) if code in codes]
        parts.append(_table(heading, rows))
    return "\n".join(parts)


def _table(heading: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"| `{plain(reason)}` | {plain(hint)} |" for reason, hint in rows]
    return "\n".join([f"## {heading}", "", "| message | what to do |", "|---|---|", *dict.fromkeys(lines)]) + "\n"


def plain(text: str) -> str:
    """With … for what is filled in."""
    return re.sub(r"\\\d|\{said\}", "…", text)


if __name__ == "__main__":
    print(page(), end="")
