"""Compression without a change in the script: what goes over the wire, restarts, and models that it does not fit."""

from jig.runner import events
from tests.ranks.conftest import TRAIN


def submitted(ranked, jig_home, cli, script, compression, code=0, **distributed):
    """The run's output, and what its processes sent each other."""
    ranked.runconfig(Distributed={"processes": 2, **distributed}, GradientCompression=compression)
    ranked.write("train.py", TRAIN + script)
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == code, said.out + said.err
    return said, events.read(str(jig_home / "runs" / said.run_id / "events.jsonl"))[-1].get("exchange")


WIRE = """
model = DDP(torch.nn.Linear(1024, 512, bias=False))
for step in range(4):
    model(torch.randn(4, 1024)).square().mean().backward()
dist.destroy_process_group()
"""


def test_a_28th_of_the_bytes_at_most(ranked, jig_home, cli):
    _, exchange = submitted(ranked, jig_home, cli, WIRE, "onebit")
    for rank in "01":
        assert exchange[rank]["steps"] == 4 and exchange[rank]["bytes_uncompressed"] == 4 * 4 * 1024 * 512
        assert 0 < 28 * exchange[rank]["bytes_sent"] <= exchange[rank]["bytes_uncompressed"]


def test_half_precision_after_its_warm_up(ranked, jig_home, cli):
    _, exchange = submitted(ranked, jig_home, cli, WIRE, {"kind": "fp16", "warmup_steps": 1})
    full = 4 * 1024 * 512
    for rank in "01":
        told = exchange[rank]
        assert (told["kind"], told["steps"], told["bytes_uncompressed"]) == ("fp16", 4, 4 * full)
        assert told["bytes_sent"] == full + 3 * full // 2


AGAIN = """
import onebit
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
def made():
    torch.manual_seed(1)
    model = DDP(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 8)))
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
def steps(model, optimizer, first, last):
    for step in range(first, last):
        torch.manual_seed(100 * step + rank)
        optimizer.zero_grad()
        model(torch.randn(8, 64)).square().mean().backward()
        optimizer.step()
model, optimizer = made()
exchange = onebit.attached(model)
place = "outputs/%d.pt" % rank
if attempt == 0:
    steps(model, optimizer, 0, 3)
    torch.save([model.state_dict(), optimizer.state_dict(), exchange.state_dict()], place)
    dist.barrier()
    if rank == 1:
        raise ValueError("boom")
    steps(model, optimizer, 3, 6)  # a peer is gone
saved = torch.load(place)
for what, state in zip((model, optimizer, exchange), saved):
    what.load_state_dict(state)
steps(model, optimizer, 3, 6)
whole = made()
steps(*whole, 0, 6)
print("same", all(torch.equal(a, b) for a, b in zip(model.parameters(), whole[0].parameters())))
print("forgotten", all(not state.any() for state in saved[2]["residual"].values()))
dist.destroy_process_group()
"""


def test_a_rank_dies_and_all_go_on_where_they_were(ranked, jig_home, cli):
    """The script saves what onebit keeps and takes it up; the record has the bytes of both attempts."""
    compression = {"kind": "onebit", "block": 128}
    said, exchange = submitted(ranked, jig_home, cli, AGAIN, compression, restarts=1)
    assert "jig: rank 1 failed first, with exit code 1: ValueError: boom; all are started again (1 of 1)\n" in said.out
    for rank in "01":
        assert f"[{rank}] same True\n" in said.out and f"[{rank}] forgotten False\n" in said.out
    # Three before it failed; then three that go on, and six of a model that was never interrupted.
    assert exchange["1"]["steps"] == 3 + 3 + 6


def test_a_rank_dies_for_good(ranked, jig_home, cli):
    script = AGAIN.replace("attempt == 0", "True")
    said, exchange = submitted(ranked, jig_home, cli, script, {"kind": "onebit", "block": 128}, code=1)
    assert "Status: Failed: rank 1 failed first, with exit code 1: ValueError: boom\n" in said.out
    assert exchange["1"]["steps"] == 3


UNFIT = """
from torch.nn.parallel.distributed import _MixedPrecision
one = _MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
for model in (torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)):
    print("own", len(DDP(model, mixed_precision=one)._comm_hooks))
for model in (torch.nn.Embedding(20, 4, sparse=True), torch.nn.Embedding(20, 4, sparse=True)):
    ddp = DDP(model)
    ddp(torch.tensor([rank, 3])).sum().backward()
    print("sparse", model.weight.grad.to_dense().sum().item())
print("none", __import__("onebit").attached(ddp))
dist.destroy_process_group()
"""


def test_models_that_it_does_not_fit_are_told_of_once(ranked, jig_home, cli):
    said, exchange = submitted(ranked, jig_home, cli, UNFIT, "onebit")
    assert exchange is None
    told = [line for line in said.out.splitlines() if ": not compressed" in line]
    assert told == [
        "[0] jig: DDP has a communication hook of its own for a model, for mixed precision, say: not compressed",
        "[0] jig: the gradients of this model are sparse (sparse=True), which cannot be packed: not compressed",
    ]
    for rank in (0, 1):
        assert said.out.count(f"[{rank}] own 1\n") == said.out.count(f"[{rank}] sparse 8.0\n") == 2
        assert f"[{rank}] none None\n" in said.out
