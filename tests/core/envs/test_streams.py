"""Random streams: apart by purpose and seed, captured to the number."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.envs.errors import StateError
from isoscope.core.envs.pool import Pool
from isoscope.core.envs.streams import (
    PURPOSES,
    Streams,
    StreamsState,
    StreamState,
)
from isoscope.core.errors import UsageError
from tests.core.envs.rail_scene import RailScene

if TYPE_CHECKING:
    from isoscope.core.envs.streams import Purpose

SEEDS = st.integers(0, 2**70)


@given(seed=SEEDS)
@settings(max_examples=20, deadline=None)
def test_no_two_purposes_and_no_two_neighbours_draw_the_same(seed: int) -> None:
    drawn = {
        (s, p): Streams(s)[p].random(4).tobytes()
        for s in (seed, seed + 1)
        for p in PURPOSES
    }
    assert all(drawn[a] != drawn[b] for a, b in combinations(drawn, 2))


@given(seed=SEEDS, moved=st.sampled_from(PURPOSES), draws=st.integers(1, 50))
@settings(max_examples=20, deadline=None)
def test_drawing_for_one_purpose_moves_no_other(
    seed: int, moved: Purpose, draws: int
) -> None:
    one, other = Streams(seed), Streams(seed)
    one[moved].random(draws)
    for purpose in PURPOSES:
        same = np.array_equal(one[purpose].random(3), other[purpose].random(3))
        assert same == (purpose != moved)


@given(seed=SEEDS, before=st.integers(0, 9), odd=st.booleans())
@settings(max_examples=25, deadline=None)
def test_a_captured_stream_goes_on_to_the_number(
    seed: int, before: int, odd: bool
) -> None:
    one = Streams(seed)
    one["task"].standard_normal(before)
    if odd:  # half of a 64-bit draw stays in the generator
        one["task"].integers(2**31, dtype=np.uint32)
    written = msgspec.json.encode(one.capture())
    expected = {p: one[p].random(5).tolist() for p in PURPOSES}
    other = Streams(0)
    other["bias"].random(3)
    other.restore(msgspec.json.decode(written, type=StreamsState))
    assert {p: other[p].random(5).tolist() for p in PURPOSES} == expected


def test_a_seed_of_nobodys_is_kept_so_that_it_can_be_repeated() -> None:
    one = Streams()
    again = Streams(one.seed)
    assert one["task"].random() == again["task"].random()
    assert one.seed != Streams().seed


def test_bad_seeds_and_states_are_refused() -> None:
    with pytest.raises(UsageError, match="negative"):
        Streams(-1)
    one = Streams(1)
    bad = StreamState("task", "zz", "0x1", 0, 0)
    with pytest.raises(StateError):
        one.restore(StreamsState("0x1", (bad,)))
    assert one.seed == 1


def draw(generator: np.random.Generator, k: int) -> Any:
    return generator.random((k, 2))


@given(
    ahead=st.integers(2, 6),
    masks=st.lists(st.lists(st.booleans(), min_size=3, max_size=3), max_size=25),
    settle_at=st.sets(st.integers(0, 25)),
)
@settings(max_examples=40, deadline=None)
def test_a_pool_gives_each_world_its_own_draws_in_order(
    ahead: int, masks: list[list[bool]], settle_at: set[int]
) -> None:
    scene = RailScene("cartpole", 3)
    streams, plain = [[Streams(s) for s in range(3)] for _ in range(2)]
    pool = Pool(scene, streams, "task", draw, ahead)
    at_once = Pool(scene, [Streams(s) for s in range(3)], "task", draw, 1)
    for at, mask in enumerate(masks):
        if at in settle_at:
            pool.settle()
        worlds = np.array(mask)
        rows, same = pool.take(worlds), at_once.take(worlds)
        for world in np.flatnonzero(worlds):
            expected = plain[world]["task"].random((1, 2))[0]
            assert np.array_equal(rows[world], expected)
            assert np.array_equal(same[world], expected)
    pool.settle()
    for mine, theirs in zip(streams, plain, strict=True):
        assert mine["task"].random() == theirs["task"].random()


def test_a_pool_crosses_over_once_for_many_takes() -> None:
    scene = RailScene("cartpole", 2)
    pool = Pool(scene, [Streams(0), Streams(1)], "task", draw, 8)
    for _ in range(8):
        pool.take()
    assert scene.crossings == []
    pool.take()
    assert len(scene.crossings) == 1
