"""Which GPUs this machine has, how they do and who is on them: one look, which ends whatever the driver does."""

import os
import sys
import time

assert sys.platform != "win32"  # before the imports, so that the type checker leaves them out on Windows

from jig.runner import quick_json
from jig.runner.gpu import NO_DRIVER
from jig.runner.gpu.nvml_errors import LOG, NvmlError
from jig.system import close_inherited, command_line, end_with, kill

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, NoReturn, Optional, Tuple

    from jig.runner.gpu.device import Device

LIMIT_S = 5.0
END_S = 0.5  # what hangs in the kernel does not die of KILL: it is left behind, and ends when the driver lets go of it
DEPTH = 64  # of parents that are asked which run they belong to
HANGS = (
    "`nvidia-smi` on the machine probably hangs too: restart the machine; %s; where only the first question takes"
    " so long, `sudo nvidia-smi -pm 1` keeps the driver awake" % LOG
)
CRASHES = "if `nvidia-smi` on the machine fails too, restart the machine or install the driver anew; " + LOG
LOADED = "/proc/driver/nvidia/version"
_stuck = {}  # type: Dict[int, Dict[str, Any]]  # by pid: children that were killed and still live, and the answer


def look(limit_s: float = LIMIT_S) -> "Dict[str, Any]":
    """`driver`, `cuda`, `devices`, and where not all is well `error` and `hint`. Another process asks the driver."""
    from jig.runner.environment import has_nvidia

    if not has_nvidia():
        hint = "use a target on a machine that has one; if this machine has a GPU of NVIDIA's, install its driver"
        return _answer(error=NO_DRIVER, hint=hint)
    for earlier in list(_stuck):  # another one would hang in the same place
        if _lives(earlier):
            return dict(_stuck[earlier])
        del _stuck[earlier]
    reading, writing = os.pipe()
    begin = end_with(os.getpid())
    child = os.fork()
    if not child:
        _become_asker(writing, begin)
    os.close(writing)
    said = None
    try:
        said = _read(reading, limit_s)
    finally:
        os.close(reading)
        if said is None:
            kill(child)
        status = _wait_for(child)
    if not said:
        failure = _failure(said, status, limit_s)
        if status is None:
            _stuck[child] = failure
        return dict(failure)
    found: "Dict[str, Any]" = quick_json.loads(said)
    if "bug" in found:
        raise RuntimeError(found["bug"])
    return found


def _answer(
    driver: "Optional[str]" = None, cuda: "Optional[str]" = None, error: str = "", hint: str = ""
) -> "Dict[str, Any]":
    return {"driver": driver, "cuda": cuda, "devices": [], "error": error, "hint": hint}


def _failure(said: "Optional[bytes]", status: "Optional[int]", limit_s: float) -> "Dict[str, Any]":
    if said is None:
        return _answer(loaded_driver(), error="the NVIDIA driver does not answer within %g s" % limit_s, hint=HANGS)
    way = "does not end" if status is None else "signal %d" % os.WTERMSIG(status)
    return _answer(loaded_driver(), error="NVIDIA's library crashed when it was asked (%s)" % way, hint=CRASHES)


def loaded_driver() -> "Optional[str]":
    """The version of the driver in the kernel, which tells it even where the library fails."""
    try:
        with open(LOADED, errors="replace") as file:
            words = file.readline().split()
    except OSError:  # none, or Windows' own, inside WSL
        return None
    return next((word for word in words if word[0].isdigit() and "." in word), None)


def _become_asker(writing: int, begin: "Optional[Callable[[], None]]") -> "NoReturn":
    """Ask and answer. If it hangs in the driver, it must hold nothing that others wait for: no lock, no pipe."""
    try:
        if begin is not None:
            begin()
        close_inherited(writing)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        try:
            found = ask()
        except BaseException:
            import traceback

            found = {"bug": traceback.format_exc()}
        with os.fdopen(writing, "w") as file:
            file.write(quick_json.dumps_short(found))
    finally:
        os._exit(0)


def ask() -> "Dict[str, Any]":
    """The answer itself. It takes as long as the driver does: for a process that may hang."""
    from jig.runner.gpu.nvml import open_nvml

    try:
        nvml = open_nvml()
    except NvmlError as error:
        return _answer(loaded_driver(), error=error.reason, hint=error.hint)
    found = _answer(nvml.driver(), nvml.cuda())
    devices = nvml.devices()
    faults = nvml.faults
    for device in devices:
        try:
            found["devices"].append(describe(device))
        except NvmlError as error:
            faults.append(error.about(device.index))
    if faults:
        found["error"] = "; ".join(error.reason for error in faults)
        found["hint"] = faults[0].hint
    elif not devices:
        found["error"] = "the NVIDIA driver finds no GPU that this user may use"
        found["hint"] = (
            "`nvidia-smi -L` and `ls -l /dev/nvidia*` on the machine list what there is, and for whom; " + LOG
        )
    return found


def describe(device: "Device") -> "Dict[str, Any]":
    """A device with the processes on it, and whose they are."""
    listed = device.processes()
    processes: "Optional[List[Dict[str, Any]]]" = None
    if listed is not None:
        processes = []
        for pid, memory in listed:
            user, command, run_id = owner(pid)
            processes.append({"pid": pid, "memory_bytes": memory, "user": user, "command": command, "run": run_id})
    return dict(device.describe(), processes=processes)


def owner(pid: int) -> "Tuple[str, str, str]":
    """The user of a process, the name of its program and the id of its run; empty where that is not to be seen."""
    facts = _status(pid)
    if "Uid" not in facts:
        return "", "", ""
    words = command_line(pid)
    program = os.path.basename(words[0]) if words else facts.get("Name", "")
    # Others choose these words: nothing of them may move a cursor.
    return _user(int(facts["Uid"].split()[1])), "".join(c if c.isprintable() else "?" for c in program), _run_of(pid)


def _status(pid: int) -> "Dict[str, str]":
    try:
        with open("/proc/%d/status" % pid, errors="replace") as file:
            return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
    except OSError:  # it ended, or is hidden
        return {}


def _user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _run_of(pid: int) -> str:
    """By the process's environment, where that is ours to read, or by a supervisor, of any user, among its parents."""
    from jig.runner.folder import is_run_id
    from jig.runner.tree import RUN_VARIABLE, supervised_by

    mark = os.fsencode(RUN_VARIABLE + "=")
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            named = [os.fsdecode(word[len(mark) :]) for word in file.read().split(b"\0") if word.startswith(mark)]
    except OSError:
        named = []
    for _ in range(DEPTH):
        if named or pid <= 1:
            break
        pid = int(_status(pid).get("PPid", "0"))
        named = list(filter(None, [supervised_by(pid)]))
    return named[0] if named and is_run_id(named[0]) else ""


def _read(reading: int, limit_s: float) -> "Optional[bytes]":
    """All that the other side wrote, once it closed; None when that takes too long."""
    import select

    deadline = time.monotonic() + limit_s
    said = b""
    while True:
        ready = select.select([reading], [], [], max(0.0, deadline - time.monotonic()))[0]
        if not ready:
            return None
        part = os.read(reading, 1 << 16)
        if not part:
            return said
        said += part


def _wait_for(child: int) -> "Optional[int]":
    """How a child ended that is about to; None where it does not."""
    deadline = time.monotonic() + END_S
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.001)
    return None


def _lives(child: int) -> bool:
    try:
        return os.waitpid(child, os.WNOHANG)[0] == 0
    except ChildProcessError:  # taken in by somebody else, or the child of the process that we were forked from
        return False
