"""A hundred damaged datasets; `make fuzz` reads more."""

from __future__ import annotations

from tests.fuzz.datasets import fuzz


def test_damaged_datasets_are_told() -> None:
    tally = fuzz(100, seed=7)
    assert not tally.failures, "\n".join(tally.failures)
    assert sum(tally.outcomes.values()) == 100
    assert tally.outcomes["error"] > 10
    assert tally.outcomes["read,"] > 10
