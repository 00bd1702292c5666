"""The driver that is pretended, laid out in a folder, and the settings of engines that give it to containers."""

import contextlib
import json
import os
import platform
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.gpu.here import own_devices
from tests.engines.newer import newer_programs
from tests.hosts.accounts import put
from tests.system_packages import need

HERE = Path(__file__).parent
LIBRARIES = f"/usr/lib/{platform.machine()}-linux-gnu"
UUIDS = ("GPU-0a0a0a0a-0000-4000-8000-000000000000", "GPU-1b1b1b1b-1111-4111-8111-111111111111")
NODES = ("nvidiactl", *(f"nvidia{index}" for index in range(len(UUIDS))))  # in /dev; in truth each is /dev/null
VERSION = "535.1"
DEVICES = "driver/lib/nvidia-devices"
FILES = {
    "driver/lib/libnvidia-ml.so.1": f"{LIBRARIES}/libnvidia-ml.so.1",
    "driver/bin/nvidia-smi": "/usr/bin/nvidia-smi",
}
OPTIONS = ("ro", "nosuid", "nodev", "bind")


class Driver:
    """A driver of two devices; `seen` is its folder as the engine sees it."""

    def __init__(self, folder: Path, seen: "Path | None" = None) -> None:
        self.folder, self._seen = folder, seen or folder
        self._root: Path | None = None
        parts = ("driver/lib", "driver/bin", "hook", "runtime", "old", "cdi")
        subprocess.run(["mkdir", "-p", *(folder / part for part in parts)], check=True, umask=0o022)
        self._compile()
        for name in ("hook/nvidia-container-runtime-hook", "runtime/nvidia-container-runtime", "old/nvidia-docker"):
            shutil.copy(HERE / "toolkit.py", folder / name)
            (folder / name).chmod(0o755)
        self.load()

    def _compile(self) -> None:
        need("gcc", "libc6-dev")
        library, program = self.folder / "driver/lib/libnvidia-ml.so.1", self.folder / "driver/bin/nvidia-smi"
        shared = ["-shared", "-fPIC", f"-Wl,-soname,{library.name}"]
        for words in ([*shared, "-o", library, HERE / "nvml.c"],
                      ["-o", program, HERE / "nvidia_smi.c", library, "-Wl,-rpath,$ORIGIN/../lib"]):  # fmt: skip
            subprocess.run(["gcc", "-Wall", "-Werror", *words], check=True, umask=0o022)

    def show(self, root: Path) -> None:
        """Let a machine have it, whose /dev and /proc/driver are seen below `root` and can be written."""
        self._root = root
        self.load()

    def load(self) -> None:
        """Let it run, on the machine that has it."""
        (self.folder / DEVICES).mkdir(exist_ok=True)
        for index, uuid in enumerate(UUIDS):
            put(self.folder / DEVICES / str(index), f"{uuid} 11441 Pretended K80\n")
        for folder in self._proc():
            for index in range(len(UUIDS)):
                (folder / f"gpus/0000:0{index}:00.0").mkdir(parents=True)
            put(folder / "version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}\n")
        for node in self._nodes():
            if not node.exists():
                os.mknod(node, stat.S_IFCHR, os.stat(os.devnull).st_rdev)
                node.chmod(0o666)

    def unload(self) -> None:
        """As after an upgrade without a restart of the machine: its programs are there, and fail."""
        for place in (self.folder / DEVICES, *self._proc()):
            shutil.rmtree(place)
        for node in self._nodes():
            node.unlink()

    def _proc(self) -> "list[Path]":
        return [self._root / "proc/driver/nvidia"] if self._root else []

    def _nodes(self) -> "list[Path]":
        return [self._root / "dev" / name for name in NODES] if self._root else []

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """Let this machine have it, as far as this test sees, and what it starts meanwhile."""
        (self.folder / "here").mkdir()
        with own_devices(self.folder / "here"), pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", f"{self.folder}/driver/bin{os.pathsep}{os.environ['PATH']}")
            self.show(Path("/"))
            try:
                yield
            finally:
                self._root = None

    # How an engine gives it to containers, as options of an Engine.

    def by_gpus(self) -> "dict[str, object]":
        """`docker run --gpus`: the engine finds NVIDIA's hook when it starts."""
        return {"path": f"{self._seen}/hook"}

    def by_runtime(self) -> "dict[str, object]":
        """`docker run --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=…`."""
        return {"runtimes": {"nvidia": {"path": f"{self._seen}/runtime/nvidia-container-runtime"}}}

    def by_cdi(self) -> "dict[str, object]":
        """`docker run --device nvidia.com/gpu=…`; a newer engine, which understands this."""
        self.write_cdi()
        return {"path": newer_programs(), "features": {"cdi": True}, "cdi_spec_dirs": [f"{self._seen}/cdi"]}

    def by_nvidia_docker(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The old program `nvidia-docker` on this machine; the engine knows nothing."""
        monkeypatch.setenv("PATH", f"{self.folder}/old{os.pathsep}{os.environ['PATH']}")

    def write_cdi(self) -> None:
        """What `nvidia-ctk cdi generate` writes: devices by number and `all`."""
        numbers = [str(index) for index in range(len(UUIDS))]
        mounts = {
            number: self._mount(f"{DEVICES}/{number}", f"{LIBRARIES}/nvidia-devices/{number}") for number in numbers
        }
        each = {number: [mount] for number, mount in mounts.items()} | {"all": list(mounts.values())}
        common = {
            "mounts": [self._mount(source, there) for source, there in FILES.items()],
            "deviceNodes": [{"path": "/dev/nvidiactl", "hostPath": os.devnull}],
        }
        devices = [{"name": name, "containerEdits": {"mounts": mounts}} for name, mounts in each.items()]
        spec = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "containerEdits": common, "devices": devices}
        put(self.folder / "cdi/nvidia.json", json.dumps(spec))

    def _mount(self, name: str, there: str) -> "dict[str, object]":
        return {"hostPath": f"{self._seen}/{name}", "containerPath": there, "options": OPTIONS}
