from __future__ import annotations

import pytest

from isoscope.app.demo import pacing
from isoscope.app.demo.pacing import LATE_S, Pacer


class HandClock:
    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> HandClock:
    made = HandClock()
    monkeypatch.setattr(pacing, "time", made)
    return made


def test_what_a_round_or_a_sleep_takes_too_long_is_made_up_for(clock: HandClock):
    pacer = Pacer()
    for late_s in (0.0, 0.03, 0.0, 0.01, 0.0, 0.0):
        rest = pacer.rest_s(0.05)
        clock.now += rest + late_s  # the sleep lasts longer than it should
    # six rounds of 0.05 s, as if nothing had been late
    assert clock.now == pytest.approx(100.0 + 6 * 0.05)


def test_what_is_very_late_is_not_caught_up_with(clock: HandClock):
    pacer = Pacer()
    pacer.rest_s(0.05)
    clock.now += 10 * LATE_S
    assert pacer.rest_s(0.05) == 0.0
    assert pacer.rest_s(0.05) == pytest.approx(0.05)


def test_full_speed_never_rests(clock: HandClock):
    pacer = Pacer()
    assert [pacer.rest_s(None) for _ in range(3)] == [0.0] * 3


def test_the_rate_is_that_of_the_last_second(clock: HandClock):
    pacer = Pacer()
    assert pacer.rate_hz is None
    for step_s in [0.5] * 4 + [0.1] * 20:
        clock.now += step_s
        pacer.rest_s(None)
    assert pacer.rate_hz == pytest.approx(10.0)
