"""Chunks on vector environments, in every way that they reset themselves."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.making import make_envs
from isoscope.core.collection.slots import SlotRunner
from isoscope.core.collection.spaces import (
    ActionSpec,
    as_observation,
    chunk_of,
    replaced_rows,
)
from tests.core.collection.known import Counting, NativeCounting, counting_envs

MODES = list(AutoresetMode)
T, F = True, False


def chunks_of(runner: SlotRunner, count: int, size: int = 4) -> list[Any]:
    """Run some chunks; the action's number is 10 times the chunk and the slot."""
    runner.reset(seed=1)
    runs = []
    for number in range(count):
        slots = np.arange(size, dtype=float) + 10 * number
        runs.append(runner.run(np.tile(slots[None, :, None], (runner.num_envs, 1, 1))))
    return runs


@pytest.mark.parametrize("mode", MODES)
def test_an_episode_that_ends_in_a_chunk_leaves_the_rest_of_it(
    mode: AutoresetMode,
) -> None:
    runner = SlotRunner(counting_envs([6, 100], mode))
    first, second, third = chunks_of(runner, 3)
    assert first.valid.all()
    assert second.valid.tolist() == [[T, T, F, F], [T, T, T, T]]
    assert second.terminated.tolist() == [[F, T, F, F], [F] * 4]
    assert second.rewards.tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]
    assert second.last.tolist() == [[0, 6], [0, 8]]  # the end of what was going on
    # whatever the environment does by itself, the next episode begins with a chunk
    assert second.next[0, 1] == 0
    assert third.before[0].tolist() == second.next.tolist()
    assert third.valid.all()
    assert third.last[0, 1] == 4
    assert runner.episodes.returns == [6.0]
    assert runner.episodes.lengths == [6]


@pytest.mark.parametrize("mode", MODES)
def test_an_end_in_the_last_slot_costs_no_slot(mode: AutoresetMode) -> None:
    runner = SlotRunner(counting_envs([4, 8], mode))
    runs = chunks_of(runner, 4)
    assert all(run.valid.all() for run in runs)
    assert not any(run.void.any() for run in runs)
    assert [bool(run.ended[0]) for run in runs] == [T] * 4
    assert [run.last[0].tolist() for run in runs] == [[n, 4] for n in range(4)]
    assert [run.next[0].tolist() for run in runs] == [[n, 0] for n in range(1, 5)]
    assert runner.episodes.returns == [4, 4, 8, 4, 4, 8]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_without_resets_by_mask_an_episode_goes_on_unrecorded(
    mode: AutoresetMode,
) -> None:
    runner = SlotRunner(NativeCounting([6, 100], mode))
    assert not runner.by_mask
    _, second, third = chunks_of(runner, 3)
    assert second.valid.tolist() == [[T, T, F, F], [T, T, T, T]]
    assert second.last[0].tolist() == [0, 6]
    taken = 1 if mode is AutoresetMode.NEXT_STEP else 2  # of the new episode already
    assert second.next[0].tolist() == [1, taken]
    assert third.valid.all()


def test_a_reset_that_fills_the_next_chunk_makes_it_void() -> None:
    runner = SlotRunner(NativeCounting([4, 100], AutoresetMode.NEXT_STEP))
    first, second, third = chunks_of(runner, 3)
    assert first.ended.tolist() == [T, F]
    assert first.next[0].tolist() == [0, 4]  # still the end of the old episode
    assert second.void.tolist() == [T, F]
    assert second.valid.tolist() == [[F] * 4, [T] * 4]
    assert second.last[0].tolist() == [0, 4]
    assert not second.ended[0]
    assert second.next[0].tolist() == [1, 3]
    assert third.valid[0].tolist() == [T, F, F, F]  # 4 steps, 3 of them unrecorded
    assert runner.episodes.returns == [4.0, 4.0]  # all rewards of an episode count


@pytest.mark.parametrize("mode", MODES)
def test_without_auto_reset_an_environment_rests(mode: AutoresetMode) -> None:
    runner = SlotRunner(counting_envs([6, 100], mode), auto_reset=False)
    _, second, third = chunks_of(runner, 3)
    assert second.valid.tolist() == [[T, T, F, F], [T, T, T, T]]
    assert third.valid.tolist() == [[F] * 4, [T] * 4]
    assert third.rewards[0].tolist() == [0] * 4
    assert second.next[0].tolist() == third.next[0].tolist() == [0, 6]
    assert not third.ended.any()
    assert runner.episodes.returns == [6.0]
    again = runner.reset()
    assert again[0, 1] == 0
    assert runner.run(np.zeros((2, 4, 1))).valid.all()


@pytest.mark.parametrize("mode", MODES)
def test_environments_in_processes_are_the_same(mode: AutoresetMode) -> None:
    envs: Any = AsyncVectorEnv(
        [lambda: Counting(6), lambda: Counting(5)], autoreset_mode=mode
    )
    try:
        there = chunks_of(SlotRunner(envs), 3)
    finally:
        envs.close()
    here = chunks_of(SlotRunner(counting_envs([6, 5], mode)), 3)
    for one, other in zip(there, here, strict=True):
        assert np.array_equal(one.valid, other.valid)
        assert np.array_equal(one.last, other.last)
        assert np.array_equal(one.next, other.next)
        assert np.array_equal(one.rewards, other.rewards)


def test_the_info_is_that_of_an_episodes_own_step() -> None:
    runner = SlotRunner(counting_envs([2, 100], AutoresetMode.SAME_STEP))
    (run,) = chunks_of(runner, 1)
    assert run.infos[1]["success"].tolist() == [T, F]
    assert run.infos[1]["step"].tolist() == [2, 2]
    assert "final_info" not in run.infos[1]


def test_actions_arrive_as_they_were_given() -> None:
    envs = counting_envs([100])
    chunks_of(SlotRunner(envs), 2)
    assert envs.envs[0].unwrapped.actions == [0, 1, 2, 3, 10, 11, 12, 13]  # type: ignore[attr-defined]  # ours


def test_what_does_not_fit_is_refused() -> None:
    runner = SlotRunner(counting_envs([5, 5]))
    with pytest.raises(CollectionError, match="were not reset"):
        runner.run(np.zeros((2, 4, 1)))
    runner.reset()
    with pytest.raises(CollectionError, match="actions for 3 environments, and 2"):
        runner.run(np.zeros((3, 4, 1)))


# -- spaces ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "actions", "taken"),
    [
        (spaces.Discrete(3), [[2.0], [0.0]], [2, 0]),
        (spaces.Discrete(2, start=-1), [[1.0], [0.0]], [0, -1]),
        (spaces.MultiDiscrete([2, 5]), [[1.0, 4.0]], [[1, 4]]),
        (spaces.MultiBinary(2), [[1.0, 0.0]], [[1, 0]]),
        (spaces.Box(-1, 1, (2, 1)), [[0.5, -2.0]], [[[0.5], [-2.0]]]),
    ],
)
def test_actions_become_what_a_space_takes(
    space: Any, actions: Any, taken: Any
) -> None:
    spec = ActionSpec.of(space)
    given = spec.to_environment(np.array(actions))
    assert given.tolist() == taken
    assert given.dtype == space.dtype


@pytest.mark.parametrize("number", [2.0, -1.0, 0.5, float("nan")])
def test_a_number_that_is_no_choice_is_refused(number: float) -> None:
    spec = ActionSpec.of(spaces.Discrete(2))
    with pytest.raises(CollectionError, match=r"in row 1 is .*from 0 to 1"):
        spec.to_environment(np.array([[1.0], [number]]))


def test_another_space_is_refused() -> None:
    with pytest.raises(CollectionError, match="Text is not supported"):
        ActionSpec.of(spaces.Text(3))


def test_chunks_come_flat_or_not() -> None:
    spec = ActionSpec(width=2)
    assert chunk_of(np.zeros((3, 8)), 4, spec).shape == (3, 4, 2)
    assert chunk_of(np.zeros((3, 4, 2)), 4, spec).shape == (3, 4, 2)
    for shape in [(3, 7), (8,), (0, 8)]:
        with pytest.raises(CollectionError, match="give"):
            chunk_of(np.zeros(shape), 4, spec)


def test_observations_become_dicts_of_tensors() -> None:
    flat = as_observation(np.zeros((2, 3)), ["a", "b"])
    assert flat["states"].dtype.is_floating_point
    assert flat["task_descriptions"] == ["a", "b"]
    nested = as_observation(
        {"x": np.zeros(2, np.int64), "deep": ({"y": np.zeros((2, 2), np.uint8)},)}
    )
    assert nested["x"].shape == (2, 1)
    assert nested["deep"]["0"]["y"].shape == (2, 2)
    with pytest.raises(CollectionError, match="only numbers can be collected"):
        as_observation(np.array(["text"]))


def test_rows_are_replaced_in_nested_observations() -> None:
    rows = np.array([T, F])
    one: Any = {"a": np.zeros(2), "b": (np.zeros((2, 1)),)}
    other = {"a": np.ones(2), "b": (np.ones((2, 1)),)}
    mixed = replaced_rows(one, rows, other)
    assert mixed["a"].tolist() == [1, 0]
    assert mixed["b"][0].tolist() == [[1], [0]]
    assert one["a"].tolist() == [0, 0]


class Failing(Counting):
    """Raises in its third step."""

    def step(self, action: Any) -> Any:
        if self.steps == 2:
            raise RuntimeError("motor 3\nis on fire")
        return super().step(action)


def test_what_an_environment_raises_is_told_as_its_own() -> None:
    runner = SlotRunner(SyncVectorEnv([lambda: Failing(9)]), auto_reset=True)
    runner.reset(0)
    with pytest.raises(CollectionError) as caught:
        runner.run(np.zeros((1, 4, 1)))
    assert re.fullmatch(
        r"stepping the environments: they failed with RuntimeError "
        r"\(test_slots\.py:\d+\): motor 3 is on fire",
        str(caught.value),
    )
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_an_environment_that_can_t_be_made_or_reset_is_told_as_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: Any, *given: Any, **more: Any) -> Any:
        raise OSError("no licence")

    runner = SlotRunner(SyncVectorEnv([Counting]), auto_reset=True)
    monkeypatch.setattr(Counting, "reset", broken)
    with pytest.raises(CollectionError, match=r"resetting .*OSError .*no licence"):
        runner.reset(0)
    monkeypatch.setattr(CartPoleEnv, "__init__", broken)
    with pytest.raises(CollectionError, match=r"making 2 .*CartPole-v1.*no licence"):
        make_envs("CartPole-v1", 2)
