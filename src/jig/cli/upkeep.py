"""Packing a run for somebody who is to help, and giving back disk."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args


def diagnostics(args: Args) -> int:
    """Pack a run for somebody who is to help: plan, events, logs, and the code as executed, in diagnostics.zip."""
    import zipfile

    from jig.cli.here import find_run

    found = find_run(args.text("run") or args.text("id"))
    place = os.path.abspath(args.text("file") or "diagnostics.zip")
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for parent, _, names in os.walk(found.folder.path):
            for name in names:
                path = os.path.join(parent, name)
                # A link may lead to anything, a private key included: what it points to stays here.
                if os.path.isfile(path) and not os.path.islink(path) and path != found.folder.reserve:
                    archive.write(path, os.path.join(found.id, os.path.relpath(path, found.folder.path)))
    print(f"wrote {place}")
    return 0


def clean(args: Args) -> int:
    """Give back disk: leftovers of killed commands, files no run refers to, code copies, images. Records stay."""
    from jig.cli.here import store
    from jig.cli.terminal import human_bytes, warn
    from jig.errors import MachineError

    names = {
        "leftovers": "leftovers",
        "work": "code copies of ended runs",
        "blobs": "unused files",
        "runner": "old runners",
        "images": "environments in Docker images, with compiled files",
    }
    freed = dict.fromkeys(names, 0)
    containers = 0
    wanted = {"work": not args.flag("keep_work"), "images": not args.flag("keep_images")}
    for machine in store().machines():
        try:
            answer = machine.ask("clean", runner=machine.current_runner(), **wanted)
        except MachineError as error:
            warn(error.message)
            continue
        for key in names:
            freed[key] += answer["freed"][key]
        engine = answer.get("engine", {})
        containers += engine.get("containers", 0)
        if "error" in engine:
            warn(f"what jig made in Docker on {machine.name} stays: {engine['error']}")
    for key, text in names.items():
        print(f"{text}: {human_bytes(freed[key])}")
    if containers:
        print(f"containers: {containers} removed")
    return 0
