"""A machine over SSH whose people run containers: the engine lives in the host, and sees what its people see."""

from pathlib import Path

from tests.engines.engine import Engine
from tests.engines.gpu import Driver
from tests.engines.gpu.driver import FILES, LIBRARY
from tests.engines.room import HostRoom
from tests.hosts.host import Host

GROUP = 998


class DockerBox:
    """A host with an engine at /var/run/docker.sock, which has a bridge, and a user in group docker."""

    engine: Engine
    driver: Driver | None = None

    def __init__(self, host: Host) -> None:
        self.host = host
        self.folder = host.var / HostRoom.folder.relative_to("/var")
        host.add_group("docker", GROUP, host.user)

    def start(self, **options) -> None:
        """Start the engine for the first time, with options of an Engine."""
        self.engine = Engine(self.folder, own_network=True, group=GROUP, room=HostRoom(self.host), **options)

    def install_driver(self) -> Driver:
        """Give the host a GPU driver; the engine is to be told of it by its options."""
        self.driver = Driver(self.host.var / "lib/gpu", Path("/var/lib/gpu"))
        (self.host.root / "usr/local/bin/nvidia-smi").symlink_to("/var/lib/gpu/driver/bin/nvidia-smi")
        (self.host.root / FILES[LIBRARY].lstrip("/")).symlink_to(f"/var/lib/gpu/{LIBRARY}")
        self._show_driver()
        return self.driver

    def _show_driver(self) -> None:
        self.host.run("mount -t tmpfs driver /proc/driver", user="root").check_returncode()
        self.driver.show(self.host.root)

    def only_by_sudo(self) -> None:
        """From the next login on docker works by `sudo -n docker` only."""
        self.for_nobody()
        self.host.allow_sudo()

    def for_nobody(self) -> None:
        """From the next login on the user may not use the engine."""
        self.host.add_group("docker", GROUP)

    def reboot(self) -> None:
        """As `Host.reboot`, with the engine up again; containers are dead."""
        self.host.reboot()
        if self.driver:
            self._show_driver()
        self.engine.start()
