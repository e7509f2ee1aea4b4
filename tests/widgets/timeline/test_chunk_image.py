"""A chunk's state has a shape of its own, in every theme."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.timeline.chunk_lanes import ChunkItems
from isoscope.core.timeline.chunks import OPEN, ChunkLook
from isoscope.core.timeline.growing_reduce import GrowingReducer
from isoscope.core.timeline.view import View
from isoscope.widgets.timeline.chunk_image import chunks_image, tiles

HIGH = 16


def items(looks, start, stop):
    reducer = GrowingReducer(np.dtype(np.uint8), np.bitwise_or)
    reducer.append(np.array(looks, np.uint8))
    start, stop = np.array(start, np.int64), np.array(stop, np.int64)
    return ChunkItems(start, stop, stop, reducer.values, start, reducer)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_no_two_states_have_the_same_shape(theme):
    shapes = {
        look: tuple(tiles(theme, HIGH, 1)[i + 1] > 0)
        for i, look in enumerate(ChunkLook)
    }
    assert (
        len({shapes[k] for k in (ChunkLook.POLICY, ChunkLook.ENV, ChunkLook.BOTH)}) == 3
    )
    policy, env = shapes[ChunkLook.POLICY], shapes[ChunkLook.ENV]
    assert policy[0]
    assert not policy[HIGH // 2 + 2]
    assert env[-1]
    assert not env[HIGH // 2 - 3]
    # These two fill their lane: a line below tells them apart.
    flushed = tiles(theme, HIGH, 1)[1]
    assert flushed[0] != flushed[-1]
    assert len(set(tiles(theme, HIGH, 1)[2].tolist())) == 1


def test_of_many_under_a_pixel_the_least_finished_is_shown():
    looks = np.full(1000, ChunkLook.FLUSHED, np.uint8)
    looks[333] = ChunkLook.POLICY
    made = items(looks, range(1000), range(1, 1001))
    columns = View.fit(1000, 10).columns()
    image = chunks_image(made, columns, HIGH, "dark", 1, 1000)
    column = 333 // 100
    assert image[0, column] == tiles("dark", HIGH, 1)[ChunkLook.POLICY.bit_length()][0]
    assert image[0, column + 1] == tiles("dark", HIGH, 1)[1][0]


def test_a_chunk_that_goes_on_ends_with_the_rows():
    made = items([ChunkLook.POLICY], [2], [OPEN])
    columns = View(0.0, 0.1, 100, 10).columns()
    image = chunks_image(made, columns, HIGH, "dark", 1, 6)
    filled = np.flatnonzero((image > 0).any(axis=0))
    assert (filled.min(), filled.max()) == (21, 59)


def test_those_that_begin_with_one_row_are_all_seen():
    made = items([ChunkLook.FAILED, ChunkLook.FLUSHED], [3, 3], [4, 4])
    columns = View(0.0, 1.0, 8, 8).columns()
    image = chunks_image(made, columns, HIGH, "dark", 1, 8)
    assert (image[:, 3] == 0).any()  # hatched
