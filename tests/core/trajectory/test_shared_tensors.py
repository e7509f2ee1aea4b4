"""What a step shares with its halves, or makes late, so that chunks stay cheap."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from isoscope.core.trajectory import EnvTransition, Trajectory, TrajectoryStep
from isoscope.core.trajectory import rewards as reward_rules
from isoscope.core.trajectory.errors import TrajectoryValueError
from tests.core.trajectory import runs
from tests.core.trajectory.runs import config, env, flags, items, key, policy

PLAIN: dict[str, Any] = {
    "env_reward_weight": 1.0,
    "reward_weight": 2.0,
    "auto_reset": True,
    "bootstrap_type": "standard",
    "gamma": 0.5,
}


def test_flags_that_nobody_set_are_each_step_s_own_once_they_are_read() -> None:
    steps = [TrajectoryStep(actions=torch.ones(2, 3)) for _ in range(2)]
    first, second = (step.intervene_flags for step in steps)
    assert first is not None
    assert second is not None
    assert first.dtype is torch.bool
    first[0, 0] = True
    assert steps[0].intervene_flags is first
    assert not second.any()
    stacked = Trajectory.from_steps(steps).intervene_flags
    assert stacked is not None
    assert stacked.nonzero().tolist() == [[0, 0, 0]]


def test_a_trajectory_s_flags_are_its_own() -> None:
    found = [
        Trajectory.from_steps([TrajectoryStep(actions=torch.ones(2, 3))])
        for _ in range(2)
    ]
    left, right = (trajectory.intervene_flags for trajectory in found)
    assert left is not None
    assert right is not None
    left[:] = True
    assert not right.any()
    again = Trajectory.from_steps([TrajectoryStep(actions=torch.ones(2, 3))])
    assert again.intervene_flags is not None
    assert not again.intervene_flags.any()


def test_flags_of_some_chunks_only_leave_the_others_unflagged() -> None:
    expert = {"intervene_actions": torch.zeros(1, 1), "intervene_flags": flags([True])}
    for order in ((0, 1), (1, 0)):
        made = runs.collector(config(chunks=2))
        (found,) = (
            item
            for chunk in order
            for item in items(
                made, policy(key(chunk)), env(key(chunk), **(expert if chunk else {}))
            )
        )
        assert found.intervene_flags.flatten().tolist() == [False, True]


def test_without_actions_there_are_no_flags() -> None:
    step = TrajectoryStep(rewards=torch.ones(1, 1))
    assert step.intervene_flags is None
    assert Trajectory.from_steps([step]).intervene_flags is None
    flagged = TrajectoryStep(rewards=torch.ones(1, 1), intervene_flags=flags([True]))
    with pytest.raises(TrajectoryValueError, match="stacking intervene_flags"):
        Trajectory.from_steps([step, flagged])


def test_a_step_has_no_attribute_that_nobody_declared() -> None:
    with pytest.raises(AttributeError, match="a TrajectoryStep has no entropy"):
        TrajectoryStep().entropy  # type: ignore[attr-defined]  # that is the point  # noqa: B018


def test_composed_rewards_are_fresh_unless_nobody_writes_into_them() -> None:
    plain = EnvTransition(rewards=torch.ones(2, 1))
    fresh = reward_rules.compute(plain, None, **PLAIN)
    assert fresh is not plain.rewards
    assert reward_rules.compute(plain, None, **PLAIN, fresh=False) is plain.rewards


def test_completed_rewards_leave_the_transition_as_it_was() -> None:
    cut = flags([True], [False])
    transition = EnvTransition(
        rewards=torch.ones(2, 1), dones=cut, truncations=cut.clone()
    )
    values = torch.full((2, 1), 4.0)
    found = reward_rules.compute(transition, values, **PLAIN, fresh=False)
    assert found is not None
    assert found.tolist() == [[3], [1]]
    assert transition.rewards is not None
    assert transition.rewards.tolist() == [[1], [1]]


def test_delayed_rewards_leave_the_parts_as_they_were() -> None:
    cfg = config(chunks=2, auto_reset=False, reward={"reward_weight": 2.0})
    made = runs.collector(cfg)
    early = env(key(0))
    late = env(
        key(1),
        reward_model_output=torch.full((1, 1), 3.0),
        reward_assign_lengths=[2],
    )
    (found,) = items(made, policy(key(0)), early, policy(key(1)), late)
    assert found.rewards.flatten().tolist() == [7, 7]
    assert early.transition.rewards.tolist() == [[1]]
    assert late.transition.rewards.tolist() == [[1]]
