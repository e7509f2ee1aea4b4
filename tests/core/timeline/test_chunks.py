"""Chunks: each event changes what it should, however many come at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.timeline.chunk_lanes import ChunkLanes, words_of
from isoscope.core.timeline.chunks import (
    OPEN,
    ChunkKey,
    ChunkLook,
    ChunkNews,
    Chunks,
    State,
)

P, E, J, F, X = State.POLICY, State.ENV, State.JOINED, State.FLUSHED, State.FAILED


def news(events, first=0, opening=0) -> ChunkNews:
    """From (key, state, (first, stop) slots, row) each."""
    keys = np.array([e[0] for e in events], np.int64).reshape(-1, 5)
    count = len(events)
    return ChunkNews(
        keys,
        np.array([e[1] for e in events], np.uint8),
        np.array([e[2] for e in events], np.int32).reshape(-1, 2),
        np.arange(count, dtype=float),
        np.arange(count, dtype=float) + 1e9,
        np.array([e[3] for e in events], np.int64),
        first,
        opening,
    )


def key(chunk, rank=0, stage=0, step=0, epoch=0):
    return (step, epoch, rank, stage, chunk)


ALL = (0, 4)


def test_a_chunk_changes_as_its_halves_come_and_go_out():
    chunks = Chunks()
    looks = []
    for state, slots in ((P, (0, 2)), (E, (2, 4)), (J, ALL), (F, ALL)):
        chunks.take(news([(key(0), state, slots, 3)]))
        source = chunks.sources[0, 0]
        looks.append(ChunkLook(int(source.looks.values[0])))
    assert looks == [
        ChunkLook.POLICY,
        ChunkLook.BOTH,
        ChunkLook.JOINED,
        ChunkLook.FLUSHED,
    ]
    assert words_of(int(source.state.values[0])) == "flushed"


def test_an_item_lasts_until_it_is_joined_or_the_next_begins():
    chunks = Chunks()
    chunks.take(news([(key(0), P, ALL, 2), (key(0), E, ALL, 6), (key(0), J, ALL, 6)]))
    source = chunks.sources[0, 0]
    assert source.stop.values.tolist() == [6]
    chunks.take(news([(key(1), P, ALL, 8)]))
    assert source.stop.values.tolist() == [6, OPEN]
    chunks.take(news([(key(2), P, ALL, 11)]))
    assert source.stop.values.tolist() == [6, 11, OPEN]
    chunks.take(news([(key(1), J, ALL, 20)]))
    assert source.stop.values.tolist() == [6, 11, OPEN]


def test_an_item_told_of_by_the_environment_begins_with_its_steps():
    """As where a policy publishes its half only when the chunk is over."""
    late = [
        (key(0), E, ALL, 10),
        (key(0), P, ALL, 12),
        (key(0), J, ALL, 12),
        (key(1), E, (0, 1), 15),  # an episode ended inside it
        (key(1), E, (1, 4), 20),
        (key(1), P, ALL, 22),
        (key(1), J, ALL, 22),
        (key(2), E, ALL, 30),
    ]
    for cuts in ([8], [1, 3, 4, 5, 8]):
        chunks = Chunks()
        for first, stop in pairwise([0, *cuts]):
            chunks.take(news(late[first:stop], first))
        source = chunks.sources[0, 0]
        assert source.begin.values.tolist() == [0, 10, 20]
        assert source.stop.values.tolist() == [10, 20, OPEN]


def test_the_first_item_begins_after_the_resets_that_a_run_opens_with():
    """Whichever half is told first: they are the boundary before its first step."""
    events = [
        (key(0), P, ALL, 8),
        (key(0, 1), E, (2, 3), 20),
        (key(0, 1), E, (0, 2), 40),
        (key(0, 1), P, ALL, 42),
        (key(1, 1), E, ALL, 72),
    ]
    for cuts in ([5], [1, 2, 3, 4, 5]):
        chunks = Chunks()
        for first, stop in pairwise([0, *cuts]):
            chunks.take(news(events[first:stop], first, opening=8))
        assert chunks.sources[0, 0].begin.values.tolist() == [8]
        assert chunks.sources[1, 0].begin.values.tolist() == [8, 40]


def test_each_slot_knows_only_its_own_fragments():
    chunks = Chunks()
    lanes = ChunkLanes(chunks)
    chunks.take(
        news(
            [
                (key(0, 1), P, (0, 2), 0),
                (key(0, 1), E, (1, 2), 1),
                (key(0), P, (0, 3), 1),
            ]
        )
    )
    by_env = {lane.env: lane for lane in lanes.by_environment([])}
    assert sorted(by_env) == [0, 1, 2, 3, 4]  # three slots of source 0.0, two of 1.0
    assert by_env[3].items.look.tolist() == [ChunkLook.POLICY]
    assert by_env[4].items.look.tolist() == [ChunkLook.BOTH]
    chunks.take(news([(key(0, 1), X, (-1, -1), 2)]))
    again = {lane.env: lane for lane in lanes.by_environment([3, 4])}
    assert sorted(again) == [3, 4]
    assert again[3].items.look.tolist() == [ChunkLook.FAILED]
    assert chunks.slot_of(4) == (chunks.sources[1, 0], 1)
    assert chunks.first_env(chunks.sources[1, 0]) == 3


def test_keys_beyond_all_measure_are_counted_and_left_out():
    chunks = Chunks()
    chunks.take(
        news([((-1, 0, 0, 0, 0), P, ALL, 0), ((0, 0, 0, 0, 1 << 40), P, ALL, 0)])
    )
    assert (len(chunks), chunks.strange) == (0, 2)


def test_a_chunk_that_comes_late_is_found_all_the_same():
    chunks = Chunks()
    chunks.take(news([(key(3), P, ALL, 0), (key(5), P, ALL, 1)]))
    chunks.take(news([(key(4), P, ALL, 2), (key(3), J, ALL, 2)]))
    source = chunks.sources[0, 0]
    assert [source.find(0, 0, n) for n in (2, 3, 4, 5)] == [None, 0, 2, 1]
    assert source.begin.values.tolist() == [0, 1, 2]
    assert chunks.key_of(source, 2) == ChunkKey(*key(4))
    assert source.events_of(0).tolist() == [0, 3]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),  # step
            st.integers(0, 1),  # rank
            st.integers(0, 6),  # chunk
            st.sampled_from([P, E, J, F, X]),
            st.integers(0, 3),  # first slot
        ),
        max_size=60,
    ),
    st.lists(st.integers(0, 60), max_size=4),
)
def test_batches_of_any_size_end_in_the_same(events, cuts):
    made = [
        (key(c, rank=r, step=s), state, (first, 4), n)
        for n, (s, r, c, state, first) in enumerate(events)
    ]
    one, many = Chunks(), Chunks()
    one.take(news(made))
    lanes = ChunkLanes(many)
    bounds = sorted({0, *(min(c, len(made)) for c in cuts), len(made)})
    for low, high in pairwise(bounds):
        many.take(news(made[low:high], low))
        for lane in lanes.by_environment([]):
            _ = lane.items.looks
    assert sorted(one.sources) == sorted(many.sources)
    for source, other in zip(one.ordered, many.ordered, strict=True):
        for name in ("key", "begin", "end", "stop", "state", "of", "numbers"):
            mine, theirs = getattr(source, name), getattr(other, name)
            assert np.array_equal(mine.values, theirs.values), name
        assert np.array_equal(source.looks.values, other.looks.values)
    for lane, other_lane in zip(
        ChunkLanes(one).by_environment([]), lanes.by_environment([]), strict=True
    ):
        assert np.array_equal(lane.items.look, other_lane.items.look)


@pytest.mark.parametrize("state", range(64))
def test_every_state_has_words(state):
    assert words_of(state)
