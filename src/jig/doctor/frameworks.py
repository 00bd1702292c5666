"""Frameworks against the driver and the GPUs: whether a build's CUDA is served, and whether it has code for the GPU."""

from __future__ import annotations

from jig.doctor import BAD, OK, WARN, Build, Finding
from jig.doctor.drivers import MINOR, TOO_OLD, fit, newest_served, oldest, parsed, served
from jig.doctor.releases import TORCH, runs_on
from jig.doctor.words import capability, listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.doctor import Subject
    from jig.doctor.drivers import Cuda
    from jig.doctor.releases import Capability, Release

UPDATE = "(Ubuntu: `sudo ubuntu-drivers install`, Debian: `sudo apt-get install nvidia-driver`, then restart)"
FRAMEWORKS = ("torch", "tensorflow", "jax", "cupy")  # what else may bring CUDA computes nothing by itself
COMPAT = "cuda-compat"
# What forward compatibility is not for.
CONSUMER = ("geforce", "titan")


def findings(facts: dict[str, Any], subject: Subject) -> list[Finding]:
    """A finding for each build; one that cannot use the GPU is bad where no other can."""
    packages = facts.get("packages") or {}
    look = facts.get("look") or {"devices": [], "driver": "", "cuda": ""}
    brought = [packages.get("compat"), subject.in_container and packages.get("image_compat")]
    there = _Machine(look, any(brought) or any(build.name == COMPAT for build in subject.asked))
    builds = _builds(packages, subject)
    judged = [_judge(build, there, subject) for build in builds]
    if any(found.status == OK for build, found in zip(builds, judged, strict=True) if build.name in FRAMEWORKS):
        judged = [finding._replace(status=WARN) if finding.status == BAD else finding for finding in judged]
    image = parsed(packages.get("image_cuda") or "")
    if image is not None:
        build = Build("CUDA of the image", packages["image_cuda"], f"{image[0]}.{image[1]}")
        judged.append(_judge(build, there, subject))
    return judged


class _Machine:
    """What a build has to fit."""

    def __init__(self, look: dict[str, Any], compat: bool) -> None:
        self.own = served(look)
        self.driver = look["driver"]
        self.names = [str(device["name"]) for device in look["devices"]]
        self.capabilities: list[Capability] = [
            (device["major"], device["minor"]) for device in look["devices"] if device["major"] is not None
        ]
        self.compat = compat

    @property
    def forward(self) -> bool:
        """Whether libraries of a newer driver are brought along, and the cards are of a kind that they serve."""
        return self.compat and not any(word in name.lower() for name in self.names for word in CONSUMER)


def _builds(packages: dict[str, Any], subject: Subject) -> list[Build]:
    """What is installed; where nothing is yet, what the conda file asks for."""
    if not packages.get("prepared"):
        return [build for build in subject.asked if build.name != COMPAT]
    where = f"installed for {packages.get('python', '')}"
    return [
        Build(found["name"], found["version"], found["cuda"], tuple(found["arches"]), where)
        for found in packages.get("builds") or ()
    ]


def _judge(build: Build, there: _Machine, subject: Subject) -> Finding:
    what = f"{build.name} {build.version}".rstrip()
    where = f" ({build.where})" if build.where else ""
    if build.cuda == "":
        return _finding(what, f"this build computes on CPUs only{where}", BAD, _for_gpus(build, subject))
    cuda = parsed(build.cuda or "")
    if cuda is None:
        return _finding(what, f"which CUDA it brings is known when it is installed{where}")
    made = f"made with CUDA {build.cuda}{where}"
    if there.own is None:
        return _finding(what, made)
    level = fit(cuda, there.own)
    if level == TOO_OLD and not there.forward:
        found = f"{made}, which needs driver {oldest(cuda)} or newer; the machine has {there.driver or 'an older one'}"
        if there.compat:
            found += ", and cuda-compat is for data-center GPUs only"
        return _finding(what, found, BAD, _older_cuda(build, there, cuda, subject))
    arches = build.arches or _known_arches(build, cuda)
    absent = [one for one in dict.fromkeys(there.capabilities) if arches and not runs_on(arches, one, level != MINOR)]
    if absent and len(absent) == len(set(there.capabilities)):
        return _finding(
            what, f"{made}, without code for {_gpus(absent, arches)}", BAD, _other_build(build, there, subject)
        )
    if absent:
        found = f"{made}, without code for some of the GPUs: {_gpus(absent, arches)}"
        return _finding(what, found, WARN, "hide them from the script, or take a build that has code for all of them")
    if level == TOO_OLD:
        fix = (
            f"it works as far as cuda-compat has libraries for driver {there.driver}; a newer driver needs no such help"
        )
        return _finding(what, f"{made}, which the driver serves by forward compatibility (cuda-compat) only", WARN, fix)
    how = " by minor-version compatibility" if level == MINOR else ""
    return _finding(what, f"{made}, which the driver serves{how}")


def _finding(what: str, found: str, status: str = OK, fix: str = "") -> Finding:
    return Finding(what, found, status, fix, only_gpu=True)


def _gpus(absent: list[Capability], arches: tuple[str, ...]) -> str:
    compiled = [arch.partition("_")[2].rstrip("af") for arch in arches]
    made_for = [f"{digits[:-1]}.{digits[-1]}" for digits in dict.fromkeys(compiled)]
    return f"compute capability {listed([capability(one) for one in absent])}; it is made for {listed(made_for)}"


def _known_arches(build: Build, cuda: Cuda) -> tuple[str, ...]:
    if build.name != "torch":
        return ()
    version = _version(build)
    known = [release for release in TORCH if (release.version, release.cuda) == (version, cuda)]
    return tuple(known[0].arches.split()) if known else ()


def _version(build: Build) -> Cuda | None:
    return parsed(".".join(build.version.partition("+")[0].split(".")[:2]))


def _place(subject: Subject) -> str:
    """Where a fix is written."""
    if subject.managed and subject.conda_file:
        return f"in {subject.conda_file}, under `- pip:`, write"
    return "install there"


def _for_gpus(build: Build, subject: Subject) -> str:
    name = {"tensorflow": "tensorflow[and-cuda]", "jax": "jax[cuda12]"}.get(build.name, build.name)
    version = build.version.partition("+")[0]
    pinned = f"{name}=={version}" if version and build.name == "torch" else name
    also = ", and no index that ends in `/cpu`" if build.name == "torch" else ""
    return f"{_place(subject)} `{pinned}`{also}"


def _older_cuda(build: Build, there: _Machine, cuda: Cuda, subject: Subject) -> str:
    update = f"update the driver to {oldest(cuda)} or newer {UPDATE}"
    release = _release(build, there)
    if release is not None:
        return f"{_place(subject)} {_lines(release)}; or {update}"
    if build.name == "CUDA of the image" and there.own is not None:
        return f"name an image with {newest_served(there.own)} in baseDockerImage; or {update}"
    return f"take a build for {newest_served(there.own)}; or {update}" if there.own else update


def _other_build(build: Build, there: _Machine, subject: Subject) -> str:
    release = _release(build, there)
    if release is not None:
        return f"{_place(subject)} {_lines(release)}"
    return f"no release of {build.name} that this version of jig knows fits GPU and driver; a newer driver may help"


def _lines(release: Release) -> str:
    major, minor = release.version
    return f"`--extra-index-url {release.url}` and `torch=={major}.{minor}.*`"


def _release(build: Build, there: _Machine) -> Release | None:
    """The PyTorch that fits this machine: of the same version if there is one, else the newest."""
    if build.name != "torch" or there.own is None:
        return None
    own = there.own
    fitting = [
        release
        for release in TORCH
        for level in (fit(release.cuda, own),)
        if level != TOO_OLD
        and all(runs_on(tuple(release.arches.split()), one, level != MINOR) for one in there.capabilities)
    ]
    version = _version(build)
    return next((release for release in fitting if release.version == version), next(iter(fitting), None))
