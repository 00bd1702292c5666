"""Jupyter's side of a kernel: started by its specification, as any server does it, and spoken to by the real client."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import jupyter_client
from jupyter_client.manager import KernelManager

from jig.notebook import kernelspecs
from jig.project import Project
from tests.engines.base_images import locked

CACHE = Path(__file__).parents[2] / ".cache/notebook"
WANTED = "ipykernel>=6.29"
START_S = 120.0
CELL_S = 30.0


class Notebook:
    """An open notebook."""

    def __init__(self, root: Path, config: str, folder: Path, wait: bool = True) -> None:
        kernelspecs.write(Project.find(str(root)), str(folder))
        self.log = folder / "kernel.log"
        os.environ["JUPYTER_PATH"] = str(folder)  # the test's environment, which is put back
        self.manager = KernelManager(kernel_name=kernelspecs.name_of(config))
        self._said = open(self.log, "ab")  # it is written to by the next one, too
        self.manager.start_kernel(stderr=self._said)
        self.client = self.manager.client()
        self.client.start_channels()
        if wait:
            self.become_ready()

    def become_ready(self) -> None:
        """Wait for the kernel."""
        try:
            self.client.wait_for_ready(timeout=START_S)
        except RuntimeError as error:
            self.close()
            raise AssertionError(f"{error}\n{self.log.read_text()}") from error

    @property
    def pid(self) -> int:
        """What Jupyter has started."""
        return self.manager.provisioner.process.pid

    def run(self, source: str) -> str:
        """What a cell printed and returned; for one that failed, the name of the error."""
        said = []

        def hear(message) -> None:
            content = message["content"]
            said.append(content.get("text") or content.get("ename") or content.get("data", {}).get("text/plain", ""))

        self.client.execute_interactive(source, timeout=CELL_S, output_hook=hear, stop_on_error=False)
        return "".join(said)

    def begin(self, source: str) -> str:
        """Start a cell, and wait until it has printed something."""
        self.client.execute(source, stop_on_error=False)
        while True:
            message = self.client.get_iopub_msg(timeout=CELL_S)
            if message["msg_type"] == "stream":
                return message["content"]["text"]

    def interrupted(self) -> "tuple[str, float]":
        """Ctrl-C; the error that the cell ended with, and after how long."""
        began = time.monotonic()
        self.manager.interrupt_kernel()
        while True:
            message = self.client.get_iopub_msg(timeout=CELL_S)
            if message["msg_type"] == "error":
                return message["content"]["ename"], time.monotonic() - began

    def restart(self) -> None:
        self.manager.restart_kernel()
        self.client.wait_for_ready(timeout=START_S)

    def close(self) -> float:
        """Shut the kernel down; how long that took."""
        began = time.monotonic()
        self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel()
        self.manager.cleanup_resources()
        self.manager.context.destroy()
        self._said.close()
        return time.monotonic() - began


def wheels() -> Path:
    """A folder with ipykernel and what that needs, downloaded once."""
    place = CACHE / "wheels"
    stamp = f"{sys.version}\n{WANTED} {jupyter_client.__version__}\n"
    with locked(CACHE):
        noted = CACHE / "stamp"
        if not noted.exists() or noted.read_text() != stamp:
            shutil.rmtree(place, ignore_errors=True)
            words = ("download", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "-d", str(place))
            environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
            subprocess.run([sys.executable, "-m", "pip", *words, WANTED], check=True, env=environ)
            noted.write_text(stamp)
    return place
