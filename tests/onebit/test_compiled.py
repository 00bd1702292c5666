"""The compiled codec: the bits of the vectorised one, and nothing but speed is lost without a compiler."""

import os
import stat
import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from onebit import building, compiled
from onebit.compiled import Compiled
from onebit.layout import InBucket, Layout, Shape
from onebit.route import codec_of, engine_for
from onebit.sameness import results, same_bits
from onebit.vectorised import Vectorised

CPU = torch.device("cpu")


@pytest.fixture
def afresh(tmp_path, monkeypatch):
    """A computer on which nothing has been compiled."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiled.trusted.cache_clear()
    yield tmp_path / "cache/onebit"
    compiled.trusted.cache_clear()


def both(counts, world, rank, block, dtype, seed, spread, ratio=1.0, spoiled=None, too_large=()):
    layout = Layout([Shape(count, count >= block) for count in counts], world, rank, block)
    bucket = [InBucket(index, sum(counts[:index])) for index in range(len(counts))]
    messages = layout.messages(bucket, torch.empty(0, dtype=dtype).element_size(), full=False)
    random = torch.Generator().manual_seed(seed)

    def numbers(count):
        scale = torch.exp2(torch.randint(-spread, spread + 1, (count,), generator=random).float())
        return torch.randn(count, generator=random) * scale

    inputs = [numbers(sum(counts)).to(dtype), numbers(layout.residual_at[-1]), numbers(layout.owned_at[-1])]
    if spoiled is not None:
        inputs[0][sum(counts) // 2] = spoiled
    for at in too_large:
        inputs[2][at] = 3e38
    settings = messages, rank, block, CPU, max(message.size for message in messages)
    made = compiled.trusted()
    return [
        results(engine, messages, rank, inputs, ratio) for engine in (Compiled(*settings, made), Vectorised(*settings))
    ]


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.integers(1, 6000), min_size=1, max_size=4),
    st.integers(1, 4),
    st.sampled_from([128, 256, 2048, 16384]),
    st.sampled_from([torch.float32, torch.float32, torch.float16, torch.bfloat16]),
    st.integers(0, 1 << 30),
    st.integers(0, 12),
    st.sampled_from([1.0, 2.0, 0.3]),
)
def test_it_has_the_bits_of_the_vectorised_codec(counts, world, block, dtype, seed, spread, ratio):
    ours, theirs = both(
        counts, world, world - 1, block, dtype, seed, min(spread, 3 if dtype == torch.float16 else 12), ratio
    )
    assert same_bits(ours, theirs)


@pytest.mark.parametrize("spoiled", [float("nan"), float("inf"), -float("inf"), 3e38])
def test_what_is_not_finite_or_too_large_to_be_added_up_is_noticed(spoiled):
    ours, theirs = both([5000, 300], 2, 1, 128, torch.float32, 1, 0, spoiled=spoiled)
    assert ours["flag"].item() == theirs["flag"].item() == 1
    ours, theirs = both([5000, 300], 2, 1, 128, torch.float32, 1, 0)
    assert ours["flag"].item() == theirs["flag"].item() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_a_block_whose_average_is_too_large_keeps_its_residual(dtype, ratio):
    """The first block is whole, the last is not; those between them go on as ever."""
    ours, theirs = both([1000], 1, 0, 128, dtype, 1, 0, ratio, too_large=(5, 990))
    assert torch.isfinite(ours["owned"]).all() and same_bits({"owned": ours["owned"]}, {"owned": theirs["owned"]})
    assert ours["owned"][5] == ours["owned"][990] == torch.tensor(3e38) * ratio
    assert not torch.isfinite(ours["answer"].view(torch.float32)[4 + 32 : 4 + 32 + 16]).all()
    plain, _ = both([1000], 1, 0, 128, dtype, 1, 0, ratio)
    assert torch.equal(ours["owned"][128:896], plain["owned"][128:896])


def test_zeros_of_both_signs_and_the_smallest_numbers():
    for value in (0.0, -0.0, 1e-45, -1e-45, 1e34):
        ours, theirs = both([4096], 1, 0, 2048, torch.float32, 1, 0, ratio=0.0, spoiled=value)
        assert same_bits(ours, theirs)


def elsewhere(**variables):
    """A process of its own that says which codec it has."""
    program = "import torch; from onebit.route import codec_of; print(codec_of(torch.device('cpu')))"
    words = [sys.executable, "-W", "ignore", "-c", program]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables})


def test_it_is_compiled_once_and_kept_where_nobody_else_writes(afresh):
    def codec(**variables):
        return elsewhere(**variables).communicate()[0].strip()

    assert codec() == "compiled"
    (kept,) = afresh.iterdir()
    assert stat.S_IMODE(afresh.stat().st_mode) == 0o700
    assert codec(PATH="") == "compiled"
    # A file that was cut short is not used, and made again.
    kept.write_bytes(kept.read_bytes()[:100])
    assert codec(PATH="") == "torch"
    assert codec() == "compiled"
    assert codec(PATH="") == "compiled"
    assert [file.name for file in afresh.iterdir()] == [kept.name]


def test_a_cache_that_others_can_write_to_is_not_used(afresh):
    afresh.mkdir(parents=True)
    afresh.chmod(0o777)
    assert codec_of(CPU) == "compiled"
    assert list(afresh.iterdir()) == []


@pytest.mark.parametrize(("mode", "kept"), [(0o777, 0), (0o775, 0), (0o1777, 1)])
def test_a_cache_below_a_folder_that_others_can_change_is_not_used(afresh, mode, kept):
    """What only its owner may rename is safe in a folder that is sticky, as /tmp is."""
    afresh.mkdir(parents=True)
    afresh.parent.chmod(mode)
    assert codec_of(CPU) == "compiled"
    assert len(list(afresh.iterdir())) == kept


@pytest.mark.parametrize("lack", ["no compiler", "a compiler that fails", "other bits", "a wish"])
def test_without_it_torch_packs(afresh, tmp_path, monkeypatch, lack):
    if lack == "no compiler":
        monkeypatch.setenv("PATH", "")
    elif lack == "a compiler that fails":
        for name in ("cc", "gcc", "clang"):
            (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    elif lack == "other bits":  # sums in one piece, rounded in the order of their elements
        with open(building.SOURCE, encoding="utf-8") as file:
            other = file.read().replace("(few + many) - many", "few")
        (tmp_path / "codec.c").write_text(other)
        monkeypatch.setattr(building, "SOURCE", str(tmp_path / "codec.c"))
    else:
        monkeypatch.setenv("ONEBIT_CODEC", "torch")
    assert codec_of(CPU) == "torch"
    layout = Layout([Shape(300, True)], 1, 0, 128)
    messages = layout.messages([InBucket(0, 0)], 4, full=False)
    assert type(engine_for(messages, 0, 128, CPU, messages[0].size)) is Vectorised


def test_several_processes_compile_at_the_same_moment(afresh):
    processes = [elsewhere() for _ in range(3)]
    assert [process.communicate()[0] for process in processes] == ["compiled\n"] * 3
    assert len(list(afresh.iterdir())) == 1
