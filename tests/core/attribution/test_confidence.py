"""Confidence is calibrated: what is called 0.99 is right 99 times in 100."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoscope.core.attribution.attributor import Attributor, attribute
from isoscope.core.recording.model import Actor, Recording
from isoscope.core.recording.tracks import Track
from tests.core.attribution.shared_scene import run

H_S, RESET_H_S = 0.02, 1e-5


def near_ties(count: int, seed: int, real: Any) -> tuple[Recording, Any, Any]:
    """Pairs of states that differ by about the rounding, and a step from one of them.

    A group is two resets and a step from either; a marker that stands still somewhere
    else in each group keeps the groups apart. The moving body is near 0 before the step
    and far away after it, so that the rounding of its velocity is larger than the
    spacing of the states. Gives the recording, the right row for each group's step, and
    how far apart its two states are, in roundings.
    """
    rng = np.random.default_rng(seed)
    eps = float(np.finfo(real).eps)
    far = rng.uniform(4, 16, (count, 3)) * rng.choice([-1, 1], (count, 3))
    apart = 10 ** rng.uniform(-1.0, 1.5, count)
    first = rng.uniform(-1e-3, 1e-3, (count, 3))
    second = first + (apart * eps)[:, None] * np.abs(far) * rng.uniform(
        -1, 1, (count, 3)
    )
    states = np.stack([first, second], 1).astype(real)
    chosen = rng.integers(0, 2, count)
    begins = states[np.arange(count), chosen]
    ends = (begins + far.astype(real)).astype(real)
    speed = ((ends - begins).astype(real) / real(H_S)).astype(real)
    place = np.concatenate([states, ends[:, None]], 1).reshape(-1, 3)
    velocity = np.zeros((count, 3, 3), real)
    velocity[:, 2] = speed
    marker = np.zeros((count, 3, 3), real)
    marker[:, :, 0] = np.arange(1, count + 1)[:, None]
    recording = Recording(None, "made", complete=True)
    h = np.tile([RESET_H_S, RESET_H_S, H_S], count)
    rows = 3 * count
    recording.steps.append(np.arange(rows), np.cumsum(h), h, np.zeros((rows, 3)))
    columns = [(place, velocity.reshape(-1, 3)), (marker.reshape(-1, 3), 0 * place)]
    for k, (where, how_fast) in enumerate(columns):
        actor = Actor(k, k + 1, f"Body{k}", "Rigid", False, 0)
        actor.fields.tracks["translationCom"] = Track.of(np.ascontiguousarray(where))
        actor.fields.tracks["vcom"] = Track.of(how_fast.astype(real))
        recording.actors.append(actor)
    right = 3 * np.arange(count) + chosen
    return recording, right, apart


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_near_ties(real: Any) -> None:
    count = 4000
    recording, right, apart = near_ties(count, 3, real)
    attributor = Attributor(recording)
    attributor.update()
    parents = np.array(attributor.chains.parent_of)[2::3]
    sure = np.array(attributor.linker.confidence)[2::3]
    decided = parents >= 0
    correct = parents == right
    called = decided & (sure >= 0.99)
    assert called.sum() > 0.4 * count
    assert correct[called].mean() >= 0.99
    # None is decided that is not called certain, and what is far apart is decided.
    assert (sure[decided] >= 0.99).all()
    assert correct[decided & (apart > 8)].all()
    assert decided[apart > 12].mean() > 0.9
    # What lies within the rounding is mostly left open.
    assert decided[apart < 0.3].mean() < 0.2


def test_a_doubtful_parent_is_doubted_in_all_that_follows() -> None:
    scene, _ = run(3, 20, seed=2, length=100)
    attributor = Attributor(scene.recording())
    attributor.update()
    row = next(k for k in range(20, 40) if scene.parents[k] != k - 1)
    attributor.linker.confidence[row] = 0.9
    found = attributor.result()
    mine = found.labels.env == found.labels.env[row]
    later = np.arange(len(found)) >= row
    assert (found.confidence[mine & later] == 0.9).all()
    assert (found.confidence[~mine | ~later] > 0.99).all()


def test_residual_and_margin() -> None:
    scene, truth = run(4, 20, order="random", seed=6)
    recording = scene.recording()
    found = attribute(recording)
    track = recording.actors[0].fields["translationCom"]
    assert isinstance(track, Track)
    ends = np.stack(
        [a.fields["translationCom"].values for a in recording.actors], 1
    ).astype(float)
    speeds = np.stack([a.fields["vcom"].values for a in recording.actors], 1).astype(
        float
    )
    h = recording.steps.h_s
    waiting: dict[int, int] = {}  # each environment's last row
    for row, (env, parent) in enumerate(zip(truth.env, truth.parent, strict=True)):
        begins = ends[row] - h[row] * speeds[row]
        if parent >= 0:
            gap = np.abs((ends[row] - ends[parent]) - h[row] * speeds[row]).max()
            assert found.residual_m[row] == pytest.approx(gap, abs=1e-15)
        else:
            assert np.isnan(found.residual_m[row])
        if row > 60 and parent not in (-1, row - 1):
            others = [
                np.abs(begins - ends[last]).max()
                for other, last in waiting.items()
                if other != env
            ]
            assert found.margin_m[row] <= min(others) + 1e-12
        waiting[env] = row
