from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.widgets.signals.span import NARROWEST, Span

rows = st.integers(1, 100_000)
share = st.floats(0, 1)


@given(rows, share, share, st.floats(0.05, 20), share)
def test_any_zoom_stays_inside_and_wide_enough(
    count: int, a: float, b: float, factor: float, pointer: float
) -> None:
    whole = Span.whole(count)
    span = whole.between(whole.low + a * count, whole.low + b * count)
    at = span.low + pointer * span.width
    zoomed = span.zoomed(factor, at)
    for made in (span, zoomed, zoomed.moved(a * count), zoomed.moved(-b * count)):
        assert made.low >= whole.low - 1e-6
        assert made.high <= whole.high + 1e-6
        assert made.width >= min(NARROWEST, whole.width) - 1e-6
        assert 0 <= made.first < made.stop <= count


def test_zooming_keeps_what_is_under_the_pointer() -> None:
    span = Span.whole(1000).between(200, 400)
    zoomed = span.zoomed(0.5, 250)
    before = (250 - span.low) / span.width
    assert (250 - zoomed.low) / zoomed.width == pytest.approx(before)
    assert zoomed.width == pytest.approx(100)


def test_rows_in_view() -> None:
    span = Span(2.5, 6.4, 100)
    assert (span.first, span.stop) == (3, 7)
    assert (Span.whole(5).first, Span.whole(5).stop) == (0, 5)


def test_the_whole_stays_the_whole_while_it_grows() -> None:
    assert Span.whole(10).grown(50) == Span.whole(50)
    part = Span.whole(10).between(2, 8)
    assert part.grown(50) == Span(2, 8, 50)
    assert Span(40, 48, 50).grown(20).is_whole is False
    assert Span(40, 48, 50).grown(20).high <= 19.5
