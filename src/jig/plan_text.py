"""A plan for a person to read: what `--dry-run` prints."""

from __future__ import annotations

from jig.plan import PYTHON, Container, Gpu, Plan, Ranks, Spark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Rows = list[tuple[str, str]]

# What the machine fills in, in the order in which it stands in the command.
FILLED_IN = {
    "id": "the run's id",
    "key": "a word for the jig home there, by which `clean` knows its own",
    "shm": "half of the machine's memory: a limit, not taken",
    "user": "--user UID:GID --group-add …: you, as you are there; nothing for an engine without root",
    "network": "nothing; --network host where the engine has no bridge",
    "proxies": "nothing; --env NAME … where docker's own settings have proxies: they go in by stdin instead",
    "gpus": "how that engine offers GPUs: --device nvidia.com/gpu=…, --gpus …, or --runtime=nvidia",
    "run": "the run's folder there",
    "share": "the share folder there",
    "pack": "what jig brought there",
    "cache": "compiled files of the image's packages",
    "python": "the environment's interpreter",
    "image": "the image's id",
    "tag": "a hash of the base image, the environment and the settings of pip there",
    "base": "the base image's id",
    "uid": "who you are there",
    "gid": "your group there",
    "build": "the folder of the build there",
    "uv": "the uv program there",
    "downloads": "what uv has downloaded there before",
    "version": "the version of its Python",
    "packages": "how many packages it has",
}
SPARK_FILLED_IN = {
    "defaults": "",
    "environment": "--archives … with the packages of this environment; nothing where the Python is yours",
    "modules": "--py-files … with the other modules beside the script, and with what a script may import of jig",
    "memory": "half of the memory there",
    "address": "the address that the machine has towards the master",
    "ui": "a free port of its loopback, for Spark's own page",
    "ivy": "a folder for downloaded packages that outlives the container",
    "id": "the run's id",
    "work": "the folder that the script runs in",
    "home": "your home folder there",
}
RANKS_FILLED_IN = {
    "processes": "as many as the run sees GPUs",
    "id": "the run's id",
    "local": "--local-addr 127.0.0.1, where that version of torchrun knows it",
    "logs": "a folder of the run for what torchrun keeps",
    "rank": "opens output.RANK.log for the process, and becomes:",
}
# So that a long command can be read, and pasted all the same.
BEFORE_MOUNT, BEFORE_SETTING = (" \\\n" + 23 * " " + word for word in ("--mount ", "--conf "))


def render(plan: Plan, files: list[list[Any]]) -> str:
    """The whole plan."""
    rows: Rows = [
        ("target", f"{plan.target} ({plan.target_kind})"),
        ("run configuration", plan.run_config),
        ("code", f"{plan.snapshot.files} files, {plan.snapshot.bytes:,} bytes, snapshot {plan.snapshot.id[:12]}"),
    ]
    if plan.origin.commit:
        rows.append(("commit", plan.origin.commit + (" with uncommitted changes" if plan.origin.dirty else "")))
    rows += _environment(plan)
    if plan.ranks is not None:
        rows += _ranks(plan, plan.ranks)
    else:
        rows += _spark(plan.spark) if plan.spark is not None else [("command", _command(plan))]
    rows += [("variable", f"{name}={value}") for name, value in plan.variables]
    rows += [("variable", f"{name} (taken from this computer's environment)") for name in plan.client_variables]
    shared = plan.container is None or plan.container.shared
    rows.append(("share folder", plan.share if shared else "none (sharedVolumes: false)"))
    rows.append(("record", "kept" if plan.tracked else "not kept (TrackedRun: false)"))
    rows += _gpu(plan, plan.gpu or Gpu())
    if plan.container is not None:
        rows += _container(plan, plan.container)
    return "".join(f"{name:<18} {text}".rstrip() + "\n" for name, text in rows) + _files(files)


def _environment(plan: Plan) -> Rows:
    environment = plan.environment
    if environment.kind == "user":
        whose = "the image's own" if plan.container else "your own"
        return [("environment", f"{whose}: {environment.python}")]
    rows = [("environment", f"{environment.kind}, fingerprint {environment.fingerprint}")]
    if environment.kind == "conda":
        rows += [("", f"channel {address}") for address in environment.channels]
        rows += [("", line) for line in environment.packages]
    else:
        rows.append(("", f"python {environment.python or '(any)'}"))
    return rows + [("", f"pip {line}") for line in environment.options + environment.requirements]


def _command(plan: Plan) -> str:
    import shlex

    interpreter = _python(plan)
    return shlex.join(interpreter if word == PYTHON else word for word in plan.argv)


def _python(plan: Plan) -> str:
    environment = plan.environment
    return (environment.python if environment.kind == "user" else "") or "python"


def _spark(spark: Spark) -> Rows:
    """The command around the script, and what is filled in."""
    import shlex

    words = [word if word.startswith("{") else shlex.quote(word) for word in spark.words]
    settings = [f"{BEFORE_SETTING}{shlex.quote(f'{key}={value}')}" for key, value in spark.settings]
    rows: Rows = [("command", " ".join([spark.submit, *words]) + "".join(settings) + " " + shlex.join(spark.script))]
    defaults = "  ".join(f"{key}={value}" for key, value in spark.defaults)
    text = " ".join([*spark.words, defaults])
    rows.append(("filled in there", ""))
    for name, meaning in SPARK_FILLED_IN.items():
        if f"{{{name}}}" in text:
            rows.append((f"{{{name}}}", meaning or f"where the engine's own settings are silent:  {defaults}"))
    if spark.hidden:
        rows.append(("hidden", f"{', '.join(spark.hidden)}: the values reach Spark by a file without a name"))
    return rows


def _ranks(plan: Plan, ranks: Ranks) -> Rows:
    """The launcher's command, and what is filled in."""
    count = str(ranks.processes or "")
    words = [(count or word) if word == "{processes}" else word for word in ranks.words]
    rows: Rows = [("command", " ".join([_python(plan), "-m", "torch.distributed.run", *words]) + " " + _command(plan))]
    rows += [("filled in there", "")]
    rows += [(f"{{{name}}}", meaning) for name, meaning in RANKS_FILLED_IN.items() if f"{{{name}}}" in words]
    backends = {"auto": "nccl where there is a GPU for each process, else gloo"}
    rows.append(("processes", count or "one for each GPU that the run sees"))
    rows.append(("backend", backends.get(ranks.backend, ranks.backend)))
    if ranks.restarts:
        rows.append(("restarts", f"{ranks.restarts} of all processes, when one of them fails"))
    if ranks.compression:
        settings = dict(ranks.compression)
        after = f" after {settings['warmup_steps']} steps in full precision" if settings["warmup_steps"] else ""
        blocks = f", blocks of {settings['block']}" if settings["kind"] == "onebit" else ""
        rows.append(("gradients", f"{settings['kind']}{after}{blocks}: attached to each DistributedDataParallel"))
    return rows


def _gpu(plan: Plan, gpu: Gpu) -> Rows:
    """What is wanted of the machine's GPUs; sampling is told of always, since it is done always."""
    rows: Rows = []
    if gpu.want:
        them = "it" if gpu.want == 1 else "them"
        when = f"no other run has {them}" if gpu.shared else f"nobody computes on {them}"
        rows.append(("gpus", f"{gpu.want}, leased on the machine when {when}; until then the run is queued"))
    elif plan.container is not None:
        rows.append(("gpus", plan.container.gpus or "none"))
    if gpu.require:
        rows.append(("required", "a GPU that the installed framework can use, or the script is not started"))
    limits = (("a warning", gpu.warn_s), ("the run is stopped", gpu.stop_s))
    told = [f"after {_time(after_s)} {what}" for what, after_s in limits if after_s is not None]
    if told:
        rows.append(("idle gpu", "; ".join(told)))
    every = f"every {gpu.every_s:g} s: GPU, processor, memory" if gpu.every_s else "none (GpuSampling: 0)"
    return [*rows, ("samples", every)]


def _time(seconds: float) -> str:
    for unit, length_s in (("h", 3600), ("min", 60)):
        if seconds >= length_s and seconds % length_s == 0:
            return f"{seconds / length_s:g} {unit}"
    return f"{seconds:g} s"


def _container(plan: Plan, container: Container) -> Rows:
    """The commands, in the order in which they are run, and a Dockerfile for who wants the image without jig."""
    from jig.runner.image_text import commands, dockerfile

    environment = plan.environment.to_json()
    rows = [("image", container.base)]
    mounts = [word for mount in container.mounts for word in ("--mount", mount)] if container.shared else []
    words: list[str] = []
    for word in container.words:
        empty = word == "{gpus}" and not container.gpus
        words += mounts if word == "{mounts}" else [] if empty else [word]
    steps = [*commands(container._asdict(), environment), ("to run", ["docker", "run", "--sig-proxy=false", *words])]
    if not container.shared:
        name = "jig-{id}"
        steps[-1:] = [
            ("to run", ["docker", "create", *words]),
            ("", ["docker", "cp", "-", f"{name}:/"]),
            ("", ["docker", "start", "--attach", "--interactive", name]),
            ("", ["docker", "cp", f"{name}:/azureml-run/outputs", "-"]),
        ]
    steps.append(("after it", ["docker", "rm", "--force", "jig-{id}"]))
    rows += [(when, " ".join(argv).replace(" --mount ", BEFORE_MOUNT)) for when, argv in steps]
    text = " ".join(" ".join(argv) for _, argv in steps)
    filled = [(f"{{{name}}}", meaning) for name, meaning in FILLED_IN.items() if f"{{{name}}}" in text]
    rows += [("filled in there", ""), *filled]
    if environment["kind"] != "user":
        rows.append(("Dockerfile", "for the same image without jig:"))
        rows += [("", line) for line in dockerfile(container._asdict(), environment).splitlines()]
    return rows


def _files(files: list[list[Any]]) -> str:
    lines = ["files\n"]
    for entry in files:
        size = f"{entry[3]:>12,}" if entry[0] == "f" else f"{'link' if entry[0] == 'l' else 'folder':>12}"
        arrow = f" -> {entry[2]}" if entry[0] == "l" else ""
        lines.append(f"  {size}  {entry[1]}{arrow}\n")
    return "".join(lines)
