"""The same as `vectorised`, to the bit, in kernels for a GPU: one program for each block, each byte read and written once."""

from __future__ import annotations

import triton
import triton.language as tl

# A block is worked on as four rows of eight lanes, each thread with the same columns of all four: the sums over rows are taken
# element by element in the order of `codec._fold`. What remains to be added up may be added in any order.


@triton.jit
def _place(table, rows, column: tl.constexpr, aligned: tl.constexpr):
    place = tl.load(table + column * rows + tl.program_id(0))
    return tl.multiple_of(place, 4) if aligned else place


@triton.jit
def _offsets(row: tl.constexpr, WIDTH: tl.constexpr):
    return row * 8 * WIDTH + tl.arange(0, 8 * WIDTH)


@triton.jit
def _read(pointer, row: tl.constexpr, length, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    offsets = _offsets(row, WIDTH)
    if MASKED:
        values = tl.load(pointer + offsets, mask=offsets < length, other=0.0)
    else:
        values = tl.load(pointer + offsets)
    return values.to(tl.float32)


@triton.jit
def _write(pointer, values, row: tl.constexpr, length, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    offsets = _offsets(row, WIDTH)
    if MASKED:
        tl.store(pointer + offsets, values.to(pointer.dtype.element_ty), mask=offsets < length)
    else:
        tl.store(pointer + offsets, values.to(pointer.dtype.element_ty))


@triton.jit
def _inside(x, row: tl.constexpr, length, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    """Zero behind the end of a block that is not full."""
    return tl.where(_offsets(row, WIDTH) < length, x, 0.0) if MASKED else x


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
    """A block's bits and means to where they belong; returns what is left over."""
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
    tl.store(flag, 1, mask=((up - up) + (down - down)) != 0.0)
    y0, y1 = x0 - tl.where(n0, down, up), x1 - tl.where(n1, down, up)
    y2, y3 = x2 - tl.where(n2, down, up), x3 - tl.where(n3, down, up)
    return y0, y1, y2, y3


@triton.jit
def encode_kernel(
    bucket,
    residual,
    rest,
    wire,
    flag,
    ratio,
    table,
    rows,
    WIDTH: tl.constexpr,
    DTYPE: tl.constexpr,
    MASKED: tl.constexpr,
    ALIGNED: tl.constexpr,
):
    """A block of a bucket, with its residual, into a message; `table` has the places of each, and how long the block is."""
    values = bucket + _place(table, rows, 0, ALIGNED)
    kept_at = _place(table, rows, 1, True)
    words = wire + _place(table, rows, 2, True)
    means = wire.to(tl.pointer_type(tl.float32)) + _place(table, rows, 3, False)
    length = _place(table, rows, 4, False).to(tl.int32)
    by = tl.load(ratio)
    old, new = residual + kept_at, rest + kept_at
    x0 = _read(values, 0, length, WIDTH, MASKED) + _read(old, 0, length, WIDTH, MASKED) * by
    x1 = _read(values, 1, length, WIDTH, MASKED) + _read(old, 1, length, WIDTH, MASKED) * by
    x2 = _read(values, 2, length, WIDTH, MASKED) + _read(old, 2, length, WIDTH, MASKED) * by
    x3 = _read(values, 3, length, WIDTH, MASKED) + _read(old, 3, length, WIDTH, MASKED) * by
    y0, y1, y2, y3 = _encode(x0, x1, x2, x3, length, words, means, flag, WIDTH, DTYPE)
    _write(new, y0, 0, length, WIDTH, MASKED)
    _write(new, y1, 1, length, WIDTH, MASKED)
    _write(new, y2, 2, length, WIDTH, MASKED)
    _write(new, y3, 3, length, WIDTH, MASKED)


@triton.jit
def _worker(words, means, WIDTH: tl.constexpr):
    """What one rank sent for a block: its four rows."""
    columns = tl.arange(0, 8 * WIDTH)
    lane = columns // WIDTH
    bits = tl.load(words + columns % WIDTH)
    up, down = tl.load(means), tl.load(means + 1)
    v0 = tl.where((bits & (1 << lane)) != 0, down, up)
    v1 = tl.where((bits & (1 << (lane + 8))) != 0, down, up)
    v2 = tl.where((bits & (1 << (lane + 16))) != 0, down, up)
    v3 = tl.where((bits & (1 << (lane + 24))) != 0, down, up)
    return v0, v1, v2, v3


@triton.jit
def _average(wire, words_at, means_at, stride, scale, WORKERS: tl.constexpr, WIDTH: tl.constexpr):
    floats = wire.to(tl.pointer_type(tl.float32)) + means_at
    words = wire + words_at
    a0, a1, a2, a3 = _worker(words, floats, WIDTH)
    if WORKERS <= 16:
        for worker in tl.static_range(1, WORKERS):
            v0, v1, v2, v3 = _worker(words + worker * stride, floats + worker * stride, WIDTH)
            a0, a1, a2, a3 = a0 + v0, a1 + v1, a2 + v2, a3 + v3
    else:
        for worker in range(1, WORKERS):
            v0, v1, v2, v3 = _worker(words + worker * stride, floats + worker * stride, WIDTH)
            a0, a1, a2, a3 = a0 + v0, a1 + v1, a2 + v2, a3 + v3
    return a0 * scale, a1 * scale, a2 * scale, a3 * scale


@triton.jit
def average_kernel(
    received,
    out,
    table,
    rows,
    stride,
    scale,
    WORKERS: tl.constexpr,
    WIDTH: tl.constexpr,
    MASKED: tl.constexpr,
    ALIGNED: tl.constexpr,
):
    """What some ranks sent for a block, averaged, as values."""
    values = out + _place(table, rows, 0, ALIGNED)
    words_at, means_at = _place(table, rows, 2, True), _place(table, rows, 3, False)
    length = _place(table, rows, 4, False).to(tl.int32)
    a0, a1, a2, a3 = _average(received, words_at, means_at, stride, scale, WORKERS, WIDTH)
    _write(values, a0, 0, length, WIDTH, MASKED)
    _write(values, a1, 1, length, WIDTH, MASKED)
    _write(values, a2, 2, length, WIDTH, MASKED)
    _write(values, a3, 3, length, WIDTH, MASKED)


@triton.jit
def average_encode_kernel(
    received,
    residual,
    wire,
    flag,
    ratio,
    table,
    rows,
    stride,
    scale,
    WORKERS: tl.constexpr,
    WIDTH: tl.constexpr,
    DTYPE: tl.constexpr,
    MASKED: tl.constexpr,
):
    """What all ranks sent for a block, averaged, with the residual of that, into the message for all."""
    kept = residual + _place(table, rows, 1, True)
    words_at, means_at = _place(table, rows, 2, True), _place(table, rows, 3, False)
    length = _place(table, rows, 4, False).to(tl.int32)
    by = tl.load(ratio)
    a0, a1, a2, a3 = _average(received, words_at, means_at, stride, scale, WORKERS, WIDTH)
    x0 = _inside(a0 + _read(kept, 0, length, WIDTH, MASKED) * by, 0, length, WIDTH, MASKED)
    x1 = _inside(a1 + _read(kept, 1, length, WIDTH, MASKED) * by, 1, length, WIDTH, MASKED)
    x2 = _inside(a2 + _read(kept, 2, length, WIDTH, MASKED) * by, 2, length, WIDTH, MASKED)
    x3 = _inside(a3 + _read(kept, 3, length, WIDTH, MASKED) * by, 3, length, WIDTH, MASKED)
    means = wire.to(tl.pointer_type(tl.float32)) + means_at
    y0, y1, y2, y3 = _encode(x0, x1, x2, x3, length, wire + words_at, means, flag, WIDTH, DTYPE)
    _write(kept, y0, 0, length, WIDTH, MASKED)
    _write(kept, y1, 1, length, WIDTH, MASKED)
    _write(kept, y2, 2, length, WIDTH, MASKED)
    _write(kept, y3, 3, length, WIDTH, MASKED)
