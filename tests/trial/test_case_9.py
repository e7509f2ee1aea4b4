"""Three clocks: jitter, an offset that is no drift, a control step that was dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core.attribution.align import align
from isoscope.core.attribution.attributor import attribute
from isoscope.core.attribution.clocks import clocks_of
from tests.core.attribution.shared_scene import run

if TYPE_CHECKING:
    from isoscope.core.attribution.align import AlignSegment, ClockFit
    from isoscope.core.attribution.clocks import Clocks
    from isoscope.core.attribution.result import Attribution
    from isoscope.core.recording.model import Recording

Recorded = tuple["Recording", "Attribution", np.ndarray]

CONTROL_STEPS = 60
ENVS, M = 2, 2  # physics 50 Hz, control 25 Hz
DROPPED = 20
JITTER_S = 0.002


@pytest.fixture(
    params=[None, DROPPED], ids=["whole", f"control step {DROPPED} dropped"]
)
def dropped(request: pytest.FixtureRequest) -> int | None:
    return request.param


@pytest.fixture
def recorded(dropped: int | None) -> Recorded:
    """A recording, whose its steps were, and a wall clock of 1 / 30 s a round."""
    scene, truth = run(ENVS, CONTROL_STEPS, seed=4, length=1000, substeps=M)
    late = np.random.default_rng(1).uniform(-JITTER_S, JITTER_S, len(scene))
    wall_s = 100 + np.arange(len(scene)) / (30 * ENVS * M) + late
    if dropped is not None:
        lost = [
            k
            for k, (env, step) in enumerate(
                zip(truth.env, truth.control_step, strict=True)
            )
            if env == 1 and step == dropped
        ]
        for column in (scene.h, scene.columns, scene.parents):
            del column[lost[0] : lost[-1] + 1]
        wall_s = np.delete(wall_s, lost)
    recording = scene.recording()
    return recording, attribute(recording), wall_s


def fit(segment: AlignSegment, clock: str) -> ClockFit:
    (one,) = (f for f in segment.fits if f.clock == clock)
    return one


def test_slopes_offsets_and_jitter(recorded: Recorded) -> None:
    recording, found, wall_s = recorded
    assert found.substeps == 2
    aligned = align(recording, found, wall_s)
    (segment,) = aligned.environments[0].segments
    scene, wall = fit(segment, "scene"), fit(segment, "wall")
    assert scene.slope_s_per_control_step == pytest.approx(0.04, abs=1e-12)
    assert scene.offset_s == pytest.approx(1e-5, abs=1e-12)
    assert scene.jitter_s == scene.max_residual_s == 0.0
    assert wall.slope_s_per_control_step == pytest.approx(1 / 30, abs=1e-4)
    assert wall.offset_s == pytest.approx(100, abs=1 / 30)
    assert JITTER_S / 2 < wall.jitter_s < JITTER_S * 2
    assert wall.max_residual_s < 0.02  # the reset comes within a round of its own
    assert segment.jitter_s == max(f.jitter_s for f in segment.fits)


def test_the_same_row_from_any_clock(recorded: Recorded) -> None:
    recording, found, wall_s = recorded
    clocks: Clocks = clocks_of(recording, found, wall_s)
    for row in range(0, len(clocks), 11):
        env = int(clocks.env[row])
        for name, value in clocks.at(row).items():
            if np.isfinite(value):
                assert row in clocks.rows_at(name, value, env).tolist(), (row, name)


def test_a_dropped_control_step_is_a_gap_of_one(
    recorded: Recorded, dropped: int | None
) -> None:
    recording, found, wall_s = recorded
    aligned = align(recording, found, wall_s)
    whys = [s.why_it_ends for s in aligned.environments[1].segments]
    assert whys == (["recording_end"] if dropped is None else ["gap", "recording_end"])
    assert len(found.jumps) == (dropped is not None)
    # rows that are missing are no sign that somebody did not restore
    assert found.missed_restores == []
    if dropped is not None:
        (jump,) = found.jumps
        before, after = wall_s[[jump.after_native, jump.native]]
        assert found.labels.control_step[jump.after_native] == dropped - 1
        per_step = 1 / 30
        # the step itself, and the one that is missing
        assert (after - before) / per_step == pytest.approx(1.75, abs=0.15)
