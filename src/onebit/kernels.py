"""The same as `vectorised`, to the bit, in kernels for a GPU: a program for each block, each byte moved once."""

from __future__ import annotations

import triton
import triton.language as tl

# Encoding works on a block as four rows of eight lanes, each thread with the same columns of all four: the sums over
# rows are taken element by element in the order of `codec._fold`. What remains may be added in any order.


@triton.jit
def _place(table, row, column: tl.constexpr, aligned: tl.constexpr):
    place = tl.load(table + row * 5 + column)
    return tl.multiple_of(place, 4) if aligned else place


@triton.jit
def _offsets(row: tl.constexpr, WIDTH: tl.constexpr):
    return row * 8 * WIDTH + tl.arange(0, 8 * WIDTH)


@triton.jit
def _read(pointer, row: tl.constexpr, length, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    offsets = _offsets(row, WIDTH)
    values = tl.load(pointer + offsets, mask=offsets < length, other=0.0) if MASKED else tl.load(pointer + offsets)
    return values.to(tl.float32)


@triton.jit
def _write(pointer, values, row: tl.constexpr, length, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    offsets = _offsets(row, WIDTH)
    if MASKED:
        tl.store(pointer + offsets, values.to(pointer.dtype.element_ty), mask=offsets < length)
    else:
        tl.store(pointer + offsets, values.to(pointer.dtype.element_ty))


@triton.jit
def _sign(x):
    return x.to(tl.int32, bitcast=True) >> 31


@triton.jit
def _mean(folded, extreme, count, DTYPE: tl.constexpr):
    total = tl.sum(((folded + extreme) - extreme).to(tl.float64), axis=0)
    mean = (total / tl.maximum(count, 1).to(tl.float64)).to(tl.float32)
    return mean.to(DTYPE).to(tl.float32) + 0.0


@triton.jit
def _encode(x0, x1, x2, x3, length, words, means, flag, WIDTH: tl.constexpr, DTYPE: tl.constexpr):
    """A block's bits and means to where they belong; returns what is left over, and whether it is not finite."""
    lane = tl.arange(0, 8 * WIDTH) // WIDTH
    s0, s1, s2, s3 = _sign(x0), _sign(x1), _sign(x2), _sign(x3)
    bits = ((s0 & 1) << lane) | ((s1 & 1) << (lane + 8)) | ((s2 & 1) << (lane + 16)) | ((s3 & 1) << (lane + 24))
    tl.store(words + tl.arange(0, WIDTH), tl.sum(tl.reshape(bits, [8, WIDTH]), axis=0))
    negative = -tl.sum(s0 + s1 + s2 + s3, axis=0)
    n0, n1, n2, n3 = s0 != 0, s1 != 0, s2 != 0, s3 != 0
    above = (tl.where(n0, 0.0, x0) + tl.where(n2, 0.0, x2)) + (tl.where(n1, 0.0, x1) + tl.where(n3, 0.0, x3))
    below = (tl.where(n0, x0, 0.0) + tl.where(n2, x2, 0.0)) + (tl.where(n1, x1, 0.0) + tl.where(n3, x3, 0.0))
    up = _mean(above, tl.max(above, axis=0), length - negative, DTYPE)
    down = _mean(below, tl.min(below, axis=0), negative, DTYPE)
    tl.store(means, up)
    tl.store(means + 1, down)
    # An infinity or a NaN minus itself is a NaN.
    spoiled = ((up - up) + (down - down)) != 0.0
    tl.store(flag, 1, mask=spoiled)
    y0, y1 = x0 - tl.where(n0, down, up), x1 - tl.where(n1, down, up)
    y2, y3 = x2 - tl.where(n2, down, up), x3 - tl.where(n3, down, up)
    return y0, y1, y2, y3, spoiled


@triton.jit
def encode_kernel(
    bucket,
    residual,
    rest,
    wire,
    flag,
    ratio,
    table,
    WIDTH: tl.constexpr,
    DTYPE: tl.constexpr,
    MASKED: tl.constexpr,
    ALIGNED: tl.constexpr,
    OWNED: tl.constexpr,
):
    """A block of values, with its residual, into a message; `table` has the places of each, and its length.

    With `OWNED`, `rest` is `residual`, and a block that is not finite leaves it as it was, times `ratio`.
    """
    row = tl.program_id(0)
    values = bucket + _place(table, row, 0, ALIGNED)
    kept_at = _place(table, row, 1, True)
    words = wire + _place(table, row, 2, True)
    means = wire.to(tl.pointer_type(tl.float32)) + _place(table, row, 3, False)
    length = _place(table, row, 4, False).to(tl.int32)
    by = tl.load(ratio)
    old, new = residual + kept_at, rest + kept_at
    x0 = _read(values, 0, length, WIDTH, MASKED) + _read(old, 0, length, WIDTH, MASKED) * by
    x1 = _read(values, 1, length, WIDTH, MASKED) + _read(old, 1, length, WIDTH, MASKED) * by
    x2 = _read(values, 2, length, WIDTH, MASKED) + _read(old, 2, length, WIDTH, MASKED) * by
    x3 = _read(values, 3, length, WIDTH, MASKED) + _read(old, 3, length, WIDTH, MASKED) * by
    y0, y1, y2, y3, spoiled = _encode(x0, x1, x2, x3, length, words, means, flag, WIDTH, DTYPE)
    if OWNED:  # noqa: SIM102 - known when it is compiled, and `spoiled` is not
        if spoiled:  # read again, so that a block that is finite need not keep it in registers
            y0 = _read(old, 0, length, WIDTH, MASKED) * by
            y1 = _read(old, 1, length, WIDTH, MASKED) * by
            y2 = _read(old, 2, length, WIDTH, MASKED) * by
            y3 = _read(old, 3, length, WIDTH, MASKED) * by
    _write(new, y0, 0, length, WIDTH, MASKED)
    _write(new, y1, 1, length, WIDTH, MASKED)
    _write(new, y2, 2, length, WIDTH, MASKED)
    _write(new, y3, 3, length, WIDTH, MASKED)


@triton.jit
def decode_kernel(
    wire,
    out,
    table,
    WIDTH: tl.constexpr,
    MASKED: tl.constexpr,
    ALIGNED: tl.constexpr,
):
    """A block of a message, as values."""
    row = tl.program_id(0)
    values = out + _place(table, row, 0, ALIGNED)
    means = wire.to(tl.pointer_type(tl.float32)) + _place(table, row, 3, False)
    length = _place(table, row, 4, False).to(tl.int32)
    columns = tl.arange(0, 8 * WIDTH)
    bits = tl.load(wire + _place(table, row, 2, True) + columns % WIDTH)
    lane = columns // WIDTH
    up, down = tl.load(means), tl.load(means + 1)
    _write(values, tl.where((bits & (1 << lane)) != 0, down, up), 0, length, WIDTH, MASKED)
    _write(values, tl.where((bits & (1 << (lane + 8))) != 0, down, up), 1, length, WIDTH, MASKED)
    _write(values, tl.where((bits & (1 << (lane + 16))) != 0, down, up), 2, length, WIDTH, MASKED)
    _write(values, tl.where((bits & (1 << (lane + 24))) != 0, down, up), 3, length, WIDTH, MASKED)


@triton.jit
def _sent(words, means, worker: tl.constexpr, stride):
    """What one rank sent for a block: its words, and its two means."""
    at = worker * tl.multiple_of(stride, 4)
    return tl.load(words + at), tl.load(means + at), tl.load(means + at + 1)


@triton.jit
def _of_lane(words, up, down, lane: tl.constexpr):
    return tl.where((words << (31 - lane)) < 0, down, up)


@triton.jit
def average_kernel(
    wire,
    out,
    means_at,
    stride,
    scale,
    WORKERS: tl.constexpr,
    MORE: tl.constexpr,
    WORDS_AT: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """What up to eight ranks sent for a block, summed in their order and scaled; with `MORE`, on top of what is there.

    A thread has words of every rank in registers and goes through their 32 lanes, so each is read once and no bit is
    moved by an amount that is known only when it runs. Blocks come out one behind the other, padding and all.
    """
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, WIDTH)
    words = wire + WORDS_AT + row * WIDTH + columns
    means = wire.to(tl.pointer_type(tl.float32)) + means_at + 2 * row
    values = out + row * (32 * WIDTH) + columns
    w0, u0, d0 = _sent(words, means, 0, stride)
    if WORKERS > 1:
        w1, u1, d1 = _sent(words, means, 1, stride)
    if WORKERS > 2:
        w2, u2, d2 = _sent(words, means, 2, stride)
    if WORKERS > 3:
        w3, u3, d3 = _sent(words, means, 3, stride)
    if WORKERS > 4:
        w4, u4, d4 = _sent(words, means, 4, stride)
    if WORKERS > 5:
        w5, u5, d5 = _sent(words, means, 5, stride)
    if WORKERS > 6:
        w6, u6, d6 = _sent(words, means, 6, stride)
    if WORKERS > 7:
        w7, u7, d7 = _sent(words, means, 7, stride)
    for lane in tl.static_range(32):
        total = _of_lane(w0, u0, d0, lane)
        if MORE:
            total = tl.load(values + lane * WIDTH) + total
        if WORKERS > 1:
            total += _of_lane(w1, u1, d1, lane)
        if WORKERS > 2:
            total += _of_lane(w2, u2, d2, lane)
        if WORKERS > 3:
            total += _of_lane(w3, u3, d3, lane)
        if WORKERS > 4:
            total += _of_lane(w4, u4, d4, lane)
        if WORKERS > 5:
            total += _of_lane(w5, u5, d5, lane)
        if WORKERS > 6:
            total += _of_lane(w6, u6, d6, lane)
        if WORKERS > 7:
            total += _of_lane(w7, u7, d7, lane)
        tl.store(values + lane * WIDTH, total * scale)
