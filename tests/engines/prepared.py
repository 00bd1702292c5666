"""What an engine with the base images in it keeps on disk, made once: to import them into each engine takes seconds."""

import shutil
import subprocess
from pathlib import Path

from tests.engines.base_images import CACHE, CHANGES, base_images, codename, locked, must
from tests.engines.engine import Engine
from tests.hosts.folders import own_folder

KEPT = ("image", "overlay2")


def furnish(data: Path) -> None:
    """Make the data folder of an engine that is to have the base images when it starts."""
    kept = _kept()
    data.mkdir(parents=True)
    must("cp", "-a", str(kept / "image"), str(data))
    # An engine never writes to the files of a layer: they are the same files, where both are on one disk.
    if subprocess.run(["cp", "-al", kept / "overlay2", data], capture_output=True).returncode:
        shutil.rmtree(data / "overlay2", ignore_errors=True)
        must("cp", "-a", str(kept / "overlay2"), str(data))


def _kept() -> Path:
    files = base_images()
    kept = CACHE / f"{codename()}-data"
    with locked(CACHE):
        if not kept.is_dir():
            aside = kept.with_suffix(".new")
            shutil.rmtree(aside, ignore_errors=True)  # of someone who was killed
            aside.mkdir()
            with own_folder() as folder:
                _import_all(folder / "engine", files)
                for name in KEPT:
                    must("cp", "-a", f"{folder}/engine/data/{name}", str(aside))
            aside.rename(kept)
    return kept


def _import_all(folder: Path, files: "dict[str, Path]") -> None:
    engine = Engine(folder)
    try:
        for name, path in files.items():
            changes = [f"--change={change}" for change in CHANGES.get(name, ())]
            engine.docker("import", *changes, str(path), f"jig-test/{name}:1")
        engine.stop()
    finally:
        engine.close()
