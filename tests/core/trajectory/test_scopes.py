"""Which scopes are open and which went out."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.core.trajectory.errors import TrajectoryValueError
from isoscope.core.trajectory.scopes import Flushed, ScopeLedger
from isoscope.core.trajectory.trajectory import Trajectory
from tests.core.trajectory import runs
from tests.core.trajectory.runs import config, env, items, key, policy


@given(st.lists(st.integers(-3, 25)))
def test_steps_that_went_out(steps: list[int]) -> None:
    flushed = Flushed()
    for at, step in enumerate(steps):
        flushed.add(step)
        assert flushed.last == max(steps[: at + 1])
    assert [s for s in range(-4, 27) if s in flushed] == sorted(set(steps))
    present = sorted(set(steps))
    breaks = sum(b - a > 1 for a, b in itertools.pairwise(present))
    assert flushed.gaps == breaks


def test_steps_in_order_take_no_memory() -> None:
    flushed = Flushed()
    for step in range(10_000):
        flushed.add(step)
    assert flushed.gaps == 0
    assert 9_999 in flushed
    assert 10_000 not in flushed


def test_a_chunk_that_is_taken_back_leaves_nothing() -> None:
    ledger: ScopeLedger[int] = ScopeLedger()
    ledger.store((0, 0, 0), key(0), 1, 5.0)
    ledger.store((0, 0, 0), key(1), 2, 6.0)
    assert ledger.holds((0, 0, 0), key(1))
    ledger.take_back((0, 0, 0), key(1))
    assert not ledger.holds((0, 0, 0), key(1))
    ledger.take_back((0, 0, 0), key(0))
    assert ledger.open == {}
    assert not ledger.went_out((0, 0, 0))


def test_the_order_of_open_scopes_of_a_track() -> None:
    ledger: ScopeLedger[int] = ScopeLedger()
    for step in (5, 2, 9):
        ledger.store((step, 0, 0), key(step=step), 1, 0.0)
    ledger.store((1, 1, 0), key(step=1, rank=1), 1, 0.0)
    assert ledger.earlier((9, 0, 0)) == (2, 0, 0)
    assert ledger.earlier((2, 0, 0)) is None
    assert ledger.later((2, 0, 0)) == (5, 0, 0)
    ledger.close((2, 0, 0))
    assert ledger.went_out((2, 0, 0))
    assert ledger.earlier((9, 0, 0)) == (5, 0, 0)
    assert ledger.last_out((0, 0, 0)) == 2


class InOrder:
    """Makes the rollout output one that carries something from step to step."""

    def __init__(self, monkeypatch: Any) -> None:
        from isoscope.core.trajectory.outputs.rollout import RolloutOutput

        monkeypatch.setattr(RolloutOutput, "flushes_in_order", True)


@pytest.fixture
def _in_order(monkeypatch: Any) -> InOrder:
    return InOrder(monkeypatch)


def pair(**of: int) -> list[Any]:
    return [policy(key(**of)), env(key(**of))]


@pytest.mark.usefixtures("_in_order")
def test_a_complete_scope_waits_for_an_earlier_one() -> None:
    made = runs.collector(config(epochs=2))
    assert items(made, *pair(step=0)) == []
    assert items(made, *pair(step=1), *pair(step=1, epoch=1)) == []
    assert items(made, *pair(step=2), *pair(step=2, epoch=1)) == []
    waiting = {scope.scope[0]: scope for scope in made.pending().scopes}
    assert waiting[1].behind == (0, 0, 0)
    assert "waits for scope (0, 0, 0) to go out first" in str(waiting[1])
    out = items(made, *pair(step=0, epoch=1))
    assert len(out) == 3
    assert all(isinstance(item, Trajectory) for item in out)
    assert not made.pending()


@pytest.mark.usefixtures("_in_order")
def test_a_step_whose_turn_is_over_is_refused() -> None:
    made = runs.collector(config())
    assert len(items(made, *pair(step=3))) == 1
    with pytest.raises(TrajectoryValueError, match="send a source's steps in order"):
        made.collect(policy(key(step=1)), None)
    assert not made.pending()
    assert len(items(made, *pair(step=4))) == 1


@pytest.mark.usefixtures("_in_order")
def test_a_waiting_scope_that_fails_keeps_what_went_out_before_it(
    monkeypatch: Any,
) -> None:
    from isoscope.core.trajectory.outputs.rollout import RolloutOutput

    made = runs.collector(config(epochs=2))
    items(made, *pair(step=0), *pair(step=1), *pair(step=1, epoch=1))
    flush = RolloutOutput.flush

    def fails_for_one(self: Any, scope: Any, batch: Any) -> Any:
        if scope[0] == 1:
            raise TrajectoryValueError("flushing: no room; make some")
        return flush(self, scope, batch)

    monkeypatch.setattr(RolloutOutput, "flush", fails_for_one)
    items(made, policy(key(epoch=1)))
    pairs = iter(made.collect(env(key(epoch=1)), None))
    assert isinstance(next(pairs)[1], Trajectory)
    with pytest.raises(TrajectoryValueError, match="no room"):
        next(pairs)
    (scope,) = made.pending().scopes
    assert scope.scope == (1, 0, 0)
    assert "call retry" in str(scope)
    monkeypatch.setattr(RolloutOutput, "flush", flush)
    assert len(list(made.retry())) == 1
    assert not made.pending()
