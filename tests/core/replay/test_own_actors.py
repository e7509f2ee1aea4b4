"""Actors are compared environment by environment, however many scenes a file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.app import environments
from isoscope.app.demo.settings import DemoSettings
from isoscope.core.attribution.attributor import attribute
from isoscope.core.isolation.context import Examined
from isoscope.core.isolation.twins import departures
from isoscope.core.recording.model import Actor
from isoscope.core.recording.registry import load
from isoscope.core.recording.tracks import Track
from isoscope.core.replay.compare import compare
from isoscope.core.replay.own_actors import OwnTracks, keyed
from isoscope.core.replay.sentence import verdict
from tests.core.envs.rail_scene import make_rail_scene
from tests.core.isolation.recorded_demo import recorded
from tests.core.isolation.worlds import examine, shared

if TYPE_CHECKING:
    from pathlib import Path

ENVS = 3


def apart(told: Examined) -> Examined:
    """The same steps as a file has them where each environment has its own scene."""
    labels = told.attribution.labels
    (ball,) = told.recording.actors
    told.recording.actors.clear()
    for env in range(ENVS):
        own = Actor(env, ball.handle, ball.name, ball.type, ball.static, 0)
        here = labels.env == env
        for name, track in ball.fields.tracks.items():
            assert isinstance(track, Track)
            values = np.where(here[:, None], track.values, np.nan).astype(track.dtype)
            own.fields.tracks[name] = Track.of(values, here)
        told.recording.actors.append(own)
    return told


def test_each_environment_s_first_is_one_actor() -> None:
    told = apart(examine(shared(ENVS)))
    ((key, own),) = keyed(told).items()
    assert key == ("Ball", 0)
    assert len(own.actors) == ENVS
    track = own.tracks()["translation"]
    assert isinstance(track, OwnTracks)
    rows = np.arange(len(told.recording))
    values, valid = track.take(rows)
    labels = told.attribution.labels
    np.testing.assert_array_equal(valid, labels.env >= 0)
    alone = [a.fields.tracks["translation"] for a in told.recording.actors]
    for row in rows[labels.env >= 0]:
        np.testing.assert_array_equal(values[row], alone[labels.env[row]].at(row))


def test_two_of_a_name_in_one_scene_stay_two() -> None:
    told = examine(shared(ENVS))
    told.recording.actors.append(told.recording.actors[0])
    assert list(keyed(told)) == [("Ball", 0), ("Ball", 1)]


def test_environments_apart_are_all_compared_with_a_shared_run() -> None:
    seen = compare(examine(shared(ENVS)), apart(examine(shared(ENVS))))
    assert [(p.env_a, p.env_b) for p in seen.pairs] == [(0, 0), (1, 1), (2, 2)]
    assert all(p.compared_steps == 25 for p in seen.pairs)
    assert seen.claims.bit_for_bit.answer == "yes"
    assert seen.configuration_differences == []
    assert seen.not_checkable == []


@pytest.mark.parametrize("env", range(ENVS))
def test_a_difference_in_any_of_them_is_found(env: int) -> None:
    other = apart(examine(shared(ENVS)))
    row = int(np.flatnonzero(other.attribution.labels.env == env)[7])
    other.recording.actors[env].fields.tracks["rotation"].values[row, 0] += 0.125
    first = compare(examine(shared(ENVS)), other).first_divergence
    assert first is not None
    assert (first.env, first.native, first.field) == (env, row, "rotation")
    assert first.size == 0.125


def test_what_was_not_compared_is_no_ground_for_a_claim() -> None:
    one, other = examine(shared(ENVS)), apart(examine(shared(ENVS)))
    for told, actors in ((one, one.recording.actors), (other, other.recording.actors)):
        for actor in actors:
            for track in actor.fields.tracks.values():
                late = told.attribution.labels.env[: len(track)] == 2
                track.valid[late & (np.arange(len(track)) > 20)] = False
    seen = compare(one, other)
    assert seen.first_divergence is None
    assert seen.claims.bit_for_bit.answer == "not_checkable"
    assert "env 2 has" in seen.not_checkable[0]
    assert seen.compared_steps < sum(len(p) for p in _rows(one))
    assert "Not all could be compared" in verdict(seen)


def _rows(told: Examined) -> list[np.ndarray]:
    return [told.rows_of(env) for env in range(ENVS)]


def test_a_shared_run_against_environments_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments, "make_scene", make_rail_scene)
    told = []
    for scene in ("shared", "independent"):
        (tmp_path / scene).mkdir()
        settings = DemoSettings(
            task="CartPole", envs=ENVS, scene=scene, steps=8, device="cpu", seed=3
        )
        recorded(tmp_path / scene, settings)
        recording = load(tmp_path / scene / "run.isoscope.h5")
        told.append(Examined(recording, attribute(recording)))
    seen = compare(*told)
    assert [(p.env_a, p.env_b) for p in seen.pairs] == [(k, k) for k in range(ENVS)]
    assert seen.claims.bit_for_bit.answer == "yes", seen.claims.bit_for_bit.reason
    assert seen.compared_steps == len(told[0].recording)
    assert seen.configuration_differences == []
    assert departures(*told) == []
