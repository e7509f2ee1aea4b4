"""Control time, and the axes to play over it and over the scene's time."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.clock import Clock, TimeKind
from isoscope.core.controltime import control_axis, control_time_s, held, scene_axis
from isoscope.core.recording.model import Labels, StepKind

H_S = np.array([1e-5, 1e-5, 0.02, 0.02, 0.02, 0.02])


def labels() -> Labels:
    made = Labels.unknown(6)
    made.env[:] = [0, 1, 0, 0, 1, 1]
    made.episode[:] = 1
    made.control_step[:] = [0, 0, 1, 1, 1, 1]
    made.substep[:] = [0, 0, 0, 1, 0, 1]
    made.kind[:2] = StepKind.RESET
    made.kind[2:] = StepKind.SUBSTEP
    return made


def test_it_counts_substeps_since_the_reset() -> None:
    found = control_time_s(labels(), H_S, 2)
    assert found == pytest.approx([0.0, 0.0, 0.02, 0.04, 0.02, 0.04])


def test_without_m_only_the_resets_have_one() -> None:
    found = control_time_s(labels(), H_S, None)
    assert found[:2].tolist() == [0.0, 0.0]
    assert np.isnan(found[2:]).all()


def test_an_unknown_control_step_has_none() -> None:
    some = labels()
    some.control_step[3] = -1
    found = control_time_s(some, H_S, 2)
    assert np.isnan(found[3])
    assert found[5] == pytest.approx(0.04)


def test_another_s_turn_takes_no_time_of_it() -> None:
    control = control_time_s(labels(), H_S, 2)
    own = np.array([0, 2, 3])
    axis = control_axis(control, H_S, own)
    assert axis is not None
    assert axis.kind is TimeKind.CONTROL
    assert axis.stamps == pytest.approx([0.0, 0.0, 0.02, 0.04, 0.04, 0.04])
    assert axis.durations_s == pytest.approx([0, 0, 0.02, 0.02, 0, 0])
    clock = Clock()
    clock.set_axes([axis])
    clock.play()
    for _ in range(10):
        clock.tick(0.02)
    assert clock.row == 5  # at the end of the run, beyond its last own row


def test_without_an_environment_each_step_has_its_own() -> None:
    axis = control_axis(control_time_s(labels(), H_S, 2), H_S)
    assert axis is not None
    assert axis.stamps == pytest.approx([0, 0, 0.02, 0.04, 0.02, 0.04])


def test_nothing_known_is_no_axis() -> None:
    assert control_axis(np.full(3, np.nan), H_S[:3]) is None
    assert scene_axis(np.full(3, np.nan), H_S[:3]) is None
    assert scene_axis(np.array([np.nan, 0.02, 0.01]), H_S[:3]) is not None


def test_held_says_nothing_before_the_first() -> None:
    found = held(np.arange(5.0), np.array([2, 3]), 5)
    assert np.isnan(found[:2]).all()
    assert found[2:].tolist() == [2.0, 3.0, 3.0]
