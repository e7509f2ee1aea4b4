from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.timeline.model import Arc, Timeline, TimelineExtras
from isoscope.core.timeline.pieces import Marks, Shape
from isoscope.core.timeline.view import View

mark = st.tuples(st.integers(0, 5000), st.sampled_from(Shape), st.text(max_size=3))
marks = st.lists(mark, max_size=60)


@given(marks, st.integers(1, 400), st.floats(1e-4, 1.0), st.integers(0, 5000))
def test_no_mark_in_sight_is_lost_at_any_zoom(listed, width, factor, pan):
    made = Marks.listed(listed)
    view = View.fit(5001, width).scaled(0, factor).panned(pan)
    edges = np.unique(np.append(view.columns().start, view.columns().stop[-1]))
    chosen = made.leaders(edges)
    assert (np.diff(chosen) > 0).all()
    for row, shape, _ in listed:
        if not edges[0] <= row < edges[-1]:
            continue
        at = int(np.searchsorted(edges, row, "right"))
        low, high = edges[at - 1], edges[at]
        beside = [i for i in chosen if low <= made.rows[i] < high]
        assert len(beside) == 1
        assert made.shapes[beside[0]] >= shape


@given(marks, marks, marks)
def test_merging_keeps_every_mark_with_its_words(one, two, three):
    parts = [Marks.listed(part) for part in (one, two, three)]
    merged = Marks.merged(parts)
    found = sorted(
        (int(merged.rows[i]), int(merged.shapes[i]), merged.text(i))
        for i in range(len(merged))
    )
    assert found == sorted((r, int(s), t) for r, s, t in [*one, *two, *three])
    assert (np.diff(merged.rows) >= 0).all()


def test_of_marks_alike_the_first_leads():
    made = Marks.listed([(3, Shape.NOTE, "a"), (5, Shape.NOTE, "b")])
    assert made.leaders(np.array([0, 10])).tolist() == [0]


def test_marks_between_rows_are_half_open():
    made = Marks.listed(
        [(3, Shape.NOTE, ""), (5, Shape.ERROR, ""), (8, Shape.NOTE, "")]
    )
    assert list(made.between(3, 8)) == [0, 1]


def test_an_arc_is_found_by_either_of_its_ends():
    arcs = (Arc(90, 10, "note"), Arc(20, 21, "error"))
    timeline = Timeline(100, 100, (), extras=TimelineExtras(arcs=arcs))
    (targets, by_target), (sources, by_source) = timeline.arc_ends
    assert [(int(r), int(i)) for r, i in zip(targets.rows, by_target, strict=True)] == [
        (10, 0),
        (21, 1),
    ]
    assert [(int(r), int(i)) for r, i in zip(sources.rows, by_source, strict=True)] == [
        (20, 1),
        (90, 0),
    ]
    assert by_target[targets.leaders(np.array([0, 100]))].tolist() == [1]  # the error
