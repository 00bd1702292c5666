"""Trains a network on scikit-learn's digits, in as many processes as the run has, and keeps a checkpoint."""

import argparse
import os

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import jig

CHECKPOINT = "outputs/checkpoint.pt"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--learning-rate", type=float, default=0.02)
    parser.add_argument("--batch", type=int, default=32, help="of one process")
    parser.add_argument("--hidden", type=int, default=512)
    wanted = parser.parse_args()

    dist.init_process_group()
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
        torch.cuda.set_device(device)

    torch.manual_seed(1)
    images, labels = load_data(device)
    train, test = slice(0, 1500), slice(1500, None)
    network = nn.Sequential(
        nn.Linear(64, wanted.hidden), nn.ReLU(),
        nn.Linear(wanted.hidden, wanted.hidden), nn.ReLU(),
        nn.Linear(wanted.hidden, 10),
    ).to(device)  # fmt: skip
    optimizer = torch.optim.SGD(network.parameters(), lr=wanted.learning_rate, momentum=0.9)
    epoch = resume(network, optimizer, device)
    model = DistributedDataParallel(network)

    while epoch < wanted.epochs:
        epoch += 1
        order = torch.randperm(1500, generator=torch.Generator().manual_seed(epoch)).to(device)
        mine = order[: 1500 // world * world].view(-1, world)[:, rank]  # each process has its share
        total = torch.zeros((), device=device)
        for batch in mine.split(wanted.batch):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images[train][batch]), labels[train][batch])
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(batch)
        dist.all_reduce(total)
        if rank == 0:
            with torch.no_grad():
                accuracy = (network(images[test]).argmax(1) == labels[test]).double().mean().item()
            jig.log(epoch=epoch, loss=total.item() / (len(mine) * world), accuracy=accuracy)
            print(f"epoch {epoch}: loss {total.item() / (len(mine) * world):.4f}, accuracy {accuracy:.3f}", flush=True)
            save(epoch, network, optimizer)
    dist.destroy_process_group()


def load_data(device):
    digits = load_digits()
    # They stand writer by writer.
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
    images = torch.tensor(digits.data, dtype=torch.float32)[order] / 16
    return images.to(device), torch.tensor(digits.target)[order].to(device)


def save(epoch, network, optimizer):
    state = {"epoch": epoch, "network": network.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, CHECKPOINT + ".new")
    os.replace(CHECKPOINT + ".new", CHECKPOINT)


def resume(network, optimizer, device):
    """Go on where a checkpoint is: with `restarts` in the run configuration all processes may begin again."""
    if not os.path.exists(CHECKPOINT):
        return 0
    state = torch.load(CHECKPOINT, map_location=device, weights_only=True)
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"]


if __name__ == "__main__":
    main()
