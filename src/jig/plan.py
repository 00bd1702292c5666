"""Plan: everything that was decided about a run, as plain data. JSON both ways, no I/O."""

from __future__ import annotations

from jig.environments import Environment
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PYTHON = "{python}"  # stands in argv for the environment's interpreter, which only the machine knows
STOP_GRACE_S = 10.0


class SnapshotRef(Value):
    """Which code: the content id of the list of files, and how much that is."""

    id: str
    files: int
    bytes: int


class Origin(Value):
    """Where the code came from, as git tells it; empty outside a repository."""

    commit: str = ""
    branch: str = ""
    dirty: bool = False


class Plan(Value):
    """One run, decided. `attachments` are further blobs of the record by name (the uncommitted diff)."""

    run_id: str
    number: int
    created: float
    user: str
    project: str
    project_root: str
    run_config: str
    target: str
    target_kind: str
    script: str
    arguments: tuple[str, ...]
    argv: tuple[str, ...]
    snapshot: SnapshotRef
    environment: Environment
    variables: tuple[tuple[str, str], ...]
    client_variables: tuple[str, ...]
    share: str
    tracked: bool = True
    stop_grace_s: float = STOP_GRACE_S
    origin: Origin = Origin()
    attachments: tuple[tuple[str, str], ...] = ()
    parent_run_id: str = ""
    jig_home: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        data = self._asdict()
        data["snapshot"] = self.snapshot._asdict()
        data["environment"] = self.environment.to_json()
        data["origin"] = self.origin._asdict()
        data["variables"] = dict(self.variables)
        data["attachments"] = dict(self.attachments)
        for name in ("arguments", "argv", "client_variables"):
            data[name] = list(data[name])
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Plan:
        """The plan that `to_json` wrote; KeyError or TypeError when it is not one."""
        data = dict(data)
        data["snapshot"] = SnapshotRef(**data["snapshot"])
        data["environment"] = Environment.from_json(data["environment"])
        data["origin"] = Origin(**data["origin"])
        data["variables"] = tuple(data["variables"].items())
        data["attachments"] = tuple(data["attachments"].items())
        for name in ("arguments", "argv", "client_variables"):
            data[name] = tuple(data[name])
        return cls(**data)


def render(plan: Plan, files: list[list[Any]]) -> str:
    """The plan for a person: what `--dry-run` prints."""
    import shlex

    environment = plan.environment
    rows = [
        ("target", f"{plan.target} ({plan.target_kind})"),
        ("run configuration", plan.run_config),
        ("code", f"{plan.snapshot.files} files, {plan.snapshot.bytes:,} bytes, snapshot {plan.snapshot.id[:12]}"),
    ]
    if plan.origin.commit:
        rows.append(("commit", plan.origin.commit + (" with uncommitted changes" if plan.origin.dirty else "")))
    if environment.kind == "user":
        rows.append(("environment", f"your own: {environment.python}"))
    else:
        rows.append(("environment", f"{environment.kind}, fingerprint {environment.fingerprint}"))
        if environment.kind == "conda":
            rows += [("", f"channel {address}") for address in environment.channels]
            rows += [("", line) for line in environment.packages]
        else:
            rows.append(("", f"python {environment.python or '(any)'}"))
        rows += [("", f"pip {line}") for line in environment.options + environment.requirements]
    interpreter = (environment.python if environment.kind == "user" else "") or "python"
    rows.append(("command", shlex.join(interpreter if word == PYTHON else word for word in plan.argv)))
    rows += [("variable", f"{name}={value}") for name, value in plan.variables]
    rows += [("variable", f"{name} (taken from this computer's environment)") for name in plan.client_variables]
    rows.append(("share folder", plan.share))
    rows.append(("record", "kept" if plan.tracked else "not kept (TrackedRun: false)"))
    lines = [f"{name:<18} {text}" for name, text in rows]
    lines.append("files")
    for entry in files:
        size = f"{entry[3]:>12,}" if entry[0] == "f" else f"{'link' if entry[0] == 'l' else 'folder':>12}"
        arrow = f" -> {entry[2]}" if entry[0] == "l" else ""
        lines.append(f"  {size}  {entry[1]}{arrow}")
    return "\n".join(lines) + "\n"
