"""jig.log in a real training of PyTorch: two ranks of torchrun, each with data loaders whose workers log too."""

import json
from collections import Counter

import pytest

from jig.runner.folder import Home
from tests.mlflow.venvs import python_with_lightning

TRAIN = """
import os, jig, torch, torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

class Rows(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, at):
        jig.log("seen", at, step=at)
        return torch.tensor([float(at)])

if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
    step = torch.optim.SGD(model.parameters(), 1e-6)
    for way in ("fork", "spawn"):
        rows = Rows()
        loader = DataLoader(rows, 8, num_workers=2 if way == "fork" else 1, multiprocessing_context=way, sampler=DistributedSampler(rows))
        for batch in loader:
            loss = (model(batch) ** 2).mean()
            step.zero_grad()
            loss.backward()
            step.step()
            jig.log(loss=loss, weights=model.module.weight, rank=rank)
    dist.destroy_process_group()
    os._exit(0)
"""


@pytest.mark.timeout(900)  # PyTorch is installed for it, once
def test_ranks_and_the_workers_of_their_data_loaders(project, cli, jig_home):
    project.write("aml_config/local.compute", f"type: local\npythonLocation: {python_with_lightning()}\n")
    project.write("train.py", TRAIN)
    start = (
        "import sys; from torch.distributed.run import main; main(['--standalone', '--nproc-per-node=2', 'train.py'])"
    )
    project.write("a.py", start)
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 0, said.out + said.err
    folder = Home(str(jig_home)).run(said.run_id)
    seen, steps = Counter(), []
    for rank, path in enumerate((folder.metrics, folder.metrics.replace("metrics.jsonl", "metrics.1.jsonl"))):
        with open(path) as file:
            lines = [json.loads(line) for line in file]  # each of them whole
        seen.update(line["values"]["seen"] for line in lines if "seen" in line["values"])
        own = [line["values"] for line in lines if "loss" in line["values"]]
        assert {values["rank"] for values in own} == {rank} and all(len(values["weights"]) == 1 for values in own)
        steps.append(len(own))
    assert steps == [8, 8]
    assert seen == dict.fromkeys(range(64), 2), "once by each way of starting workers, and none lost or doubled"
    assert cli("history", "info", "-r", said.run_id, "--query", "rank").json() == 0, "rank 0 speaks for all"
