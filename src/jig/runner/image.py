"""The image of a run in a container: the base image, and on it a layer with the run's environment, built once.

Looking for it is on the path of every run: it is one call of the engine, and nothing is imported here that takes time.
"""

import os
import sys

from jig.runner import engine_socket
from jig.runner.engine import ANSWER_S, Engine, address, connect, explain, find_docker
from jig.runner.environment import BUILT, EnvironmentFailed, deciding_settings, has_nvidia, name_of
from jig.runner.image_words import BASE_LABEL, ENVIRONMENTS, PYTHON_LABEL, REPOSITORY
from jig.runner.image_words import look as look_words
from jig.runner.quick_json import loads

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List

    from jig.runner.engine import EngineFailed, Said

FORMAT = "jig image 1"  # a change of what is built for the same request changes this, and so every tag
# The engine's word for a processor, by the kernel's.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}
MOVED = "the base image %s is another one than the environment was built on: it is built again"


class Look:
    """What the engine has for a run: the base image and the image with the environment; ids are empty for none."""

    engine: "Engine"

    def __init__(self, home: str, container: "Dict[str, Any]", environment: "Dict[str, Any]") -> None:
        self.home = home
        self.container = container
        self.environment = environment
        self.base = str(container["base"])
        self.config: "Dict[str, Any]" = {}  # what the engine says of the base image
        self.name = tag_name(container, environment)  # 32 hex digits; empty where the base is the image
        self.image_id = ""
        self.python = ""  # inside; empty until it is known
        self.replaced = ""  # the id of an image of this name that is of no use any more

    @property
    def question(self) -> "List[str]":
        """What the engine is asked."""
        return look_words(self.base, self.tag if self.name else "")

    @property
    def base_id(self) -> str:
        """The id of the base image; empty when it is not here."""
        return str(self.config.get("Id", ""))

    @property
    def tag(self) -> str:
        """The name of the image in the engine."""
        return "%s:%s" % (REPOSITORY, self.name) if self.name else self.base

    @property
    def prefix(self) -> str:
        """Where the environment stands inside; empty where it is the base's own."""
        return "%s/%s" % (ENVIRONMENTS, self.name) if self.name else ""

    def read(self, answers: bytes) -> None:
        """Take in what the engine says of both."""
        found = {}  # type: Dict[bool, Dict[str, Any]]
        for line in filter(None, answers.splitlines()):  # some clients print an empty line for a missing one
            about = loads(line)
            ours = bool(self.name) and any(tag.endswith(self.tag) for tag in about.get("RepoTags") or ())
            found[ours] = about
        self.config = found.get(False, {})
        if not self.name:
            self.image_id = self.base_id
            return
        image = found.get(True, {})
        labels = (image.get("Config") or {}).get("Labels") or {}
        usable = bool(labels.get(PYTHON_LABEL)) and self.base_id in ("", labels.get(BASE_LABEL))
        self.image_id = str(image.get("Id", "")) if usable else ""
        self.python = labels[PYTHON_LABEL] if usable else ""
        self.replaced = "" if usable else str(image.get("Id", ""))


class Image:
    """An image that a run can use now. `held` is a descriptor: while it is open the image is not removed by `clean`."""

    __slots__ = ("facts", "held", "id", "prefix", "python", "tag")

    def __init__(self, id: str, tag: str, python: str, prefix: str, facts: "Dict[str, Any]", held: int) -> None:
        self.id = id
        self.tag = tag
        self.python = python
        self.prefix = prefix
        self.facts = facts
        self.held = held


def look(home: str, container: "Dict[str, Any]", environment: "Dict[str, Any]") -> Look:
    """Ask the engine, once, what it has; raises EngineFailed when it cannot be asked."""
    if environment["kind"] not in BUILT and environment["kind"] != "user":
        raise EnvironmentFailed("this runner builds no environments of the kind %r" % environment["kind"])
    found = Look(os.path.abspath(home), container, environment)
    where = address()
    try:
        names = (found.base, found.tag) if found.name else (found.base,)
        answers = engine_socket.ask_images(where, names, ANSWER_S)
    except engine_socket.Silent:
        from jig.runner.engine_errors import too_slow

        raise too_slow(["docker"] + list(found.question), ANSWER_S)
    if answers is None:
        found.engine, said = connect(*found.question)
        return _take(found, said)
    found.engine = Engine([find_docker()], where)
    found.read(answers)
    return found


def look_again(before: Look) -> Look:
    """What the engine has now."""
    now = Look(before.home, before.container, before.environment)
    now.engine = before.engine
    return _take(now, now.engine.call(*now.question))


def _take(found: Look, said: "Said") -> Look:
    absent = [line for line in said.err.splitlines() if line.strip()]
    if said.code and not all("o such image" in line or "image not known" in line for line in absent):
        raise explain(said.err)
    found.read(said.out)
    return found


def tag_name(container: "Dict[str, Any]", environment: "Dict[str, Any]") -> str:
    """The name that stands for all that decides what is in the image; empty where that is the base alone."""
    if environment["kind"] not in BUILT:
        return ""
    fingerprint = environment["fingerprint"]
    if not fingerprint.isalnum():
        raise EnvironmentFailed("%r is not the fingerprint of an environment" % fingerprint)
    parts = [FORMAT, container["base"], fingerprint, os.uname().machine]
    if environment["kind"] == "conda":
        parts.append("nvidia" if container.get("gpus") and has_nvidia() else "")
    return name_of(parts + deciding_settings(environment))


def check(found: Look) -> None:
    """Refuse a base image that cannot run here."""
    system, machine = found.config.get("Os", "linux"), os.uname().machine
    if system != "linux":
        raise EnvironmentFailed(
            "the image %s is made for %s, and this machine runs Linux images: name another one in baseDockerImage"
            % (found.base, system.capitalize())
        )
    here, there = ARCHITECTURES.get(machine, machine), found.config.get("Architecture") or ""
    if there and there != here:
        raise EnvironmentFailed(
            "the image %s is made for the processor %s, and this machine has %s: `docker pull --platform linux/%s %s` "
            "there, or name another image in baseDockerImage" % (found.base, there, here, here, found.base)
        )


def ensure(
    found: Look,
    environment: "Dict[str, Any]",
    log_path: str,
    tell: "Callable[[str], None]",
    stopping: "Callable[[], bool]",
) -> Image:
    """The image to run, pulled and built first where it must be; raises NotStarted or EnvironmentFailed.

    Blocks while that takes, or while another process builds the same; `stopping` is asked ten times a second and ends
    that. What programs print is appended to `log_path`.
    """
    from jig.runner import image_facts
    from jig.runner.engine import EngineFailed

    if not found.name:
        check(found)
    found.environment = environment  # by now it may name files that the client has brought
    try:
        while True:
            if not found.image_id:
                found = _make(found, log_path, tell, stopping)
            held = image_facts.hold(found.home, found.image_id)
            facts = image_facts.of(found.engine, found.home, found.image_id)
            if facts is not None:
                break
            os.close(held)  # it was removed this moment
            found = look_again(found)
        python = found.python or image_facts.find_python(found, facts)
    except EngineFailed as error:
        raise failed(error)
    return Image(found.image_id, found.tag, python, found.prefix, facts, held)


def _make(found: Look, log_path: str, tell: "Callable[[str], None]", stopping: "Callable[[], bool]") -> Look:
    """Pull what is missing, and build."""
    if not found.base_id:
        from jig.runner import image_pull

        image_pull.pull(found, tell, stopping, log_path)
        found = look_again(found)
    check(found)
    if not found.image_id:
        from jig.runner import image_build

        found = image_build.build(found, log_path, tell, stopping)
    return found


def base_facts(
    found: Look, tell: "Callable[[str], None]", stopping: "Callable[[], bool]" = lambda: False
) -> "Dict[str, Any]":
    """What the base image has inside; it is pulled first where it is not here. Raises EnvironmentFailed."""
    from jig.runner import image_facts, image_pull
    from jig.runner.engine import EngineFailed

    try:
        if not found.base_id:
            image_pull.pull(found, tell, stopping)
            found.config = look_again(found).config
        check(found)
        facts = image_facts.of(found.engine, found.home, found.base_id)
    except EngineFailed as error:
        raise failed(error)
    if facts is None:
        raise EnvironmentFailed("the image %s was removed this moment: submit again" % found.base)
    return facts


def failed(error: "EngineFailed") -> EnvironmentFailed:
    """The engine's refusal as the reason why there is no environment."""
    return EnvironmentFailed(error.reason, error.hint)
