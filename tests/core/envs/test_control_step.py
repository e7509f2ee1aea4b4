"""The control step: its order, its flags, what it refuses, what it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.core.envs.errors import ActionError, NotResetError, SnapshotLostError
from isoscope.core.envs.stages import Stages, WrappedStages
from tests.core.envs.making import env, rails

if TYPE_CHECKING:
    from isoscope.core.envs.lanes import LaneGroup

KINDS = ("shared", "independent")


def act(value: float) -> np.ndarray[Any, Any]:
    return np.array([value], np.float32)


class Noting(WrappedStages):
    """Writes down which stage runs, and the force that a native step begins with."""

    def __init__(self) -> None:
        super().__init__(Stages())
        self.notes: list[str] = []

    def clip(self, lanes: LaneGroup, action: Any) -> Any:
        self.notes.append("clip")
        return super().clip(lanes, action)

    def restore(self, lanes: LaneGroup) -> None:
        self.notes.append("restore")
        super().restore(lanes)

    def apply(self, lanes: LaneGroup, action: Any, substep: int) -> None:
        self.notes.append(f"apply {substep} {float(action[0, 0])}")
        super().apply(lanes, action, substep)

    def step(self, lanes: LaneGroup, substep: int) -> Any:
        self.notes.append(f"step {substep}")
        return super().step(lanes, substep)

    def capture(self, lanes: LaneGroup) -> None:
        self.notes.append("capture")
        super().capture(lanes)

    def observe(self, lanes: LaneGroup) -> Any:
        self.notes.append(f"observe {int(lanes.count[0])}")
        return super().observe(lanes)

    def reward(self, lanes: LaneGroup, action: Any, seen: Any) -> Any:
        self.notes.append("reward")
        return super().reward(lanes, action, seen)

    def stop(self, lanes: LaneGroup, seen: Any) -> Any:
        self.notes.append("stop")
        return super().stop(lanes, seen)


def test_stages_run_in_the_order_of_the_lab() -> None:
    stages = Noting()
    one = env(stages=stages)
    one.reset(seed=1)
    assert stages.notes == ["observe 0"]
    stages.notes.clear()
    one.step(act(7.0))
    assert stages.notes == [
        "clip",
        "restore",
        "apply 0 3.0",
        "step 0",
        "apply 1 3.0",
        "step 1",
        "capture",
        "observe 1",
        "reward",
        "stop",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_control_step_is_m_native_steps_of_h(kind: str) -> None:
    one = env(scene=kind, simulation_hz=100)
    one.reset(seed=1)
    assert one.scene.time_s[0] == 1e-5
    taken: list[float] = []
    one.scene.on_recorded(lambda scene, h: taken.append(h))
    one.step(act(0.0))
    assert taken == [0.01] * 4
    assert one.scene.time_s[0] == pytest.approx(1e-5 + 0.04, abs=1e-15)


def test_the_observation_is_flat_float32_in_key_order() -> None:
    one = env()
    one.reset(seed=3)
    observation, *_ = one.step(act(1.0))
    q, v = rails(one).positions(0)[0], rails(one).velocities(0)[0]
    expected = np.array([v[1], v[0], q[0], q[1]]).astype(np.float32)
    assert observation.dtype == np.float32
    assert observation.tobytes() == expected.tobytes()
    assert one.task.observation.labels == (
        "angular_vel",
        "linear_vel",
        "position",
        "vertical_ang",
    )


def test_the_raw_action_is_kept_beside_the_clipped_one() -> None:
    one = env()
    one.reset(seed=1)
    action = act(5.0)
    one.step(action)
    action[:] = 9.0
    last = one.last_step()
    assert last is not None
    assert (last.raw_action[0], last.clipped_action[0]) == (5.0, 3.0)


def test_a_last_step_is_owned_and_stays_what_it_was() -> None:
    one = env()
    before, _ = one.reset(seed=1)
    assert one.last_step() is None
    after, reward, *_, info = one.step(act(1.0))
    last = one.last_step()
    assert last is not None
    kept = last.observation_after.copy()
    assert np.array_equal(last.observation_before, before)
    assert np.array_equal(last.observation_after, after)
    assert last.reward == reward == sum(last.reward_terms.values())
    assert last.reward_terms == info["reward_terms"]
    assert (last.episode, last.control_step, last.valid) == (1, 1, True)
    assert last.status == (0, 0)
    after[:] = 0.0
    one.step(act(-1.0))
    assert np.array_equal(last.observation_after, kept)
    last.observation_after[:] = 0.0
    again = one.last_step()
    assert again is not None
    assert np.array_equal(again.observation_before, kept)


@pytest.mark.parametrize("kind", KINDS)
def test_truncation_is_an_equality_test_on_the_count(kind: str) -> None:
    one = env(scene=kind, max_steps=3, reset_noise=0.0, upright_rad=9e9)
    one.reset(seed=1)
    ends = [one.step(act(0.0))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    last = one.last_step()
    assert last is not None
    assert last.truncated_reasons == ("time limit",)
    assert last.terminated_reasons == ()


def test_minus_one_is_no_limit() -> None:
    one = env(max_steps=-1, upright_rad=9e9)
    one.reset(seed=1)
    assert not any(any(one.step(act(0.0))[2:4]) for _ in range(30))


def test_both_flags_may_be_true() -> None:
    one = env(max_steps=1, upright_rad=0.0)
    one.reset(seed=1)
    *_, terminated, truncated, info = one.step(act(0.0))
    assert terminated
    assert truncated
    assert info["terminated_reason"] == "pole angle exceeded threshold"
    assert info["truncated_reason"] == "time limit"


def test_stepping_after_the_end_is_refused_until_a_reset() -> None:
    one = env(max_steps=1)
    with pytest.raises(NotResetError, match="reset"):
        one.step(act(0.0))
    one.reset(seed=1)
    one.step(act(0.0))
    before = rails(one).positions(0).copy()
    with pytest.raises(NotResetError, match="env 0"):
        one.step(act(0.0))
    assert np.array_equal(before, rails(one).positions(0))
    one.reset()
    one.step(act(0.0))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_action_that_is_not_finite_is_refused_untouched(bad: float) -> None:
    one = env()
    one.reset(seed=1)
    state = one.capture()
    with pytest.raises(ActionError, match="not finite"):
        one.step(act(bad))
    assert one.capture() == state
    one.step(act(0.0))


@pytest.mark.parametrize("kind", KINDS)
def test_or_it_invalidates_the_transition(kind: str) -> None:
    one = env(scene=kind, on_nonfinite="invalidate")
    one.reset(seed=1)
    before = rails(one).positions(0).copy()
    *_, terminated, truncated, info = one.step(act(np.nan))
    assert np.array_equal(before, rails(one).positions(0))
    assert (terminated, truncated, info["valid"]) == (False, True, False)
    assert info["truncated_reason"] == "non-finite action"
    last = one.last_step()
    assert last is not None
    assert np.isnan(last.raw_action[0])
    assert np.isnan(last.clipped_action[0])
    with pytest.raises(NotResetError):
        one.step(act(0.0))


def test_an_action_of_another_shape_is_refused() -> None:
    one = env()
    one.reset(seed=1)
    with pytest.raises(ActionError, match=r"\(2,\).*give \(1,\)"):
        one.step(np.zeros(2, np.float32))
    with pytest.raises(ActionError, match="no array of 1 numbers"):
        one.step("left")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_an_invalid_world_is_marked_kept_and_must_be_reset(kind: str) -> None:
    one = env(scene=kind, force_scale_n=1e12)
    one.reset(seed=1)
    observation, _, terminated, truncated, info = one.step(act(1.0))
    assert (terminated, truncated, info["valid"]) == (False, True, False)
    assert info["truncated_reason"] == "invalid state"
    last = one.last_step()
    assert last is not None
    assert not last.valid
    assert not last.terminated_reasons  # of a state that is none
    assert 2 in last.status
    assert np.array_equal(last.observation_after, observation, equal_nan=True)
    with pytest.raises(NotResetError):
        one.step(act(0.0))
    _, info = one.reset()
    assert info["valid"]
    assert one.step(act(0.0))[4]["valid"]


class Failing(WrappedStages):
    def apply(self, lanes: LaneGroup, action: Any, substep: int) -> None:
        if substep == 1 and bool(lanes.at(0, 1, 3).any()):
            raise ValueError("a user's own error")
        super().apply(lanes, action, substep)


@pytest.mark.parametrize("kind", KINDS)
def test_an_exception_inside_leaves_only_that_environment_to_be_reset(
    kind: str,
) -> None:
    bad, good = env(scene=kind, stages=Failing(Stages())), env(scene=kind, env_id=1)
    twin = env(scene="independent", env_id=2)
    for one in (bad, good, twin):
        one.reset(seed=1)
    for k in range(4):
        if k == 2:
            with pytest.raises(ValueError, match="own error"):
                bad.step(act(1.0))
        elif k < 2:
            bad.step(act(1.0))
        else:
            with pytest.raises(NotResetError, match="half-way"):
                bad.step(act(1.0))
        assert np.array_equal(good.step(act(1.0))[0], twin.step(act(1.0))[0])
    first, _ = bad.reset(seed=1)
    assert np.array_equal(first, twin.reset(seed=1)[0])


class Losing(WrappedStages):
    def restore(self, lanes: LaneGroup) -> None:
        if bool(lanes.at(0, 1, 2).any()):
            lanes.close()
        super().restore(lanes)


def test_a_lost_snapshot_is_said_until_a_reset() -> None:
    one, other = env(stages=Losing(Stages())), env(env_id=1)
    one.reset(seed=1)
    other.reset(seed=2)
    one.step(act(0.0))
    with pytest.raises(SnapshotLostError, match="reset it"):
        one.step(act(0.0))
    other.step(act(0.0))
    with pytest.raises(SnapshotLostError):
        one.read(0, "translation")
    one.reset()
    one.step(act(0.0))


def test_whose_step_it_is_can_be_asked_from_a_callback() -> None:
    one, other = env(), env(env_id=1)
    seen: list[tuple[int, str, int, int, int]] = []

    def look(scene: Any, h: float) -> None:
        lanes = one.lanes.handle.stepping
        assert lanes is not None
        assert lanes.place is not None
        place = lanes.place
        episode, k = int(place.episode[0]), int(place.control_step[0])
        seen.append((place.envs[0], place.kind, episode, k, place.substep))

    one.scene.on_recorded(look)
    one.reset(seed=1)
    other.reset(seed=2)
    one.step(act(0.0))
    other.step(act(0.0))
    one.reset()
    assert seen == [
        (0, "reset", 1, 0, 0),
        (1, "reset", 1, 0, 0),
        (0, "substep", 1, 1, 0),
        (0, "substep", 1, 1, 1),
        (1, "substep", 1, 1, 0),
        (1, "substep", 1, 1, 1),
        (0, "reset", 2, 0, 0),
    ]
    assert one.lanes.handle.stepping is None
    assert one.lanes.place is None


def test_listeners_get_each_control_step_and_each_reset() -> None:
    one = env()
    steps: list[Any] = []
    resets: list[Any] = []
    one.lanes.control_stepped.connect(lambda lanes, step: steps.append(step))
    one.lanes.was_reset.connect(lambda lanes, worlds: resets.append(worlds))
    one.reset(seed=1)
    one.step(act(2.0))
    assert resets == [None]
    assert [float(s.clipped[0, 0]) for s in steps] == [2.0]
