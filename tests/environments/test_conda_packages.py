import pytest

from jig.environments import conda_packages
from jig.environments.conda_packages import Clause, Package
from jig.environments.requirement import LineRefused

TOO_OLD = "`{}`: uv serves no Python older than 3.6, and downloads none older than 3.8"


def request(text: str) -> str:
    package = conda_packages.parse(text)
    assert package is not None and package.name == "python"
    return conda_packages.python_request(text, package)


@pytest.mark.parametrize(
    ("text", "package"),
    [
        ("numpy", Package("numpy", ())),
        ("NumPy", Package("numpy", ())),
        ("numpy=1.26", Package("numpy", (Clause("=", "1.26"),))),
        ("numpy 1.26", Package("numpy", (Clause("=", "1.26"),))),
        ("numpy == 1.26.4", Package("numpy", (Clause("==", "1.26.4"),))),
        ("numpy >=1.20, <2", Package("numpy", (Clause(">=", "1.20"), Clause("<", "2")))),
        ("conda-forge::numpy=1.26", Package("numpy", (Clause("=", "1.26"),))),
        ("conda-forge/linux-64::numpy", Package("numpy", ())),
        ("numpy=1.26=py311_0", Package("numpy", (Clause("=", "1.26"),), "py311_0")),
        ("numpy 1.26 py311_0", Package("numpy", (Clause("=", "1.26"),), "py311_0")),
        ("numpy=1.26.*", Package("numpy", (Clause("=", "1.26.*"),))),
        ("numpy[version='>1']", Package("numpy", None)),
        ("numpy>1|=3", Package("numpy", None)),
        ("_libgcc_mutex", Package("_libgcc_mutex", ())),
        ("==1", None),
        ("", None),
        ("-e .", None),
        ("пакет", None),
    ],
)
def test_entries_are_read_as_conda_reads_them(text: str, package: Package | None) -> None:
    assert conda_packages.parse(text) == package


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("python", ""),
        ("python=*", ""),
        ("python=3", "3"),
        ("python=3.11", "3.11"),
        ("python 3.11", "3.11"),
        ("Python = 3.11", "3.11"),
        ("python=3.11.*", "3.11"),
        ("python==3.11.*", "3.11"),
        ("python=3.11.7", "3.11.7"),
        ("python==3.11.7", "==3.11.7"),
        ("python==3.11", "==3.11"),
        ("python>=3.9,<3.12", "<3.12,>=3.9"),
        ("python >=3.9, <3.12", "<3.12,>=3.9"),
        ("python<3.12,>=3.9", "<3.12,>=3.9"),
        ("python>=3.9.*", ">=3.9"),
        ("python!=3.9.1,>=3.8", "!=3.9.1,>=3.8"),
        ("python=3.9,<3.9.5", "<3.9.5,==3.9.*"),
        ("python~=3.5", "~=3.5"),
        ("python<3.6.1", "<3.6.1"),
        ("python=3.6", "3.6"),
        ("python!=3.5.*", "!=3.5.*"),
        ("python=3.14.0rc1", "3.14.0rc1"),
    ],
)
def test_a_python_becomes_what_uv_is_asked_for(text: str, wanted: str) -> None:
    assert request(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "python=2",
        "python=2.7",
        "python=3.5.2",
        "python=3.5",
        "python==3",
        "python==3.5.*",
        "python<3.6",
        "python<3.6.0",
        "python<=3.5",
        "python~=3.5.2",
        "python>=3.4,<3.6",
    ],
)
def test_a_python_that_uv_cannot_serve_is_refused(text: str) -> None:
    with pytest.raises(LineRefused) as refused:
        request(text)
    assert refused.value.message == TOO_OLD.format(text)
    assert refused.value.fix == "write for example `python=3.11`; the rest of the file may then need newer versions too"


@pytest.mark.parametrize("text", ["python=3.x", "python=3.1*", "python>3|=2", "python=3.11.2.1", "python[version=3]"])
def test_a_python_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(LineRefused) as refused:
        request(text)
    assert refused.value.message == f"`{text}` is not a Python version that can be read"


def test_a_build_of_python_is_refused() -> None:
    with pytest.raises(LineRefused) as refused:
        request("python=3.11.7=h955ad1f_0")
    assert refused.value.fix == "write `python=3.11.7`"
