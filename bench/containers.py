"""Runs in containers, here and over SSH, against bare `docker run`; and their images against a Dockerfile."""

from __future__ import annotations

import functools
import itertools
import os
import pwd
import shutil
import subprocess
import time

import projects
from building import index_settings
from docker_engine import CERTIFICATES, IMAGE, Docker, engine
from environments import jig
from figure import Figure
from folders import fresh, read, write
from ssh import Attached
from sshd import Server, server
from timing import best_of, median_of, to_the_end_s, to_the_line_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SUM_BAR, FAR_BAR, BUILD_BAR = 1.0, 2.0, 1.1
CALLS_LIMIT, CLEARED_WITHIN_S = 1, 60.0
ROUNDS, BUILD_ROUNDS, PIP_ROUNDS = 25, 3, 1
LINE, SCRIPT = "hello", "/hello.py"
PACKAGES = ("numpy", "pandas", "scikit-learn")
RUNCONFIG = "Target: {name}\nFramework: Python\nCondaDependenciesFile: aml_config/conda_dependencies.yml\n"
OWN = "userManagedEnvironment: true\n"
BUILT = "userManagedEnvironment: false\n"
HERE, BOXED = "type: local\n", f"type: localdocker\nbaseDockerImage: {IMAGE}\n"
# The same twice: with the Python that is there, and with an environment that jig builds.
TARGETS = {"local": HERE + OWN, "local-built": HERE + BUILT, "docker": BOXED + OWN, "docker-built": BOXED + BUILT}
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
# First in PATH: a `docker` that notes its calls, and for `docker -H ssh://` an `ssh` with settings of ours.
COUNTED = '#!/bin/sh\nprintf "%s\\n" "$1" >> {log}\nexec {docker} "$@"\n'
SSH = '#!/bin/sh\nexec {ssh} "$@"\n'
DOCKERFILE = """\
FROM {base}
ARG {names}
COPY uv /usr/local/bin/uv
RUN uv venv /env && uv pip install --no-cache --python /env/bin/python {packages}
"""
PIP_DOCKERFILE = """\
FROM {base}
ARG {names}
RUN PIP_BREAK_SYSTEM_PACKAGES=1 pip install --no-cache-dir {packages}
"""


def measure() -> list[Figure]:
    """With the machine's network, as an engine without a bridge gives it, and with a bridge; images with the first."""
    figures = []
    for network in ("host", "bridge"):
        with engine(network) as docker:
            project = Project(docker)
            figures += _here(docker, project)
            with server(DOCKER_HOST=docker.address) as machine:
                docker.let_in(pwd.getpwnam(machine.user).pw_gid)
                figures += _there(docker, machine)
            if network == "host":
                figures += [_calls(project), *_builds(docker)]
    return figures


class Project:
    """A project with targets on this machine and in containers of an engine."""

    def __init__(self, docker: Docker, packages: tuple[str, ...] = ()) -> None:
        home, folder = fresh("containers", "here", "home"), fresh("containers", "here", "project")
        self.folder = projects.create(folder, home)
        self.environ = jig().environ(JIG_HOME=home, DOCKER_HOST=docker.address)
        pip = "".join(f"    - {name}\n" for name in packages)
        conda = f"dependencies:\n  - pip:\n{pip}" if packages else "dependencies: []\n"
        self._write("conda_dependencies.yml", conda)
        for name, text in TARGETS.items():
            self._write(f"{name}.compute", text)
            self._write(f"{name}.runconfig", RUNCONFIG.format(name=name))
        projects.hello(self.folder)

    def _write(self, name: str, text: str) -> None:
        write(os.path.join(self.folder, "aml_config", name), text)

    def submit_s(self, target: str) -> float:
        """Seconds of `jig submit` until the script's line is here."""
        return _submit_s(target, self.environ, self.folder)


def _submit_s(target: str, environ: Mapping[str, str], folder: str) -> float:
    return to_the_line_s((jig().program("jig"), "submit", "-c", target, "hello.py"), LINE, environ, folder)


def _here(docker: Docker, project: Project) -> list[Figure]:
    """The sum is that of a `docker run` of the same image, and of a submit to this machine with the same packages."""
    project.submit_s("docker-built")
    built = docker.do("images", "--quiet", "jig-env").strip()
    python = docker.do("inspect", "--format", '{{index .Config.Labels "jig.python"}}', built).strip()

    def bare(image: str, python: str) -> float:
        return to_the_line_s((*docker.run, image, python, SCRIPT), LINE, project.environ, project.folder)

    sides = [functools.partial(project.submit_s, target) for target in TARGETS]
    sides += [functools.partial(bare, IMAGE, "python3"), functools.partial(bare, built, python)]
    local_s, local_built_s, ours_s, ours_built_s, bare_s, bare_built_s = _typical(*sides)
    other, own_sum_s, built_sum_s = "docker run + submit", bare_s + local_s, bare_built_s + local_built_s
    return [
        Figure("containers", f"submit, {docker.network}", ours_s, other, own_sum_s, SUM_BAR),
        Figure("containers", f"submit, built, {docker.network}", ours_built_s, other, built_sum_s, SUM_BAR),
    ]


def _there(docker: Docker, machine: Server) -> list[Figure]:
    """Through connections that are kept, but for docker's own way over ssh, which is to make new ones."""
    home, project = fresh("containers", "there", "home"), fresh("containers", "there", "project")
    projects.create(project, home)
    attached = Attached(machine, home, project, "remotedocker", "--image", IMAGE)
    with open(os.path.join(project, "aml_config", "box.compute"), "a") as file:
        file.write(OWN)
    write(os.path.join(project, "aml_config", "box.runconfig"), RUNCONFIG.format(name="box"))
    projects.hello(project)
    through = (*machine.ssh, "-S", os.path.join(machine.folder, "bare"))
    remote = (docker.run[0], "-H", f"ssh://{machine.login}:{machine.port}", *docker.run[1:])

    def bare(*start: str) -> Callable[[], float]:
        return lambda: to_the_line_s((*start, IMAGE, "python3", SCRIPT), LINE, attached.environ, project)

    def by_docker(name: str, ssh: tuple[str, ...]) -> Callable[[], float]:
        environ = {**attached.environ, "PATH": _program(name, "ssh", SSH.format(ssh=" ".join(_full(ssh))))}
        return lambda: to_the_line_s((*remote, IMAGE, "python3", SCRIPT), LINE, environ, project)

    subprocess.run((*through, "-M", "-f", "-N", machine.login), stdin=subprocess.DEVNULL, check=True)
    try:
        ours_s, local_s, bare_s, far_s, kept_s = _typical(
            attached.to_the_line_s,
            lambda: _submit_s("local", attached.environ, project),
            bare(*through, machine.login, *docker.run),
            by_docker("ssh-new", machine.ssh),
            by_docker("ssh-kept", through),
        )
    finally:
        subprocess.run((*through, "-O", "exit", machine.login), stderr=subprocess.DEVNULL, check=True)
        attached.hang_up()
    ours = f"submit over ssh, {docker.network}"
    return [
        Figure("containers", ours, ours_s, "ssh docker run + submit", bare_s + local_s, SUM_BAR),
        Figure("containers", ours, ours_s, "docker -H ssh:// run", far_s, FAR_BAR, faster=True),
        Figure("containers", ours, ours_s, "docker -H ssh://, kept", kept_s, faster=True),
    ]


def _calls(project: Project) -> Figure:
    """How often the docker program is started for a run, before it is to run the container."""
    log = os.path.join(fresh("containers", "calls"), "log")
    docker = shutil.which("docker", path=project.environ["PATH"])
    environ = {**project.environ, "PATH": _program("calls", "docker", COUNTED.format(log=log, docker=docker))}
    _submit_s("docker-built", environ, project.folder)
    called = read(log).split()
    # The container itself is started by the program, or over the socket; removed it is by the program.
    calls = min(called.index(word) for word in ("run", "rm") if word in called)
    return Figure("containers", "engine calls of a submit", calls, "limit", CALLS_LIMIT, 1.0, is_count=True)


def _builds(docker: Docker) -> list[Figure]:
    """Nothing of the image is there on any side, and nothing is byte-compiled by uv; pip does that."""
    project, numbers = Project(docker, PACKAGES), itertools.count()
    caches = fresh("containers", "caches")
    settings = _settings()
    prepare = (jig().program("jig"), "experiment", "prepare", "-c", "docker-built")

    def ours(cold: bool) -> float:
        cache = os.path.join(caches, str(next(numbers)) if cold else "filled")
        environ = {**_without_pip(project.environ), **settings, "PIP_CONFIG_FILE": os.devnull, "UV_CACHE_DIR": cache}
        return _then_cleared(docker, to_the_end_s(prepare, environ, project.folder))

    def by_hand(dockerfile: str) -> float:
        context = fresh("containers", "context")
        shutil.copyfile(jig().program("uv"), os.path.join(context, "uv"))
        os.chmod(os.path.join(context, "uv"), 0o755)
        text = dockerfile.format(base=IMAGE, names=" ".join(settings), packages=" ".join(PACKAGES))
        write(os.path.join(context, "Dockerfile"), text)
        given = [word for name in settings for word in ("--build-arg", name)]  # with the value that the variable has
        argv = ("docker", "build", "--no-cache", "--network", "host", "--tag", "jig-bench/built:1", *given, context)
        environ = {**project.environ, **settings, "DOCKER_BUILDKIT": "0"}
        return _then_cleared(docker, to_the_end_s(argv, environ, project.folder))

    with_uv = functools.partial(by_hand, DOCKERFILE)
    ours(cold=False)  # fills the cache, and learns what the engine and the base image are
    cold_s, warm_s, uv_s = best_of(BUILD_ROUNDS, lambda: ours(cold=True), lambda: ours(cold=False), with_uv)
    (pip_s,) = best_of(PIP_ROUNDS, functools.partial(by_hand, PIP_DOCKERFILE))
    shutil.rmtree(caches)
    return [
        Figure("containers", "image, three packages, cold", cold_s, "Dockerfile with uv", uv_s, BUILD_BAR),
        Figure("containers", "image, three packages, cached", warm_s, "Dockerfile with uv", uv_s),
        Figure("containers", "image, three packages, cold", cold_s, "Dockerfile with pip", pip_s),
    ]


def _then_cleared(docker: Docker, seconds: float) -> float:
    """The same number, when what was built is gone and nothing goes on in the engine."""
    end = time.monotonic() + CLEARED_WITHIN_S
    while left := docker.do("ps", "--all", "--quiet").split():
        if time.monotonic() > end:
            raise SystemExit(f"the containers {left} are left after a build")
        time.sleep(0.1)
    for name in ("jig-env", "jig-bench/built"):
        built = docker.do("images", "--quiet", name).split()
        if built:
            docker.do("rmi", "--force", *built)
    return seconds


def _settings() -> dict[str, str]:
    """Where packages come from, for both sides: of what pip is told here, all that is not on this computer's disk."""
    found = {name: value for name, value in os.environ.items() if name in PROXIES}
    found |= {name: value for name, value in index_settings().items() if "file:" not in value and value[:1] != "/"}
    return {**found, "SSL_CERT_FILE": CERTIFICATES, "PIP_CERT": CERTIFICATES}


def _without_pip(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if not name.startswith("PIP_")}


def _program(place: str, name: str, text: str) -> str:
    """A search path in which this program comes first."""
    folder = fresh("containers", place, "bin")
    write(os.path.join(folder, name), text)
    os.chmod(os.path.join(folder, name), 0o755)
    return folder + os.pathsep + jig().environ()["PATH"]


def _full(command: tuple[str, ...]) -> tuple[str, ...]:
    return (shutil.which(command[0]) or command[0], *command[1:])


def _typical(*sides: Callable[[], float]) -> list[float]:
    """Engines take a fifth more or less to start the same container: the luckiest start says little."""
    for side in sides:
        side()  # the first of each fills caches
    return median_of(ROUNDS, *sides)
