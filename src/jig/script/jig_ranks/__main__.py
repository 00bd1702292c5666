"""Become torchrun's launcher: jig_ranks ORDERS, which are the plan's, as JSON."""

import json
import os
import shutil
import sys

REFUSED = 95
sys.path[:] = [place for place in sys.path if place != os.path.dirname(os.path.abspath(__file__))]

from jig_ranks import deaths  # noqa: E402
from jig_ranks.hook import BACKEND, COMPRESSION  # noqa: E402
from jig_ranks.record import Record  # noqa: E402


class Refused(Exception):
    """The processes cannot be started: why, and what to do."""

    def __init__(self, detail, hint):
        Exception.__init__(self, detail)
        self.detail, self.hint = detail, hint


def main(given):
    """Start the processes and wait for them; returns the exit code of the first that failed."""
    orders, folder = json.loads(given[0]), os.environ["JIG_RUN_DIR"]
    record = Record(folder)
    try:
        argv = prepare(orders, folder, record)
    except Refused as refused:
        place = os.path.join(folder, "ranks-refused.json")
        with open(place + ".new", "w") as file:
            json.dump({"detail": refused.detail, "hint": refused.hint}, file)
        os.rename(place + ".new", place)
        return REFUSED
    watch = deaths.Watch(record, folder, orders["restarts"])
    watch.start()
    try:
        return launch(argv, watch)
    finally:
        shutil.rmtree(logs_folder(folder), ignore_errors=True)


def launch(argv, watch):
    """All of torchrun; its own words go to this process's output."""
    from torch.distributed import run
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    try:
        run.run(run.parse_args(argv))
    except ChildFailedError as error:
        sys.stderr.write("%s\n" % error)
        return watch.end({rank: failure.exitcode for rank, failure in error.failures.items()})
    except SignalException as told:
        watch.end({})
        return 128 + told.sigval
    watch.end({})
    return 0


def prepare(orders, folder, record):
    """The words for torchrun, and the variables that its processes inherit."""
    version = find_torch(orders)
    devices = count_devices()
    processes = orders["processes"] or devices
    if not processes:
        raise Refused(
            "a process for each GPU is wanted, and the run sees none",
            "write how many into %s: `Distributed: {processes: 4}`; why there is no GPU, `jig doctor` says"
            % orders["files"][0],
        )
    backend = orders["backend"]
    if backend == "auto":
        backend = "nccl" if devices >= processes else "gloo"
    elif backend == "nccl" and devices < processes:
        raise Refused(
            "`backend: nccl` wants a GPU for each of %d processes, and the run sees %d" % (processes, devices),
            "write `backend: gloo` or fewer processes into %s" % orders["files"][0],
        )
    set_variables(orders, processes, backend, devices)
    record.write(processes=processes, backend=backend, devices=devices, torch=version)
    if 0 < devices < processes:
        record.write(
            note="%d processes share %d GPU%s: they exchange by gloo" % (processes, devices, "s"[devices == 1 :])
        )
    here = os.path.dirname(os.path.abspath(__file__))
    known = {
        "{processes}": [str(processes)],
        "{id}": [os.environ["JIG_RUN_ID"]],
        "{local}": local_words(),
        "{logs}": [logs_folder(folder)],
        "{rank}": [sys.executable, "-I", "-S", os.path.join(here, "rank.py")],
    }
    return [filled for word in orders["words"] for filled in known.get(word, [word])] + orders["script"]


def find_torch(orders):
    """The version of the PyTorch that is here, one that can launch."""
    try:
        import torch
        import torch.distributed
    except ImportError as error:
        if (error.name or "").split(".")[0] == "torch":
            where = "add it to the conda file: `- pip: [torch]`"
            if not orders["managed"]:
                where = "install it there:  %s -m pip install torch" % sys.executable
            raise Refused("several processes are started by torchrun, and this Python has no torch", where)
        raise Refused("torch cannot be imported: %s" % error, "try it:  %s -c 'import torch'" % sys.executable)
    if not torch.distributed.is_available():
        raise Refused("this build of torch %s cannot run distributed" % torch.__version__, "install another build")
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 1):
        raise Refused("torch %s is too old to be launched so" % torch.__version__, "install torch 2.1 or newer")
    return str(torch.__version__)


def count_devices():
    """How many GPUs torch can use here."""
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def local_words():
    """On the loopback, also where the machine's name leads nowhere; only newer ones can be told."""
    from torch.distributed.run import get_args_parser

    known = "--local-addr" in get_args_parser().format_help()
    return ["--local-addr", "127.0.0.1"] if known else []


def logs_folder(folder):
    """Where torchrun keeps what is its own; it goes when the run ends."""
    return os.path.join(folder, "torchrun")


def set_variables(orders, processes, backend, devices):
    """What every process has; what the run configuration says is left as it is."""
    chosen = {
        "JIG_BACKEND": backend,
        "OMP_NUM_THREADS": str(max(1, cores() // processes)),
        "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
    }
    if orders["restarts"]:
        # torchrun's processes meet in one store, which newer versions keep from one start to the next: there they
        # would find the addresses of the dead, and try to connect to them. So each start has a store of its own.
        chosen["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    for name, value in chosen.items():
        os.environ.setdefault(name, value)
    os.environ.pop(BACKEND, None)
    os.environ.pop(COMPRESSION, None)
    if orders["backend"] != "auto" or 0 < devices < processes:
        os.environ[BACKEND] = backend  # else torch's own choice by device is the same
    if orders["compression"]:
        os.environ[COMPRESSION] = json.dumps(orders["compression"], sort_keys=True)


def cores():
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads of torch's may still be at work
