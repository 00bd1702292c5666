"""Taking in a run: missing files arrive, the run folder is staged aside, and appears whole or not at all."""

import errno
import os
import sys

from jig.runner import blobs, environment, events, manifest, wire
from jig.runner.folder import Home, RunFolder, make_private
from jig.runner.quick_json import dumps_lines
from jig.system import boot_id, host_name, lock, put_folder, reserve_space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Dict, List, Optional, Tuple

    if sys.platform != "win32":
        from jig.runner.container import Begun, Ready
    else:
        Begun = Any
        Ready = Any

RESERVE_BYTES = 64 * 1024


class TakenIn:
    """A run whose folder stands, whose lock is held, and whose first event is written."""

    __slots__ = (
        "begun",
        "container",
        "entries",
        "events",
        "folder",
        "home",
        "lock",
        "plan",
        "request",
        "store",
        "using",
    )

    def __init__(
        self,
        home: Home,
        request: "Dict[str, Any]",
        entries: "List[List[Any]]",
        lock: int,
        writer: events.EventWriter,
        using: blobs.UsingBlobs,
        container: "Optional[Ready]",
    ) -> None:
        self.container = container
        self.begun: "Optional[Begun]" = None
        self.home = home
        self.request = request
        self.plan = request["plan"]  # type: Dict[str, Any]
        self.folder = home.run(self.plan["run_id"])
        self.store = blobs.BlobStore(home.blobs)
        self.entries = entries
        self.lock = lock
        self.events = writer
        self.using = using  # no plan refers to what an environment is built from: held until it stands


def take_in(home: Home, request: "Dict[str, Any]", source: "BinaryIO", answers: "BinaryIO") -> TakenIn:
    """Receive what is missing and set up the run folder; Refused leaves nothing behind."""
    wanted = request["environment"]
    _check_gpu(request["plan"])
    container = ask_engine(home, request["plan"].get("container"), wanted)
    prepared = bool(container.look.image_id) if container else environment.is_prepared(wanted, home.path)
    if not wanted.get("prepare", True) and not prepared:
        from jig.runner.dead_images import GONE, advice

        if container and not container.look.base_id and advice(container.look.base):
            raise wire.Refused(GONE % container.look.base, advice(container.look.base))
        raise wire.Refused("the environment is not prepared, and PrepareEnvironment is false", code="not-prepared")
    make_private(home.path)  # first of all: nobody else is to read what comes in
    store = blobs.BlobStore(home.blobs)
    using = blobs.UsingBlobs(store)
    try:
        if request.get("offered"):
            _take_blobs(store, source)
        if not prepared:
            get_ready(home, wanted, source, answers, container)
        extra = list(request["plan"].get("attachments", {}).values())
        entries = _receive(store, request["plan"]["snapshot"]["id"], extra, source, answers)
        held, writer = _stage(home, request["plan"])
    except BaseException:
        using.release()
        raise
    return TakenIn(home, request, entries, held, writer, using, container)


def _check_gpu(plan: "Dict[str, Any]") -> None:
    """What can be told in no time; an engine may have its GPUs elsewhere, and is asked itself."""
    gpu = plan.get("gpu") or {}
    if not plan.get("container") and (gpu.get("want") or gpu.get("require")) and not environment.has_nvidia():
        keys = [key for key, wanted in (("Gpus", gpu.get("want")), ("RequireGpu", gpu.get("require"))) if wanted]
        name = plan["run_config"]
        raise wire.Refused(
            "the run wants a GPU, and there is no NVIDIA driver on this machine",
            "submit it elsewhere, or remove %s from aml_config/%s.runconfig; `jig doctor -c %s` tells more"
            % (" and ".join(keys), name, name),
            code="no-gpu",
        )


def ask_engine(home: Home, container: "Optional[Dict[str, Any]]", wanted: "Dict[str, Any]") -> "Optional[Ready]":
    """What the machine's Docker engine has for a run in a container; Refused when it cannot be one."""
    if not container:
        return None
    if sys.platform != "win32":
        from jig.runner.container import get_ready
        from jig.runner.engine import EngineFailed

        try:
            return get_ready(home.path, container, wanted)
        except EngineFailed as error:
            raise wire.Refused(error.reason, error.hint, code="engine-" + error.code)
        except environment.EnvironmentFailed as error:
            raise wire.Refused(error.reason, error.hint)
    raise wire.Refused("containers are not started on Windows itself", "submit to another machine, or inside WSL")


def _receive(
    store: blobs.BlobStore, snapshot: str, extra: "List[str]", source: "BinaryIO", answers: "BinaryIO"
) -> "List[List[Any]]":
    """Ask for blobs until none is missing; returns the manifest's entries."""
    while True:
        try:
            entries = manifest.decode(store.read(snapshot))
            break
        except FileNotFoundError:
            _ask_for(store, [snapshot], source, answers)
    wanted = [(name, -1) for name in extra] + [(entry[4], entry[3]) for entry in entries if entry[0] == "f"]
    absent = blobs.missing(store, wanted)
    while absent:
        _ask_for(store, absent, source, answers)
        sizes = dict(wanted)
        absent = blobs.missing(store, [(name, sizes[name]) for name in absent])
    return entries


def _ask_for(store: blobs.BlobStore, names: "List[str]", source: "BinaryIO", answers: "BinaryIO") -> None:
    """Say what is missing and take in what the client sends for it."""
    wire.write_answer(answers, {"missing": names})
    _take_blobs(store, source)


def _take_blobs(store: blobs.BlobStore, source: "BinaryIO") -> None:
    while True:
        name, pieces = wire.read_blob(source)
        if not name:
            return
        store.add(pieces, name)


def get_ready(
    home: Home,
    wanted: "Dict[str, Any]",
    source: "BinaryIO",
    answers: "BinaryIO",
    container: "Optional[Ready]" = None,
) -> None:
    """What only the client can give for an environment that is to be built here, before it may leave.

    Programs that this machine lacks; the project's own packages; the conda packages that fit together on this machine,
    which the client finds out; and the files of all of them, where no index can be reached.
    """
    if wanted["kind"] == "user":
        return
    store = blobs.BlobStore(home.blobs)
    uv = "" if environment.has_uv(home.path) else _program("uv", wanted, store, source, answers)
    if uv:
        environment.keep_uv(store, uv, home.path)
    if wanted["kind"] == "conda":
        from jig.runner import rattler_tool, virtual_packages

        lacks = not rattler_tool.has_rattler(home.path, wanted)
        rattler = _program("rattler", wanted, store, source, answers) if lacks else ""
        if rattler:
            rattler_tool.keep_rattler(store, rattler, home.path)
        if "records" not in wanted:
            platform = (
                _platform_inside(container, source, answers) if container else virtual_packages.machine_platform()
            )
            wire.write_answer(answers, {"solve": platform})
            wanted["records"] = wire.read_request(source)["solved"]
    _have(store, wanted.get("files", []), source, answers)
    if wanted.get("fetches") and sys.platform != "win32":
        from jig.runner.reach import out_of_reach

        inside = (lambda: _image_facts(container, source, answers)) if container else None
        question = out_of_reach(wanted, home.path, inside)
        if question:
            wanted["brought"] = _fetched(question, store, source, answers)
            wanted["brought_for"] = [kind for kind in ("conda", "pip") if kind in question]


def _platform_inside(container: "Ready", source: "BinaryIO", answers: "BinaryIO") -> "Dict[str, Any]":
    """What conda must know of the place where the packages will be."""
    from jig.runner.virtual_packages import machine_platform

    libc = _image_facts(container, source, answers)["libc"]
    return machine_platform(libc, driver=bool(container.look.container.get("gpus")))


def _image_facts(container: "Ready", source: "BinaryIO", answers: "BinaryIO") -> "Dict[str, Any]":
    """What the base image has inside, which must be here for that."""

    def tell(text: str) -> None:
        wire.write_answer(answers, {"note": text})

    try:
        return dict(container.base_facts(tell, lambda: wire.has_left(source)))
    except environment.EnvironmentFailed as error:
        if wire.has_left(source):
            raise EOFError
        raise wire.Refused(error.reason, error.hint)


def _program(
    name: str, wanted: "Dict[str, Any]", store: blobs.BlobStore, source: "BinaryIO", answers: "BinaryIO"
) -> str:
    """The blob of a program that this machine lacks: the client's own, or one that it fetches; empty without either."""
    blob = str(wanted.get(name + "_blob", ""))
    if blob:
        _have(store, [blob], source, answers)
    elif wanted.get("fetches") and sys.platform != "win32":
        from jig.runner.reach import about_system

        for _, blob in _fetched(dict(about_system(), program=name), store, source, answers):
            return blob
    return blob


def _fetched(
    question: "Dict[str, Any]", store: blobs.BlobStore, source: "BinaryIO", answers: "BinaryIO"
) -> "List[List[str]]":
    """The names and blobs of files that the client downloads for us; the blobs are here then."""
    wire.write_answer(answers, {"fetch": question})
    found = wire.read_request(source)["fetched"]  # type: List[List[str]]
    _have(store, [blob for _, blob in found], source, answers)
    return found


def _have(store: blobs.BlobStore, names: "List[str]", source: "BinaryIO", answers: "BinaryIO") -> None:
    absent = [name for name in names if not store.has(name)]
    if absent:
        _ask_for(store, absent, source, answers)


def _stage(home: Home, plan: "Dict[str, Any]") -> "Tuple[int, events.EventWriter]":
    """Build the folder aside, take its lock, write the first event, and rename it into place."""
    folder = home.run(plan["run_id"])
    make_private(home.runs)
    staged = RunFolder(os.path.join(home.runs, ".new-%s-%d" % (folder.id, os.getpid())))
    os.mkdir(staged.path, 0o755)
    try:
        lock_path = folder.lock(home)
        inside = os.path.dirname(lock_path) == folder.path
        held = os.open(os.path.join(staged.path, "lock") if inside else lock_path, os.O_RDWR | os.O_CREAT, 0o644)
        lock(held)
        with open(staged.plan, "w") as file:
            file.write(dumps_lines(plan))
        reserve_space(staged.reserve, RESERVE_BYTES)
        writer = events.EventWriter(staged.events, folder.reserve)
        # Host and boot tell a reader on another machine with the same home that this lock is not for it to judge.
        writer.write("queued", host=host_name(), boot=boot_id())
        _put(staged, folder)
    except BaseException:
        import shutil

        shutil.rmtree(staged.path)
        raise
    return held, writer


def _put(staged: RunFolder, folder: RunFolder) -> None:
    try:
        put_folder(staged.path, folder.path)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise wire.Refused("there is already a run %s" % folder.id, code="taken")
        raise
