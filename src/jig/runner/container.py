"""A run in a container: what its plan leaves to the machine is filled in here, and the guard is given what to start.

The docker program is a child of the guard, in the script's place. Inside, `jig_init.py` is the first process. It takes
its orders on stdin, and ends everything when stdin ends: a run whose owner is gone needs no engine to be ended.
"""

import os
import sys

from jig.runner import image, image_words
from jig.runner.engine import Engine, EngineFailed, home_key
from jig.runner.engine_proxies import docker_proxies, no_proxies
from jig.runner.environment import EnvironmentFailed, NotStarted
from jig.runner.folder import BOX, INSIDE, SCRIPT_HOME, WHO, RunFolder, runner_root
from jig.runner.manifest import native

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

    from jig.runner.engine_gpu import Way
    from jig.runner.engine_run import Asked
    from jig.runner.taking_in import TakenIn

    Known = Dict[str, Union[str, List[str]]]

RUN, WORK, SHARE, CACHE = "/jig/run", "/azureml-run", "/azureml-share", "/jig/pycache"
SCRIPT_IMPORTS = "/jig/pack/script"
INIT = SCRIPT_IMPORTS + "/jig_init.py"
HOME = "/jig/home"
WHY = "-why"  # the end of the name of a container that is asked why the run's used no GPU


class Interrupted(Exception):
    """An order came in the middle of something long."""


class Ready:
    """What was found out while the run was taken in, so that nobody asks the engine twice."""

    def __init__(self, look: image.Look, way: "Optional[Way]") -> None:
        self.look = look
        self.way = way

    def leases(self) -> bool:
        """Whether the devices are this machine's, so that they can be leased here."""
        if self.way is None:
            return False
        from jig.runner import engine_gpu

        return engine_gpu.is_here(self.look.engine, self.look.engine.facts(self.look.home))

    def give(self, devices: "List[Dict[str, Any]]") -> None:
        """Give the container these devices, and no others, in the way that was found."""
        if not devices or self.way is None:
            return
        from jig.runner import engine_gpu

        # Of whole cards older CDI files have the numbers only.
        by_number = self.way.name == "cdi"
        chosen = [str(about["index"]) if by_number and not about["parent"] else about["uuid"] for about in devices]
        self.way = next(way for way in engine_gpu.ways(self.look.engine, chosen) if way.name == self.way.name)

    def base_facts(self, tell: "Callable[[str], None]", stopping: "Callable[[], bool]") -> "Dict[str, Any]":
        """What the base image has inside; it is pulled for that where it is missing."""
        return image.base_facts(self.look, tell, stopping)


def get_ready(home: str, container: "Dict[str, Any]", environment: "Dict[str, Any]") -> Ready:
    """Ask the engine for the image, in one call, and for a GPU where one is wanted; raises EngineFailed."""
    look = image.look(home, container, environment)
    way = None
    if container["gpus"]:
        from jig.runner import engine_gpu

        way = engine_gpu.choose(look.engine, home, container["gpus"])
    return Ready(look, way)


class Begun:
    """A container that the engine makes while other things are done; or why it cannot."""

    def __init__(self, taken: "TakenIn", ready: Ready, ensure: "Callable[[], image.Image]") -> None:
        self._failed: "Optional[Exception]" = None
        try:
            self.made = ensure()
            self.setup = set_up(taken.folder, taken.request, ready, self.made, taken.home.path)
            self.setup.ask()
        except EngineFailed as error:
            self._failed = image.failed(error)
        except (EnvironmentFailed, NotStarted, OSError) as error:
            self._failed = error

    def check(self) -> None:
        """Raise what kept us from it."""
        if self._failed is not None:
            raise self._failed

    def leave(self) -> None:
        """Close what another process goes on with."""
        if self._failed is None:
            os.close(self.made.held)
            if self.setup.asked is not None:
                self.setup.asked.close()


def begin(taken: "TakenIn", ready: Ready) -> "Optional[Begun]":
    """Begin at once with the container of a run that nothing has to be made for, and nothing waited for."""
    from jig.runner import image_facts

    leased = (taken.plan.get("gpu") or {}).get("want")
    if leased or not ready.look.image_id or not image_facts.read(taken.home.path, ready.look.image_id):
        return None
    ensure = (ready.look, taken.request["environment"], taken.folder.prepare_log, lambda text: None, lambda: False)
    return Begun(taken, ready, lambda: image.ensure(*ensure))


class Setup:
    """All that the guard needs to start the container and to watch it."""

    def __init__(
        self, engine: Engine, folder: RunFolder, container: "Dict[str, Any]", known: "Known", home: str
    ) -> None:
        import time

        self.engine = engine
        self.folder = folder
        self.home = home
        self.began = time.time()
        self.owner = (0, 0)
        self.python = str(known["python"])
        self.name = container_name(folder.id)
        self.starter = engine  # another one where a GPU is given by another program
        self.shared = bool(container["shared"])
        self.ranks = False  # whether there are files of several
        self.start: "Tuple[List[str], Dict[str, str]]" = ([], {})  # the script's words and variables
        self.asked: "Optional[Asked]" = None  # where the engine makes it already
        self.lay_out: "Callable[[], None]" = lambda: None  # the code, which may come while the container starts
        self._container = container
        self._known = known

    def argv(self) -> "List[str]":
        """The whole command, as the record tells it."""
        verb = ("run", "--sig-proxy=false") if self.shared else ("create",)
        return self.starter.argv(*verb + tuple(self.words()))

    def words(self) -> "List[str]":
        """What docker is told after `run` or `create`."""
        known = dict(self._known)
        mounts = self._container["mounts"] if self.shared else ()
        known["mounts"] = [word for mount in mounts for word in ("--mount", fill_mount(mount, known))]
        return fill(self._container["words"], known)

    def ask(self) -> None:
        """Let the engine make the container while other things are done, where it can be asked without the program."""
        from jig.runner import engine_run

        if self.shared and self.starter.program == self.engine.program and len(self.engine.program) == 1:
            self.asked = engine_run.ask(self.words(), self.starter.address)

    def ask_interpreter(self) -> "Dict[str, Any]":
        """What the image's Python says of its frameworks, in a container like the run's; nothing where it cannot."""
        from jig.runner.gpu import interpreter

        words = self.words()
        words[words.index("--name") + 1] += WHY
        words = words[: words.index("--entrypoint") + 3] + [SCRIPT_IMPORTS + "/" + interpreter.SCRIPT, "ask", WORK]
        variables = merged_variables(self.start[1])
        given = b"".join(native(name) + b"=" + native(value) + b"\0" for name, value in variables.items())
        try:
            said = self.starter.call("run", "--rm", *words, stdin=given, timeout_s=interpreter.ASK_S)
        except EngineFailed:
            sweep(self.folder.id)
            return {}
        return interpreter.answered(said.out)

    def take_back(self) -> None:
        """The run does not start after all."""
        if self.asked:
            try:
                self.asked.wait()  # what is not made yet cannot be removed
            except OSError:  # the engine is gone; what it may have made, `clean` removes
                return
            sweep(self.folder.id)

    def orders(self) -> bytes:
        """What init is told first; secrets go this way, so they are in no file and in nothing that the engine keeps."""
        from jig.runner import supervise

        argv, variables = self.start
        if not self.shared:
            variables = {name: value for name, value in variables.items() if name != supervise.SHARE_VARIABLE}
        fields = [str(self._known["nonce"]).encode(), WORK.encode(), b"%d" % len(argv)]
        fields += [native(word) for word in argv]
        fields += [native(name) + b"=" + native(value) for name, value in variables.items()]
        data = b"".join(field + b"\0" for field in fields)
        return b"%d\n" % len(data) + data


def merged_variables(given: "Dict[str, str]") -> "Dict[str, str]":
    """The script's variables without those that only init understands."""
    variables = {name: value for name, value in given.items() if name[:1] != "{"}
    if given.get("{imports}"):
        before = variables.get("PYTHONPATH")
        variables["PYTHONPATH"] = before + ":" + given["{imports}"] if before else given["{imports}"]
    return variables


def container_name(run_id: str) -> str:
    """The name of a run's container: the run's own id is in it, so that none is ever without an owner."""
    return "jig-" + run_id


def set_up(folder: RunFolder, request: "Dict[str, Any]", ready: Ready, made: image.Image, home: str) -> Setup:
    """Make the files that the container needs, and fill in what the plan left open."""
    from jig.runner import ranks, spark
    from jig.runner.gpu import interpreter
    from jig.runner.supervise import script_variables

    plan, kind = request["plan"], request["environment"]["kind"]
    container, facts = plan["container"], ready.look.engine.facts(home)
    uid, gid = (0, 0) if facts["rootless"] else (os.getuid(), os.getgid())
    share = os.path.expanduser(plan["share"])
    cache = os.path.join(home, "pycache", made.id.rpartition(":")[2][:32])
    nonce = os.urandom(8).hex()
    image_variables = dict(
        pair.partition("=")[::2] for pair in (ready.look.config.get("Config") or {}).get("Env") or ()
    )
    also = [record for key, record in (("spark", spark.RECORD), ("ranks", ranks.RECORD)) if plan.get(key)]
    linked = _make_files(folder, made.facts, uid, gid, nonce, also)
    os.makedirs(share, exist_ok=True)
    _make_cache(cache)
    known: "Known" = {
        "id": folder.id,
        "key": home_key(home),
        "run": folder.path,
        "share": share.rstrip("/"),
        "pack": runner_root(),
        "cache": cache,
        "image": made.id,
        "python": made.python,
        "nonce": nonce,
        "shm": str(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2),
        "user": ["--user", "0:0"] if facts["rootless"] else _user_words(uid, gid),
        "network": [] if facts["bridge"] else ["--network", "host"],
        "gpus": ready.way.options if ready.way else [],
        "proxies": no_proxies(image_variables, sudo=ready.look.engine.program[0] == "sudo"),
    }
    setup = Setup(ready.look.engine, folder, container, known, home)
    setup.owner = (uid, gid)
    setup.shared = setup.shared and facts["sees"] and linked
    setup.ranks = bool(plan.get("ranks"))
    if ready.way is not None:
        engine, way = ready.look.engine, ready.way
        setup.starter = Engine(way.program or engine.program, engine.address, dict(engine.environ, **way.environ))
    variables: "Dict[str, str]" = {
        "HOME": HOME,
        "USER": _user_name(uid),
        "LOGNAME": _user_name(uid),
        "PYTHONPYCACHEPREFIX": CACHE,
        "{imports}": SCRIPT_IMPORTS,
    }
    for name, value in docker_proxies().items():
        if name not in image_variables:
            variables.update({name: value, name.lower(): value})
    if ready.way is not None:
        from jig.runner.engine_gpu import NODES

        variables["{gpu}"] = ":".join(NODES)  # of which init wants to see one: no run computes elsewhere silently
    if made.prefix:
        variables["{programs}"] = made.prefix + "/bin"
        variables["CONDA_PREFIX" if kind == "conda" else "VIRTUAL_ENV"] = made.prefix
    variables.update(script_variables(request, SHARE, RUN))
    argv = [made.python if word == "{python}" else word for word in plan["argv"]]
    argv = spark.started(plan, made.python, SCRIPT_IMPORTS, ranks.started(plan, made.python, SCRIPT_IMPORTS, argv))
    setup.start = (interpreter.guarded(plan, made.python, SCRIPT_IMPORTS, argv), variables)
    return setup


def fill(words: "Sequence[str]", known: "Known") -> "List[str]":
    """The words with what stands in braces filled in; a word that is nothing else may become several, or none."""
    filled: "List[str]" = []
    for word in words:
        value = known.get(word[1:-1]) if word[:1] == "{" else None
        if isinstance(value, list):
            filled += value
        else:
            filled.append(_fill_word(word, known))
    return filled


def _fill_word(word: str, known: "Known") -> str:
    text, rest = "", word
    while True:
        before, brace, rest = rest.partition("{")
        text += before
        if not brace:
            return text
        name, _, rest = rest.partition("}")
        text += str(known[name])


def fill_mount(mount: str, known: "Known") -> str:
    """The value of `--mount` with what stands in braces filled in."""
    return image_words.fields([_fill_word(field, known) for field in mount.split(",")])


def _user_words(uid: int, gid: int) -> "List[str]":
    words = ["--user", "%d:%d" % (uid, gid)]
    for group in os.getgroups():
        if group != gid:
            words += ["--group-add", str(group)]
    return words


def _user_name(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return "user%d" % uid


def _make_cache(cache: str) -> None:
    """Compiled files of the image's packages are kept from run to run; those of a run's own code are not.

    Two runs may have different files of one name, size and time, which Python would take for the same.
    """
    if not os.path.islink(cache + WORK):
        os.makedirs(cache, exist_ok=True)
        try:
            os.symlink(RUN + "/pycache", cache + WORK)
        except FileExistsError:  # another run has made it this moment, or a script something else
            return


def _make_files(folder: RunFolder, facts: "Dict[str, Any]", uid: int, gid: int, nonce: str, also: "List[str]") -> bool:
    """The run's side of what is mounted: who the person is, and the proof that it is this folder.

    False on a disk where no file can have two names, and so none be the run's and the container's.
    """
    inside, who = os.path.join(folder.path, INSIDE), os.path.join(folder.path, WHO)
    os.makedirs(inside + "/pycache")
    for path in (folder.work, os.path.join(folder.path, SCRIPT_HOME), who):
        os.mkdir(path)
    for name in ("pack", "pycache"):  # where something is mounted; docker would make a folder of root's
        os.mkdir(os.path.join(folder.path, BOX, name))
    linked = True
    for path in [folder.log, folder.metrics] + [os.path.join(folder.path, name) for name in also]:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
        try:
            os.link(path, os.path.join(inside, os.path.basename(path)))
        except OSError:
            linked = False
    name = _user_name(uid)
    users = _without(facts["passwd"], name, uid) + ["%s:x:%d:%d::%s:/bin/sh" % (name, uid, gid, HOME)]
    groups = facts["group"].splitlines()
    if not any(line.split(":")[2:3] == [str(gid)] for line in groups):
        groups.append("%s:x:%d:" % (name, gid))
    for path, lines in ((os.path.join(who, "passwd"), users), (os.path.join(who, "group"), groups)):
        with open(path, "wb") as file:
            file.write("".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape"))
    with open(os.path.join(inside, "nonce"), "w") as note:
        note.write(nonce)
    return linked


def _without(passwd: str, name: str, uid: int) -> "List[str]":
    lines = [line for line in passwd.splitlines() if line]
    return [line for line in lines if line.split(":")[0] != name and line.split(":")[2:3] != [str(uid)]]


def sweep(run_id: str) -> None:
    """Remove the container that a run has left; an engine that cannot be reached keeps it until somebody cleans."""
    from jig.runner import engine

    try:
        name = container_name(run_id)
        engine.connect(*image_words.remove(name), name + WHY, timeout_s=10.0)
    except EngineFailed:
        return
