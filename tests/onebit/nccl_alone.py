"""By hand, on one GPU: the exchange over NCCL with a single rank, held to the codec. NCCL puts no two ranks on one device."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import onebit
from onebit.attach import _reduced
from onebit.exchange import Exchange
from onebit.layout import Layout, Shape
from onebit.second import second_group


def main():
    device = torch.device("cuda:0")
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29533", rank=0, world_size=1)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(2048, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 2048), torch.nn.ReLU()]
    model = DistributedDataParallel(torch.nn.Sequential(*layers).to(device), device_ids=[0], bucket_cap_mb=8)
    named = _reduced(model)
    shapes = [Shape(p.numel(), p.numel() >= 8192) for _, p in named]
    index_of = {id(p): number for number, (_, p) in enumerate(named)}
    group = model.process_group
    layout, second = Layout(shapes, 1, 0, 2048), second_group(group, device)
    exchange = Exchange(index_of, layout, device, group, second, 0, lambda: None)
    model.register_comm_hook(None, lambda _, bucket: exchange(bucket))
    first = {name: torch.zeros_like(p) for name, p in named}
    second = {name: torch.zeros_like(p) for name, p in named}
    for step in range(20):
        x = torch.randn(64, 2048, device=device)
        model.zero_grad()
        with model.no_sync():
            model(x).square().mean().backward()
        plain = {name: p.grad.clone() for name, p in named}
        model.zero_grad()
        model(x).square().mean().backward()
        for name, p in named:
            wanted = plain[name]
            if p.numel() >= 8192:
                sent, first[name] = onebit.encode(wanted, first[name])
                back, second[name] = onebit.encode(onebit.decode(sent), second[name])
                wanted = onebit.decode(back)
            assert torch.equal(p.grad, wanted), f"step {step}, {name}"
    torch.cuda.synchronize()
    print("nccl, one rank: the same bits as the codec for 20 steps", exchange.ledger.report())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
