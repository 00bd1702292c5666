"""The plan of the house: layers, sizes, what ships to a machine, what each system can import."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import jig

SOURCE = Path(jig.__file__).parent
MODULES = sorted(path for path in SOURCE.rglob("*.py") if "templates/" not in str(path.relative_to(SOURCE)))

# From the top down: a module may import from its own layer and from those below it, never from above.
LAYERS = [
    ("cli", "workbench", "notebook", "__main__", "sweep.__main__", "sweep.driver", "sweep.report", "sweep.watch"),
    ("sweep", "reproduce", "restore", "views", "assets", "export"),
    ("submit", "frozen", "handover", "store.queries"),
    ("follow", "interleaved", "store"),
    ("machines",),
    ("targets",),
    ("kept", "snapshot", "ignore", "origin", "templates"),
    ("plan", "plan_text", "spec", "spawn"),
    ("compare", "doctor"),
    ("environments",),
    ("project",),
    ("errors", "values", "digest", "plot"),
    ("runner",),
    ("system",),
    ("track", "script", ""),
]


def layer(name: str) -> int:
    """The layer of a module, by the longest name in the table that it starts with."""
    found = [(len(part), index) for index, parts in enumerate(LAYERS) for part in parts if _within(name, part)]
    assert found, f"{name} stands in no layer"
    return max(found)[1]


def _within(name: str, part: str) -> bool:
    return name == part or (bool(part) and name.startswith(part + "."))


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> "set[str]":
    """Modules of jig that the file imports, at its top or inside functions, as names without the leading `jig.`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                place = SOURCE.parent.joinpath(*node.module.split("."), alias.name)
                is_module = place.with_suffix(".py").exists() or (place / "__init__.py").exists()
                found.add(f"{node.module}.{alias.name}" if is_module else node.module)
    return {name.removeprefix("jig").removeprefix(".") for name in found if name.split(".")[0] == "jig"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_down_only(path):
    here = name_of(path)
    for there in imports_of(path):
        if there == "":  # the version, which lives in the package itself
            continue
        assert layer(there) >= layer(here), f"{here} imports {there}, which stands above it"


@pytest.mark.parametrize("path", [p for p in MODULES if "runner" in p.parts or "system" in p.parts], ids=name_of)
def test_what_ships_needs_the_standard_library_only(path):
    allowed = set(sys.stdlib_module_names) | {"jig"}
    for node in ast.walk(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", None)] if isinstance(node, ast.ImportFrom) else []  # fmt: skip
        assert all(name.split(".")[0] in allowed for name in names if name)
    for there in imports_of(path):
        assert _within(there, "runner") or _within(there, "system")


def vermin(target: str, *places: str) -> "subprocess.CompletedProcess[str]":
    command = [
        Path(sys.executable).with_name("vermin"),
        f"-t={target}",
        "--violations",
        "--eval-annotations",
        "--no-tips",
    ]
    return subprocess.run([*command, *(str(SOURCE / place) for place in places)], capture_output=True, text=True)


def test_the_runner_reads_on_python_36():
    said = vermin("3.6-", "runner", "system")
    assert said.returncode == 0, said.stdout


def test_what_a_script_imports_reads_on_python_35():
    said = vermin("3.5-", "__init__.py", "track", "script", "runner/mlflow_door.py", "runner/carry.py")
    assert said.returncode == 0, said.stdout


WINDOWS = """
import importlib, shutil, subprocess, sys, types
class Block:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "pwd", "grp", "termios", "tty", "resource", "readline"):
            raise ImportError(name + " does not exist on this system")
sys.meta_path.insert(0, Block())
for name in ("fcntl", "pwd", "grp", "termios", "tty", "resource"):
    sys.modules.pop(name, None)
sys.modules["msvcrt"] = types.ModuleType("msvcrt")
sys.platform = "win32"
for name in sys.argv[1:]:
    importlib.import_module(name)
print("imported", len(sys.argv) - 1, sys.modules["jig.system"].lock.__module__)
"""
# The other systems' own modules, and those of the runner that fork: they live on the machine, not in the client.
ONLY_UNIX = 'assert sys.platform != "win32"'
NOT_THERE = {"runner.__main__"} | {name_of(path) for path in MODULES if ONLY_UNIX in path.read_text()}


def test_the_client_imports_where_unix_modules_do_not_exist():
    names = [name_of(path) for path in MODULES]
    apart = ("script", "workbench")  # the Workbench's framework loads what only a real Windows has
    wanted = [f"jig.{name}" for name in names if name and name not in NOT_THERE and not name.startswith(apart)]
    env = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run([sys.executable, "-c", WINDOWS, *wanted], env=env, capture_output=True, text=True)
    assert done.stdout == f"imported {len(wanted)} jig.system.windows\n", done.stderr


def test_every_system_offers_the_same():
    """Each of the three defines, or has from posix, every name that is asked of the package."""
    asked = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "jig.system":
                asked |= {alias.name for alias in node.names} - {"quick_signal"}
    assert len(asked) >= 17
    posix = _functions("posix")
    for system in ("linux", "darwin", "windows"):
        offered = _functions(system) | (posix if system != "windows" else set())
        assert asked <= offered, (system, asked - offered)


def _functions(system: str) -> "set[str]":
    tree = ast.parse((SOURCE / f"system/{system}.py").read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_files_stay_small():
    root = SOURCE.parents[1]
    files = [path for top in ("src", "tests", "bench", "tools") for path in (root / top).rglob("*.py")]
    assert len(files) > 200
    assert [path for path in files if len(path.read_text().splitlines()) > 500] == []


def test_public_names_of_the_package():
    assert jig.__all__ == ["__version__", "log", "log_image", "log_table", "params", "tag", "upload"]


def test_the_heavy_parts_are_not_loaded_at_start():
    code = (
        "import sys; from jig.cli import main; main(['--version']); print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    )
    heavy = ["yaml", "typing", "json", "re", "subprocess", "sqlite3", "pathspec", "jmespath", "shutil", "tempfile"]
    env = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run([sys.executable, "-S", "-c", code, *heavy], env=env, capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"jig {jig.__version__}", "[]"], done.stderr
