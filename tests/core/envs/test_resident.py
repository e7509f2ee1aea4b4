"""Resident batches: autoreset by the rules, and nothing read that nobody looks at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoscope.core.envs.errors import ActionError, NotResetError, SceneClosedError
from isoscope.core.envs.lazy import OnDevice
from isoscope.core.errors import UsageError
from tests.core.envs.making import batch, env, rails

ZERO = np.zeros((3, 1), np.float32)


def test_next_step_rows_after_the_end_only_reset() -> None:
    many = batch(max_steps=2)
    many.reset(seed=1)
    many.step(ZERO)
    *_, truncated, info = many.step(ZERO)
    assert truncated.all()
    assert info["transition"].all()
    count = rails(many).time_s.copy()
    observation, reward, terminated, truncated, info = many.step(ZERO + 3.0)
    assert not reward.any()
    assert not np.logical_or(terminated, truncated).any()
    assert not info["transition"].any()
    assert not info["_reward_terms"].any()
    assert info["control_step"].tolist() == [0, 0, 0]
    assert (count > rails(many).time_s).all()
    assert np.array_equal(observation, rails(many).to_host(many.lanes.observation, ""))


def test_same_step_gives_the_last_observation_apart() -> None:
    many = batch(max_steps=2, autoreset_mode="SameStep")
    many.reset(seed=1)
    *_, info = many.step(ZERO)
    assert "final_obs" not in info
    observation, _, _, truncated, info = many.step(ZERO)
    assert truncated.all()
    assert info["_final_obs"].all()
    assert not np.equal(observation[0], info["final_obs"][0]).any()
    assert info["final_info"]["valid"].all()
    assert info["final_info"]["reward_terms"]["upright_reward"].tolist() == [1.0] * 3
    # What stands under an unset mask is no step's value.
    assert not info["reward_terms"]["_upright_reward"].any()
    assert info["reward_terms"]["upright_reward"].tolist() == [0.0] * 3
    last = many.last_step(0)
    assert last is not None
    assert np.array_equal(last.observation_after, info["final_obs"][0])


def test_disabled_leaves_the_reset_to_the_caller() -> None:
    many = batch(max_steps=2, autoreset_mode="Disabled")
    many.reset(seed=1)
    many.step(ZERO)
    many.step(ZERO)
    with pytest.raises(NotResetError, match="env 0, 1, 2"):
        many.step(ZERO)
    mask = np.array([True, False, True])
    before = many.lanes.observation.copy()
    observation, info = many.reset(options={"reset_mask": mask})
    assert np.array_equal(observation[1], before[1])
    assert info["_valid"].tolist() == mask.tolist()
    with pytest.raises(NotResetError, match="env 1:"):
        many.step(ZERO)
    many.reset(options={"reset_mask": ~mask})
    many.step(ZERO)


@pytest.mark.parametrize(
    "mask", [[True] * 3, np.zeros(3, np.bool_), np.ones(3), np.ones(4, np.bool_)]
)
def test_masks_that_are_none_are_refused(mask: Any) -> None:
    many = batch()
    with pytest.raises(UsageError, match="reset_mask"):
        many.reset(options={"reset_mask": mask})


def test_a_loop_that_never_looks_causes_no_crossing() -> None:
    many = batch("Pusher", n=4, results="lazy", ahead=64, max_steps=3)
    many.reset(seed=1)
    scene = rails(many)
    action = np.zeros((4, 2), np.float32)
    device = scene.to_device(action, "test")
    scene.crossings.clear()
    for _ in range(30):
        many.step_device(device)
    # the host's own arrays are looked at for actions that are not finite
    assert {cause for cause, _ in scene.crossings} <= {"finite actions"}
    scene.crossings.clear()
    results = many.step(device)
    assert all(isinstance(r, OnDevice) and not r.looked_at for r in results[:4])
    assert {cause for cause, _ in scene.crossings} <= {"finite actions"}
    scene.crossings.clear()
    rewards = np.asarray(results[1])
    assert np.array_equal(rewards, results[1].numpy())
    assert scene.crossings == [("reward", rewards.nbytes)]


def test_lazy_results_are_the_same_numbers() -> None:
    lazy, plain = (
        batch(results=r, max_steps=2, autoreset_mode="SameStep")
        for r in ("lazy", "numpy")
    )
    first, _ = lazy.reset(seed=1)
    assert np.array_equal(first, plain.reset(seed=1)[0])
    for _ in range(4):
        a, b = lazy.step(ZERO), plain.step(ZERO)
        for x, y in zip(a[:4], b[:4], strict=True):
            assert np.array_equal(np.asarray(x), y)
        mask = np.asarray(a[4].get("_final_obs", np.zeros(3, np.bool_)))
        for i in np.flatnonzero(mask):
            assert np.array_equal(a[4]["final_obs"][i], b[4]["final_obs"][i])
        for key in ("_final_info", "_final_obs"):
            assert np.array_equal(np.asarray(a[4].get(key, False)).any(), key in b[4])
        if "_final_info" in b[4]:
            own, theirs = (told["final_info"]["reward_terms"] for told in (a[4], b[4]))
            for name, values in theirs.items():
                assert np.array_equal(np.asarray(own[name]), values)


def test_a_lazy_result_is_an_array_to_numpy() -> None:
    scene = rails(env())
    one = OnDevice(np.arange(3.0), scene, "test")
    assert (len(one), one.shape, one[1], list(one)) == (3, (3,), 1.0, [0.0, 1.0, 2.0])
    assert np.add(one, 1.0).tolist() == [1.0, 2.0, 3.0]
    assert np.asarray(one, np.float32).dtype == np.float32
    assert scene.crossings == [("test", 24)]
    assert "looked_at=True" in repr(one)


def test_what_one_holds_does_not_change_when_the_batch_goes_on() -> None:
    many = batch(results="lazy")
    first, _ = many.reset(seed=1)
    kept = many.lanes.observation.copy()
    many.step(ZERO + 3.0)
    assert np.array_equal(first.numpy(), kept)


def test_seeds_are_expanded_once_or_taken_as_they_are() -> None:
    many = batch()
    by_int, _ = many.reset(seed=5)
    by_list, _ = many.reset(seed=[5, 6, 7])
    assert np.array_equal(by_int, by_list)
    assert [s.seed for s in many.lanes.streams] == [5, 6, 7]
    assert np.array_equal(batch(seed=5).reset()[0], by_int)
    with pytest.raises(UsageError, match="2 seeds for 3"):
        many.reset(seed=[1, 2])


def test_a_reset_without_a_seed_goes_on_with_the_streams() -> None:
    many, one = batch(), env(scene="independent")
    many.reset(seed=5)
    one.reset(seed=6)
    assert np.array_equal(many.reset()[0][1], one.reset()[0])


def test_bad_batches_and_actions_are_refused() -> None:
    with pytest.raises(UsageError, match="0 environments"):
        batch(n=0)
    many = batch()
    with pytest.raises(NotResetError):
        many.step(ZERO)
    many.reset(seed=1)
    with pytest.raises(ActionError, match=r"\(3,\).*give \(3, 1\)"):
        many.step(np.zeros(3, np.float32))
    with pytest.raises(ActionError, match=r"no array of \(3, 1\)"):
        many.step([[0.0], [0.0, 1.0], [0.0]])
    bad = ZERO.copy()
    bad[1] = np.nan
    state = many.capture()
    with pytest.raises(ActionError, match="env 1:"):
        many.step(bad)
    assert many.capture() == state
    many.close()
    with pytest.raises(SceneClosedError):
        many.reset()


def test_a_row_that_only_resets_may_have_any_action() -> None:
    many = batch(max_steps=1)
    many.reset(seed=1)
    many.step(ZERO)
    many.step(ZERO * np.nan)


def test_a_last_step_of_a_row_that_was_reset_is_none() -> None:
    many = batch(max_steps=1)
    many.reset(seed=1)
    assert many.last_step(0) is None
    many.step(ZERO + 9.0)
    last = many.last_step(2)
    assert last is not None
    assert (last.env, last.raw_action[0], last.clipped_action[0]) == (2, 9.0, 3.0)
    many.step(ZERO)
    assert many.last_step(2) is None
