"""The exchange between real processes: the same bits everywhere, nothing lost, and resumed as if never interrupted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

ONE_START = [
    "identical",
    "again_and_other_buckets",
    "resumed",
    "nothing_is_lost",
    "in_full",
    "accumulation",
    "unused",
    "scaled",
    "not_finite",
    "other_types",
    "refused",
    "frozen",
    "copied",
    "unfit",
    "errors",
    "gone",
    "groups",
]


def run(world, folder, *scenarios):
    """Start so many ranks, and what each of them found."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(world)]
    results = folder / "results"
    program = str(Path(__file__).with_name("ranks.py"))
    done = subprocess.run(
        [*torchrun, program, str(results), *scenarios],
        cwd=REPOSITORY,
        text=True,
        capture_output=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(Path(f"{results}.{rank}").read_text()) for rank in range(world)]


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    return run(3, tmp_path_factory.mktemp("three"), *ONE_START)


def test_all_ranks_have_the_same_bits_and_learn(three):
    assert all(rank["identical"]["same"] for rank in three)
    assert all(rank["identical"]["loss"] < 1.9 for rank in three)


def test_the_same_again_and_whatever_the_buckets_are(three):
    assert all(rank["again_and_other_buckets"] == {"again": True, "buckets": True} for rank in three)


def test_a_resumed_run_goes_on_as_if_it_had_not_been_interrupted(three):
    assert all(rank["resumed"]["same"] for rank in three)
    # The residuals are what does it: without them it goes another way.
    assert not any(rank["resumed"]["without"] for rank in three)


def test_a_state_of_something_else_is_refused(three):
    said = three[0]["resumed"]["refused"]
    assert said["world"] == (
        "that state is of another exchange: it has world 77 and not 3. Each rank loads what the same rank saved"
    )
    assert "rank 55" in said["rank"] and "block 128" in said["block"] and "version 0" in said["version"]
    assert said["residual"] == "that state is of another model: 0.weight differs"


def test_what_was_sent_and_what_is_left_over_are_the_gradients(three):
    for rank in three:
        found = rank["nothing_is_lost"]
        assert found["difference"] < 1e-6 * found["largest"]
        assert found["left"] > 0.01 * found["largest"]


def test_warm_up_and_small_tensors_are_exact(three):
    assert all(rank["in_full"] == {"exact": [True, True, False], "small": True} for rank in three)


def test_accumulated_gradients_are_exchanged_once(three):
    assert all(rank["accumulation"] == {"close": True, "steps": 1} for rank in three)


def test_parameters_that_a_step_does_not_use(three):
    assert all(rank["unused"]["same"] for rank in three)


def test_loss_scaling_changes_nothing(three):
    assert all(rank["scaled"]["equal"] == [True] * 4 for rank in three)


def test_a_gradient_that_is_not_finite(three):
    for rank in three:
        assert rank["not_finite"] == {"kept": True, "everywhere": True, "fine": True, "in_full": 1}


def test_other_types_of_gradients(three):
    for rank in three:
        names = ("bfloat16", "float16", "float64", "fp16")
        assert all(rank["other_types"][name][0] for name in names)
    reports = {name: three[0]["other_types"][name][1] for name in names}
    assert reports["bfloat16"]["buckets_in_full"] == 0
    # Nothing is gained by it, and nothing lost: float64 goes as it is.
    assert 0.8 < reports["float64"]["bytes_sent"] / reports["float64"]["bytes_uncompressed"] < 1.3
    assert 0.49 < reports["fp16"]["bytes_sent"] / reports["fp16"]["bytes_uncompressed"] < 0.51


def test_mistakes_are_explained(three):
    said = three[0]["refused"]
    assert said["hook"].startswith("Unfit: this model has a communication hook already")
    assert said["no ddp"].startswith("TypeError: attach wants a model in DistributedDataParallel, not Sequential")
    assert said["kind"] == "ValueError: kind must be one of onebit, fp16, none, not 'twobit'"
    assert said["warm"] == "ValueError: warmup_steps must be 0 or more, not -1"
    assert "power of two" in said["block"]


def test_the_warm_up_of_half_precision(three):
    for rank in three:
        exact, sent = rank["other_types"]["fp16 warm"]
        assert exact == [True, True, False] and sent[0] == sent[1]
        assert 0.49 < sent[2] / sent[1] < 0.51
        assert rank["other_types"]["fp16 goes on"] == [3, True]


def test_a_parameter_that_is_frozen_after_ddp_was_made(three):
    assert all(rank["frozen"] == {"kept": True, "moved": True, "same": True, "packed": True} for rank in three)


def test_a_model_is_copied_and_pickled_without_its_exchange(three):
    for rank in three:
        assert rank["copied"] == {"found": [[True, True, True, 2]] * 2, "onebit": False, "attached": 2}


def test_what_cannot_be_compressed_is_refused_by_all(three):
    said = "the gradients of words are sparse (sparse=True), which cannot be packed"
    for rank in three:
        assert rank["unfit"][:3] == [said, said, "none"]
        assert rank["unfit"][3].startswith("this model's optimizer runs within backward")


def test_an_error_of_the_second_half_is_told_as_it_is(three):
    assert all("ArithmeticError: it went wrong" in rank["errors"] for rank in three)


def test_a_model_that_is_no_more_leaves_nothing(three):
    assert all(rank["gone"] == {"exchange": True, "thread": False, "steps": 2} for rank in three)


def test_a_model_of_some_ranks(three):
    """And of all in another order. With different numbers of groups torch would wait for ever, so all are told."""
    fine = {"close": [True, False, False], "same": True, "steps": 3}
    assert all(rank["groups"]["back"] == fine for rank in three)
    for rank in three[:2]:
        assert rank["groups"]["pair"] == fine
        assert "are in different numbers of groups" in rank["groups"]["uneven"]


@pytest.mark.parametrize("world", [2, 5])
def test_other_numbers_of_ranks(tmp_path, world):
    for rank in run(world, tmp_path, "identical", "again_and_other_buckets", "nothing_is_lost"):
        assert rank["identical"]["same"]
        assert rank["again_and_other_buckets"] == {"again": True, "buckets": True}
        assert rank["nothing_is_lost"]["difference"] < 1e-6 * rank["nothing_is_lost"]["largest"]


def test_kernels_have_the_same_bits():
    """In Triton's interpreter; the same file is run on a GPU by hand."""
    program = Path(__file__).with_name("same_bits.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(program)],
        env={"TRITON_INTERPRET": "1", "PATH": ""},
        text=True,
        capture_output=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.startswith("same bits")
