"""Shapes and types beside those of the recorded cases: refused by name, at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from isoscope.core.trajectory import (
    EnvTransition,
    Field,
    Owner,
    Trajectory,
    TrajectorySource,
    TrajectoryStep,
)
from isoscope.core.trajectory.errors import (
    TrajectoryIndexError,
    TrajectoryRuntimeError,
    TrajectoryTypeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.fields import declared
from isoscope.core.trajectory.interventions import reference_chunk
from isoscope.core.trajectory.preprocess import calculate_adv_and_returns
from tests.core.trajectory.runs import collector, config, env, items, key, policy


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (torch.ones(2, 2), TrajectoryIndexError),  # as many numbers, other rows
        (torch.ones(1, 1), TrajectoryIndexError),
        (torch.tensor(1.0), TrajectoryIndexError),
        (torch.ones(4, 2), TrajectoryRuntimeError),
        (np.ones((4, 1)), TrajectoryTypeError),
    ],
)
def test_bootstrap_values_are_one_a_row(values: Any, kind: type[Exception]) -> None:
    ended = torch.ones(4, 1, dtype=torch.bool)
    cut = EnvTransition(rewards=torch.ones(4, 1), dones=ended, truncations=ended)
    with pytest.raises(kind, match=r"bootstrap values .*give"):
        cut.compute_rewards(values, 1.0, 1.0, True, "standard", 0.5)


def test_a_field_of_other_environments_is_not_split() -> None:
    odd = Trajectory(actions=torch.ones(2, 4, 1), rewards=torch.ones(2, 3, 1))
    with pytest.raises(TrajectoryRuntimeError, match=r"rewards is \[2, 3, 1\] for 4"):
        odd.split(2)
    flat = Trajectory(actions=torch.ones(2, 4, 1), rewards=torch.ones(4))
    with pytest.raises(TrajectoryRuntimeError, match=r"rewards is \[4\]"):
        flat.split([4])


def test_trajectories_of_other_lengths_are_not_put_side_by_side() -> None:
    both = [Trajectory(actions=torch.ones(chunks, 2, 1)) for chunks in (2, 3)]
    with pytest.raises(TrajectoryRuntimeError, match=r"actions is .*may differ"):
        Trajectory.to_batch(both)


def test_a_delayed_reward_needs_rewards_that_can_take_it() -> None:
    steps = [TrajectoryStep(rewards=torch.ones(1, 1).long()) for _ in range(2)]
    late = EnvTransition(reward_model_output=torch.ones(1, 1) / 2)
    late = late.replaced(reward_assign_lengths=[2])
    with pytest.raises(TrajectoryRuntimeError, match=r"torch\.int64"):
        late.assign_history_rewards(steps, 1.0)
    assert steps[0].rewards is not None
    assert steps[0].rewards.tolist() == [[1]]


@pytest.mark.parametrize("sizes", [[-1, 3], [3, -1]])
def test_no_shard_has_a_negative_size(sizes: list[int]) -> None:
    with pytest.raises(TrajectoryValueError, match="0 or more"):
        TrajectorySource.split([TrajectorySource(key(), 2)], sizes)


def test_the_pipeline_checks_the_dicts_that_somebody_declared() -> None:
    notes = Field("notes", Owner.POLICY_OUTPUT, tree=True)
    with declared(notes):
        made = collector(config(runner={"use_training_pipeline": True}))
        deep = policy(key(), notes={"a": {"b": torch.ones(1, 1)}})
        assert items(made, env(key())) == []
        with pytest.raises(TrajectoryTypeError, match=r"notes\['a'\] is a dict"):
            items(made, deep)


@pytest.mark.parametrize("shape", [(1,), (1, 1, 1)])
def test_the_pipeline_needs_one_reward_a_slot(shape: tuple[int, ...]) -> None:
    made = collector(config(runner={"use_training_pipeline": True}))
    ends = torch.zeros(1, 1, dtype=torch.bool)
    flat = env(key(), rewards=torch.ones(shape), dones=ends, truncations=ends)
    items(made, policy(key()))
    with pytest.raises(TrajectoryValueError, match=r"rewards is .*give \[B, C\]"):
        items(made, flat)


def test_advantages_need_rewards_of_slots() -> None:
    with pytest.raises(TrajectoryValueError, match=r"rewards is \[2, 2\]"):
        calculate_adv_and_returns(
            adv_type="gae", rewards=torch.ones(2, 2), dones=torch.zeros(3, 2)
        )


def test_actions_without_rows_have_no_flags() -> None:
    step = TrajectoryStep(actions=torch.tensor(0.0))
    with pytest.raises(TrajectoryRuntimeError, match=r"don't fit actions \[\]"):
        step.set_intervention_flags(torch.zeros(0))


@pytest.mark.parametrize("shape", [(2, 6), (2, 3, 2)])
def test_a_reference_chunk_may_be_flat_or_by_slot(shape: tuple[int, ...]) -> None:
    flags = torch.tensor([[True, False], [False, True]])
    expert = -torch.ones(2, 4)
    found = reference_chunk(torch.arange(12.0).reshape(shape), expert, flags)
    assert found.shape == shape
    assert found.reshape(2, 6).tolist() == [
        [-1, -1, 2, 3, 4, 5],
        [6, 7, -1, -1, 10, 11],
    ]


@pytest.mark.parametrize("shape", [(2, 3), (3, 4), (2, 1, 2, 2), ()])
def test_a_reference_chunk_that_does_not_fit_is_refused(shape: tuple[int, ...]) -> None:
    flags = torch.ones(2, 2, dtype=torch.bool)
    with pytest.raises(TrajectoryRuntimeError, match="ref_chunk is"):
        reference_chunk(torch.zeros(shape), torch.ones(2, 4), flags)
