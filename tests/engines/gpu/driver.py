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
LIBRARY = "driver/lib/libnvidia-ml.so.1"
NODES = ("nvidiactl", *(f"nvidia{index}" for index in range(len(UUIDS))))  # in /dev; in truth each is /dev/null
VERSION = "535.1"
DEVICES = "driver/lib/nvidia-devices"
SYSTEM = "driver/lib/nvidia-driver"
IDLE = {"capability": (3, 7), "used": 0, "reserved": 0, "busy": 0, "power_mw": 26000, "energy_mj": 1000, "temperature": 31, "sm_mhz": 324,
        "memory_mhz": 324, "sm_max_mhz": 875, "memory_max_mhz": 2505, "throttle": 1, "ecc": 0}  # fmt: skip
FILES = {
    LIBRARY: f"{LIBRARIES}/libnvidia-ml.so.1",
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

    def _compile(self, *options: str) -> None:
        need("gcc", "libc6-dev")
        library, program = self.folder / LIBRARY, self.folder / "driver/bin/nvidia-smi"
        shared = ["-shared", "-fPIC", f"-Wl,-soname,{library.name}", *options]
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
        (self.folder / SYSTEM).unlink(missing_ok=True)
        for index, uuid in enumerate(UUIDS):
            self.device(index).unlink(missing_ok=True)
            self.add(index, uuid)
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

    # What it answers: see nvml.c for the words. The files may be changed at any time, by whatever the test starts too.

    def device(self, index: int) -> Path:
        """The file of a device; a line `process PID MIB PERCENT` may be appended by anything."""
        return self.folder / DEVICES / str(index)

    def add(self, index: int, uuid: str, memory_mib: int = 11441, name: str = "Pretended K80", **words) -> None:
        """Have another device."""
        put(self.device(index), f"{uuid} {memory_mib} {name}\n")
        self.set(index, pci=f"00000000:{index:02X}:00.0", **{**IDLE, **words})

    def set(self, index: int, **words) -> None:
        """Have a device answer so from now on: set(0, busy=90, process=[(pid, 512, 90)]); None: not supported."""
        _change(self.device(index), words)

    def set_driver(self, **words) -> None:
        """Have the driver answer so: set_driver(version="570.1", cuda=12080, error=[("nvmlInit", 18)], hang=["nvmlDeviceGetName"])."""
        _change(self.folder / SYSTEM, words)

    def lose(self, index: int) -> None:
        """Let a device fall off the bus."""
        self.device(index).unlink()

    def become_old(self) -> None:
        """Lack the functions that came in the last years."""
        self._compile("-DOLD")

    def _proc(self) -> "list[Path]":
        return [self._root / "proc/driver/nvidia"] if self._root else []

    def _nodes(self) -> "list[Path]":
        return [self._root / "dev" / name for name in NODES] if self._root else []

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """Let this machine have it, as far as this test sees, and what it starts meanwhile."""
        (self.folder / "here").mkdir()
        with own_devices(self.folder / "here", (self.folder / LIBRARY).parent), pytest.MonkeyPatch.context() as patch:
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


def _change(file: Path, words: "dict[str, object]") -> None:
    """Replace the lines that begin with these words; the file is whole at any moment."""
    lines = file.read_text().splitlines() if file.exists() else []
    lines = [line for line in lines if line.split(" ")[0] not in words]
    for word, value in words.items():
        for one in value if isinstance(value, list) else [] if value is None else [value]:
            lines.append(" ".join([word, *map(str, one if isinstance(one, tuple) else (one,))]))
    aside = file.parents[1] / f".{file.name}"
    put(aside, "".join(f"{line}\n" for line in lines))
    os.replace(aside, file)
