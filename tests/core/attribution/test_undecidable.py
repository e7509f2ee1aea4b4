"""What can't be decided stays unknown, with its reason, and is never guessed."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.attribution.attributor import Attributor, attribute
from isoscope.core.attribution.report import reasons
from isoscope.core.attribution.result import Reason
from isoscope.core.recording.model import Recording, StepKind
from isoscope.core.recording.tracks import Track
from tests.core.attribution.shared_scene import Env, Scene, Truth, run


def test_equal_starts_are_unknown_until_they_differ() -> None:
    scene, truth = run(2, 20, seeds=[7, 7], length=100)
    # From one seed the resets are equal; give the second other pushes from then on.
    scene, truth = Scene(), Truth()
    envs = [Env(scene, k, truth, 7) for k in range(2)]
    for env in envs:
        env.reset()
    envs[1].rng = np.random.default_rng(8)
    for _ in range(15):
        for env in envs:
            env.act()
    found = attribute(scene.recording())
    assert reasons(found) == {"identical_states": 2}
    assert found.labels.env[:2].tolist() == [-1, -1]
    assert found.labels.kind[:2].tolist() == [StepKind.RESET] * 2
    assert found.labels.env[2:].tolist() == truth.env[2:]
    assert found.labels.control_step.tolist() == truth.control_step
    assert found.substeps == 2
    assert found.equal_resets == [(0, 1)]


def test_equal_all_the_way_is_unknown_all_the_way() -> None:
    scene, _ = run(2, 20, seeds=[7, 7], length=100, noise=0.1)
    found = attribute(scene.recording())
    assert (found.labels.env == -1).all()
    assert reasons(found) == {"identical_states": len(found)}
    assert found.substeps is None
    assert (found.confidence == 0).all()
    assert found.missed_restores == []


def test_starts_without_noise_may_be_equal_and_later_episodes_are_told() -> None:
    scene, truth = run(3, 40, noise=0.0, length=9, seed=4)
    found = attribute(scene.recording())
    known = found.labels.env >= 0
    assert int((~known).sum()) == 3  # the first resets
    assert set(found.reason[~known].tolist()) == {Reason.IDENTICAL_STATES}
    np.testing.assert_array_equal(found.labels.env[known], np.array(truth.env)[known])
    np.testing.assert_array_equal(found.labels.control_step, truth.control_step)
    np.testing.assert_array_equal(
        found.labels.episode[known], np.array(truth.episode)[known]
    )


def test_one_environment_after_another_says_nothing_of_substeps() -> None:
    scene, truth = Scene(), Truth()
    envs = [Env(scene, k, truth, k) for k in range(2)]
    for env in envs:
        for _ in range(2):
            env.reset()
            for _ in range(6):
                env.act()
    found = attribute(scene.recording())
    assert found.substeps is None
    assert set(reasons(found)) == {"m_undecidable"}


def _without(recording: Recording, *names: str) -> Recording:
    for actor in recording.actors:
        for name in names:
            actor.fields.tracks.pop(name, None)
    return recording


def test_without_velocities() -> None:
    scene, _ = run(2, 5)
    found = attribute(_without(scene.recording(), "vcom"))
    assert reasons(found) == {"no_velocities": len(found)}
    assert (found.labels.env == -1).all()


def test_velocities_that_mean_something_else() -> None:
    scene, _ = run(2, 20)
    recording = scene.recording()
    for actor in recording.actors:
        track = actor.fields.tracks["vcom"]
        assert isinstance(track, Track)
        actor.fields.tracks["vcom"] = Track.of(track.values * 3 + 1)
    found = attribute(recording)
    assert reasons(found) == {"unsupported_integrator": len(found)}
    assert (found.labels.env == -1).all()
    assert any("mean velocity" in note for note in found.notes)


def test_a_step_that_is_missing_is_a_gap() -> None:
    scene, truth = run(3, 20, seed=3, length=100)
    lost = next(k for k in range(60, 90) if truth.substep[k] == 0 and truth.env[k] == 1)
    for column in (scene.h, scene.columns, scene.parents):
        del column[lost : lost + 2]  # a whole control step of environment 1
    found = attribute(scene.recording())
    env = np.delete(np.array(truth.env), [lost, lost + 1])
    np.testing.assert_array_equal(found.labels.env, env)
    (jump,) = found.jumps
    assert jump.env == 1
    after = np.flatnonzero((env == 1) & (np.arange(len(env)) >= jump.native))
    assert set(found.reason[after].tolist()) == {Reason.GAP}
    assert (found.labels.control_step[after] == -1).all()
    others = np.setdiff1d(np.arange(len(env)), after)
    assert not found.reason[others].any()


def test_a_jump_of_the_only_environment_is_not_called_a_new_one() -> None:
    scene, truth = Scene(), Truth()
    env = Env(scene, 0, truth, 0)
    env.reset()
    for _ in range(10):
        env.act()
    assert env.snapshot is not None
    env.snapshot.place += np.float32(0.25)
    for _ in range(5):
        env.act()
    found = attribute(scene.recording())
    assert found.environments == 1
    assert [j.native for j in found.jumps] == [21]
    assert set(found.reason[21:].tolist()) == {Reason.GAP}


@pytest.mark.parametrize("bodies", [[0], [0, 1]])
@pytest.mark.parametrize("envs", [1, 2])
def test_what_is_not_finite_from_a_step_on_was_not_moved(
    envs: int, bodies: list[int]
) -> None:
    scene, truth = run(envs, 20, seed=3, length=100)
    last = np.flatnonzero(np.array(truth.env) == envs - 1)
    for row in last[20:].tolist():
        for values in scene.columns[row].values():
            values[bodies] = np.nan
    found = attribute(scene.recording())
    assert found.jumps == []
    assert found.displaced_actors == {}
    assert not found.missed_restores
    kept = np.setdiff1d(np.arange(len(scene)), last[20:])
    np.testing.assert_array_equal(found.labels.env[kept], np.array(truth.env)[kept])


@pytest.mark.parametrize("envs", [1, 2])
def test_a_world_that_stopped_went_not_back(envs: int) -> None:
    # Its finite bodies stay where they are, with the velocities of the last step.
    scene, truth = run(envs, 20, seed=3, length=100)
    last = np.flatnonzero(np.array(truth.env) == envs - 1)[20:].tolist()
    kept = scene.columns[last[0]]
    for row in last:
        for name, values in scene.columns[row].items():
            values[1] = kept[name][1]
            values[0] = np.nan
    found = attribute(scene.recording())
    assert found.rewinds == []
    assert found.jumps == []
    assert found.displaced_actors == {}


def test_a_body_that_was_never_finite_hides_no_jump() -> None:
    scene, truth = Scene(bodies=3), Truth()
    env = Env(scene, 0, truth, 0)
    env.reset()
    for k in range(15):
        if k == 10:
            assert env.snapshot is not None
            env.snapshot.place += np.float32(0.25)
        env.act()
    for columns in scene.columns:
        for values in columns.values():
            values[0] = np.nan
    found = attribute(scene.recording())
    assert [j.native for j in found.jumps] == [21]


@pytest.mark.parametrize("substeps", [1, 2])
def test_a_body_that_callbacks_place_does_not_hide_the_others(substeps: int) -> None:
    def place(scene: Scene) -> None:
        scene.columns[-1]["translationCom"][0] = (5, 5, 5)

    scene, truth = Scene(bodies=3), Truth()
    scene.after_step = place
    envs = [Env(scene, k, truth, k, substeps=substeps) for k in range(3)]
    for env in envs:
        env.reset()
    for _ in range(20):
        for env in envs:
            env.act()
    found = attribute(scene.recording())
    assert found.labels.env.tolist() == truth.env
    assert found.parent.tolist() == truth.parent
    assert set(found.displaced_actors) == {0}
    assert set(reasons(found)) == {"callback_moved"}
    assert not found.unknown.any()


def test_a_body_that_moves_alike_everywhere_does_not_stand_for_the_others() -> None:
    # M = 1, and a third body falls the same way in all environments
    scene, truth = run(3, 30, substeps=1, order="rounds", seed=2, length=100, bodies=2)
    recording = scene.recording()
    rows = len(scene)
    count = np.array(truth.control_step, np.float64)
    heights = np.array([5 - 0.01 * k * k for k in range(200)], np.float32)
    place = np.zeros((rows, 3), np.float32)
    place[:, 1] = heights[count.astype(int)]
    before = np.where(count > 0, heights[np.maximum(count.astype(int) - 1, 0)], 5)
    speed = np.zeros((rows, 3), np.float32)
    speed[:, 1] = (place[:, 1] - before) / recording.steps.h_s
    body = recording.actors[1]
    body.fields.tracks["translationCom"] = Track.of(place)
    body.fields.tracks["vcom"] = Track.of(speed)
    for name in ("omega", "vsym", "rotation"):
        del body.fields.tracks[name]
    found = attribute(recording)
    assert found.labels.env.tolist() == truth.env
    assert found.parent.tolist() == truth.parent


def test_states_that_are_not_finite_are_followed() -> None:
    scene, truth = run(3, 20, seed=1, length=100)
    first = next(k for k in range(60, 90) if truth.env[k] == 2)
    for row in range(first, len(scene)):
        if truth.env[row] == 2:
            for column in scene.columns[row].values():
                column[:] = np.nan
    found = attribute(scene.recording())
    assert found.labels.env.tolist() == truth.env
    assert (found.reason[: first - 1] == 0).all()


def test_an_empty_recording() -> None:
    recording = Recording(None, "made", complete=True)
    found = attribute(recording)
    assert len(found) == 0
    assert found.environments == 0
    assert reasons(found) == {}


def test_cancelling_keeps_what_was_done() -> None:
    from isoscope.core.errors import CancelledError

    scene, _ = run(2, 10)
    attributor = Attributor(scene.recording())
    attributor.update(10)
    with pytest.raises(CancelledError, match="native step 10"):
        attributor.update(cancelled=lambda: True)
    assert len(attributor.result()) == 10


def test_an_environment_that_keeps_missing_its_restore() -> None:
    envs, rounds = 3, 15
    missed = tuple((turn, 1) for turn in range(envs * 4 + 1, envs * rounds, envs))
    scene, truth = run(envs, rounds, seed=5, length=100, missed=missed)
    found = attribute(scene.recording())
    assert found.labels.env.tolist() == truth.env
    assert [m.native for m in found.missed_restores] == [m[0] for m in truth.missed]


def test_one_environment_that_tries_out_many_branches() -> None:
    scene, truth = Scene(), Truth()
    env = Env(scene, 0, truth, 0)
    env.reset()
    rng = np.random.default_rng(0)
    saved = [env.snapshot]
    tried = 0
    for k in range(200):
        if k % 7 == 6:
            chosen = saved[int(rng.integers(len(saved) - 1))]
            assert chosen is not None
            env.snapshot = chosen.copy()
            tried += 1
        env.act()
        saved.append(env.snapshot)
    found = attribute(scene.recording())
    assert found.environments == 1
    assert (found.labels.env == 0).all()
    assert found.parent.tolist() == truth.parent
    assert found.missed_restores == []
    assert len(found.rewinds) == tried
    for seen in found.rewinds:
        assert seen.to_native == truth.parent[seen.native]
        assert seen.left_native == seen.native - 1


def test_a_restore_missed_in_the_very_first_step() -> None:
    scene, truth = run(2, 20, seed=5, length=100, missed=((0, 0),))
    found = attribute(scene.recording())
    assert found.labels.env.tolist() == truth.env
    assert [m.native for m in found.missed_restores] == [2]


@pytest.mark.parametrize("envs", [1, 3])
def test_environments_that_are_reset_twice_at_first(envs: int) -> None:
    scene, truth = Scene(), Truth()
    made = [Env(scene, k, truth, k) for k in range(envs)]
    for env in [*made, *made]:
        env.reset()
    for _ in range(15):
        for env in made:
            env.act()
    found = attribute(scene.recording())
    assert found.labels.env.tolist() == truth.env
    assert found.labels.episode.tolist() == truth.episode


def test_an_environment_that_is_never_stepped_is_one_all_the_same() -> None:
    scene, truth = Scene(), Truth()
    made = [Env(scene, k, truth, k) for k in range(4)]
    for env in made:
        env.reset()
    for _ in range(40):
        for env in (made[0], made[1], made[3]):
            env.act()
    found = attribute(scene.recording())
    assert found.labels.env.tolist() == truth.env
    assert found.environments == 4


def test_two_that_may_have_taken_either_state_stay_apart() -> None:
    # Both miss in one round of a shuffled order: which is which, nothing shows.
    from tests.core.attribution.shared_scene import turns

    planned = turns("rounds", 4, 20, np.random.default_rng(21))
    low = 40
    missed = tuple((low + k, planned[low + k]) for k in (1, 3))
    scene, truth = run(4, 20, order="rounds", seed=21, length=100, missed=missed)
    if len(truth.missed) != 2:
        pytest.skip("one of them did not take anybody's state")
    found = attribute(scene.recording())
    linked = found.linked
    assert (found.labels.env[linked] == np.array(truth.env)[linked]).all()
    loose = {m.native for m in found.missed_restores if not m.linked}
    assert loose == {m[0] for m in truth.missed}
    assert (found.labels.env[~linked] >= 4).all()
