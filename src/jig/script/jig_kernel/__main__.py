"""Become the kernel of a notebook: the variable JIG_KERNEL says what its messages are signed with."""

import json
import os
import shutil
import signal
import sys

from jig_kernel import place

ORDER = "JIG_KERNEL"
REFUSED = 94
MISSING = """\
error: the environment of this run configuration has no ipykernel, which a notebook needs ({error})

hint: {hint}
"""
MANAGED = "add  - ipykernel  to the dependencies in conda_dependencies.yml"
OWN = "{python} -m pip install ipykernel"


def main():
    """Run the kernel to its end; returns an exit code only where that cannot be."""
    order = json.loads(os.environ.pop(ORDER))
    for name in list(os.environ):  # the Jupyter server's affairs, where that is on this machine
        if name.startswith(("JPY_", "JUPYTER_")):
            del os.environ[name]
    try:
        from ipykernel.kernelapp import IPKernelApp
    except ImportError as error:
        hint = MANAGED if order["managed"] else OWN.format(python=sys.executable)
        sys.stderr.write(MISSING.format(error=error, hint=hint))
        return REFUSED
    from jig_kernel import magics

    sockets = place.make(os.environ["JIG_RUN_DIR"])
    connection = os.path.join(sockets, "connection.json")
    with open(os.open(connection, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(_connection(sockets, order), file)

    class App(IPKernelApp):
        """Says when it can be reached."""

        def log_connection_info(self):
            """Nobody is to connect to it by hand."""

        def init_extensions(self):
            IPKernelApp.init_extensions(self)
            magics.load(self.shell)

        def start(self):
            ready = os.path.join(sockets, place.READY)
            with open(ready + ".new", "w") as file:
                file.write(str(os.getpid()))
            os.rename(ready + ".new", ready)
            IPKernelApp.start(self)

    def told_to_end(number, frame):
        shutil.rmtree(sockets, ignore_errors=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGTERM, told_to_end)
    try:
        App.launch_instance(argv=["-f", connection])
    finally:
        shutil.rmtree(sockets, ignore_errors=True)
    return 0


def _connection(sockets, order):
    """What ipykernel reads: where to listen, and what messages are signed with."""
    ports = {channel + "_port": place.CHANNELS.index(channel) + 1 for channel in place.CHANNELS}
    more = {"transport": "ipc", "ip": os.path.join(sockets, "s"), "key": order["key"]}
    return dict(ports, signature_scheme=order["scheme"], **more)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    sys.exit(code)
