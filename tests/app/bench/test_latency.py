from __future__ import annotations

import pytest

from isoscope.app.bench.latency import Latency


@pytest.fixture
def latency(qapp) -> Latency:
    return Latency()


def test_what_was_painted_meanwhile_does_not_count(latency: Latency) -> None:
    latency.taken = [(1.0, 1.5)]
    assert latency.p999_s([]) == pytest.approx(0.5)
    # half of the first stretch is inside, all of the second, none of the third
    painting = [(0.9, 1.1), (1.2, 1.3), (1.6, 2.0)]
    assert latency.p999_s(painting) == pytest.approx(0.3)


def test_what_is_posted_is_heard(latency: Latency, qtbot) -> None:
    latency.begin()
    qtbot.waitUntil(lambda: len(latency.taken) > 5)
    latency.end()
    assert all(heard >= posted for posted, heard in latency.taken)
