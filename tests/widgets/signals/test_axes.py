from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.widgets.signals.axes import (
    RowAxis,
    ValueAxis,
    decimals_for,
    round_step,
    value_labels,
)


@given(st.floats(1e-12, 1e12))
def test_steps_are_round_and_not_smaller_than_asked(least: float) -> None:
    step = round_step(least)
    assert step >= least * (1 - 1e-6)
    assert step <= least * 2.6
    lead = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
    assert any(lead == pytest.approx(digit) for digit in (1, 2, 5, 10))


def test_labels_tell_neighbouring_ticks_apart() -> None:
    assert value_labels([0.0, 0.5, 1.0], 0.5) == ["0.0", "0.5", "1.0"]
    assert value_labels([-2e-17, 0.1], 0.1) == ["0.0", "0.1"]
    assert value_labels([0.0, 2e-7], 1e-7) == ["0", "2e-07"]
    assert value_labels([1e6, 1.1e6], 1e5) == ["1.0e+06", "1.1e+06"]
    assert decimals_for(0.02) == 2
    assert decimals_for(20) == 0


def test_rows_are_whole_and_carry_the_time(qtbot) -> None:
    axis = RowAxis(lambda row: row * 0.02 + 0.02 if row < 60 else float("nan"))
    assert axis.tickSpacing(0, 3, 400) == [(1.0, 0.0)]
    (spacing, _), *_ = axis.tickSpacing(0, 1000, 400)
    assert spacing == int(spacing)
    labels = axis.tickStrings([0, 20, 60], 1.0, 20.0)
    assert labels == ["0\n0.02 s", "20\n0.42 s", "60\n "]
    assert RowAxis(None).tickStrings([5.0], 1.0, 5.0) == ["5"]


def test_an_unknown_unit_gets_no_prefix(qtbot) -> None:
    axis = ValueAxis()
    axis.setRange(0, 5e6)
    assert axis.autoSIPrefixScale == 1.0
    assert axis.tickStrings([5e6], 1.0, 1e6) == ["5e+06"]
    assert axis.tickSpacing(1, 1, 100) == []
    assert ValueAxis(whole=True).tickSpacing(2, 3, 200) == [(1.0, 0.0)]
