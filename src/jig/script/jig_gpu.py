"""Asks the run's own interpreter what its frameworks say of the GPU. Python 3.5 or newer, whatever the run has.

jig_gpu.py require WORD ...   become the script (WORDs) if a GPU can be used; else say why not, and end with 93
jig_gpu.py ask FOLDER         print what is found, as JSON; FOLDER is where the script is. Variables come on stdin
jig_gpu.py one NAME FOLDER    the same for one framework, in a process of its own: importing one may crash
"""

import json
import os
import subprocess
import sys
import time

REFUSED = 93
LONGEST = 1 << 20
ANSWER_S = 100.0  # for all of them together: the first import of a framework from a network disk
FRAMEWORKS = ("torch", "tensorflow", "jax")
SKIPPED = FRAMEWORKS + ("outputs",)  # folders that say nothing of what the script uses
DRIVER = "cuda"  # asked where there is no framework
MARK = "jig-gpu:"  # a framework may print anything else


def _torch():
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    error = ""
    if not count and torch.version.cuda:
        try:
            torch.zeros(1, device="cuda")
        except Exception as failed:  # whatever it says is the answer
            error = str(failed)
    return {"version": torch.__version__, "built": torch.version.cuda or "", "devices": count, "error": error}


def _tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow

    listing = getattr(getattr(tensorflow, "config", None), "list_physical_devices", None)  # 1.x has none
    count = len(listing("GPU")) if listing else int(tensorflow.test.is_gpu_available())
    built = ""
    if tensorflow.test.is_built_with_cuda():
        built = "yes"
        if hasattr(tensorflow, "sysconfig") and hasattr(tensorflow.sysconfig, "get_build_info"):
            built = str(tensorflow.sysconfig.get_build_info().get("cuda_version", "yes"))
    return {"version": tensorflow.__version__, "built": built, "devices": count, "error": ""}


def _jax():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else asking takes most of the device's memory
    import jax

    error = ""
    try:
        count = len([device for device in jax.devices() if device.platform in ("gpu", "cuda")])
    except RuntimeError as failed:
        count, error = 0, str(failed)
    built = "yes" if count or _has("jax_cuda12_plugin") or _has("jax_cuda13_plugin") or _has("jaxlib.cuda") else ""
    return {"version": jax.__version__, "built": built, "devices": count, "error": error}


def _cuda():
    """The driver itself: how many devices a program sees, whatever it is written with."""
    import ctypes

    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as failed:
        return {"version": "", "built": "", "devices": 0, "error": str(failed)}
    code = library.cuInit(0)
    count = ctypes.c_int(0)
    if code == 0:
        code = library.cuDeviceGetCount(ctypes.byref(count))
    return {"version": "", "built": "", "devices": count.value, "error": "cuInit says %d" % code if code else ""}


ASK = {"torch": _torch, "tensorflow": _tensorflow, "jax": _jax, DRIVER: _cuda}


def _has(name):
    from importlib.util import find_spec

    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # its parent is not there, or it hides what it is
        return False


def one(name, folder):
    """Print what one framework says."""
    _as_the_script(folder)
    try:
        said = ASK[name]()
    except BaseException as failed:  # a broken installation raises anything
        said = {"version": "", "built": "", "devices": 0, "error": "%s: %s" % (type(failed).__name__, failed)}
    sys.stdout.write("\n%s%s\n" % (MARK, json.dumps(said)))
    sys.stdout.flush()
    os._exit(0)  # a driver that is broken may hang at the interpreter's end


def _named(folder):
    """The frameworks that the run's own files speak of; all, where they speak of none."""
    import re

    found = set()
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED]
        for name in files:
            place = os.path.join(parent, name)
            if name.endswith(".py") and os.path.isfile(place):
                try:
                    with open(place, errors="replace") as file:
                        text = file.read(LONGEST)
                except OSError:  # not ours to read: it says nothing
                    continue
                found.update(re.findall(r"^\s*(?:import|from)\s+(torch|tensorflow|jax)\b", text, re.M))
    return [name for name in FRAMEWORKS if name in found]


def _as_the_script(folder):
    """Look for modules where the script would, and not beside this file."""
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder] + [place for place in sys.path if os.path.abspath(place) != own]


def ask(folder, all_of_them=False):
    """What the installed frameworks that the script names say, or all; the driver, where none is installed."""
    _as_the_script(folder)
    installed = [name for name in FRAMEWORKS if _has(name)]
    named = [name for name in _named(folder) if name in installed]
    words = [sys.executable, os.path.abspath(__file__), "one"]
    asked = [
        (name, subprocess.Popen(words + [name, folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        for name in ((named if not all_of_them else []) or installed or [DRIVER])
    ]
    end = time.time() + ANSWER_S
    return {name: _answer(process, end) for name, process in asked}


def _answer(process, end):
    try:
        out, err = process.communicate(timeout=max(0.1, end - time.time()))
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return {"version": "", "built": "", "devices": 0, "error": "no answer within %d s" % ANSWER_S}
    for line in reversed(out.decode("utf-8", "replace").splitlines()):
        if line.startswith(MARK):
            return json.loads(line[len(MARK) :])
    last = ([""] + err.decode("utf-8", "replace").split("\n"))[-2:]
    error = "asking it ended with %d: %s" % (process.returncode, " ".join(last).strip())
    return {"version": "", "built": "", "devices": 0, "error": error}


def require(words):
    """Become the script, or write down why not."""
    folder = os.path.dirname(os.path.abspath(words[1])) if len(words) > 1 else os.getcwd()
    if folder == os.path.dirname(os.path.abspath(__file__)):  # what starts the script, and is not the script
        folder = os.getcwd()
    said = ask(folder)
    if not any(about["devices"] for about in said.values()):  # a library may use one that no file names
        said.update(ask(folder, all_of_them=True))
    if any(about["devices"] for about in said.values()):
        os.execv(words[0], words)
    place = os.path.join(os.environ["JIG_RUN_DIR"], "gpu-refused.json")
    with open(place + ".new", "w") as file:
        json.dump(said, file)
    os.rename(place + ".new", place)
    return REFUSED


def main(words):
    """What the words ask for; returns the exit code."""
    if words[0] == "require":
        return require(words[1:])
    if words[0] == "one":
        return one(words[1], words[2])
    given = [pair.partition("=")[::2] for pair in sys.stdin.read().split("\0") if pair]
    if given:  # an interpreter heeds some of them at its start only
        os.environ.update(given)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__)] + words)
    sys.stdout.write("\n%s%s\n" % (MARK, json.dumps(ask(words[1]))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
