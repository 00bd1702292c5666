"""What a rank has of jig: its first error is noted, and DistributedDataParallel gets what the run asks for.

Nothing here imports torch: a process that never does pays for two environment variables and a comparison of names.
"""

import atexit
import os
import sys
import time

COMPRESSION, BACKEND = "JIG_GRADIENT_COMPRESSION", "JIG_DEFAULT_BACKEND"
DDP, GROUPS = "torch.nn.parallel.distributed", "torch.distributed.distributed_c10d"
SCALERS = ("torch.amp.grad_scaler", "torch.cuda.amp.grad_scaler")
LAST_MOMENT_S = 0.05


def install():
    """Wait for what is to come."""
    _note_errors()
    atexit.register(_let_threads_end, os.getpid())  # the first to be registered is the last to be called
    wanted = {}
    if os.environ.get(COMPRESSION):
        wanted[DDP] = _compress
        wanted.update((name, _remember_scalers) for name in SCALERS)
    if os.environ.get(BACKEND):
        wanted[GROUPS] = _choose_backend
    if wanted:
        sys.meta_path.insert(0, Waiting(wanted))


class Waiting(object):
    """A finder that finds nothing by itself: when one of its modules has been loaded, it is shown to a function."""

    def __init__(self, wanted):
        self._wanted = wanted
        self._looking = False

    def find_spec(self, name, path=None, target=None):
        """What the others find; of a module that is waited for with a loader that tells."""
        if name not in self._wanted or self._looking:
            return None
        self._looking = True
        try:
            from importlib.util import find_spec

            spec = find_spec(name)
        finally:
            self._looking = False
        if spec is not None and spec.loader is not None:
            self._tell_of(spec.loader, name)
        return spec

    def _tell_of(self, loader, name):
        load = loader.exec_module

        def exec_module(module):
            del loader.exec_module
            load(module)
            self._wanted.pop(name)(module)
            if not self._wanted:
                sys.meta_path.remove(self)

        loader.exec_module = exec_module


def _let_threads_end(rank_process):
    """Give PyTorch's threads the interpreter once more, before it is taken down.

    A thread of gloo takes it to let go of the last collective. Where it comes for it too late, Python ends that thread
    within C++, which ends the process by SIGABRT: a fifth of the scripts that end right after their last step.
    """
    if GROUPS in sys.modules and os.getpid() == rank_process:
        time.sleep(LAST_MOMENT_S)


def _note_errors():
    """Write down when an exception ends this rank, and which: the others' errors follow from the first."""
    own, rank_process = sys.excepthook, os.getpid()

    def excepthook(kind, error, trace):
        if os.getpid() == rank_process:
            _write_error(kind, error)
        own(kind, error, trace)

    sys.excepthook = excepthook


def _write_error(kind, error):
    from jig_ranks.record import Record

    try:
        text = str(error)
    except Exception:  # anyone's code: what it cannot say, its name does
        text = ""
    said = kind.__name__ + (": " + text if text else "")
    Record(os.environ["JIG_RUN_DIR"]).write(rank=int(os.environ["RANK"]), error=said[:2000], at=time.monotonic())


def _compress(module):
    from jig_ranks import exchange

    exchange.wrap(module.DistributedDataParallel)


def _remember_scalers(module):
    from jig_ranks import scaler

    scaler.remember(module.GradScaler)


def _choose_backend(module):
    """A script that names no backend gets the run's."""
    own = module.init_process_group

    def init_process_group(backend=None, *given, **named):
        if backend is None and named.get("device_id") is None:
            backend = os.environ.get(BACKEND)
        return own(backend, *given, **named)

    init_process_group.__doc__ = own.__doc__
    module.init_process_group = init_process_group
