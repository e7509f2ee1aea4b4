"""Made-up values as large as floats get: no warning, and the rest stays right.

Warnings are errors in all tests.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest

from isoscope.core.attribution.attributor import attribute
from isoscope.core.controltime import control_time_s
from isoscope.core.isolation.audit import audit
from isoscope.core.isolation.context import Context, Examined
from isoscope.core.recording.model import Labels, StepKind
from isoscope.core.recording.registry import load
from isoscope.core.summary import duration_s
from isoscope.core.timeaxis import TimeAxis
from isoscope.core.timeline.steps import step_levels, step_looks, typical_h
from tests.core.attribution.shared_scene import run

if TYPE_CHECKING:
    from pathlib import Path

MOST = float(np.finfo(np.float64).max)
LEAST = float(np.finfo(np.float64).smallest_subnormal)


def test_steps_as_long_as_floats_get() -> None:
    h_s = np.array([0.02, MOST, MOST, LEAST, -MOST])
    for axis in (TimeAxis.native(h_s), TimeAxis.recording(np.arange(5.0), h_s)):
        assert np.isfinite(np.cumsum(axis.durations_s)).all()
    for usual in (typical_h(h_s), 0.02, LEAST, MOST):
        assert len(step_looks(h_s, usual)) == 5
        levels = step_levels(h_s, usual)
        assert (levels[:4] > 0).all()
        assert levels[4] == 0
    assert step_levels(h_s, 0.02)[:3].tolist() == [60, 100, 100]


def test_a_sum_that_overflows_is_no_duration() -> None:
    recording = run(2, 4)[0].recording()
    known = duration_s(recording)
    assert known is not None
    recording.steps.h_s[:2] = MOST
    assert duration_s(recording) is None


def test_control_time_that_overflows_is_unknown() -> None:
    labels = Labels.unknown(2)
    labels.kind[:] = StepKind.SUBSTEP
    labels.control_step[:] = [1, 9]
    labels.substep[:] = 0
    found = control_time_s(labels, np.array([MOST, MOST]), 2)
    assert np.isnan(found[1])


@pytest.mark.parametrize("value", [MOST, -MOST, 1e200, 1e37, LEAST])
@pytest.mark.parametrize("name", ["translationCom", "vcom", "rotation", "omega"])
def test_one_body_of_one_step(name: str, value: float) -> None:
    made, truth = run(2, 12, real=np.float64)
    recording = made.recording()
    row = 15
    recording.actors[0].fields.tracks[name].values[row] = value
    found = attribute(recording)
    audit(Context(Examined(recording, found)))
    before = found.labels.env[:row]
    np.testing.assert_array_equal(before, np.array(truth.env)[:row])


@pytest.mark.parametrize("value", [MOST, -MOST, 1e200, LEAST])
def test_h_of_one_step(value: float) -> None:
    recording = run(2, 12, real=np.float64)[0].recording()
    recording.steps.h_s[15] = value
    recording.steps.time_s[20] = value
    audit(Context(Examined(recording, attribute(recording))))


def _damaged(
    source: Path, target: Path, damage: dict[tuple[str, str], Any]
) -> Examined:
    shutil.copyfile(source, target)
    with h5py.File(target, "r+") as file:
        for (group, name), value in damage.items():
            attrs = file[f"events/{group}"].attrs
            attrs[name] = np.asarray(value, np.asarray(attrs[name]).dtype)
    recording = load(target)
    return Examined(recording, attribute(recording))


def test_equal_states_left_by_a_branch_that_was_given_up(
    recordings: Path, tmp_path: Path
) -> None:
    damage = {
        ("18/actors/137438953474", "rotation"): [1e37, 0, 0, 1],
        ("5", "timeStep"): -1e30,
    }
    found = _damaged(recordings / "restore_twice.h5", tmp_path / "made.h5", damage)
    assert len(found.attribution) == len(found.recording)
    audit(Context(found))
