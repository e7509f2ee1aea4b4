"""Where a step began, from the mean velocities that are recorded at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.attribution.attributor import attribute
from isoscope.core.attribution.mean_velocity import MeanVelocity
from isoscope.core.attribution.predictor import NOT_FINITE, Predictor
from isoscope.core.attribution.rounding import precision_of
from isoscope.core.recording.registry import load
from isoscope.core.recording.tracks import Track
from tests.core.attribution.shared_scene import Env, Scene, Truth, run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "name", ["rigid_contacts_all", "fp64_rigid_contacts_all", "soft_body"]
)
def test_each_start_is_the_end_before_within_its_bound(
    recordings: Path, name: str
) -> None:
    recording = load(recordings / f"{name}.h5")
    predictor = MeanVelocity(recording)
    assert isinstance(predictor, Predictor)
    motion = predictor.read(0, len(recording))
    off = np.abs((motion.end[1:] - motion.end[:-1]) - motion.moved[1:])
    assert np.isfinite(off).all()
    assert (off <= motion.tight[1:]).all()
    # and the bound is no wider than it has to be
    moving = np.abs(motion.moved[1:]) > 1e-3
    assert (motion.tight[1:][moving] < 0.01 * np.abs(motion.moved[1:][moving])).all()


def test_a_window_is_part_of_the_whole(recordings: Path) -> None:
    recording = load(recordings / "shared_cartpole_2env.h5")
    predictor = MeanVelocity(recording)
    whole = predictor.read(0, len(recording))
    part = predictor.read(10, 20)
    np.testing.assert_array_equal(part.end, whole.end[10:20])
    np.testing.assert_array_equal(part.moved, whole.moved[10:20])


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_bodies_that_only_turn_are_told_apart(real: Any) -> None:
    scene, truth = Scene(real=real), Truth()
    envs = [Env(scene, k, truth, k, push=0.0) for k in range(3)]
    for env in envs:
        env.reset()
        assert env.snapshot is not None
        env.snapshot.place[:] = 0.5
        env.snapshot.speed[:] = 0
    scene.anchor = np.full_like(scene.anchor, 0.5)
    for column, env in zip(scene.columns, envs, strict=True):
        column["translationCom"][:] = 0.5
        column["vcom"][:] = 0
        assert env.snapshot is not None
    for _ in range(20):
        for env in envs:
            env.act()
    places = np.stack([c["translationCom"] for c in scene.columns])
    assert np.ptp(places) == 0
    found = attribute(scene.recording())
    assert found.labels.env.tolist() == truth.env
    assert found.labels.control_step.tolist() == truth.control_step


def test_a_step_of_no_duration_has_no_state() -> None:
    scene, _ = run(2, 3)
    recording = scene.recording()
    recording.steps.h_s[5] = 0.0
    motion = MeanVelocity(recording).read(0, len(recording))
    assert np.isnan(motion.end[5]).all()
    assert np.isfinite(motion.end[[4, 6]]).all()


def test_a_state_that_is_not_finite_equals_itself() -> None:
    scene, _ = run(2, 3)
    for name in scene.columns[4]:
        scene.columns[4][name][0] = np.inf
    motion = MeanVelocity(scene.recording()).read(0, len(scene))
    assert (motion.end[4, :12] == NOT_FINITE).all()
    assert (motion.moved[4, :12] == 0).all()
    assert np.isfinite(motion.end[4, 12:]).all()


def test_precision_of_what_was_rounded() -> None:
    values = np.random.default_rng(0).normal(size=500)
    assert precision_of(values).eps == np.finfo(np.float64).eps
    assert not precision_of(values).rounded
    assert not precision_of(values.astype(np.float32)).rounded
    assert precision_of(np.round(values, 4)).grid == pytest.approx(1e-4)
    assert precision_of(np.round(values, 4).astype(np.float32)).grid == pytest.approx(
        1e-4
    )
    half = precision_of(values.astype(np.float16).astype(np.float32))
    assert half.eps == pytest.approx(2.0**-10)
    assert half.rounded
    assert not precision_of(np.zeros(100)).rounded
    assert not precision_of(np.array([0.0, 1.0] * 50)).rounded


@pytest.mark.parametrize("decimals", [3, 4, 5])
def test_a_recording_that_was_rounded_to_decimals(decimals: int) -> None:
    scene, truth = run(3, 30, seed=3)
    for column in scene.columns:
        for name in column:
            column[name] = np.round(column[name], decimals)
    found = attribute(scene.recording())
    assert found.labels.env.tolist() == truth.env
    assert found.labels.control_step.tolist() == truth.control_step
    assert any(p.grid for p in found.precision.values())


def test_columns_of_actors_that_come_later_are_added(recordings: Path) -> None:
    recording = load(recordings / "create_destroy.h5")
    predictor = MeanVelocity(recording)
    motion = predictor.read(0, len(recording))
    late = next(a for a in recording.actors if a.name == "Late")
    columns = predictor.layout.actor == late.index
    assert np.isnan(motion.end[: late.created_native][:, columns]).all()
    assert np.isfinite(motion.end[late.created_native :][:, columns]).all()
    track = late.fields["translationCom"]
    assert isinstance(track, Track)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("omega", (2,)), ("vsym", (3,)), ("vcom", (2, 3)), ("translationCom", (2,))],
)
def test_a_field_of_another_shape_is_as_good_as_absent(
    name: str, shape: tuple[int, ...]
) -> None:
    scene, _ = run(2, 6)
    recording = scene.recording()
    rows = len(recording)
    recording.actors[0].fields.tracks[name] = Track.of(np.ones((rows, *shape)))
    without = scene.recording()
    del without.actors[0].fields.tracks[name]
    found, expected = MeanVelocity(recording), MeanVelocity(without)
    np.testing.assert_array_equal(found.read(0, rows).end, expected.read(0, rows).end)
    np.testing.assert_array_equal(
        attribute(recording).labels.env, attribute(without).labels.env
    )
