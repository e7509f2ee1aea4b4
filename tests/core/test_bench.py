from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.bench import (
    Bench,
    Machine,
    Samples,
    interleave,
    ratio,
    this_machine,
)
from isoscope.core.jsonform import encode


def test_the_sides_are_measured_in_turn_after_a_warm_up() -> None:
    calls: list[str] = []
    samples = interleave(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")},
        rounds=5,
        warmup=2,
    )
    assert calls == ["a", "b"] * 7
    assert [len(samples[name].seconds) for name in "ab"] == [5, 5]


def test_what_is_measured_is_the_time_it_takes() -> None:
    samples = interleave({"slow": lambda: time.sleep(0.01), "none": lambda: None})
    assert samples["slow"].median_s >= 0.01
    assert samples["none"].median_s < 0.01


def test_too_few_rounds_are_refused() -> None:
    with pytest.raises(ValueError, match="take 5"):
        interleave({}, rounds=4)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=300))
def test_ninety_five_of_a_hundred_are_done_within_the_p95(seconds: list[float]) -> None:
    samples = Samples(seconds)
    within = sum(s <= samples.p95_s for s in seconds)
    below = sum(s < samples.p95_s for s in seconds)
    assert within >= 0.95 * len(seconds)
    assert below < 0.95 * len(seconds)
    assert min(seconds) <= samples.median_s <= max(seconds)


@pytest.mark.parametrize(
    ("over", "under", "expected"),
    [(3.0, 2.0, 1.5), (None, 2.0, None), (3.0, None, None), (3.0, 0.0, None)],
)
def test_a_ratio_of_what_could_not_run_is_unknown(
    over: float | None, under: float | None, expected: float | None
) -> None:
    assert ratio(over, under) == expected


def test_every_figure_is_also_on_top() -> None:
    bench = Bench("seek", Machine(2, "some", None), 5, {"ratio_p95": 2.5, "b": None})
    assert json.loads(encode(bench.written())) == {
        "schema": "isoscope.bench/1",
        "name": "seek",
        "machine": {"cores": 2, "cpu": "some", "gpu": None},
        "runs": 5,
        "figures": {"ratio_p95": 2.5, "b": None},
        "ratio_p95": 2.5,
        "b": None,
    }


def test_a_figure_may_not_hide_what_is_on_top() -> None:
    bench = Bench("seek", Machine(2, "some", None), 5, {"runs": 7})
    with pytest.raises(ValueError, match="runs"):
        bench.written()


def test_this_machine_is_known() -> None:
    machine = this_machine()
    assert machine.cores >= 1
    assert machine.cpu
    assert machine.gpu is None or machine.gpu
