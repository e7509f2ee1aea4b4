from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from isoscope.core.timeline.lanes import timeline_of
from isoscope.core.timeline.model import Arc, TimelineExtras
from isoscope.widgets.timeline.layout import LANE_LOWEST, lay_out
from tests.widgets.timeline.stand_ins import recording_of, turns


def timeline(envs=0, rows=200, **more):
    labels = turns(rows, envs) if envs else None
    extras = TimelineExtras(labels=labels, **more)
    return timeline_of(recording_of(np.full(rows, 0.02)), extras)


def place(timeline, width=900, height=260, scroll=0):
    return lay_out(timeline, width, height, scroll, lambda text: 6 * len(text))


@pytest.mark.parametrize("envs", [0, 1, 2, 8, 64])
@pytest.mark.parametrize("height", [60, 132, 260, 900])
def test_lanes_lie_below_one_another_and_above_the_overview(envs, height):
    found = place(timeline(envs), height=height)
    tops = [*found.pinned, *found.scrolled]
    for above, below in pairwise(tops):
        assert above.bottom <= below.top
    assert found.lanes_top < found.scroll_top <= found.scroll_bottom
    if height >= 132:
        assert found.scroll_bottom <= found.overview_top
        assert found.overview_bottom <= height
    assert all(lane.height > 0 for lane in tops)


def test_eight_environments_fit_without_scrolling():
    assert place(timeline(8)).overflow == 0


def test_many_environments_scroll():
    found = place(timeline(64))
    assert found.overflow > 0
    assert found.content == 64 * LANE_LOWEST
    assert found.right < place(timeline(8)).right  # room for the bar
    end = place(timeline(64), scroll=10**6)
    assert end.scrolled[-1].bottom <= end.scroll_bottom
    assert end.visible()[-1].lane.key == "env:63"
    assert found.visible()[-1].lane.key != "env:63"


def test_arcs_have_room_above_the_ribbon():
    found = place(timeline(2, arcs=(Arc(3, 9),)))
    ribbon = next(p for p in found.pinned if p.lane.key == "owner")
    assert found.arcs_bottom == ribbon.top
    assert place(timeline(2)).arcs_bottom == 0


def test_a_lane_is_found_by_its_height():
    found = place(timeline(3))
    for placed in found.visible():
        assert found.lane_at(placed.middle) is placed
    assert found.lane_at(found.ruler_top) is None


def test_a_narrow_canvas_keeps_room_for_the_rows():
    found = place(timeline(3), width=120)
    assert found.plot_width > 60
