"""The codec in vectorised torch: one bit an element and two means a block; the kernels are held to it, bit for bit.

A block of `block` elements, padded with zeros where a tensor ends in it, is seen as 32 lanes of `block / 32` elements.
Bit `lane` of word `w` is the sign of element `lane * block / 32 + w`, so that lanes are packed and unpacked whole,
without a look at single elements. Sums are the same in whatever order they are taken (`_exact_sum`): a kernel that adds
up otherwise arrives at the same bits.
"""

from __future__ import annotations

from functools import lru_cache

import torch

LANES = 32
BLOCK = 2048


def check_block(block: int) -> None:
    """Refuse sizes of a block that do not fill words, or that no kernel can hold."""
    if block < 128 or block > 16384 or block & (block - 1):
        raise ValueError(f"block must be a power of two from 128 to 16384, not {block}: 2048 is a good one")


@lru_cache(maxsize=8)
def _lane_bits(device: torch.device) -> torch.Tensor:
    bits = [1 << lane for lane in range(31)] + [-(1 << 31)]
    return torch.tensor(bits, dtype=torch.int32, device=device).view(LANES, 1)


@lru_cache(maxsize=8)
def _to_sign(device: torch.device) -> torch.Tensor:
    """What moves bit `lane` to the place of the sign, as a factor."""
    return _lane_bits(device).flip(0)


def _popcount(words: torch.Tensor) -> torch.Tensor:
    pairs = words - ((words >> 1) & 0x55555555)
    fours = (pairs & 0x33333333) + ((pairs >> 2) & 0x33333333)
    return (((fours + (fours >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24


def _exact_sum(folded: torch.Tensor, extreme: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """The sum of each row, in float64, the same in any order; `folded` and `high` are overwritten.

    `extreme` has the largest magnitude of each row. Added and taken away again it leaves of every element a multiple of
    its own last place, and so few bits that no sum of them need be rounded in float64. To stay in float32, which is
    quicker here, upper and lower bits are summed apart: either sum has no more bits than that holds.
    """
    many = extreme * folded.shape[1]
    folded.add_(extreme).sub_(extreme)
    torch.add(folded, many, out=high).sub_(many)
    return high.sum(1).double() + folded.sub_(high).sum(1).double()


def _fold(rows: torch.Tensor) -> torch.Tensor:
    """Rows to a quarter of their length, by adding halves; overwrites them."""
    half = rows.shape[1] // 2
    first = rows[:, :half].add_(rows[:, half:])
    return first[:, : half // 2].add_(first[:, half // 2 :])


class Scratch:
    """Room to work in, kept by whoever encodes often; one thread at a time."""

    def __init__(self) -> None:
        self._rooms: dict[tuple[str, torch.dtype, torch.device], torch.Tensor] = {}

    def room(self, name: str, count: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """A flat tensor of so many elements, whatever is in it."""
        key = (name, dtype, device)
        kept = self._rooms.get(key)
        if kept is None or kept.numel() < count:
            kept = self._rooms[key] = torch.empty(count, dtype=dtype, device=device)
        return kept[:count]


def encode_rows(
    x: torch.Tensor,
    lengths: torch.Tensor | int,
    dtype: torch.dtype,
    words: torch.Tensor,
    means: torch.Tensor,
    rest: torch.Tensor,
    scratch: Scratch,
) -> None:
    """Blocks, a float32 row each and padded with zeros, into `words` and `means`; what is left over goes to `rest`.

    `lengths` says how many elements of each row count: of a block that is not full they are fewer than the row has.
    """
    blocks, padded = x.shape
    width = padded // LANES
    signs = scratch.room("signs", x.numel(), torch.int32, x.device).view(blocks, padded)
    torch.bitwise_right_shift(x.view(torch.int32), 31, out=signs)
    part = scratch.room("part", x.numel(), torch.float32, x.device).view(blocks, padded)
    bits = part.view(torch.int32).view(blocks, LANES, width)
    torch.bitwise_and(signs.view(blocks, LANES, width), _lane_bits(x.device), out=bits)
    lanes = LANES
    while lanes > 1:
        lanes //= 2
        bits[:, :lanes].bitwise_or_(bits[:, lanes : 2 * lanes])
    words.copy_(bits[:, 0])
    negative = _popcount(bits[:, 0]).sum(1)

    high = part[:, padded // 2 : 3 * padded // 4]
    folded = _fold(torch.clamp_min(x, 0, out=part))
    above = _exact_sum(folded, folded.amax(1, keepdim=True), high)
    folded = _fold(torch.clamp_max(x, 0, out=part))
    below = _exact_sum(folded, folded.amin(1, keepdim=True), high)
    above.div_((lengths - negative).clamp_min_(1))
    below.div_(negative.clamp_min_(1))
    # A mean is what the gradient's own type can hold, so that what is decoded is exact there too; + 0.0 leaves no -0.0.
    means.copy_(torch.stack((above, below), 1).to(torch.float32).to(dtype).to(torch.float32).add_(0.0))

    level = means.view(torch.int32)
    chosen = part.view(torch.int32)
    torch.bitwise_and(signs, level[:, :1] ^ level[:, 1:], out=chosen).bitwise_xor_(level[:, :1])
    torch.sub(x, part, out=rest)


def decode_rows(words: torch.Tensor, means: torch.Tensor, out: torch.Tensor) -> None:
    """The values of blocks: `out` has a float32 row for each, with its padding."""
    blocks, width = words.shape
    level = means.view(torch.int32)
    chosen = out.view(torch.int32).view(blocks, LANES, width)
    torch.mul(words.view(blocks, 1, width), _to_sign(words.device), out=chosen)
    chosen.bitwise_right_shift_(31)
    chosen.bitwise_and_((level[:, :1] ^ level[:, 1:]).view(blocks, 1, 1))
    chosen.bitwise_xor_(level[:, :1].view(blocks, 1, 1))
