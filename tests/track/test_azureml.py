"""`azureml.logging` in a script, alone and beside a real `azureml` of every kind."""

import sys
import zipfile
from pathlib import Path

import pytest

from .conftest import lay_out

LOG = """
from azureml.logging import get_azureml_logger
log = get_azureml_logger()
log.log("Accuracy", 0.5).wait()
"""
PKGUTIL = "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"
REAL_LOGGING = "def get_azureml_logger():\n    raise SystemExit('the real one')\n"


def package(folder: Path, **files: str) -> Path:
    """Install files below `azureml/`, named with two underscores for a slash; `init` is `__init__`."""
    for name, text in files.items():
        path = folder / "azureml" / (name.replace("__", "/").replace("init", "__init__") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_a_logger_logs_and_uploads(script):
    script(
        LOG
        + """
log.log("all values", [5, 6, 7])
log.log("text", "it's")
assert log.log("n", 1).wait() is None
assert log.upload("artifact/path", "content").wait() is None
log.upload("outputs/raw.bin", b"\\x00")
try:
    log.upload("../x", "content")
except ValueError as error:
    print(error)
"""
    )
    assert script.values() == [{"Accuracy": 0.5}, {"all values": [5, 6, 7]}, {"text": "it's"}, {"n": 1}]
    assert (script.outputs / "artifact" / "path").read_text() == "content"
    assert (script.outputs / "raw.bin").read_bytes() == b"\x00"
    assert script.stderr == ""


def test_a_logger_can_be_pickled(script):
    script(LOG + "import pickle; pickle.loads(pickle.dumps(log)).log('copy', 1)")
    assert script.values() == [{"Accuracy": 0.5}, {"copy": 1}]


KINDS = {
    "regular": {"init": "REAL = True\n", "core__init": "class Run: pass\n"},
    "pkgutil": {"init": PKGUTIL + "REAL = True\n", "core__init": "class Run: pass\n"},
    "namespace": {"core__init": "class Run: pass\n"},
    "imports itself": {"init": "import azureml.core\nfrom azureml import core\n", "core__init": "class Run: pass\n"},
}
ORDERS = {
    "logging first": LOG + "import azureml.core\n",
    "core first": "import azureml.core\n" + LOG,
    "package first": "import azureml\n" + LOG + "from azureml import core\n",
    "from": "from azureml.core import Run\nfrom azureml import logging\nimport azureml\n" + LOG,
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_beside_a_real_package_both_work(script, tmp_path, kind, order):
    site = package(tmp_path / "site", **KINDS[kind])
    out = script(
        ORDERS[order]
        + """
import pickle, sys, azureml, azureml.core, azureml.logging
assert sys.modules["azureml"] is azureml
assert azureml.core is sys.modules["azureml.core"] and azureml.logging is sys.modules["azureml.logging"]
assert type(pickle.loads(pickle.dumps(azureml.core.Run()))) is azureml.core.Run
print(azureml.__name__, getattr(azureml, "REAL", False), azureml.__spec__.name, list(azureml.__path__))
""",
        path=(site,),
    )
    real = "REAL" in KINDS[kind].get("init", "")
    assert out == f"azureml {real} azureml {[str(site / 'azureml'), str(script.modules / 'azureml')]}\n"
    assert script.values() == [{"Accuracy": 0.5}]
    assert script.stderr == ""


@pytest.mark.parametrize("init", ["", PKGUTIL, None])
def test_a_real_logging_module_wins(script, tmp_path, init):
    files = {"logging": REAL_LOGGING} if init is None else {"init": init, "logging": REAL_LOGGING}
    script(LOG, path=(package(tmp_path / "site", **files),), rc=1)
    assert script.stderr == "the real one\n"


@pytest.mark.parametrize("first", ["", None])
def test_portions_in_several_places_all_come_before_ours(script, tmp_path, first):
    """The second portion holds a real logging module, which a path gathered from sys.path would put behind ours."""
    files = {"core": ""} if first is None else {"init": PKGUTIL, "core": ""}
    one = package(tmp_path / "one", **files)
    other = package(tmp_path / "two", **({} if first is None else {"init": PKGUTIL}), logging=REAL_LOGGING)
    code = "import azureml.core; print([p for p in azureml.__path__], flush=True)" + LOG
    out = script(code, path=(one, other), rc=1)
    assert out == f"{[str(folder / 'azureml') for folder in (one, other, script.modules)]}\n"
    assert script.stderr == "the real one\n"


def test_a_real_one_that_stands_before_ours_is_found_too(script, tmp_path):
    (script.run_dir / "work" / "azureml").mkdir()
    (script.run_dir / "work" / "azureml" / "mine.py").write_text("X = 1\n")
    assert script("from azureml.mine import X; print(X)" + LOG) == "1\n"
    assert script.values() == [{"Accuracy": 0.5}]


def test_a_module_that_is_no_package(script, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "azureml.py").write_text("REAL = True\n")
    assert script("import azureml; print(azureml.REAL)" + LOG, path=(tmp_path / "site",)) == "True\n"
    assert script.values() == [{"Accuracy": 0.5}]


def test_a_real_one_in_a_zip_file(script, tmp_path):
    with zipfile.ZipFile(tmp_path / "site.zip", "w") as archive:
        archive.writestr("azureml/__init__.py", "REAL = True\n")
        archive.writestr("azureml/core.py", "")
    code = "import azureml, azureml.core; print(azureml.REAL, azureml.__path__[0])" + LOG
    assert script(code, path=(tmp_path / "site.zip",)) == f"True {tmp_path}/site.zip/azureml\n"
    assert script.values() == [{"Accuracy": 0.5}]


def test_a_real_one_behind_an_import_hook(script, tmp_path):
    """As installs in place (`pip install -e`) do it: a finder after the one for sys.path that knows the folder."""
    site = package(tmp_path / "site", init="REAL = True\n", core="")
    code = f"""
import sys, importlib.util
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "azureml":
            return importlib.util.spec_from_file_location(name, {str(site / "azureml" / "__init__.py")!r})
sys.meta_path.append(Finder())
import azureml.core
print(azureml.REAL)
"""
    assert script(code + LOG) == "True\n"
    assert script.values() == [{"Accuracy": 0.5}]


def test_a_real_one_that_fails_fails_as_it_would_without_us(script, tmp_path):
    site = package(tmp_path / "site", init="import no_such_module\n")
    code = """
for _ in range(2):
    try:
        import azureml.logging
    except ImportError as error:
        print(error)
"""
    assert script(code, path=(site,)) == "No module named 'no_such_module'\n" * 2


# What setuptools' declare_namespace does, in short: it runs every `__init__` of that name into one module.
DECLARE = """
def declare_namespace(name, declared=set()):
    import os, sys
    if name in declared:
        return
    declared.add(name)
    found = [os.path.join(entry, name) for entry in sys.path if os.path.isdir(os.path.join(entry, name))]
    for folder in found:
        with open(os.path.join(folder, "__init__.py")) as file:
            exec(compile(file.read(), folder, "exec"), sys.modules[name].__dict__)
    sys.modules[name].__path__ = found
"""


def test_portions_declared_with_setuptools(script, tmp_path):
    site = tmp_path / "site"
    remember = "import sys; sys.first = getattr(sys, 'first', sys.modules[__name__])\n"
    package(site, init=remember + "__import__('declare').declare_namespace(__name__)\n", core="")
    (site / "declare.py").write_text(DECLARE)
    code = "import sys, azureml, azureml.core; print(azureml is sys.first, azureml.__path__)" + LOG
    assert script(code, path=(site,)) == f"True {[str(site / 'azureml'), str(script.modules / 'azureml')]}\n"
    assert script.values() == [{"Accuracy": 0.5}]


def test_a_run_inside_a_run_has_our_folder_twice(script, tmp_path):
    lay_out(tmp_path / "outer")
    site = package(tmp_path / "site", init=PKGUTIL, core="")
    script(LOG + "import azureml.core", path=(tmp_path / "outer", site, tmp_path / "outer"))
    script(LOG, path=(tmp_path / "outer",))
    assert script.values() == [{"Accuracy": 0.5}] * 2
    assert script.stderr == ""


def test_odd_entries_of_sys_path_do_no_harm(script):
    code = "import sys, pathlib; sys.path[:0] = ['', pathlib.Path('x'), '/no/such', 'a\\nb']"
    script(code + LOG)
    assert script.values() == [{"Accuracy": 0.5}]


# What the tutorial of Azure ML Workbench does: numbers, arrays of a curve, and pictures that it writes into outputs.
TUTORIAL = """
import os, sys
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from azureml.logging import get_azureml_logger

os.makedirs("./outputs", exist_ok=True)
run_logger = get_azureml_logger()
run_logger.log("Regularization Rate", 0.01)
run_logger.log("Accuracy", np.mean(np.array([0.5, 1.0])))
precision, recall, thresholds = np.array([0.25, 1.0]), np.array([1.0, 0.5]), np.array([0.1, 0.9])
run_logger.log("Precision", precision)
run_logger.log("Recall", recall)
run_logger.log("Thresholds", thresholds)
plt.figure(figsize=(2, 2))
plt.step(recall, precision)
plt.savefig("./outputs/roc.png", bbox_inches="tight")
"""


def test_the_tutorial_of_the_original(script):
    script.python = sys.executable  # it needs packages
    script(TUTORIAL)
    assert script.values() == [
        {"Regularization Rate": 0.01},
        {"Accuracy": 0.75},
        {"Precision": [0.25, 1.0]},
        {"Recall": [1.0, 0.5]},
        {"Thresholds": [0.1, 0.9]},
    ]
    assert (script.outputs / "roc.png").read_bytes().startswith(b"\x89PNG")
    assert script.stderr == ""
