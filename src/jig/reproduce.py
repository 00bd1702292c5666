"""Making a run again: its frozen code, the packages that it really had, its arguments; here or on another target."""

from __future__ import annotations

import os

from jig import machines, snapshot
from jig.compare import sameness
from jig.environments import Environment, decide
from jig.environments.again import Again, again, lacks_secrets, with_secrets
from jig.errors import MachineError, StoreError, UsageError
from jig.frozen import Frozen, fetch
from jig.machines import Refusal
from jig.plan import Origin, Reproduces
from jig.project import ComputeTarget, Project, RunConfig, SparkSpec
from jig.project.ranks import of_plan
from jig.runner import events
from jig.runner.blobs import UsingBlobs
from jig.spec import NOTEBOOK, RunSpec
from jig.submit import Decided, Source, Submitted, Teller, Wanted, build, hidden_settings, submit
from jig.values import Value
from jig.views import environment as recorded
from jig.views import spark as spark_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jig.store.queries import Found

MOST_TRIES = 50  # as many packages may have lost their version
TEXTS = (".yml", ".yaml", ".txt")


class Facts(Value):
    """What is known of where and with what a run was, or will be."""

    platform: str | None = None
    gpus: tuple[str, ...] | None = None  # kinds
    driver: str | None = None
    host: str | None = None
    base: str | None = None  # image
    base_id: str | None = None
    environment: dict[str, Any] = {}
    spark: dict[str, Any] = {}


class Made(Value):
    """A run that was made again: its submit (None of a dry run), and what is the same."""

    submitted: Submitted | None
    reproduces: Reproduces


def reproduce(found: Found, wanted: Wanted, teller: Teller, dry: bool = False) -> Made:
    """Submit a run that has what an earlier one had; what could not be the same is told, and part of its record.

    `wanted` names the project's folder and, if it is to be another one, run configuration and target.
    """
    found.run()
    then = found.plan()
    if then["script"] == NOTEBOOK:
        raise UsageError(
            f"{found.id} was a notebook's kernel: there is no script that could run again",
            f"its cells, as they were executed:  jig history info -r {found.id} -a outputs/cells.py",
        )
    project = Project.find(wanted.folder)
    frozen = Frozen(found)
    with UsingBlobs(frozen.store):
        frozen.bring()
        attachments = _attachments(frozen, then)
        config, target = _where(project, wanted, then)
        if found.machine.remote and not (wanted.run_config or wanted.target):
            _check_machine(found, target)
        secrets, unset = _secrets(then, _declared(project, config, then))
        config = _configured(config, then, secrets)
        spark = _spark(project, frozen, config, then)
        secrets.update(hidden_settings(spark))
        facts = _then(found, then)
        target = _with_base(target, facts)
        asked = _asked(project, frozen, config, target, then)
        if dry:
            made, now = again(asked, facts.environment), Facts(environment={})
        else:
            made, now, target = _build(project, config, target, asked, facts, teller)
        # The project is the one that the run belongs to, also where its folder has another name by now.
        spec = RunSpec(
            str(then["project"]),
            project.root,
            config,
            target,
            str(then["script"]),
            tuple(then["arguments"]),
            tuple((then.get("params") or {}).items()),
            spark,
        )
        rows = _rows(then, facts, now, spec, made, unset, dry)
        told = Reproduces(found.id, tuple(rows))
        if dry:
            return Made(None, told)
        code = snapshot.Snapshot(frozen.id, frozen.entries, then["snapshot"]["files"], then["snapshot"]["bytes"])
        decided = Decided(spec, made.environment, made.lock, secrets, code, told)
        source = Source(project.root, Origin(**then["origin"]), attachments)
        return Made(submit(wanted._replace(source=source), teller, decided), told)


def _attachments(frozen: Frozen, then: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The further blobs of the record that can be had."""
    named = dict(then.get("attachments") or {})
    absent = [blob for blob in named.values() if not frozen.store.has(blob)]
    lost = fetch(frozen.machine, frozen.store, absent) if absent else []
    return tuple((name, blob) for name, blob in named.items() if blob not in lost)


def _where(project: Project, wanted: Wanted, then: dict[str, Any]) -> tuple[RunConfig, ComputeTarget]:
    """Run configuration and target: those of the run by name, as the project has them now, unless others are named."""
    name = (wanted.run_config or str(then["run_config"])).removesuffix(".runconfig")
    try:
        config = project.run_config(name)
        target = wanted.target or (config.target if wanted.run_config else str(then["target"]))
        return config, project.compute_target(target, to_run=True)
    except UsageError as error:
        if wanted.run_config:
            raise
        advice = f"{error.hint}\n" if error.hint else ""
        hint = f"{advice}say where to:  jig experiment reproduce -r {then['run_id']} -c NAME"
        raise UsageError(f"{error.message}; the run {then['run_id']} had it", hint) from None


def _check_machine(found: Found, target: ComputeTarget) -> None:
    """A plan comes from its machine, which must not choose where else its code runs."""
    if machines.for_target(target).runs_folder() != os.path.dirname(found.folder.path):
        raise UsageError(
            f"the run {found.id} was on {found.machine.name}, and {target.name} is another machine now",
            f"say where to:  jig experiment reproduce -r {found.id} -c NAME",
        )


def _declared(project: Project, config: RunConfig, then: dict[str, Any]) -> set[str]:
    """What the project itself takes from this computer: a plan comes from its machine, which may ask for anything."""
    try:
        had = project.run_config(str(then["run_config"])).client_variables
    except UsageError:  # the project has it no more
        had = ()
    return {*config.client_variables, *had}


def _secrets(then: dict[str, Any], declared: set[str]) -> tuple[dict[str, str], list[str]]:
    """The variables from the client that the project declares, as they are here now; and those that are not given."""
    names = then.get("client_variables") or ()
    found = {name: os.environ[name] for name in names if name in declared and name in os.environ}
    return found, [name for name in names if name not in found]


def _configured(config: RunConfig, then: dict[str, Any], secrets: dict[str, str]) -> RunConfig:
    """The configuration with what the run had; variables that only this configuration has belong to its target."""
    gpu = then.get("gpu") or {}
    had = dict(then.get("variables") or {})
    own = {} if config.name == then["run_config"] else dict(config.environment_variables)
    hidden = had.pop("CUDA_VISIBLE_DEVICES", None) == "" and not gpu.get("want")
    return config._replace(
        framework="PySpark" if then.get("spark") else "Python",
        environment_variables=tuple({**own, **had}.items()),
        client_variables=tuple(secrets),
        tracked_run=True,
        prepare_environment=True,
        gpus=0 if hidden else gpu.get("want") or (config.gpus if config.name != then["run_config"] else None),
        require_gpu=bool(gpu.get("require")),
        shared_gpu=bool(gpu.get("shared")),
        idle_gpu_warn_s=gpu.get("warn_s"),
        idle_gpu_stop_s=gpu.get("stop_s"),
        gpu_sampling_s=gpu.get("every_s", config.gpu_sampling_s),
        **of_plan(then.get("ranks")),
    )


def _spark(project: Project, frozen: Frozen, config: RunConfig, then: dict[str, Any]) -> SparkSpec | None:
    """The Spark settings of the run, from its frozen files; from this computer only what the project itself takes."""
    if not then.get("spark"):
        return None
    from tempfile import TemporaryDirectory

    from jig.project.dependencies import read_spark

    name = str(then["spark"].get("file") or "")
    blob = next((entry[4] for entry in frozen.entries if entry[0] == "f" and entry[1] == name), None)
    if blob is None:  # there was none, and these are Spark's own
        return SparkSpec(name)
    with TemporaryDirectory(prefix="jig-") as folder:
        place = os.path.join(folder, "spark.yml")
        with open(place, "wb") as file:
            file.write(frozen.read(blob))
        settings = read_spark(place, name, None)
    declared = project.spark(config.spark_file, config.spark_file_named).client_settings
    return settings._replace(client_settings=tuple(one for one in settings.client_settings if one in declared))


def _then(found: Found, then: dict[str, Any]) -> Facts:
    """What the run wrote down of itself."""
    past = {event["event"]: event for event in reversed(list(events.read(found.folder.events)))}
    record = recorded(found)
    look = past.get("gpu", {}).get("look")
    base = (record.get("base") or {}) if then.get("container") else {}
    leased = past.get("leased", {}).get("uuids") or ()
    return Facts(
        platform=record.get("platform") or past.get("preparing", {}).get("platform"),
        gpus=sameness.kinds(look, leased),
        driver=(look.get("driver") or "none") if isinstance(look, dict) else None,
        host=past.get("queued", {}).get("host"),
        base=then["container"]["base"] if then.get("container") else "none",
        base_id=base.get("id") or past.get("running", {}).get("image"),
        environment=record,
        spark=spark_of(found),
    )


def _with_base(target: ComputeTarget, facts: Facts) -> ComputeTarget:
    """A container gets the image that the run had: by its digest where the registry gave one."""
    if not target.in_container or facts.base in (None, "none"):
        return target
    digests = (facts.environment.get("base") or {}).get("digests") or ()
    return target._replace(base_docker_image=str(digests[0]) if digests else facts.base)


def _asked(
    project: Project, frozen: Frozen, config: RunConfig, target: ComputeTarget, then: dict[str, Any]
) -> Environment:
    """What the run had asked for, with the credentials that its frozen files have; or what the target has instead."""
    had = Environment.from_json(then["environment"])
    if not target.managed or had.kind == "user":
        own = project.conda(config.conda_file, config.conda_file_named) if target.managed else project.conda()
        decided = decide(target, own, True, project.root)
        same_place = had.kind == decided.kind == "user" and target.name == then["target"]
        return decided._replace(python=had.python) if same_place else decided
    texts = [
        frozen.read(entry[4]).decode("utf-8", "replace")
        for entry in frozen.entries
        if entry[0] == "f" and entry[1].endswith(TEXTS) and entry[3] < 1 << 20
    ]
    frozen.bring([digest for digest, _ in had.files])
    files = tuple((digest, frozen.store.place(digest)) for digest, _ in had.files)
    return with_secrets(had._replace(files=files), texts)


def _build(
    project: Project, config: RunConfig, target: ComputeTarget, asked: Environment, facts: Facts, teller: Teller
) -> tuple[Again, Facts, ComputeTarget]:
    """Have the environment there: exactly the one that the run had, else the nearest that can be had."""
    made = again(asked, facts.environment)
    for _ in range(MOST_TRIES):
        try:
            answer = build(project.root, config, target, made.environment, made.lock, teller.note)
            break
        except Refusal as refusal:
            nearer = made.without(refusal.message, asked.requirements)
            if nearer is None and target.in_container and facts.base and target.base_docker_image != facts.base:
                target = target._replace(base_docker_image=facts.base)  # the registry has lost it
                continue
            if nearer is None:
                raise
            made = nearer
    else:
        raise StoreError("too many of the packages cannot be had any more", "submit the code anew instead")
    record = answer.get("environment") or {}
    base = record.get("base") or {}
    look = _look(target)
    now = Facts(
        platform=record.get("platform") or answer.get("platform"),
        gpus=sameness.kinds(look),
        driver=(look.get("driver") or "none") if look is not None else None,
        base=(base.get("name") or target.base_docker_image) if target.in_container else "none",
        base_id=base.get("id"),
        environment=record,
    )
    return made, now, target


def _look(target: ComputeTarget) -> dict[str, Any] | None:
    """The machine's GPUs now; None when it cannot be asked."""
    try:
        found = machines.for_target(target).ask("gpu")["look"]
    except (MachineError, KeyError):
        return None
    return found if isinstance(found, dict) else None


def _rows(
    then: dict[str, Any],
    facts: Facts,
    now: Facts,
    spec: RunSpec,
    made: Again,
    unset: Sequence[str],
    dry: bool,
) -> list[sameness.Row]:
    row, same = sameness.row, sameness.SAME
    config, target = spec.run_config, spec.target
    rows: list[sameness.Row] = [
        ("code", then["snapshot"]["id"][:12], then["snapshot"]["id"][:12], same),
        ("arguments", *(" ".join((then["script"], *then["arguments"])),) * 2, same),
        ("parameters", *(str(len(then.get("params") or {})),) * 2, same),
        row("target", then["target"], target.name),
        row("run configuration", then["run_config"], config.name),
        *sameness.variables_rows(
            dict(then.get("variables") or {}), _variables(config, target), unset, config.client_variables
        ),
        *_spark_rows(then, spec, facts),
    ]
    rows += _environment_rows(then, facts, now, made, dry)
    if not dry:
        rows += [
            row("system", facts.platform, now.platform),
            sameness.gpu_row(facts.gpus, now.gpus),
            row("driver", facts.driver, now.driver),
        ]
    if facts.base != "none" or now.base not in (None, "none"):
        rows += _image_rows(facts, now, dry)
    if lacks_secrets(made.environment):
        rows.append(("logins of indexes", "?", "-", "they are blotted out, and not in the frozen files"))
    return [*rows, ("data outside the project", "?", "?", "not checked: only the project is frozen")]


def _spark_rows(then: dict[str, Any], spec: RunSpec, facts: Facts) -> list[sameness.Row]:
    if spec.spark is None:
        return []
    from jig.compare.spark import again_rows
    from jig.targets.spark import of

    taken = {key for key, _ in spec.spark.client_settings}
    return again_rows(then["spark"], of(spec)._asdict(), taken, facts.spark)


def _variables(config: RunConfig, target: ComputeTarget) -> dict[str, str]:
    """As a plan has them."""
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if config.gpus == 0 and not target.in_container else {}
    return {**dict(config.environment_variables), **hidden}


def _environment_rows(then: dict[str, Any], facts: Facts, now: Facts, made: Again, dry: bool) -> list[sameness.Row]:
    had, has = str(then["environment"]["kind"]), made.environment.kind
    if has == "user":
        why = "your own interpreter, as it is now: jig did not look inside"
        before = then["environment"].get("python") or "python" if had == "user" else f"managed by jig ({had})"
        return [("environment", before, made.environment.python or "python", why)]
    if had == "user":
        return [("environment", then["environment"].get("python") or "python", f"managed by jig ({has})", "different")]
    if dry:
        count = len(facts.environment.get("pip") or ()) + len(facts.environment.get("conda") or ())
        known = ("packages", str(count), "?", "of these versions exactly, where they can be had")
        unknown = ("packages", "?", "?", "that run did not write down what it had: chosen by its lines")
        return [known if facts.environment else unknown]
    return sameness.packages_rows(facts.environment, now.environment, made.free)


def _image_rows(facts: Facts, now: Facts, dry: bool) -> list[sameness.Row]:
    if dry:
        return [("base image", facts.base or "?", facts.base or "?", "by its digest, where it can be had")]
    if facts.base_id and now.base_id:
        return [sameness.row("base image", facts.base_id[:19], now.base_id[:19])]
    return [sameness.row("base image", facts.base, now.base)]
