"""What is made of facts: drivers against CUDA, builds against GPUs, disks, clocks. Nothing is asked here."""

import pytest

from jig.doctor import BAD, OK, WARN, Build, Finding, Subject, cheap, findings, gpu_run_works, run_starts
from jig.doctor.asked import builds
from jig.doctor.drivers import FULL, MINOR, OWN_DRIVER, TOO_OLD, fit, oldest, served
from jig.doctor.releases import TORCH, runs_on
from jig.environments.check.cuda import OLDEST_DRIVER
from jig.environments.check.lines import read
from jig.environments.check.versions import numbers
from jig.project import CondaSpec, Requirement

FILE = "aml_config/conda_dependencies.yml"
DEVICE = {
    "index": 0, "uuid": "GPU-1", "name": "NVIDIA H200", "major": 9, "minor": 0, "memory_bytes": 140 << 30,
    "free_bytes": 139 << 30, "parent": None, "mig_mode": False, "ecc_errors": 0, "processes": [],
}  # fmt: skip
PLAIN = Subject()
LOOK = {"driver": "570.86.15", "cuda": "12.8", "devices": [DEVICE], "error": "", "hint": ""}


def looked(driver: str = "570.86.15", cuda: "str | None" = "12.8", *devices: "dict", **more) -> "dict":
    return {**LOOK, "driver": driver, "cuda": cuda, "devices": list(devices or (DEVICE,)), **more}


def device(**more) -> "dict":
    return {**DEVICE, **more}


def capability(major: int, minor: int, **more) -> "dict":
    return device(major=major, minor=minor, **more)


def judged(look: "dict", *installed: Build, subject: Subject = PLAIN) -> "list[Finding]":
    """What is said of builds that are installed."""
    found = [build._asdict() for build in installed]
    facts = {"look": look, "packages": {"prepared": True, "python": "/opt/python", "builds": found}}
    names = [f"{build.name} {build.version}" for build in installed]
    return [finding for finding in findings(facts, subject) if finding.what in names]


# Drivers


def test_the_tables_agree():
    """A toolkit's own driver is never older than the oldest that serves it."""
    for cuda, own in OWN_DRIVER:
        assert numbers(own) >= numbers(oldest(cuda)), cuda
    assert [cuda for cuda, _ in OWN_DRIVER] == sorted(cuda for cuda, _ in OWN_DRIVER)
    assert {cuda for cuda, _ in OLDEST_DRIVER} <= {cuda for cuda, _ in OWN_DRIVER}


@pytest.mark.parametrize(
    ("look", "own"),
    [
        ({"driver": "570.86.15", "cuda": "12.8"}, (12, 8)),
        ({"driver": "535.183.01", "cuda": None}, (12, 2)),
        ({"driver": "384.111", "cuda": None}, (9, 0)),
        ({"driver": "300.1", "cuda": None}, None),
        ({"driver": None, "cuda": None}, None),
    ],
)
def test_what_a_driver_serves(look, own):
    assert served(look) == own


@pytest.mark.parametrize(
    ("wanted", "own", "how", "driver"),
    [
        ((12, 4), (12, 8), FULL, "525.60.13"),
        ((11, 8), (12, 2), FULL, "450.80.02"),
        ((12, 8), (12, 2), MINOR, "525.60.13"),
        ((11, 8), (11, 1), MINOR, "450.80.02"),
        ((13, 0), (12, 9), TOO_OLD, "580.65.06"),
        ((10, 2), (10, 1), TOO_OLD, "440.33"),
    ],
)
def test_how_a_driver_serves_a_build(wanted, own, how, driver):
    assert fit(wanted, own) == how
    assert oldest(wanted) == driver


@pytest.mark.parametrize(
    ("arches", "here", "ptx", "runs"),
    [
        ("sm_80 sm_90", (9, 0), False, True),
        ("sm_80", (8, 9), False, True),  # compiled for an older one of the same kind
        ("sm_89", (8, 6), True, False),
        ("sm_80", (9, 0), True, False),
        ("sm_80 compute_80", (9, 0), True, True),  # the driver compiles it
        ("sm_80 compute_80", (9, 0), False, False),
        ("sm_90a", (9, 0), False, True),
        ("sm_100a", (10, 3), False, False),
        ("sm_100f", (10, 3), False, True),
        ("sm_120 compute_120", (3, 7), True, False),
    ],
)
def test_code_for_a_gpu(arches, here, ptx, runs):
    assert runs_on(tuple(arches.split()), here, ptx) is runs


def test_every_gpu_has_a_release_of_torch():
    """Whatever the fix says can be followed: for every GPU from Kepler's last on there is a build, for a new driver."""
    for here in ((3, 7), (5, 2), (6, 1), (7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)):
        assert any(runs_on(tuple(release.arches.split()), here, True) for release in TORCH), here


# Frameworks

ON_HOPPER = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")


def test_a_build_that_fits():
    (found,) = judged(LOOK, Build("torch", "2.6.0+cu124", "12.4", ON_HOPPER))
    told = "made with CUDA 12.4 (installed for /opt/python), which the driver serves"
    assert found == Finding("torch 2.6.0+cu124", told, only_gpu=True)


def test_by_minor_version_compatibility():
    (found,) = judged(looked("535.183.01", "12.2"), Build("torch", "2.9.0", "12.8", ON_HOPPER))
    assert found.status == OK and found.found.endswith("which the driver serves by minor-version compatibility")


def test_ptx_needs_the_driver_of_its_cuda():
    build = Build("thing", "1", "12.8", ("sm_80", "compute_80"))
    assert judged(LOOK, build)[0].status == OK
    (found,) = judged(looked("535.183.01", "12.2"), build)
    assert found.status == BAD and "without code for compute capability 9.0; it is made for 8.0" in found.found


def test_a_driver_that_is_too_old():
    managed = Subject(managed=True, conda_file=FILE)
    (found,) = judged(looked("535.183.01", "12.2"), Build("torch", "2.9.0+cu130", "13.0", ON_HOPPER), subject=managed)
    assert found.status == BAD
    assert found.found.endswith("which needs driver 580.65.06 or newer; the machine has 535.183.01")
    assert found.fix.startswith(
        f"in {FILE}, under `- pip:`, write `--extra-index-url https://download.pytorch.org/whl/cu128` and "
        "`torch==2.9.*`; or update the driver to 580.65.06 or newer (Ubuntu: `sudo ubuntu-drivers install`"
    )


def test_forward_compatibility():
    """NVIDIA's libraries of a newer driver, for cards that they are made for."""
    facts = {"look": looked("535.183.01", "12.2"), "packages": {"prepared": True, "compat": True, "builds": [
        {"name": "torch", "version": "2.9.0", "cuda": "13.0", "arches": list(ON_HOPPER)}
    ]}}  # fmt: skip
    (found,) = [finding for finding in findings(facts, Subject()) if finding.what == "torch 2.9.0"]
    assert found.status == WARN and "by forward compatibility (cuda-compat) only" in found.found
    facts["look"] = looked("535.183.01", "12.2", device(name="NVIDIA GeForce RTX 3090"))
    (found,) = [finding for finding in findings(facts, Subject()) if finding.what == "torch 2.9.0"]
    assert found.status == BAD and found.found.endswith(", and cuda-compat is for data-center GPUs only")


@pytest.mark.parametrize(
    ("here", "build", "fix"),
    [
        ((3, 7), Build("torch", "2.6.0", "12.4", ON_HOPPER), "whl/cu118` and `torch==2.6.*`"),
        ((6, 1), Build("torch", "2.9.1", "12.8"), "whl/cu126` and `torch==2.9.*`"),
        ((12, 0), Build("torch", "2.5.1", "12.4", ON_HOPPER), "whl/cu128` and `torch==2.10.*`"),
        ((2, 0), Build("torch", "2.6.0", "12.4", ON_HOPPER), "no release of torch that this version of jig knows"),
    ],
)
def test_a_gpu_that_the_build_has_no_code_for(here, build, fix):
    (found,) = judged(looked("570.86.15", "12.8", capability(*here)), build)
    assert found.status == BAD and f"without code for compute capability {here[0]}.{here[1]}; it is " in found.found
    assert fix in found.fix


def test_one_gpu_of_two():
    both = looked("570.86.15", "12.8", capability(3, 7), capability(9, 0, index=1))
    (found,) = judged(both, Build("torch", "2.6.0", "12.4", ON_HOPPER))
    assert found.status == WARN and "for some of the GPUs: compute capability 3.7" in found.found


def test_a_build_for_cpus():
    cpu = Build("torch", "2.6.0+cpu", "")
    (found,) = judged(LOOK, cpu, subject=Subject(managed=True, conda_file=FILE))
    assert found.status == BAD and found.found.startswith("this build computes on CPUs only")
    assert found.fix == f"in {FILE}, under `- pip:`, write `torch==2.6.0`, and no index that ends in `/cpu`"
    both = judged(LOOK, cpu, Build("jax", "0.6.0", "12.0"))
    assert [finding.status for finding in both] == [WARN, OK], "another one uses the GPU"
    both = judged(LOOK, cpu, Build("cudatoolkit", "11.3", "11.3"))
    assert [finding.status for finding in both] == [BAD, OK], "libraries alone use nothing"


def test_the_image_has_a_cuda_too():
    facts = {"look": looked("535.1", "12.2"), "packages": {"prepared": False, "image_cuda": "13.0.1"}}
    (found,) = [finding for finding in findings(facts, Subject(in_container=True)) if "image" in finding.what]
    assert (found.what, found.status) == ("CUDA of the image 13.0.1", BAD)
    assert found.fix.startswith("name an image with CUDA 12 in baseDockerImage; or update the driver to 580.65.06 ")


# What the conda file asks for


def asked(*packages: str, pip: "tuple[str, ...]" = ()) -> "list[tuple[str, str, str | None]]":
    lines = [Requirement(text, number) for number, text in enumerate((*packages, *pip), 1)]
    spec = CondaSpec(FILE, packages=tuple(lines[: len(packages)]), pip=tuple(lines[len(packages) :]))
    return [(build.name, build.version, build.cuda) for build in builds(read(spec, ""), FILE)]


@pytest.mark.parametrize(
    ("packages", "pip", "found"),
    [
        ((), ("torch==2.6.0",), ("torch", "2.6.0", "12.4")),
        ((), ("torch==2.6.0+cu118",), ("torch", "2.6.0+cu118", "11.8")),
        ((), ("torch==2.6.0+cpu",), ("torch", "2.6.0+cpu", "")),
        ((), ("--extra-index-url https://download.pytorch.org/whl/cu126", "torch"), ("torch", "2.11", "12.6")),
        ((), ("--index-url https://download.pytorch.org/whl/cpu", "torch==2.6.0"), ("torch", "2.6.0", "")),
        ((), ("torch>=2.0,<2.3",), ("torch", "2.2", "12.1")),
        ((), ("torch==99.0",), ("torch", "99.0", None)),
        ((), ("tensorflow==2.18.0",), ("tensorflow", "2.18.0", "12.5")),
        ((), ("tensorflow-gpu==1.4.0",), ("tensorflow", "1.4.0", "8.0")),
        ((), ("tensorflow==1.4.0",), ("tensorflow", "1.4.0", "")),
        ((), ("tensorflow-cpu==2.18.0",), ("tensorflow", "2.18.0", "")),
        ((), ("jax[cuda12]==0.6.0",), ("jax", "0.6.0", "12.0")),
        ((), ("jax==0.6.0",), ("jax", "0.6.0", "")),
        ((), ("cupy-cuda12x",), ("cupy", "", "12.0")),
        ((), ("cupy-cuda117==10.6.0",), ("cupy", "10.6.0", "11.7")),
        (("pytorch-cuda=12.1",), (), ("pytorch-cuda", "12.1", "12.1")),
        (("pytorch=2.1=*cuda11.8*",), (), ("torch", "2.1", "11.8")),
        (("pytorch-cpu=2.1",), (), ("torch", "2.1", "")),
        (("cudatoolkit=11.3",), (), ("cudatoolkit", "11.3", "11.3")),
    ],
)
def test_what_a_line_will_bring(packages, pip, found):
    assert asked(*packages, pip=pip) == [found]


def test_a_file_is_judged_before_anything_is_installed():
    line = Build("torch", "2.9.0", "13.0", where=f"{FILE}:5")
    subject = Subject(managed=True, conda_file=FILE, asked=(line,))
    facts = {"look": looked("535.1", "12.2"), "packages": {"prepared": False}}
    (found,) = [finding for finding in findings(facts, subject) if finding.what == "torch 2.9.0"]
    assert found.status == BAD and f"made with CUDA 13.0 ({FILE}:5), which needs driver 580.65.06" in found.found
    assert cheap({"look": looked("535.1", "12.2")}, subject) == [found], "a part of the facts will do"


# Devices


def told(facts: "dict", what: str) -> Finding:
    (found,) = [finding for finding in findings(facts, Subject()) if finding.what == what]
    return found


def test_memory_that_somebody_fills():
    held = [{"pid": 4711, "memory_bytes": 130 << 30, "user": "eve", "command": "python", "run": ""}]
    full = device(free_bytes=5 << 30, processes=held)
    found = told({"look": looked("570.1", "12.8", full)}, "GPU 0 memory")
    assert found.status == BAD
    assert found.found == "5.0 GiB of 140.0 GiB are free: `python` of eve (process 4711) has 130.0 GiB"
    assert found.fix == "wait for it, or ask eve; if it is yours, `kill 4711` there ends it"
    found = told({"look": looked("570.1", "12.8", full, device(index=1))}, "GPU 0 memory")
    assert found.status == WARN, "there is another one"
    held[0]["run"] = "ada-digits-7"
    assert told({"look": looked("570.1", "12.8", full)}, "GPU 0 memory").fix == (
        "wait for it, or `jig cancel ada-digits-7` if it is yours"
    )
    hidden = device(free_bytes=5 << 30, processes=None)
    assert "does not tell who" in told({"look": looked("570.1", "12.8", hidden)}, "GPU 0 memory").found


def test_device_files_that_are_not_for_this_user():
    node = {"path": "/dev/nvidia0", "mode": 0o660, "group": "video", "usable": False}
    found = told({"look": LOOK, "nodes": [node]}, "permissions")
    assert found.status == BAD and found.found == "this user may not open /dev/nvidia0 (group video, mode 0660)"
    assert found.fix.startswith("`sudo usermod -aG video $USER` there, then log in again")
    nobodys = {**node, "group": "root"}
    assert told({"look": LOOK, "nodes": [nobodys]}, "permissions").fix == "`sudo chmod a+rw /dev/nvidia0` there"


def test_what_has_no_driver():
    nothing = {**LOOK, "driver": None, "devices": [], "error": "this machine has no NVIDIA driver"}
    assert told({"look": nothing, "without_driver": {"card": False, "smi": False}}, "GPU").status == BAD
    without = told({"look": nothing, "without_driver": {"card": True, "smi": False}}, "NVIDIA driver")
    assert without.found == "it has an NVIDIA GPU, and no driver for it"
    unloaded = told({"look": nothing, "without_driver": {"card": True, "smi": True}}, "NVIDIA driver")
    assert unloaded.fix.startswith("`sudo modprobe nvidia` there")


# The machine around them


def test_disk_for_what_is_to_be_built():
    subject = Subject(managed=True, conda_file=FILE, asked=(Build("torch", "2.6.0", "12.4"),))
    facts = {"home": "/h/.jig", "packages": {"prepared": False}}
    statuses = []
    for free in (20e9, 6e9, 2e9):
        (found,) = [one for one in findings({**facts, "free_bytes": int(free)}, subject) if one.what == "disk"]
        statuses.append(found.status)
    assert statuses == [OK, WARN, BAD]
    assert found.found == "2.0 GB free for /h/.jig; environment and run take about 8.5 GB"
    prepared = {**facts, "packages": {"prepared": True}, "free_bytes": 2_000_000_000}
    assert [one.status for one in findings(prepared, subject) if one.what == "disk"] == [OK]


def test_a_small_shared_memory():
    facts = {"shared_memory_bytes": 64 << 20}
    assert told(facts, "shared memory").status == WARN
    assert "`--shm-size=8g`" in told(facts, "shared memory").fix
    assert findings(facts, Subject(in_container=True)) == [], "a container gets its own"


def test_what_counts_for_whom():
    only = [Finding("GPU", "none", BAD, only_gpu=True)]
    assert run_starts(only) and not gpu_run_works(only)
    assert not run_starts([Finding("disk", "full", BAD)])
    assert gpu_run_works([Finding("clock", "wrong", WARN)])


def test_what_could_not_be_asked():
    found = findings({"failed": {"look": "no", "virtual": "never", "engine": "told with the engine"}}, PLAIN)
    assert found == [
        Finding("NVIDIA driver", "could not be asked: no", BAD, only_gpu=True),
        Finding("virtual", "could not be asked: never", WARN),
    ]
