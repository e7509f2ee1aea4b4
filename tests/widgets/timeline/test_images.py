from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.timeline.owners import OWNER_COLOURS, environment_lanes, owner_lane
from isoscope.core.timeline.pieces import Items, Look, RowBits
from isoscope.core.timeline.steps import steps_lane, typical_h
from isoscope.core.timeline.view import View
from isoscope.widgets.theme import THEMES
from isoscope.widgets.timeline import images
from isoscope.widgets.timeline.palette import argb, contrast, palette
from tests.widgets.timeline.stand_ins import turns

DARK = palette("dark")


@pytest.mark.parametrize("name", THEMES)
def test_the_ribbon_repeats_its_colours_as_the_theme_does(name):
    assert len(THEMES[name].environments) == OWNER_COLOURS
    expected = [argb(c) for c in THEMES[name].environments]
    assert palette(name).owners[:OWNER_COLOURS].tolist() == expected


@pytest.mark.parametrize("name", THEMES)
def test_numbers_on_items_can_be_read(name):
    colours = palette(name)
    for env in range(OWNER_COLOURS):
        fill = colours.fill(env)
        for ink, ground in (
            (fill.ink_active, fill.active),
            (fill.ink_held, fill.held),
        ):
            assert contrast(ink, f"#{ground & 0xFFFFFF:06x}") > 3


odd_step = st.tuples(st.integers(0, 9999), st.sampled_from([0.0, 1e-5, 0.01, 0.05]))


@settings(max_examples=40)
@given(
    st.lists(odd_step, max_size=6),
    st.integers(20, 600),
    st.floats(1e-3, 1.0),
    st.integers(0, 3000),
)
def test_an_odd_step_in_sight_is_seen_at_any_zoom(odd, width, factor, pan):
    h_s = np.full(10_000, 0.02)
    for row, value in odd:
        h_s[row] = value
    lane = steps_lane(h_s, typical_h(h_s))
    columns = View.fit(10_000, width).scaled(0, factor).panned(pan).columns()
    pixels = images.steps_image(lane.rows, columns, 20, DARK, 1)
    for row in {row for row, _ in odd}:
        under = (columns.start <= row) & (row < columns.stop)
        if not under.any() or (h_s[row] == 0 and columns.row_px >= 5):
            continue  # a wide step of 0 s is left to its mark
        looks = lane.rows.bits[columns.start[under][0] : columns.stop[under][-1]]
        strongest = DARK.steps[int(looks.max())]
        assert (pixels[:, under] == strongest).any()


@given(st.integers(1, 9), st.integers(50, 900), st.floats(1e-2, 1.0))
def test_a_ribbons_column_shows_every_owner_under_it(envs, width, factor):
    lane = owner_lane(turns(3000, envs))
    columns = View.fit(3000, width).scaled(0, factor).columns()
    pixels = images.owner_image(lane.rows, columns, 18, DARK, 1)
    for p in range(0, len(columns), 7):
        owners = lane.rows.bits[columns.start[p] : columns.stop[p]]
        expected = {int(DARK.owners[int(bit).bit_length() - 1]) for bit in owners}
        seen = {int(pixel) for pixel in pixels[:, p]} - {0}
        assert seen in (expected, set())  # a gap between wide rows shows nothing


def test_one_unknown_owner_among_a_million_rows_is_seen():
    labels = turns(1_000_000, 8)
    labels.env[777_777] = -1
    lane = owner_lane(labels)
    columns = View.fit(1_000_000, 800).columns()
    pixels = images.owner_image(lane.rows, columns, 18, DARK, 1)
    seen = np.flatnonzero((pixels == DARK.owners[OWNER_COLOURS]).any(axis=0))
    assert 777_777 // 1250 in seen
    assert len(seen) <= 3


def test_an_unknown_stretch_is_hatched():
    bits = np.full(100, 1 << OWNER_COLOURS, np.uint16)
    columns = View.fit(100, 300).columns()
    pixels = images.owner_image(RowBits(bits), columns, 12, DARK, 1)
    inner = pixels[:, 30:60]
    assert {int(p) for p in np.unique(inner)} == {0, int(DARK.owners[OWNER_COLOURS])}


def test_items_are_set_apart_and_waiting_is_told_from_work():
    (lane,) = environment_lanes(turns(40, 1))
    items = lane.items
    fill = DARK.fill(0)
    columns = View.fit(40, 800).columns()  # 20 pixels a row
    pixels = images.items_image(items, columns, 12, fill, 1)
    middle = pixels[6]
    assert middle[0] == 0  # the gap
    assert (middle[1:40] == fill.active).all()
    assert middle[40] == 0
    waiting = Items(
        items.start[:1],
        items.stop[:1] + 8,
        items.active_stop[:1],
        items.look[:1],
        items.number[:1],
    )
    middle = images.items_image(waiting, columns, 12, fill, 1)[6]
    assert (middle[1:40] == fill.active).all()
    assert (middle[40:200] == fill.held).all()
    assert (middle[200:] == 0).all()


@pytest.mark.parametrize(
    ("look", "pixel"),
    [(Look.PALE, "pale"), (Look.LINED, "pale"), (Look.SOLID, "active")],
)
def test_each_look_of_an_item_is_another_one(look, pixel):
    fill = DARK.fill(1)
    columns = View.fit(10, 100).columns()
    pixels = images.items_image(Items.bars([(2, 8)], look), columns, 12, fill, 1)
    assert pixels[5, 50] == getattr(fill, pixel)
    lined = pixels[-1, 50] == fill.line
    assert lined == (look in (Look.LINED, Look.SOLID))
    hatch = images.items_image(Items.bars([(2, 8)], Look.HATCHED), columns, 12, fill, 1)
    assert {int(p) for p in np.unique(hatch[:, 40:60])} == {fill.pale, fill.line}


@given(
    st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 30)), max_size=20),
    st.integers(20, 500),
    st.floats(1e-3, 1.0),
    st.integers(0, 2000),
)
def test_a_tainted_row_in_sight_taints_its_column(spans, width, factor, pan):
    low = np.array([begin for begin, _ in spans], np.int64)
    high = np.array([begin + length for begin, length in spans], np.int64)
    columns = View.fit(4100, width).scaled(0, factor).panned(pan).columns()
    found = images.tainted_columns(low, high, columns)
    expected = [
        any(a < stop and b >= start for a, b in zip(low, high, strict=True))
        for start, stop in zip(columns.start, columns.stop, strict=True)
    ]
    assert found.tolist() == expected
