"""Pages that a run serves where it is, seen from this computer: each connection goes the way of `jig shell`."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen
    from typing import Any

    from jig.machines import Machine

# The run's own variables name its Python, and let it find what jig brought there.
RELAY = ("sh", "-c", 'exec "$PYSPARK_DRIVER_PYTHON" -m jig_spark.relay "$0"')


class Pages:
    """The pages of one run, until they are closed."""

    def __init__(self, machine: Machine, run_id: str, plan: dict[str, Any]) -> None:
        self._here = not machine.remote and not plan.get("container")
        self._run_id = run_id
        self._listening: list[Any] = []
        self._going: list[Popen[bytes]] = []

    def address(self, port: int) -> str:
        """Where the page at this port of the run's loopback can be seen from here."""
        if self._here:
            return f"http://127.0.0.1:{int(port)}"
        import socket
        import threading

        listener = socket.create_server(("127.0.0.1", 0))
        self._listening.append(listener)
        threading.Thread(target=self._serve, args=(listener, str(int(port))), daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]} (as long as this command runs)"

    def _serve(self, listener: Any, port: str) -> None:
        import subprocess

        words = (sys.executable, "-m", "jig", "shell", "-r", self._run_id, "--", *RELAY, port)
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # closed
                return
            with connection:
                self._going = [going for going in self._going if going.poll() is None]
                self._going.append(
                    subprocess.Popen(words, stdin=connection, stdout=connection, stderr=subprocess.DEVNULL)
                )

    def close(self) -> None:
        """No page can be seen any more."""
        for listener in self._listening:
            listener.close()
        for going in self._going:
            going.terminate()
            going.wait()
