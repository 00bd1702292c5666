"""Many runs at once: copies of one real run, each with an id, a time and a metrics file of its own."""

import json
import shutil
from pathlib import Path

from tests.conftest import call

MINUTE_S = 60


def fill(project, home: Path, count: int, said=lambda number: [{"values": {"accuracy": number / 1000}}]) -> "list[str]":
    """So many runs of the project, oldest first; `said(number)` are the lines that each has logged."""
    project.write("hello.py", "print('hi')\n")
    model = home / "runs" / call("submit", "-c", "local", "hello.py").run_id
    plan = json.loads((model / "plan.json").read_text())
    events = [json.loads(line) for line in (model / "events.jsonl").read_text().splitlines()]
    ids = []
    with open(home / "order", "a") as order:
        for number in range(2, count + 1):
            later_s = (number - count - 1) * MINUTE_S
            created = plan["created"] + later_s
            folder = home / "runs" / f"proj_{int(created * 1000)}"
            folder.mkdir()
            own = {"run_id": folder.name, "number": number, "created": created}
            (folder / "plan.json").write_text(json.dumps({**plan, **own}))
            lines = [json.dumps({**event, "time": event["time"] + later_s}) + "\n" for event in events]
            (folder / "events.jsonl").write_text("".join(lines))
            logged = [json.dumps({"time": created, **line}) + "\n" for line in said(number)]
            (folder / "metrics.jsonl").write_text("".join(logged))
            (folder / "lock").touch()
            order.write(json.dumps([number, folder.name, str(folder)]) + "\n")
            ids.append(folder.name)
    shutil.rmtree(model)
    return ids
