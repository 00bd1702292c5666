"""Laws of the layout: each element is averaged by one rank, and nothing stands on anything else."""

from hypothesis import given, settings
from hypothesis import strategies as st

from onebit.layout import HEADER, InBucket, Layout, Shape, share_out

COUNTS = st.lists(st.integers(1, 5000), min_size=1, max_size=8)


def shapes_of(counts, block):
    return [Shape(count, count >= 2 * block) for count in counts]


@given(COUNTS, st.integers(1, 9))
def test_each_element_has_one_owner(counts, world):
    for shape, pieces in zip(shapes_of(counts, 128), share_out(shapes_of(counts, 128), world, 128), strict=True):
        covered = sorted((piece.start, piece.stop) for piece in pieces)
        assert covered[0][0] == 0 and covered[-1][1] == shape.elements
        assert all(one[1] == two[0] for one, two in zip(covered, covered[1:], strict=False))
        assert all(piece.start % 128 == 0 and 0 <= piece.owner < world for piece in pieces)
        assert len({piece.owner for piece in pieces}) == len(pieces)


@settings(max_examples=60)
@given(COUNTS, st.integers(1, 5), st.booleans(), st.sampled_from([2, 4, 8]), st.randoms())
def test_nothing_overlaps_in_a_message_among_residuals_or_in_a_bucket(counts, world, full, item_bytes, random):
    order = list(range(len(counts)))
    random.shuffle(order)
    bucket, at = [], 0
    for index in order:
        bucket.append(InBucket(index, at))
        at += counts[index]
    seen, kept = set(), set()
    for rank in range(world):
        layout = Layout(shapes_of(counts, 128), world, rank, 128)
        messages = layout.messages(bucket, item_bytes, full)
        message = messages[rank]
        assert message.means_at >= HEADER and message.means_at + 2 * message.rows <= message.plain_at
        assert message.plain_at * 4 + message.plain_count * item_bytes <= message.size * 4
        rows, elements = set(), set()
        for run in message.runs:
            own = range(run.row, run.row - (-run.elements // 128))
            assert not rows & set(own)
            rows |= set(own)
            assert run.owned_at % 4 == run.residual_at % 4 == 0
            assert run.owned_at + run.elements <= layout.owned_at[-1]
            places, residuals = (
                range(run.bucket_at, run.bucket_at + run.elements),
                range(run.residual_at, run.residual_at + run.elements),
            )
            assert not seen & set(places) and not kept & set(residuals)
            seen |= set(places)
            kept |= set(residuals)
        for plain in message.plain:
            places, own = (
                range(plain.bucket_at, plain.bucket_at + plain.elements),
                range(plain.at, plain.at + plain.elements),
            )
            assert not seen & set(places) and not elements & set(own)
            seen |= set(places)
            elements |= set(own)
        assert len(rows) == message.rows and len(elements) == message.plain_count
    assert seen == set(range(sum(counts)))


@given(COUNTS, st.integers(1, 5), st.randoms())
def test_what_is_sent_does_not_depend_on_the_order_in_a_bucket(counts, world, random):
    layout = Layout(shapes_of(counts, 128), world, 0, 128)
    straight = [InBucket(index, sum(counts[:index])) for index in range(len(counts))]
    mixed = straight[:]
    random.shuffle(mixed)
    assert layout.messages(straight, 4, False) == layout.messages(mixed, 4, False)
