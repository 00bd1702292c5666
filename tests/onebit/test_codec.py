"""Laws of the codec, for any tensor."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import onebit

SHAPES = st.lists(st.integers(0, 40), min_size=1, max_size=3).map(tuple) | st.integers(0, 9000).map(lambda n: (n,))
TYPES = st.sampled_from([torch.float32, torch.float16, torch.bfloat16])
BLOCKS = st.sampled_from([128, 256, 2048])


def tensor(shape, seed, spread, dtype=torch.float32):
    random = torch.Generator().manual_seed(seed)
    scale = torch.exp2(torch.randint(-spread, spread + 1, shape, generator=random).float())
    return (torch.randn(shape, generator=random) * scale).to(dtype)


@settings(max_examples=150, deadline=None)
@given(SHAPES, TYPES, BLOCKS, st.integers(0, 12), st.integers(0, 1 << 30))
def test_what_is_left_over_is_exactly_what_was_not_sent(shape, dtype, block, spread, seed):
    gradient, residual = tensor(shape, seed, min(spread, 3), dtype), tensor(shape, seed + 1, spread)
    before = gradient.clone(), residual.clone()
    packed, rest = onebit.encode(gradient, residual, block=block)
    decoded = onebit.decode(packed)
    assert torch.equal(rest, (gradient.float() + residual) - decoded.float())
    assert (decoded.shape, decoded.dtype) == (gradient.shape, gradient.dtype)
    assert torch.equal(gradient, before[0]) and torch.equal(residual, before[1])
    again, _ = onebit.encode(gradient, residual, block=block)
    assert torch.equal(packed.words, again.words) and torch.equal(packed.means, again.means)


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 5000), BLOCKS, st.integers(0, 1 << 30))
def test_what_was_decoded_is_encoded_as_itself(count, block, seed):
    packed, _ = onebit.encode(tensor((count,), seed, 4), block=block)
    decoded = onebit.decode(packed)
    again, rest = onebit.encode(decoded, block=block)
    # A mean of equal numbers is that number, but for the last place of the sum.
    assert torch.allclose(onebit.decode(again), decoded, rtol=3e-7, atol=0)
    assert rest.abs().max() <= 3e-7 * decoded.abs().max()


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 6000), st.integers(0, 10), st.integers(0, 1 << 30))
def test_a_bit_is_the_sign_and_a_level_the_mean_of_its_side(count, spread, seed):
    values = tensor((count,), seed, spread)
    packed, _ = onebit.encode(values)
    decoded = onebit.decode(packed)
    for at in range(0, count, onebit.BLOCK):
        block, got = values[at : at + onebit.BLOCK].double(), decoded[at : at + onebit.BLOCK].double()
        for side in (block >= 0, block < 0):
            if side.any():
                # Each partial sum is rounded to the last place of the largest of them.
                limit = 1e-6 * float(block.abs().max())
                assert math.isclose(float(block[side].mean()), float(got[side][0]), rel_tol=1e-6, abs_tol=limit)
                assert (got[side] == got[side][0]).all()


def test_it_takes_a_bit_an_element_and_two_means_a_block():
    packed, _ = onebit.encode(torch.randn(1 << 20))
    assert packed.nbytes == (1 << 20) // 8 + 8 * (1 << 20) // onebit.BLOCK
    assert packed.block == onebit.BLOCK
    assert 4 * (1 << 20) / packed.nbytes > 31


def test_a_gradient_that_is_not_contiguous():
    gradient = torch.randn(70, 50).t()
    packed, rest = onebit.encode(gradient)
    assert torch.equal(rest, gradient - onebit.decode(packed))


def test_all_of_one_sign_and_zeros():
    for values in (torch.rand(300) + 1, -torch.rand(300) - 1, torch.zeros(300), torch.zeros(0)):
        packed, rest = onebit.encode(values)
        assert torch.equal(rest, values - onebit.decode(packed))
        assert torch.isfinite(packed.means).all()


def test_with_what_is_left_over_nothing_is_lost_in_the_long_run():
    gradient, residual, total = tensor((3000,), 7, 0), torch.zeros(3000), torch.zeros(3000)
    for _ in range(200):
        packed, residual = onebit.encode(gradient, residual)
        total += onebit.decode(packed)
    without = onebit.decode(onebit.encode(gradient)[0])
    assert (total / 200 - gradient).norm() < 0.1 * gradient.norm()
    assert (without - gradient).norm() > 0.5 * gradient.norm()


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32, torch.complex64])
def test_other_types_are_refused(dtype):
    with pytest.raises(TypeError, match="send it as it is"):
        onebit.encode(torch.ones(4, dtype=dtype))


@pytest.mark.parametrize("block", [0, 100, 64, 2049, 1 << 15])
def test_blocks_that_fill_no_words_are_refused(block):
    with pytest.raises(ValueError, match="a power of two from 128 to 16384"):
        onebit.encode(torch.ones(4), block=block)


def test_a_residual_of_another_shape_or_type_is_refused():
    with pytest.raises(ValueError, match="must be a float32 tensor of the gradient's shape"):
        onebit.encode(torch.ones(4), torch.ones(5))
    with pytest.raises(ValueError, match="must be a float32 tensor"):
        onebit.encode(torch.ones(4), torch.ones(4, dtype=torch.float16))
