"""The compressed exchange, attached to each DistributedDataParallel at its first step; and what it sent, written down.

It waits for the first step so that a script's own `register_comm_hook`, which comes after the construction, wins.
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

_attached = []
_since = []
_told = set()


def wrap(model):
    """Have each model of this class attached to."""
    construct = model.__init__

    @functools.wraps(construct)
    def __init__(self, *given, **named):
        construct(self, *given, **named)
        self.__dict__[WAITING] = self.register_forward_pre_hook(_attach)

    model.__init__ = __init__
    for name in ("register_comm_hook", "_register_builtin_comm_hook"):
        if hasattr(model, name):
            setattr(model, name, _first(getattr(model, name)))


def _first(register):
    """The script's own registration, before which ours gives way."""

    @functools.wraps(register)
    def registered(self, *given, **named):
        waits = self.__dict__.pop(WAITING, None)
        if waits is not None:
            waits.remove()
            _tell("the script has a communication hook of its own for a model, which is left alone: not compressed")
        return register(self, *given, **named)

    return registered


def _attach(model, given):
    """At the first step: what one rank evaluates alone is none, and all ranks attach together."""
    import torch

    if not model.training or not torch.is_grad_enabled():
        return
    waits = model.__dict__.pop(WAITING, None)
    if waits is None:
        return
    waits.remove()
    import onebit
    from jig_ranks import scaler

    settings = json.loads(os.environ[COMPRESSION])
    if settings["kind"] != "onebit":
        settings.pop("block", None)
    exchange = onebit.attach(model, scaler=scaler.Newest(), **settings)
    if getattr(exchange, "codec", "") == "torch":
        _tell("no C compiler or Triton is here to make onebit's codec, so PyTorch packs, several times slower")
    if not _attached:
        _since.append(time.monotonic())
        _keep_telling()
    _attached.append(exchange)


def _tell(text):
    """Say it once, by the first rank."""
    if text not in _told and os.environ.get("RANK") == "0":
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
    for exchange in _attached:
        report = exchange.report()
        for key in KEYS:
            total[key] += report.get(key, 0)
    if not any(total.values()):  # of one process alone, say
        return
    total["kind"] = json.loads(os.environ[COMPRESSION])["kind"]
    total["of_s"] = time.monotonic() - _since[0]
    rounded = {key: round(value, 3) if isinstance(value, float) else value for key, value in total.items()}
    Record(os.environ["JIG_RUN_DIR"]).write(rank=int(os.environ["RANK"]), exchange=rounded)
