"""The way to a run's MLflow endpoint: a socket that listens, and at the first knock a process that serves it.

One file in two places: the guard has it from the runner, and init in a container from the script's own imports. So it
stands alone, and reads on Python 3.5. The process that serves is given its pipe's other end for its life: what it is
told comes that way, and when we die, in whatever way, the kernel closes it and it leaves.
"""

import _socket
import os
import sys

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import Any, Callable, Dict, List, Optional, Sequence  # noqa: F401
else:
    import _signal as signal

URI, TOKEN, OURS = "MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_TOKEN", "JIG_MLFLOW"
USER, PASSWORD = "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"
OUR_TOKEN = "jig-"
HOST = "127.0.0.1"
PROXIES = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
NO_PROXY = ("no_proxy", "NO_PROXY")
WAITING = 128  # connections that nobody has answered yet
MOST_STARTS = 5
PROGRAM = "jig_mlflow/__main__.py"  # in the folder of what scripts may import


def is_wanted(environ: "Dict[str, str]") -> bool:
    """Whether the script is to log to its own run: not where somebody has named another place."""
    uri = environ.get(URI)
    return not uri or uri == environ.get(OURS)  # then it is that of a run from within which this one was submitted


def variables(environ: "Dict[str, str]", port: int, token: str) -> "Dict[str, str]":
    """What the script is told on top of its variables. A token of the user's own stays, and is ours too."""
    uri = "http://%s:%d" % (HOST, port)
    told = {URI: uri, OURS: uri}
    if not environ.get(TOKEN) or environ[TOKEN].startswith(OUR_TOKEN):
        told[TOKEN] = token
    if any(environ.get(name) for name in PROXIES):
        excepted = {name: environ[name] for name in NO_PROXY if environ.get(name)}
        for name, value in (excepted or dict.fromkeys(NO_PROXY, "")).items():
            if value.strip() != "*" and HOST not in value.split(","):
                told[name] = value + "," + HOST if value else HOST
    return told


class Door(object):
    """A run's own. `folder` is where its metrics are, `work` where its script runs; `say` is for what goes wrong."""

    def __init__(self, run: str, folder: str, work: str, say: "Callable[[str], None]") -> None:
        self._told = {"run": run, "folder": folder, "work": work}  # type: Dict[str, Any]
        self._say = say
        self._server = 0
        self._starts = 0
        self._life = -1
        self._listener = None  # type: Optional[_socket.socket]

    def open(self, environ: "Dict[str, str]") -> "Dict[str, str]":
        """Listen; returns what the script is to be told. OSError where that is not possible."""
        listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        listener.bind((HOST, 0))
        listener.listen(WAITING)
        port = listener.getsockname()[1]
        added = variables(environ, port, OUR_TOKEN + os.urandom(16).hex())
        self._listener = listener
        self._told.update(port=port, token=added.get(TOKEN) or environ[TOKEN])
        self._told.update(user=environ.get(USER, ""), password=environ.get(PASSWORD, ""), home=environ.get("HOME", ""))
        return added

    def watched(self) -> "List[int]":
        """What is readable when somebody knocks, and nobody is there to answer."""
        return [self._listener.fileno()] if self._listener is not None and not self._server else []

    def answer(self, scripts: str, options: "Sequence[str]" = ()) -> None:
        """Start the process that serves, by our own interpreter; `scripts` is the folder that it is in."""
        import json

        if self._listener is None:
            return
        self._starts += 1
        argv = [sys.executable, "-I", "-S"] + list(options) + [os.path.join(scripts, PROGRAM)]
        argv += [str(self._listener.fileno()), self._told["run"]]  # the second is for `ps`
        try:
            reading, self._life = os.pipe()
            self._server = os.fork()
        except OSError as error:  # no more processes, or descriptors, for this user
            self._shut("could not be started: %s" % error)
            return
        if not self._server:
            self._become(argv, reading)
        os.close(reading)
        try:
            os.write(self._life, json.dumps(dict(self._told, again=self._starts > 1)).encode() + b"\n")
        except OSError:  # it is gone already, and we are told so
            return

    def _become(self, argv: "List[str]", reading: int) -> None:
        try:
            signal.set_wakeup_fd(-1)
            os.setsid()
            # Whoever asks the whole tree to end asks the script: what it logs on its way out is still taken.
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            os.dup2(reading, 0)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            if self._listener is not None:
                os.set_inheritable(self._listener.fileno(), True)
            os.execv(argv[0], argv)
        except BaseException as error:  # the boundary of this process: nothing may unwind into the guard's frames
            os.write(2, ("%s: %r\n" % (argv[0], error)).encode(errors="replace"))
        os._exit(127)

    def missed(self, pid: int) -> None:
        """A child has ended: if it was the one that serves, the next knock starts another."""
        if pid != self._server or not pid:
            return
        self._server = 0
        self.leave()
        if self._starts == MOST_STARTS:
            self._shut("has ended %d times, and is not started again" % MOST_STARTS)

    def _shut(self, reason: str) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        self._say("the run's MLflow endpoint %s" % reason)

    def leave(self) -> None:
        """Let the one that serves finish with those who are connected, and end."""
        if self._life >= 0:
            os.close(self._life)
            self._life = -1
