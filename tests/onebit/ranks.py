"""One rank of the tests of the exchange: goes through the scenarios that it is told, and prints what came out as JSON."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import sys
import threading
import weakref
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.distributed.optim import _apply_optimizer_in_backward
from torch.nn.parallel import DistributedDataParallel

import onebit

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def network(seed=0, dtype=torch.float32):
    torch.manual_seed(seed)
    layers = (
        torch.nn.Linear(90, 301),
        torch.nn.ReLU(),
        torch.nn.Linear(301, 200),
        torch.nn.Tanh(),
        torch.nn.Linear(200, 7),
    )
    return torch.nn.Sequential(*layers).to(DEVICE, dtype)


class Training:
    """A model that learns on data of its own on each rank."""

    def __init__(self, *, model=None, cap_mb=0.15, unused=False, dtype=torch.float32, **options):
        self.model = model or network(dtype=dtype)
        self.ddp = DistributedDataParallel(self.model, bucket_cap_mb=cap_mb, find_unused_parameters=unused)
        self.attached = onebit.attach(self.ddp, block=256, **options)
        self.optimizer = torch.optim.SGD(self.ddp.parameters(), lr=0.05, momentum=0.9)

    def batch(self, step):
        random = torch.Generator().manual_seed(1000 * step + dist.get_rank())
        x = torch.randn(32, 90, generator=random)
        dtype = next(self.model.parameters()).dtype
        return x.to(DEVICE, dtype), x[:, :7].argmax(1).to(DEVICE)

    def backward(self, step, factor=1.0):
        x, y = self.batch(step)
        loss = torch.nn.functional.cross_entropy(self.ddp(x), y) * factor
        loss.backward()
        return loss

    def steps(self, first, last):
        for step in range(first, last):
            self.optimizer.zero_grad()
            loss = self.backward(step)
            self.optimizer.step()
        return float(loss.detach())

    def weights(self):
        return torch.cat([p.detach().reshape(-1) for p in self.model.parameters()])

    def gradients(self):
        return torch.cat([p.grad.reshape(-1) for p in self.model.parameters()])


def same_everywhere(tensor):
    """Whether all ranks have the same bits."""
    everyone = [torch.empty_like(tensor.cpu()) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, tensor.cpu())
    return all(torch.equal(one, everyone[0]) for one in everyone)


def mean_in_order(tensor):
    """The average of all ranks, added up in their order."""
    everyone = [torch.empty_like(tensor.cpu()) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, tensor.cpu())
    total = everyone[0].clone()
    for one in everyone[1:]:
        total += one
    return (total * (1 / len(everyone))).to(tensor.device)


def local_gradients(model, training, step, factor=1.0):
    """What a model has as gradients before any exchange."""
    alone = copy.deepcopy(model)
    alone.zero_grad()
    x, y = training.batch(step)
    (torch.nn.functional.cross_entropy(alone(x), y) * factor).backward()
    return torch.cat([p.grad.reshape(-1) for p in alone.parameters()])


def identical():
    training = Training()
    loss = training.steps(0, 25)
    report = training.attached.report()
    return {"same": same_everywhere(training.weights()), "loss": loss, "report": report}


def again_and_other_buckets():
    first, second, third = Training(), Training(), Training(cap_mb=25)
    for training in (first, second, third):
        training.steps(0, 8)
    return {
        "again": torch.equal(first.weights(), second.weights()),
        "buckets": torch.equal(first.weights(), third.weights()),
    }


def resumed():
    whole, half = Training(), Training()
    whole.steps(0, 9)
    half.steps(0, 4)
    state = copy.deepcopy((half.model.state_dict(), half.optimizer.state_dict(), half.attached.state_dict()))
    rest = Training(model=network(seed=9))
    rest.model.load_state_dict(state[0])
    rest.optimizer.load_state_dict(state[1])
    rest.attached.load_state_dict(state[2])
    rest.steps(4, 9)
    refused = {}
    for key, value in (("world", 77), ("rank", 55), ("block", 128), ("version", 0), ("residual", {})):
        try:
            rest.attached.load_state_dict({**state[2], key: value})
        except ValueError as error:
            refused[key] = str(error)
    without = Training(model=network(seed=9))
    without.model.load_state_dict(state[0])
    without.optimizer.load_state_dict(state[1])
    without.steps(4, 9)
    return {
        "same": torch.equal(rest.weights(), whole.weights()),
        "without": torch.equal(without.weights(), whole.weights()),
        "refused": refused,
    }


def nothing_is_lost():
    """All that was sent and all that is left over make up the gradients of all steps."""
    training, true, applied = Training(), 0, 0
    for step in range(6):
        training.optimizer.zero_grad()
        true = true + mean_in_order(local_gradients(training.model, training, step).double())
        training.backward(step)
        applied = applied + training.gradients().double()
    state = training.attached.state_dict()
    exchange = training.attached._exchange
    left = []
    for index, (name, parameter) in enumerate(training.model.named_parameters()):
        whole = torch.zeros(parameter.numel(), dtype=torch.float64, device=DEVICE)
        if name in state["residual"]:
            whole += mean_in_order(state["residual"][name].double())
            own = torch.zeros_like(whole)
            for piece in exchange.layout.pieces[index]:
                if piece.owner == dist.get_rank():
                    own[piece.start : piece.stop] = state["owned"][name][: piece.stop - piece.start].double()
            whole += mean_in_order(own) * dist.get_world_size()
        left.append(whole)
    difference = (true - applied - torch.cat(left)).abs().max()
    return {
        "difference": float(difference),
        "largest": float(true.abs().max()),
        "left": float(torch.cat(left).abs().max()),
    }


def in_full():
    """Steps of the warm-up, and small tensors in any step, are the exact average."""
    training = Training(warmup_steps=2)
    exact = []
    for step in range(3):
        training.optimizer.zero_grad()
        expected = mean_in_order(local_gradients(training.model, training, step))
        training.backward(step)
        exact.append(torch.equal(training.gradients(), expected))
    small = [p.grad.reshape(-1) for p in training.model.parameters() if p.dim() == 1]
    names = [n for n, p in training.model.named_parameters() if p.dim() == 1]
    alone = copy.deepcopy(training.model)
    alone.zero_grad()
    x, y = training.batch(2)
    torch.nn.functional.cross_entropy(alone(x), y).backward()
    wanted = [mean_in_order(dict(alone.named_parameters())[name].grad) for name in names]
    return {"exact": exact, "small": all(torch.equal(a, b) for a, b in zip(small, wanted, strict=True))}


def accumulation():
    """no_sync: what several backward passes added up is exchanged once."""
    training = Training(warmup_steps=9)
    expected = mean_in_order(sum(local_gradients(training.model, training, step) for step in range(3)))
    for step in range(3):
        with training.ddp.no_sync() if step < 2 else nullcontext():
            training.backward(step)
    return {
        "close": bool(torch.allclose(training.gradients(), expected, atol=1e-7)),
        "steps": training.attached.report()["steps"],
    }


class Branches(torch.nn.Module):
    """Of two branches each step uses one."""

    def __init__(self):
        super().__init__()
        self.one, self.two = network(1), network(2)
        self.use = 0

    def forward(self, x):
        return (self.one, self.two)[self.use](x)


def unused():
    training = Training(model=Branches(), unused=True)
    for step in range(6):
        training.model.use = step % 2
        training.optimizer.zero_grad()
        loss = training.backward(step)
        training.optimizer.step()
    return {"same": same_everywhere(training.weights()), "loss": float(loss.detach())}


class Scaler:
    """As much of a GradScaler as the exchange asks: a scale that the test sets."""

    def __init__(self, scale):
        self._scale = torch.tensor(scale, device=DEVICE)

    def is_enabled(self):
        return True

    def get_scale(self):
        return float(self._scale)


def scaled():
    """Loss scaling changes nothing: a scale that doubles and halves gives the gradients of none, times the scale."""
    scaler, plain = Scaler(8.0), Training()
    training = Training(scaler=scaler)
    close = []
    for step, scale in enumerate((8.0, 16.0, 4.0, 4.0)):
        scaler._scale.fill_(scale)
        for one, factor in ((plain, 1.0), (training, scale)):
            one.optimizer.zero_grad()
            one.backward(step, factor)
        close.append(torch.equal(training.gradients() / scale, plain.gradients()))
    return {"equal": close}


def not_finite():
    """A bucket that is not finite somewhere goes as it is everywhere, and leaves all residuals alone."""
    training = Training(cap_mb=25)
    training.steps(0, 3)
    before = copy.deepcopy(training.attached.state_dict())
    training.optimizer.zero_grad()
    x, y = training.batch(3)
    if dist.get_rank() == 1:
        x[0, 0] = float("inf")
    torch.nn.functional.cross_entropy(training.ddp(x), y).backward()
    after = training.attached.state_dict()
    kept = all(
        torch.equal(before[part][name], after[part][name]) for part in ("residual", "owned") for name in before[part]
    )
    everywhere = not bool(torch.isfinite(training.gradients()).all())
    training.optimizer.zero_grad()
    training.backward(4)
    fine = bool(torch.isfinite(training.gradients()).all()) and same_everywhere(training.gradients())
    return {
        "kept": kept,
        "everywhere": everywhere,
        "fine": fine,
        "in_full": training.attached.report()["buckets_in_full"],
    }


def other_types():
    results = {}
    for name, dtype in (("bfloat16", torch.bfloat16), ("float16", torch.float16), ("float64", torch.float64)):
        training = Training(dtype=dtype)
        training.steps(0, 4)
        results[name] = same_everywhere(training.weights().float()), training.attached.report()
    half = Training(kind="fp16", warmup_steps=2)
    exact, bytes_sent = [], []
    for step in range(3):
        half.optimizer.zero_grad()
        expected = mean_in_order(local_gradients(half.model, half, step))
        half.backward(step)
        exact.append(bool(torch.allclose(half.gradients(), expected, rtol=1e-5, atol=1e-7)))
        bytes_sent.append(half.attached.report()["bytes_sent"])
    results["fp16 warm"] = exact, [bytes_sent[0], bytes_sent[1] - bytes_sent[0], bytes_sent[2] - bytes_sent[1]]
    state = half.attached.state_dict()
    half = Training(kind="fp16", warmup_steps=2)
    half.attached.load_state_dict(state)
    results["fp16 goes on"] = half.attached._exchange.step, half.attached.state_dict() == state
    half = Training(kind="fp16")
    half.steps(0, 4)
    results["fp16"] = same_everywhere(half.weights()), half.attached.report()
    return results


def frozen():
    """Frozen after DDP was made, and set free again: DDP has it in its buckets all the time."""
    model = network()
    ddp = DistributedDataParallel(model, bucket_cap_mb=0.15, find_unused_parameters=True)
    model[0].weight.requires_grad_(False)
    training = Training.__new__(Training)
    training.model, training.ddp, training.attached = model, ddp, onebit.attach(ddp, block=256)
    training.optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    before = model[0].weight.clone()
    training.steps(0, 3)
    kept = torch.equal(before, model[0].weight)
    model[0].weight.requires_grad_(True)
    training.steps(3, 5)
    moved = not torch.equal(before, model[0].weight)
    return {
        "kept": kept,
        "moved": moved,
        "same": same_everywhere(training.weights()),
        "packed": "0.weight" in training.attached.state_dict()["residual"],
    }


def copied():
    """A model is copied and pickled as it is without: what comes out has no hook, and can be attached to."""
    training = Training()
    training.steps(0, 2)
    pickled = pickle.dumps(training.ddp)
    found = []
    for other in (pickle.loads(pickled), copy.deepcopy(training.ddp)):
        again = Training.__new__(Training)
        again.model, again.ddp = other.module, other
        again.optimizer = torch.optim.SGD(other.parameters(), lr=0.05)
        found.append([torch.equal(again.weights(), training.weights()), onebit.attached(other) is None])
        again.attached = onebit.attach(other, block=256)
        again.steps(2, 4)
        found[-1] += [same_everywhere(again.weights()), again.attached.report()["steps"]]
    return {"found": found, "onebit": b"onebit" in pickled, "attached": onebit.attached(training.ddp).report()["steps"]}


def gone():
    """A model that is no more leaves neither residuals nor a thread."""
    training = Training()
    training.steps(0, 2)
    exchange, threads = weakref.ref(training.attached._exchange), exchange_threads()
    ledger = training.attached.ledger
    del training
    gc.collect()
    for thread in threads[-1:]:
        thread.join(60)
    return {
        "exchange": exchange() is None,
        "thread": threads[-1].is_alive(),
        "steps": ledger.report()["steps"],
    }


def exchange_threads():
    return [thread for thread in threading.enumerate() if thread.name == "onebit exchange"]


def errors():
    """What goes wrong in the thread is told as it is."""
    training = Training()

    def fail(*_):
        raise ArithmeticError("it went wrong")

    training.attached._exchange._second_half = fail
    try:
        training.steps(0, 1)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    return said


def groups():
    """A model of some ranks: where all of them are in as many groups, and where they are not."""
    rank, found = dist.get_rank(), {}
    pair = dist.new_group([0, 1])
    if rank < 2:
        found["pair"] = of_group(pair)
    back = dist.new_group([2, 1, 0], sort_ranks=False)
    found["back"] = of_group(back)
    dist.new_group([0, 2])
    if rank < 2:
        try:
            found["uneven"] = of_group(pair)
        except onebit.Unfit as unfit:
            found["uneven"] = str(unfit)
    return found


def of_group(group):
    """The first steps in a group are the same on all of its ranks, and not far from plain DDP's."""
    ddp = DistributedDataParallel(network(), process_group=group)
    plain = DistributedDataParallel(network(), process_group=group)
    attached = onebit.attach(ddp, block=256, warmup_steps=1)
    close = []
    for step in range(3):
        for model in (ddp, plain):
            random = torch.Generator().manual_seed(1000 * step + dist.get_rank())
            model.zero_grad()
            model(torch.randn(32, 90, generator=random).to(DEVICE)).square().mean().backward()
        ours, theirs = (torch.cat([p.grad.reshape(-1) for p in model.parameters()]) for model in (ddp, plain))
        close.append(bool(torch.allclose(ours, theirs, rtol=1e-5, atol=1e-7)))
    everyone = [torch.empty_like(ours) for _ in range(dist.get_world_size(group))]
    dist.all_gather(everyone, ours, group=group)
    same = all(torch.equal(one, everyone[0]) for one in everyone)
    return {"close": close, "same": same, "steps": attached.report()["steps"]}


class Words(torch.nn.Module):
    """A model whose gradients are sparse."""

    def __init__(self):
        super().__init__()
        self.words, self.out = torch.nn.Embedding(50, 8, sparse=True), torch.nn.Linear(8, 2)

    def forward(self, x):
        return self.out(self.words(x))


def unfit():
    model = DistributedDataParallel(Words().to(DEVICE))
    said = []
    for kind in ("onebit", "fp16", "none"):
        try:
            said.append(onebit.attach(model, kind=kind).kind)
        except onebit.Unfit as unfit:
            said.append(str(unfit))
    model(torch.tensor([1, 2], device=DEVICE)).sum().backward()
    inner = network()
    _apply_optimizer_in_backward(torch.optim.SGD, inner.parameters(), {"lr": 0.1})
    try:
        onebit.attach(DistributedDataParallel(inner))
    except onebit.Unfit as unfit:
        said.append(str(unfit))
    return said


def refused():
    said = {}
    model = DistributedDataParallel(network())
    model.register_comm_hook(None, lambda _, bucket: torch.futures.Future())
    for name, wrong, options in (
        ("hook", model, {}),
        ("no ddp", network(), {}),
        ("kind", model, {"kind": "twobit"}),
        ("warm", model, {"warmup_steps": -1}),
        ("block", model, {"block": 100}),
    ):
        try:
            onebit.attach(wrong, **options)
        except (RuntimeError, TypeError, ValueError) as error:
            said[name] = f"{type(error).__name__}: {error}"
    return said


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    results = {name: globals()[name]() for name in sys.argv[2:]}
    with open(f"{sys.argv[1]}.{dist.get_rank()}", "w") as file:
        json.dump(results, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
