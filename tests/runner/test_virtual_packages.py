import json
import subprocess
import sys

import pytest

from jig.runner import virtual_packages
from jig.runner.virtual_packages import machine_platform

DETECT = """
import json, os, sys
from rattler import Subdir, VirtualPackage, VirtualPackageOverrides
found = [p.into_generic() for p in VirtualPackage.detect(VirtualPackageOverrides.from_env())]
print(json.dumps({"platform": str(Subdir.current()), "virtual": {p.name.normalized: str(p.version) for p in found}}))
sys.stdout.flush()
os._exit(0)
"""


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA", "GLIBC", "LINUX", "ARCHSPEC", "OSX"):
        monkeypatch.delenv(f"CONDA_OVERRIDE_{name}", raising=False)


def test_the_machine_is_seen_as_rattler_sees_it() -> None:
    said = subprocess.run([sys.executable, "-c", DETECT], stdout=subprocess.PIPE, text=True, check=True)
    theirs, ours = json.loads(said.stdout), machine_platform()
    assert ours["platform"] == theirs["platform"]
    versions = {name: text.partition("=")[0] for name, text in ours["virtual"].items()}
    assert versions == theirs["virtual"]


def test_what_conda_is_told_instead_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_packages, "_cuda", lambda: "11.8")
    assert machine_platform()["virtual"]["__cuda"] == "11.8"
    monkeypatch.setenv("CONDA_OVERRIDE_CUDA", "12.4")
    monkeypatch.setenv("CONDA_OVERRIDE_GLIBC", "2.17")
    monkeypatch.setenv("CONDA_OVERRIDE_ARCHSPEC", "zen3")
    found = machine_platform()["virtual"]
    assert (found["__cuda"], found["__glibc"], found["__archspec"]) == ("12.4", "2.17", "1=zen3")
    monkeypatch.setenv("CONDA_OVERRIDE_CUDA", "")
    assert "__cuda" not in machine_platform()["virtual"]


@pytest.mark.parametrize(
    ("release", "version"), [("6.1.0-18-amd64", "6.1.0"), ("5.15.90.1-microsoft", "5.15.90.1"), ("custom", "0")]
)
def test_the_numbers_of_a_kernel_count(release: str, version: str) -> None:
    assert virtual_packages._version(release) == version


def test_no_driver_is_no_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_packages, "_LIBCUDA", ("libnowhere.so.1",))
    assert virtual_packages._cuda() == ""
