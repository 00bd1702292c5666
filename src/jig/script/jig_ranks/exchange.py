"""The compressed exchange, attached to each DistributedDataParallel at its first step; and what it sent, written down.

It waits for the first step so that a script's own `register_comm_hook`, which comes after the construction, wins; a
script that asks for it before, by `onebit.attached(model)`, has it then.
"""

import functools
import json
import os
import sys
import time

COMPRESSION = "JIG_GRADIENT_COMPRESSION"
EVERY_S = 10.0
WAITING = "_jig_waits"
KEYS = ("steps", "bytes_sent", "bytes_uncompressed", "exchange_s", "codec_s")

_ledgers = []
_since = []
_told = set()


def wrap(model):
    """Have each model of this class attached to."""
    construct = model.__init__

    @functools.wraps(construct)
    def __init__(self, *given, **named):
        construct(self, *given, **named)
        if getattr(self, "_comm_hooks", None):
            _tell(self, "DDP has a communication hook of its own for a model, for mixed precision, say: not compressed")
            return
        from onebit.attach import waiting

        self.__dict__[WAITING] = self.register_forward_pre_hook(_at_first_step)
        waiting[self] = _attach

    model.__init__ = __init__
    for name in ("register_comm_hook", "_register_builtin_comm_hook"):
        if hasattr(model, name):
            setattr(model, name, _first(getattr(model, name)))


def _first(register):
    """The script's own registration, before which ours gives way."""

    @functools.wraps(register)
    def registered(self, *given, **named):
        if _waited(self):
            said = "the script has a communication hook of its own for a model, which is left alone: not compressed"
            _tell(self, said)
        return register(self, *given, **named)

    return registered


def _at_first_step(model, given):
    """What one rank evaluates alone is no step, and all ranks attach together."""
    import torch

    if model.training and torch.is_grad_enabled():
        _attach(model)


def _waited(model):
    """Whether this model was still to be attached to; from now on it is not."""
    from onebit.attach import waiting

    waiting.pop(model, None)
    waits = model.__dict__.pop(WAITING, None)
    if waits is not None:
        waits.remove()
    return waits is not None


def _attach(model):
    if not _waited(model):
        return
    import onebit
    from jig_ranks import scaler

    settings = json.loads(os.environ[COMPRESSION])
    if settings["kind"] != "onebit":
        settings.pop("block", None)
    try:
        exchange = onebit.attach(model, scaler=scaler.Newest(), **settings)
    except onebit.Unfit as unfit:
        _tell(model, "%s: not compressed" % unfit)
        return
    if exchange.codec == "torch":
        _tell(model, "no C compiler or Triton is here to make onebit's codec, so PyTorch packs, several times slower")
    if exchange.ledger is None:  # of one process alone
        return
    if not _ledgers:
        _since.append(time.monotonic())
        _keep_telling()
    _ledgers.append(exchange.ledger)


def _tell(model, text):
    """Say it once, by the first rank of those that have the model."""
    import torch.distributed

    if text not in _told and torch.distributed.get_rank(model.process_group) == 0:
        sys.stderr.write("jig: %s\n" % text)
    _told.add(text)


def _keep_telling():
    """Write the report now and then, for a process that is killed, and at the end."""
    import atexit
    import threading

    rank_process = os.getpid()

    def at_exit():
        if os.getpid() == rank_process:  # and not a worker that was forked
            _write()

    def now_and_then():
        while True:
            time.sleep(EVERY_S)
            _write()

    atexit.register(at_exit)
    threading.Thread(target=now_and_then, daemon=True).start()


def _write():
    from jig_ranks.record import Record

    total = dict.fromkeys(KEYS, 0)
    for ledger in _ledgers:
        report = ledger.report()
        for key in KEYS:
            total[key] += report.get(key, 0)
    if not any(total.values()):
        return
    total["kind"] = json.loads(os.environ[COMPRESSION])["kind"]
    total["of_s"] = time.monotonic() - _since[0]
    rounded = {key: round(value, 3) if isinstance(value, float) else value for key, value in total.items()}
    restart = int(os.environ.get("TORCHELASTIC_RESTART_COUNT") or 0)
    Record(os.environ["JIG_RUN_DIR"]).write(rank=int(os.environ["RANK"]), restart=restart, exchange=rounded)
