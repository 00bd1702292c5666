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


class Container(Value):
    """What a run's container is made of. `words` are those after `docker run`; braces hold what the machine knows."""

    base: str
    gpus: str = ""  # none, `all`, or how many
    shared: bool = True  # folders are mounted; else files are copied in and out
    mounts: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


class Spark(Value):
    """What spark-submit is told: `words`, in which braces hold what the machine knows, `settings`, and `script`."""

    submit: str  # where the program is; `spark-submit`: looked for
    words: tuple[str, ...]
    script: tuple[str, ...]
    master: str
    mode: str = "client"  # where the driver is: beside the run, or in the `cluster`
    settings: tuple[tuple[str, str], ...] = ()  # as the project has them
    defaults: tuple[tuple[str, str], ...] = ()  # unless the engine's own settings have them; braces as in `words`
    hidden: tuple[str, ...] = ()  # settings whose values go another way
    file: str = ""  # of the project, where the settings stand


class Ranks(Value):
    """A `script` in several processes: `words` are those for torchrun; braces hold what the machine knows."""

    processes: int  # 0: one for each GPU that the run sees
    words: tuple[str, ...]  # those after `python -m torch.distributed.run`
    script: tuple[str, ...]
    backend: str = "auto"
    restarts: int = 0
    compression: tuple[tuple[str, str | int], ...] = ()  # what `onebit.attach` is told; none: nothing is attached


class Gpu(Value):
    """What a run wants of the machine's GPUs, and how it is watched."""

    want: int = 0  # how many are leased; 0: none, and none is kept from the run
    require: bool = False  # no script without a device that its framework can use
    shared: bool = False  # a device that somebody else's process is on counts as free
    warn_s: float | None = None  # after so long without work on a GPU
    stop_s: float | None = None
    every_s: float = 1.0  # between two samples; 0: none are taken


class Reproduces(Value):
    """The run that this one repeats, and what was found to be the same: [what, then, now, `same` or why not]."""

    run_id: str
    rows: tuple[tuple[str, str, str, str], ...] = ()


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
    container: Container | None = None
    gpu: Gpu | None = None  # none: nobody looks; of a sweep itself, and of an older jig
    params: tuple[tuple[str, str | float | int | bool], ...] = ()  # what a sweep has set
    sweep: str = ""  # the run of the sweep that submitted this one
    point: int = 0  # which of the sweep's points this is, from 1
    reproduces: Reproduces | None = None
    spark: Spark | None = None
    ranks: Ranks | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        data = self._asdict()
        data["snapshot"] = self.snapshot._asdict()
        data["environment"] = self.environment.to_json()
        data["origin"] = self.origin._asdict()
        data["variables"] = dict(self.variables)
        data["attachments"] = dict(self.attachments)
        if self.container is not None:
            data["container"] = self.container._asdict()
            for name in ("mounts", "words"):
                data["container"][name] = list(data["container"][name])
        if self.gpu is not None:
            data["gpu"] = self.gpu._asdict()
        if self.spark is not None:
            data["spark"] = self.spark._asdict()
            for name in ("words", "script", "hidden"):
                data["spark"][name] = list(data["spark"][name])
            for name in ("settings", "defaults"):
                data["spark"][name] = dict(data["spark"][name])
        if self.ranks is not None:
            ranks = self.ranks
            data["ranks"] = {**ranks._asdict(), "compression": dict(ranks.compression)}
            data["ranks"].update(words=list(ranks.words), script=list(ranks.script))
        data["params"] = dict(self.params)
        if self.reproduces is not None:
            data["reproduces"] = {"run_id": self.reproduces.run_id, "rows": [list(row) for row in self.reproduces.rows]}
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
        if data.get("container") is not None:
            container = data["container"]
            data["container"] = Container(
                **{**container, **{name: tuple(container[name]) for name in ("mounts", "words")}}
            )
        if data.get("gpu") is not None:
            data["gpu"] = Gpu(**data["gpu"])
        if data.get("spark") is not None:
            spark = dict(data["spark"])
            for name in ("words", "script", "hidden"):
                spark[name] = tuple(spark[name])
            for name in ("settings", "defaults"):
                spark[name] = tuple(spark[name].items())
            data["spark"] = Spark(**spark)
        if data.get("ranks") is not None:
            ranks = data["ranks"]
            lists = {name: tuple(ranks[name]) for name in ("words", "script")}
            data["ranks"] = Ranks(**{**ranks, **lists, "compression": tuple(ranks["compression"].items())})
        data["params"] = tuple(data.get("params", {}).items())
        if data.get("reproduces") is not None:
            rows = tuple((what, then, now, verdict) for what, then, now, verdict in data["reproduces"]["rows"])
            data["reproduces"] = Reproduces(data["reproduces"]["run_id"], rows)
        for name in ("arguments", "argv", "client_variables"):
            data[name] = tuple(data[name])
        return cls(**data)
