"""A Jupyter server for a project on this computer: its folder, its start, its end.

All that it needs lies in one private folder of the jig home, so that the person's own Jupyter neither sees it nor is
changed by it: kernels, the configuration that has the token, what Jupyter writes at run time.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

from jig.errors import JigError
from jig.notebook import kernelspecs
from jig.notebook.jupyter import Jupyter
from jig.notebook.known import Known, folder_of
from jig.project import Project
from jig.runner.folder import make_private
from jig.system import end_with, lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

assert sys.platform != "win32"

LOOPBACK = "127.0.0.1"
FIRST_PORT, MORE_PORTS = 8888, 50
START_S, LOOK_S = 120.0, 0.05
END_S = 30.0
KERNEL_S = 7 * 24 * 3600  # a kernel may be queued for devices, or its environment be built


class Server:
    """One that is going, or was; only one at a time has the project's folder."""

    def __init__(self, project: Project, home: str) -> None:
        self._project = project
        self.folder = folder_of(project, home)
        make_private(self.folder)
        self._lock = os.open(os.path.join(self.folder, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
        os.set_inheritable(self._lock, False)
        self._process: subprocess.Popen[bytes] | None = None
        self.is_ours = lock(self._lock, wait=False)

    def start(self, jupyter: Jupyter, config: str | None, port: int | None) -> Known:
        """Start it and wait until it answers; its address has the token."""
        token = os.urandom(24).hex()
        self._clean()
        kernelspecs.write(self._project, os.path.join(self.folder, "share"))
        self._write("config/jupyter_server_config.json", _settings(token, config))
        make_private(os.path.join(self.folder, "runtime"))
        wanted = {"ip": LOOPBACK, "port": port or FIRST_PORT, "port_retries": 0 if port else MORE_PORTS}
        wanted |= {"root_dir": self._project.root, "allow_root": os.geteuid() == 0, "open_browser": False}
        words = [f"--ServerApp.{name}={value}" for name, value in wanted.items()]
        self._process = subprocess.Popen(
            [jupyter.python, "-m", jupyter.module, *words],
            cwd=self._project.root,
            env=self._environ(),
            stdin=subprocess.DEVNULL,
            stdout=2,  # ours is for the address alone
            start_new_session=True,  # Ctrl-C is for us: Jupyter would ask a question
            preexec_fn=end_with(os.getpid()),
        )
        address = self._wait_for_address()
        self._check(address, token)
        known = Known(os.getpid(), f"{address}{jupyter.page}?token={token}", config or "")
        self._write("server.json", known._asdict())
        return known

    def wait(self) -> int:
        """Until it ends by itself; its exit code."""
        assert self._process is not None
        return self._process.wait()

    def end(self) -> None:
        """End it, its kernels first, and leave nothing of it but the folder."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self.is_ours:
            self._clean()

    def close(self) -> None:
        """Let the project's folder go."""
        os.close(self._lock)

    def _clean(self) -> None:
        for name in ("config", "runtime", "share"):
            shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)
        for name in ("server.json", "workbench.html"):
            if os.path.exists(os.path.join(self.folder, name)):
                os.unlink(os.path.join(self.folder, name))

    def _environ(self) -> dict[str, str]:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER_TOKEN", "JPY_"))}
        for name, place in (("JUPYTER_PATH", "share"), ("JUPYTER_CONFIG_PATH", "config")):
            before = environ.get(name)
            place = os.path.join(self.folder, place)
            environ[name] = place + os.pathsep + before if before else place
        return {**environ, "JUPYTER_RUNTIME_DIR": os.path.join(self.folder, "runtime")}

    def _wait_for_address(self) -> str:
        """Where it listens, as it writes that down itself."""
        assert self._process is not None
        place = os.path.join(self.folder, "runtime", f"jpserver-{self._process.pid}.json")
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            try:
                with open(place) as file:
                    return str(json.load(file)["url"])
            except (OSError, ValueError, KeyError):  # not yet
                if self._process.poll() is not None:
                    raise JigError("Jupyter ended at once", "what it said about that stands above") from None
                time.sleep(LOOK_S)
        raise JigError(f"Jupyter did not start within {START_S:.0f} s", "what it said about that stands above")

    def _check(self, address: str, token: str) -> None:
        """It answers, and it answers nobody who has not the token: a configuration of the person's may say so."""
        end = time.monotonic() + START_S
        while not _lets_in(address, token):
            if time.monotonic() > end or (self._process is not None and self._process.poll() is not None):
                raise JigError(f"the Jupyter server at {address} does not take its token", _own_settings())
            time.sleep(LOOK_S)
        if _lets_in(address, ""):
            raise JigError("the Jupyter server would let anybody in, without a token", _own_settings())

    def _write(self, name: str, data: dict[str, Any]) -> None:
        place = os.path.join(self.folder, name)
        make_private(os.path.dirname(place))
        aside = f"{place}.new"
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(data, file)
        os.rename(aside, place)


def _own_settings() -> str:
    return "is there a setting about tokens or passwords in your own  ~/.jupyter/jupyter_server_config.py?"


def _settings(token: str, config: str | None) -> dict[str, Any]:
    """What a server of ours has that another has not."""
    settings: dict[str, Any] = {
        "IdentityProvider": {"token": token},
        "Application": {"log_level": "ERROR"},  # of Lab, too
        "MappingKernelManager": {"kernel_info_timeout": KERNEL_S},
        # A kernel that died is a run that ended: whether there is to be another one is for a person to say.
        "KernelRestarter": {"restart_limit": 0},
        "KernelManager": {"shutdown_wait_time": 10.0},
    }
    if config is not None:
        settings["MultiKernelManager"] = {"default_kernel_name": kernelspecs.name_of(config)}
    return settings


def _lets_in(address: str, token: str) -> bool:
    request = urllib.request.Request(address + "api/status")
    if token:
        request.add_header("Authorization", f"token {token}")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=10.0) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
