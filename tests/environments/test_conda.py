"""Conda entries and channels in one way of writing; what the environment's name depends on."""

import pytest

from jig.environments import Environment, decide
from jig.environments.channels import DEFAULTS, Settings
from jig.environments.conda import normalize, reason
from jig.environments.requirement import LineRefused
from jig.environments.uv import serves
from jig.errors import ProjectError
from jig.project import ComputeTarget, CondaSpec, Requirement

TARGET = ComputeTarget("local", "local", user_managed_environment=False)
FORGE = "https://conda.anaconda.org/conda-forge"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch, tmp_path):
    monkeypatch.setenv("CONDARC", str(tmp_path / "condarc"))
    monkeypatch.delenv("CONDA_CHANNEL_ALIAS", raising=False)
    return tmp_path / "condarc"


def conda(packages, channels=(), pip=()):
    lines = tuple(Requirement(text, 5 + at) for at, text in enumerate(packages))
    return CondaSpec("c.yml", channels=tuple(channels), packages=lines, pip=tuple(Requirement(t, 20) for t in pip))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("NumPy", "numpy"),
        ("numpy=1.11", "numpy=1.11"),
        (" numpy  = 1.11 ", "numpy=1.11"),
        ("numpy >=1.8, <2", "numpy>=1.8,<2"),
        ("tool=1.0=py35_0", "tool=1.0=py35_0"),
        ("tool  1.0   py35_0", "tool 1.0 py35_0"),
        ("python=3.5.2", "python=3.5.2"),
        ("conda-forge::pytorch=2.1=*cuda*", f"{FORGE}::pytorch=2.1=*cuda*"),
        ("https://h/c::z", "https://h/c::z"),
        ("pkg[version='>=1',build='*cuda*']", "pkg[version='>=1',build='*cuda*']"),
    ],
)
def test_one_way_of_writing(text, written):
    assert normalize(text, Settings()) == written


@pytest.mark.parametrize("text", ["bad name!", "a;b", "", "-x", "numpy=1\n2;", "$(id)", "numpy=$(id)", "a[b"])
def test_what_conda_could_not_read(text):
    with pytest.raises(LineRefused):
        normalize(text, Settings())


def test_channels():
    settings = Settings()
    assert settings.addresses(()) == (FORGE,)
    assert settings.addresses(("nodefaults",)) == (FORGE,)
    assert settings.addresses(("pytorch", "nodefaults", "conda-forge", "pytorch")) == (
        "https://conda.anaconda.org/pytorch",
        FORGE,
    )
    main, r = "https://repo.anaconda.com/pkgs/main", "https://repo.anaconda.com/pkgs/r"
    assert settings.addresses(("defaults", "https://h/mine/")) == (main, r, "https://h/mine")
    assert settings.addresses(("/srv/my channel",)) == ("file:///srv/my%20channel",)


def test_a_labs_own_mirror_counts(no_settings, monkeypatch):
    no_settings.write_text(
        "channel_alias: https://mirror/conda/\n"
        "default_channels: [https://mirror/main]\n"
        "custom_channels: {lab: https://lab/channels}\n"
    )
    asked = ("conda-forge", "defaults", "lab/label/dev")
    assert Settings().addresses(asked) == (
        "https://mirror/conda/conda-forge",
        "https://mirror/main",
        "https://lab/channels/lab/label/dev",
    )
    monkeypatch.setenv("CONDA_CHANNEL_ALIAS", "https://other")
    assert Settings().address("x") == "https://other/x"
    no_settings.write_text("default_channels: https://mirror/main\ncustom_channels: [lab]")
    assert Settings().addresses(("defaults",)) == DEFAULTS
    no_settings.write_text("channel_alias: [")
    assert Settings().address("conda-forge") == "https://other/conda-forge"


def test_the_environment_of_a_file_with_conda_packages():
    spec = conda(["python=3.11", "numpy >=1", "pip"], ["conda-forge"], ["six"])
    environment = decide(TARGET, spec, True)
    assert environment._replace(fingerprint="") == Environment(
        "conda", requirements=("six",), channels=(FORGE,), packages=("numpy>=1", "pip", "python=3.11")
    )
    again = decide(TARGET, conda(["pip", "numpy>=1", "python=3.11"], [], ["six"]), False)
    assert again.fingerprint == environment.fingerprint, "order, spaces and a channel that goes without saying"
    for other in (
        conda(["pip", "numpy>=2", "python=3.11"], [], ["six"]),
        conda(["pip", "numpy>=1", "python=3.11"], ["pytorch"], ["six"]),
        conda(["pip", "numpy>=1", "python=3.11"], [], ["six", "rich"]),
    ):
        assert decide(TARGET, other, True).fingerprint != environment.fingerprint


def test_every_fault_of_the_file_is_told():
    with pytest.raises(ProjectError) as raised:
        decide(TARGET, conda(["numpy", "bad name!"], [], ["-e ."]), True)
    assert [(fault.line, fault.key) for fault in raised.value.faults] == [(6, "dependencies"), (20, "pip")]


def test_what_a_plan_shows_holds_no_secret():
    spec = conda(["numpy"], ["https://me:secret@h/c", "https://h/t/token-123/c"], ["https://h/x.whl?sig=abc"])
    shown = decide(TARGET, spec, True).shown()
    assert shown.channels == ("https://***@h/c", "https://h/t/***/c")
    assert shown.requirements == ("https://h/x.whl?***",)


@pytest.mark.parametrize(
    ("packages", "why"),
    [
        ([], ""),
        (["python=3.11", "pip"], ""),
        (["python=3.11", "NumPy=1.26"], "numpy is a conda package"),
        (["python=3.5.2", "pip"], "uv has no python=3.5.2"),
        (["python=3.11=h123_0"], "python=3.11=h123_0 names a build"),
        (["https://me:pw@h/c::python"], "https://***@h/c::python names a channel"),
        (["bad name!"], "bad is a conda package"),
    ],
)
def test_why_uv_alone_does_not_do(packages, why):
    assert reason(conda(packages)) == why
    assert (why == "") == serves(conda(packages))
