"""unconverged, non-finite in transitions, hidden-state-not-reset, hidden-leak again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.tainting import tainted
from isoscope.core.isolation.twins import departures
from tests.core.isolation.building import Run, push_of

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.isolation.twins import Departure
    from isoscope.core.recording.tracks import BoolArray


# -- unconverged -----------------------------------------------------------------------


@pytest.mark.parametrize(("status", "word"), [(1, "stopped"), (2, "diverged")])
def test_a_step_that_did_not_converge(tmp_path: Path, status: int, word: str) -> None:
    run = Run(tmp_path, 3).resets().steps(3)
    run.step(0)
    run.step(1, native={"solver_status": status, "solver_residual": 0.5})
    run.step(2)
    run.steps(2)
    run.reset(1)
    found = run.steps(2).only("unconverged")
    assert (found.env, found.episode, found.control_step) == (1, 1, 4)
    assert found.value == word
    assert found.evidence["rows"] == 2
    assert found.evidence["transition_valid"]
    table = run.examine().recording.labelled.columns("transitions")
    spoilt = tainted(run.examine(), [found]).transitions
    expected = (table["env"] == 1) & (table["episode"] == 1)
    expected &= table["control_step"] >= 4
    np.testing.assert_array_equal(spoilt, expected)


@pytest.mark.parametrize("valid", [True, False])
def test_whether_its_transition_counts(tmp_path: Path, valid: bool) -> None:
    run = Run(tmp_path, 2, info=("valid",)).resets()
    run.step(0, values={"valid": 1.0})
    diverged = {"solver_status": 2, "solver_residual": 0.5}
    run.step(1, native=diverged, values={"valid": float(valid)})
    found = run.only("unconverged")
    assert found.evidence["transition_valid"] is valid
    assert ("counts as a valid one" in found.message) is valid
    assert ("marked the transition as invalid" in found.message) is not valid
    assert ("leave it out" in found.remedy) is not valid


def test_without_a_status_it_can_not_run(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, solver_statuses={}).resets().steps(2)
    reason = run.not_run("unconverged")
    assert reason is not None
    assert "numbers mean" in reason.reason


# -- non-finite ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"reward": math.nan}, "reward"),
        ({"reward": math.inf}, "reward"),
        ({"action": math.nan}, "raw_action.value"),
        ({"observation": np.full(4, np.inf, np.float32)}, "observation_after.value"),
        ({"values": {"alive": math.inf}}, "reward_term.alive"),
    ],
)
def test_a_transition_that_is_not_finite(
    tmp_path: Path, more: dict[str, Any], field: str
) -> None:
    run = Run(tmp_path, 2).resets().steps(3)
    run.step(0)
    run.step(1, **more)
    run.step(0)
    run.reset(1)
    found = [f for f in run.steps(2).findings() if f.id == "non-finite"]
    assert len(found) == 1
    assert (found[0].env, found[0].episode, found[0].control_step) == (1, 1, 4)
    assert found[0].field == field
    spoilt = tainted(run.examine(), found).transitions
    assert spoilt[found[0].transition]


def test_rewards_that_are_nowhere_told_are_absent(tmp_path: Path) -> None:
    run = Run(tmp_path, 2).resets()
    for _ in range(3):
        for env in range(2):
            run.step(env, reward=math.nan)
    assert run.findings() == []


# -- hidden-state-not-reset ------------------------------------------------------------


def test_without_a_control_step_there_is_no_hidden_state(tmp_path: Path) -> None:
    run = Run(tmp_path, 1, hidden=True)
    run.episode[0], run.world[0] = 1, (0.0, 0.0, 0.0)
    run.native(0, 0)
    assert run.not_run("hidden-state-not-reset") is not None


def _recurrent(run: Run, first: float, slot: float) -> Run:
    """Two episodes; the second begins with this state, after a row with that one."""
    run.reset(0)
    for k in range(3):
        run.step(0, values={"hidden_state": 0.125 * (k + 1)})
    run.reset(0, values={"hidden_state": slot})
    for k in range(3):
        run.step(0, values={"hidden_state": first if k == 0 else 0.5 * k})
    return run


def test_a_state_that_is_begun_anew(tmp_path: Path) -> None:
    run = _recurrent(Run(tmp_path, 1, hidden=True), 0.125, 0.375)
    assert run.findings() == []


def test_a_state_that_outlives_its_episode(tmp_path: Path) -> None:
    found = _recurrent(Run(tmp_path, 1, hidden=True), 0.75, 0.5).only(
        "hidden-state-not-reset"
    )
    assert (found.env, found.episode, found.control_step) == (0, 2, 1)
    assert "not begun anew" in found.headline
    assert not found.evidence["advanced"]


def test_a_state_that_advanced_in_the_reset_s_row(tmp_path: Path) -> None:
    found = _recurrent(Run(tmp_path, 1, hidden=True), 0.75, 0.125).only(
        "hidden-state-not-reset"
    )
    assert "advanced in a row that only resets" in found.headline
    assert found.evidence["advanced"]


# -- hidden-leak, stepped again --------------------------------------------------------


class Again:
    """Steps an environment of a made run again, alone."""

    def __init__(self, path: Path, subject: Examined, refuse: str = "") -> None:
        self.path, self.subject, self.refuse = path, subject, refuse

    def environments(self) -> list[int]:
        return self.subject.environments()

    def departure(self, env: int, explained: BoolArray) -> Departure | None:
        if self.refuse:
            raise CannotRunError(self.refuse, "snapshots")
        assert not explained.any()
        folder = self.path / f"alone{env}"
        folder.mkdir()
        run = Run(folder, 1)
        run.reset(0, at=0.3 * env + 0.01)
        for k in range(6):
            run.step(0, push_of(env, k + 1))
        found = [d for d in departures(self.subject, run.examine()) if d.env == env]
        return found[0] if found else None


def _pushed(tmp_path: Path, leak: float) -> Examined:
    run = Run(tmp_path, 3).resets().steps(3)
    run.step(0)
    run.step(1, push_of(1, 4) + leak)
    run.step(2)
    return run.steps(2).examine()


def test_an_environment_that_goes_otherwise_alone(tmp_path: Path) -> None:
    subject = _pushed(tmp_path, 1e-9)
    again = Again(tmp_path, subject)
    found = audit(Context(subject, resimulator=again)).findings
    assert [f.id for f in found] == ["hidden-leak"]
    assert (found[0].env, found[0].episode, found[0].control_step) == (1, 1, 4)


def test_all_go_the_same_alone(tmp_path: Path) -> None:
    subject = _pushed(tmp_path, 0.0)
    said = audit(Context(subject, resimulator=Again(tmp_path, subject)))
    assert said.findings == []
    assert "hidden-leak" not in {one.id for one in said.not_run}


def test_none_can_be_stepped_again(tmp_path: Path) -> None:
    subject = _pushed(tmp_path, 0.0)
    again = Again(tmp_path, subject, "no snapshot")
    said = audit(Context(subject, resimulator=again))
    reason = next(one for one in said.not_run if one.id == "hidden-leak")
    assert reason.reason == "no snapshot"
