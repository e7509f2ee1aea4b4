"""absent-field, non-finite, rounded-values, callback-moved-state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.isolation.checks.rounded_values import rounding
from isoscope.core.recording.registry import load
from isoscope.core.recording.tracks import Track
from tests.core.isolation.worlds import found, reason_not_run, shared

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording

RECORDINGS = Path(__file__).parents[2] / "data" / "recordings"


def ball(recording: Recording, field: str) -> Any:
    return recording.actors[0].fields.tracks[field]


# -- absent-field ----------------------------------------------------------------------


def test_fields_that_some_steps_lack() -> None:
    recording = shared().recording()
    for field in ("vcom", "translationCom"):
        ball(recording, field).valid[7:9] = False
    (finding,) = found(recording, "absent-field")
    assert finding.severity == "error"
    assert finding.native == (7, 8)
    assert finding.tainted == ((7, 8),)
    assert finding.field == "Ball.translationCom"
    assert finding.evidence["fields"] == ["Ball.translationCom", "Ball.vcom"]
    assert finding.evidence["absent"] == 2


def test_a_step_of_0_s_lacks_its_velocity_by_nature() -> None:
    path = RECORDINGS / "variable_steps.h5"
    recording = load(path)
    last = [a.fields.get("vcom").present(8) for a in recording.actors if not a.static]
    assert last == [False, False]
    assert found(path, "absent-field") == []


def test_an_actor_s_life_is_not_an_absence() -> None:
    assert found(RECORDINGS / "create_destroy.h5", "absent-field") == []


def test_contacts_come_and_go() -> None:
    recording = load(RECORDINGS / "rigid_contacts_all.h5")
    actor = next(a for a in recording.actors if a.name == "BallA")
    counts = {t.present_count() for t in actor.fields.tracks.values()}
    assert len(counts) > 1
    assert found(RECORDINGS / "rigid_contacts_all.h5", "absent-field") == []


# -- non-finite ------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "nan"), (-np.inf, "-inf")])
def test_a_value_that_is_not_finite(value: float, shown: str) -> None:
    recording = shared(2, 10).recording()
    ball(recording, "rotation").values[12, 2] = value
    (finding,) = found(recording, "non-finite")
    assert finding.severity == "error"
    assert finding.native == (12, 12)
    assert finding.field == "Ball.rotation"
    assert finding.value == shown
    assert finding.env is not None
    assert finding.tainted == ((12, 12),)


def test_each_episode_that_diverged_is_one_finding() -> None:
    world = shared(2, 12, episode=4)
    recording = world.recording()
    # control step 3 of episode 1 of env 0, and control step 2 of episode 2 of env 1
    ball(recording, "rotation").values[10:12] = np.nan
    later = 2 + 2 * 4 * 2 + 2 + 2 * 2 + 2
    ball(recording, "rotation").values[later] = np.nan
    seen = found(recording, "non-finite")
    assert [f.env for f in seen] == [0, 1]
    assert [f.episode for f in seen] == [1, 2]
    assert seen[0].evidence["rows"] == 2


def test_absent_values_are_not_looked_at() -> None:
    recording = shared(2, 10).recording()
    ball(recording, "rotation").values[12] = np.nan
    ball(recording, "rotation").valid[12] = False
    assert found(recording, "non-finite") == []


def test_fields_of_the_step_itself_are_looked_at() -> None:
    recording = load(RECORDINGS / "create_destroy.h5")
    recording.scene.tracks["gravity"].values[4, 1] = np.inf
    (finding,) = found(recording, "non-finite")
    assert finding.field == "gravity"


def test_contact_forces_are_looked_at() -> None:
    recording = load(RECORDINGS / "rigid_contacts_all.h5")
    actor = next(a for a in recording.actors if "contacts_force" in a.fields)
    track = actor.fields["contacts_force"]
    values, ends, *_ = track.columns
    values[0] = np.nan
    (finding,) = found(recording, "non-finite")
    assert finding.field == f"{actor.name}.contacts_force"
    assert finding.native[0] == track.first + int(np.argmax(ends > 0))


# -- rounded-values --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("round_off", "how"),
    [
        (lambda v: np.round(v, 3), "multiples of 0.001"),
        (lambda v: v.astype(np.float16).astype(v.dtype), "half-precision numbers"),
    ],
)
def test_states_that_were_rounded(round_off: Any, how: str) -> None:
    recording = load(RECORDINGS / "shared_cartpole_2env.h5")
    for actor in recording.actors:
        for track in actor.fields.tracks.values():
            if track.dtype.kind == "f":
                track.values[:] = round_off(track.values)
    seen = found(recording, "rounded-values")
    assert {f.severity for f in seen} == {"warning"}
    assert any(how in f.message for f in seen)
    assert "CartPole/Pole.translationCom" in {
        x for f in seen for x in f.evidence["fields"]
    }


def test_float32_numbers_in_float64() -> None:
    recording = load(RECORDINGS / "shared_cartpole_2env.h5")
    for actor in recording.actors:
        for name, track in actor.fields.tracks.items():
            if track.dtype == np.float32:
                wide = Track.of(
                    track.values.astype(np.float64), track.valid, track.first
                )
                actor.fields.tracks[name] = wide
    (finding,) = found(recording, "rounded-values")
    assert finding.value == "float32 numbers in float64"


def test_noise_about_0_lies_on_no_grid() -> None:
    noise = np.random.default_rng(0).normal(size=400) * 1e-16
    assert rounding(noise) is None
    assert rounding(np.concatenate([noise, noise + 1.0])) is None


def test_few_values_say_nothing() -> None:
    assert rounding(np.arange(20) * 0.5) is None


# -- callback-moved-state --------------------------------------------------------------


def test_a_body_that_a_callback_moved() -> None:
    (finding,) = found(RECORDINGS / "post_callback.h5", "callback-moved-state")
    assert finding.severity == "warning"
    assert finding.field == "BallA.translationCom"
    assert finding.native == (1, 9)
    assert finding.evidence["rows"] == 9
    # It is set back to 2.0, 0.5, 0.0 each time, and had begun at about 0, 1, 0.
    assert 2.0 < finding.evidence["farthest_m"] < 2.1


def test_bodies_that_move_by_themselves() -> None:
    assert found(RECORDINGS / "rigid_contacts_all.h5", "callback-moved-state") == []
    reason = reason_not_run(RECORDINGS / "no_state.h5", "callback-moved-state")
    assert reason == "no step tells where it began"
