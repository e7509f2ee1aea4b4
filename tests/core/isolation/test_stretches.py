"""What a finding taints, as stretches of each environment's own steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.following.own_steps import OwnSteps
from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.stretches import Stretch, stretches
from isoscope.core.recording.model import Labels, StepKind

if TYPE_CHECKING:
    import pytest

# three environments in turn, a reset of env 1 in row 7
ENV = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2], np.int32)
KIND = np.where(np.arange(12) == 7, StepKind.RESET, StepKind.SUBSTEP).astype(np.int8)
EPISODE = np.where((ENV == 1) & (np.arange(12) >= 7), 2, 1).astype(np.int32)


def labels(rows: int = 12) -> Labels:
    one = np.ones(rows, np.int32)
    return Labels(ENV[:rows], EPISODE[:rows], one, 0 * one, KIND[:rows])


def own(env: int) -> np.ndarray:
    return np.flatnonzero(ENV == env)


def of(*taints: Taint, **more: object) -> Finding:
    words = {"id": "x", "severity": "error", "message": "", "remedy": ""}
    return Finding(**words, taints=taints, **more)  # type: ignore[arg-type]


def test_a_stretch_goes_through_the_steps_of_others_and_ends_at_the_reset() -> None:
    found = of(Taint(env=1, native=(1, None)), Taint(env=2, native=(5, None)))
    assert stretches(labels(), found, own) == (Stretch(1, 4, 1), Stretch(5, 11, 2))


def test_two_taints_that_overlap_are_one_stretch() -> None:
    found = of(Taint(env=2, native=(2, 8)), Taint(env=2, native=(5, 11)))
    assert stretches(labels(), found, own) == (Stretch(2, 11, 2),)


def test_a_step_in_between_that_can_be_trusted_breaks_it() -> None:
    found = of(Taint(env=0, native=(0, 3)), Taint(env=0, native=(9, 9)))
    assert stretches(labels(), found, own) == (Stretch(0, 3, 0), Stretch(9, 9, 0))


def test_whosever_the_rows_are() -> None:
    found = of(Taint(env=None, native=(3, 4)))
    assert stretches(labels(), found, own) == (Stretch(3, 3, 0), Stretch(4, 4, 1))


def test_ranges_of_a_finding_that_gives_no_more_than_these() -> None:
    assert stretches(labels(), of(env=1, tainted=((1, 4),)), own) == (Stretch(1, 4, 1),)
    assert stretches(labels(), of(), own) == ()


def test_a_run_that_grows_is_looked_at_anew_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = []

    def counted(*args: object) -> tuple[Stretch, ...]:
        looks.append(args)
        return stretches(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("isoscope.core.following.own_steps.stretches", counted)
    steps = OwnSteps(None)  # type: ignore[arg-type]
    monkeypatch.setattr(steps, "rows_of", own)
    found = of(Taint(env=2, native=(2, None), until="end"))
    assert steps.tainted_by(found, labels(8)) == (Stretch(2, 5, 2),)
    assert steps.tainted_by(found, labels(8)) == (Stretch(2, 5, 2),)
    assert len(looks) == 1
    assert steps.tainted_by(found, labels(12)) == (Stretch(2, 11, 2),)
    assert len(looks) == 2
