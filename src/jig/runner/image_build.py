"""Building the image of an environment: in a container of the base image, by the programs that build any other one.

No builder of the engine's takes part: a container is made, a shell in it is told what to run, and what has come to be
is committed.
"""

import contextlib
import os
import sys
import time

assert sys.platform != "win32"  # before the imports, so that the type checker leaves them out on Windows

from jig.runner import (
    engine_proxies,
    env_record,
    image,
    image_facts,
    image_places,
    image_settings,
    image_words,
    pip_settings,
    static_uv,
    uv_build,
)
from jig.runner.engine import EngineFailed, explain, home_key
from jig.runner.env_build import Build, carry_out
from jig.runner.environment import EnvironmentFailed
from jig.runner.image_places import Places
from jig.runner.image_shell import Shell, ShellEnded
from jig.runner.image_ways import Copied, Mounted
from jig.runner.image_words import BUILD, BUILD_LABEL, CACHE, ENVIRONMENTS, HOME_LABEL, HOST_NETWORK, UV
from jig.runner.tree import RUN_VARIABLE
from jig.runner.uv_output import NO_PYTHON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, Optional

    from jig.runner.image import Look

ENGINE_S = 300.0  # a disk may be slow, and an image large
COMMIT_S = 3600.0
REMOVE_S = 10.0  # the engine goes on with it when nobody waits any more
SLOW = "the Docker engine has not answered for minutes while the environment was built"
SLOW_HINT = "when `docker info` does not answer either, `sudo systemctl restart docker`"
COPIED = "the Docker engine does not see this machine's folders: what the build needs is copied"
_UV_RUNS = "(%s --version) >/dev/null 2>&1" % UV


class _Again(Exception):
    """The container cannot be used as it was made; it is made anew, in another way."""


def build(found: "Look", log_path: str, tell: "Callable[[str], None]", stopping: "Callable[[], bool]") -> "Look":
    """Build the image, or wait for the process that does; raises EnvironmentFailed."""
    making = ImageBuild(found, log_path, tell, stopping)
    try:
        carry_out(making)
    except EngineFailed as error:
        raise image.failed(error)
    except EnvironmentFailed as error:
        # A program inside said it: the disk is the engine's.
        if "No space left on device" in error.reason and ENVIRONMENTS in error.reason:
            raise image.failed(explain("no space left on device"))
        if NO_PYTHON in error.reason:
            wanted = "Python %s" % found.environment["python"] if found.environment["python"] else "Python"
            raise EnvironmentFailed(error.reason, "name an image with %s in baseDockerImage" % wanted)
        raise
    return making.found


class ImageBuild(Build):
    """An environment in the making inside a container of the base image."""

    def __init__(
        self, found: "Look", log_path: str, tell: "Callable[[str], None]", stopping: "Callable[[], bool]"
    ) -> None:
        root = os.path.join(found.home, "envs", found.name)
        super().__init__(found.environment, found.home, log_path, tell, stopping, root)
        self.found = found
        self.where = "the image " + found.base
        self.place = self.folder = found.prefix
        self.linked = self.staging + found.prefix
        self._engine = found.engine
        self._container = ""
        self._shell: "Optional[Shell]" = None
        self._uv = ""
        self._places = Places()
        self._way: "Optional[Mounted]" = None
        self._late_s = 0.0  # when the engine has had its time; 0 while it is not waited for

    def stands(self) -> bool:
        """Whether the image is there: another process may have built it meanwhile."""
        self.found = image.look_again(self.found)
        return bool(self.found.image_id)

    def choose_place(self) -> None:
        """It always takes the same place; say why it is built although there was one."""
        if self.found.replaced:
            self.tell(image.MOVED % self.found.base)

    def sweep(self) -> None:
        """Remove what killed builds of this image have left, also in the engine."""
        super().sweep()
        marks = (BUILD_LABEL, self.found.name), (HOME_LABEL, home_key(self.home))
        filters = [word for mark in marks for word in ("--filter", "label=%s=%s" % mark)]
        left = self._engine.need("ps", "--all", "--quiet", "--no-trunc", *filters)
        for container in left.decode().split():  # whoever made it held this lock, and is dead
            self._engine.call(*image_words.remove(container), timeout_s=REMOVE_S)

    def clear(self) -> None:
        """Leave nothing behind but the image."""
        try:
            self._remove_container()
        except EngineFailed as error:  # the next build of this image removes it
            self.log(("jig: the container %s is left: %s\n" % (self._container, error)).encode())
        finally:
            super().clear()

    def _remove_container(self) -> None:
        if self._shell:
            self._shell.close()
            self._shell = None
        if self._container:
            self._engine.call(*image_words.remove(self._container), timeout_s=REMOVE_S)
            self._container = ""

    def seen(self, text: str) -> str:
        """The text with this machine's files called as they are in the container."""
        self._gather()
        return self._places.seen(text)

    def read(self, name: str) -> str:
        """A small file of the environment."""
        heard: "List[bytes]" = []
        self._enter().run(["cat", os.path.join(self.folder, name)], {}, heard.append)
        return b"".join(heard).decode("utf-8", "replace")

    def inside(
        self, argv: "List[str]", variables: "Dict[str, str]", hear: "Callable[[bytes], None]", programs: str = ""
    ) -> int:
        """Run a program in the container."""
        shell = self._enter()
        given = image_settings.variables(variables, self.seen)
        given["UV_PYTHON_INSTALL_DIR"] = ENVIRONMENTS + "/python"  # a Python that uv brings is part of the image
        if self._way:
            given.update(self._way.variables)
            self._way.refresh(self._container)
        try:
            return shell.run([self.seen(word) for word in argv], given, hear, programs)
        except ShellEnded as ended:
            raise self._ended(str(ended))

    def _enter(self) -> Shell:
        """The shell in the container, which is made and started first."""
        if self._shell:
            return self._shell
        facts = self._engine.facts(self.home)
        user = "" if facts["rootless"] or not os.getuid() else "%d:%d" % (os.getuid(), os.getgid())
        with self.step("container"):
            self._gather()
            kind = Mounted if facts["sees"] else Copied
            while True:
                self._way = kind(self._do, self._places, self.staging, user)
                try:
                    self._create(user)
                    self._shell = self._start()
                    self._look_inside(self._shell)
                    return self._shell
                except _Again:
                    self._remove_container()
                except EngineFailed as error:
                    if error.code != "mount" or kind is Copied:
                        raise
                    self._remove_container()
                    self.tell(COPIED)
                    kind = Copied

    def _gather(self) -> None:
        """Find the files of this machine that programs in the container will need, once."""
        if self._places.inside:
            return
        variables = uv_build.uv_variables(self)
        self._uv = uv_build.find_uv(self.environment, self.home)
        self._places.put(self.staging, BUILD, writable=True)
        self._places.put(self._uv, UV)
        folder = variables.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        cache = variables.get("UV_CACHE_DIR") or os.path.join(folder, "uv")
        os.makedirs(cache, 0o700, exist_ok=True)
        self._places.put(os.path.abspath(cache), CACHE, writable=True)
        indexes = [variables[name] for name in pip_settings.INDEXES if name in variables]
        self._places.add_named(indexes, around=True)
        self._places.add_named(value for name, value in variables.items() if image_settings.is_kept(name))
        home_dir, options = os.path.expanduser("~"), self.environment["options"]
        self._places.add_named(pip_settings.uv_lines(dict(os.environ), home_dir, options))
        self._places.add_named(self.environment["requirements"])
        named = [word for line in pip_settings.uv_settings(dict(os.environ), home_dir) for word in line.split('"')]
        self._places.add_named([word for word in named if word.startswith("/")])
        self._places.add_named([word for word in named if word.startswith("file:")], around=True)
        if image_places.certificates():
            self._places.add(image_places.certificates())
        image_settings.lay_out(self.staging, self.seen)

    def _create(self, user: str) -> None:
        name = "jig-build-%s-%s-%d" % (self.found.name, home_key(self.home)[:4], os.getpid())
        env = dict(pair.partition("=")[::2] for pair in self._config().get("Env") or ())
        options = engine_proxies.no_proxies(env, sudo=self._engine.program[0] == "sudo")
        options += self._way.words() if self._way else []
        about = (name, self.found.name, home_key(self.home), user or "0:0")
        self._container = name
        try:
            self._do(*image_words.create(*about, options=options + [HOST_NETWORK], base=self.found.base_id))
        except EngineFailed as error:  # an engine with user namespaces does not share this machine's network
            if "user namespaces" not in error.reason:
                raise
            self._do(*image_words.create(*about, options=options, base=self.found.base_id))
        if self._way:
            self._way.created(name)

    def _start(self) -> Shell:
        argv = self._engine.argv(*image_words.start(self._container))
        shell = Shell(argv, self._environ(), self.stop_if_asked)
        heard: "List[bytes]" = []
        known = image_facts.read(self.home, self.found.base_id)
        try:
            with self._limit(ENGINE_S):
                shell.script("true" if known else image_facts.SCRIPT, heard.append)
        except EngineFailed:
            shell.close()
            raise
        except ShellEnded as ended:
            shell.close()
            failed = explain(str(ended))
            if failed.code == "mount":
                raise failed
            raise self._ended(str(ended))
        if not known:
            facts = image_facts.parse(b"".join(heard).decode("utf-8", "replace"))
            image_facts.keep(self.home, self.found.base_id, self._config(), facts)
        return shell

    def _look_inside(self, shell: Shell) -> None:
        """See that what was brought can be used there."""
        if self._way and not self._way.started(self._container, shell, self.folder, self.log):
            raise EngineFailed("the container does not see this machine's folders", "", "mount")
        if shell.script(_UV_RUNS, self.log):  # it wants another C library
            better = static_uv.find(self, self._uv, self.found.base)
            if self._places.inside.get(better):
                raise EnvironmentFailed("uv does not run in the image %s: name another one" % self.found.base)
            self._places.replace(self._uv, better)
            raise _Again()

    def _ended(self, text: str) -> EnvironmentFailed:
        """The error for a container that ended while it was still needed."""
        self.log(text.encode("utf-8", "replace"))
        self.stop_if_asked()
        if image_facts.is_no_shell(text):
            return EnvironmentFailed(
                "the image %s has no /bin/sh, by which an environment is built in it: name another image in "
                "baseDockerImage, or set userManagedEnvironment: true to use the Python that it has" % self.found.base
            )
        said = self._engine.call("inspect", "--format", "{{.State.OOMKilled}} {{.State.ExitCode}}", self._container)
        if said.out.startswith(b"true") or said.out.strip().endswith(b"137"):
            return EnvironmentFailed(
                "the container in which the environment was built was killed, for want of memory or by somebody"
            )
        return image.failed(explain(text))

    def finish(self, about: "Dict[str, Any]", began_s: float) -> None:
        """Commit what has come to be."""
        shell = self._enter()
        with self.step("stop"):
            if self._way:
                self._way.leaving(shell, self.log)
            shell.leave()
        python = self.folder + "/bin/python"
        labels = {
            image_words.BASE_LABEL: self.found.base_id,
            image_words.ENVIRONMENT_LABEL: self.environment["fingerprint"],
            image_words.HOME_LABEL: home_key(self.home),
            image_words.PYTHON_LABEL: python,
            image_words.VERSION_LABEL: about["python"],
            image_words.PACKAGES_LABEL: str(about["packages"]),
            image_words.BUILD_LABEL: "",
        }
        user = self._config().get("User") or "root"
        with self.step("commit"):
            said = self._do(*image_words.commit(self._container, self.found.tag, labels, user), limit_s=COMMIT_S)
        image_id = said.strip().splitlines()[-1]
        facts = image_facts.read(self.home, self.found.base_id)
        image_facts.keep(self.home, image_id, self._config(), facts)
        digests = self.found.config.get("RepoDigests") or []
        base = {"name": self.found.base, "id": self.found.base_id, "digests": digests}
        platform = "Linux %s %s" % (os.uname().machine, facts["libc"])
        env_record.write(env_record.of_image(self.home, image_id), self.record(about, platform, base=base))
        self.found.image_id, self.found.python = image_id, python
        self._remove_soon()
        if self.found.replaced:  # refused where a container still uses it
            self._engine.call("rmi", self.found.replaced, timeout_s=REMOVE_S)

    def _config(self) -> "Dict[str, Any]":
        """The settings of the base image."""
        return self.found.config.get("Config") or {}

    def _do(self, *words: str, limit_s: float = 0.0) -> str:
        """Have the engine do something that may take long, and can be given up; returns what is printed."""
        heard: "List[bytes]" = []
        with self._limit(limit_s or ENGINE_S):
            code = self.child(self._engine.argv(*words), self._environ(), heard.append)
        text = b"".join(heard).decode("utf-8", "replace")
        if code:
            raise explain(text)
        return text

    @contextlib.contextmanager
    def _limit(self, limit_s: float) -> "Iterator[None]":
        """An engine that hangs ends no call by itself."""
        self._late_s = time.monotonic() + limit_s
        try:
            yield
        finally:
            self._late_s = 0.0

    def stop_if_asked(self) -> None:
        """Give up when somebody wants that, or when the engine takes too long."""
        super().stop_if_asked()
        if self._late_s and time.monotonic() > self._late_s:
            raise EngineFailed(SLOW, SLOW_HINT, "timeout")

    def _remove_soon(self) -> None:
        """Have the container removed without waiting for it, which would take half a second."""
        import subprocess

        environ = self._environ()
        environ.pop(RUN_VARIABLE, None)  # it is not part of the run, which may end meanwhile
        argv = self._engine.argv(*image_words.remove(self._container))
        silent = subprocess.DEVNULL
        subprocess.call(
            ["/bin/sh", "-c", '"$@" &', "sh"] + argv,
            env=environ,
            stdin=silent,
            stdout=silent,
            stderr=silent,
            start_new_session=True,
        )
        if self._shell:
            self._shell.close()
        self._shell, self._container = None, ""

    def _environ(self) -> "Dict[str, str]":
        return dict(os.environ, **self._engine.environ)
