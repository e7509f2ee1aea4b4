"""The contract's section 7: cases of the types, 28 to 39. Numbers as there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from isoscope.core import trajectory
from isoscope.core.trajectory import (
    EnvPart,
    EnvTransition,
    PolicyInput,
    PolicyOutput,
    PolicyPart,
    Trajectory,
    TrajectorySource,
    TrajectoryStep,
)
from isoscope.core.trajectory.errors import TrajectoryValueError
from isoscope.core.trajectory.values import (
    merge_batch_values,
    merge_episode_data,
    split_batch_value,
    split_episode_data,
)
from tests.core.trajectory import runs
from tests.core.trajectory.runs import flags, key


def numbers(*shape: int) -> torch.Tensor:
    return torch.arange(int(np.prod(shape)), dtype=torch.float32).reshape(shape)


def test_28_accumulators_are_private() -> None:
    public = set(trajectory.__all__)
    assert not [n for n in public if n.endswith(("Accumulator", "Builder", "Result"))]
    assert {"PolicyPart", "EnvPart", "TrajectoryStep", "Trajectory"} <= public
    with pytest.raises(AttributeError, match="TrajectoryAccumulator"):
        _ = trajectory.TrajectoryAccumulator


def test_29_what_an_environment_says_is_composed_of_the_transition_itself() -> None:
    """RLinf's EnvOutput; here a request's observation and the half that it brings."""
    transition = runs.boundary(2)
    obs, final = {"states": numbers(2, 1)}, {"states": -numbers(2, 1)}
    part = EnvPart(
        sources=[TrajectorySource(key(), 2)], transition=transition, next_obs=final
    )
    request = PolicyInput(obs=obs, env_parts=[part], sources=part.sources)
    (brought,) = request.env_parts
    assert brought is part
    assert brought.transition is transition
    assert brought.next_obs is not None
    assert brought.next_obs["states"].equal(final["states"])
    assert request.obs["states"].equal(obs["states"])


def test_30_completing_an_environment_part() -> None:
    part = EnvPart(
        sources=[TrajectorySource(key(), 2)],
        transition=runs.boundary(2),
        next_obs={"states": numbers(2, 1)},
        requires_inference=True,
    )
    done = part.complete(None, None, torch.tensor([[2.0], [3.0]]))
    assert done.transition is part.transition
    assert not done.requires_inference
    assert done.bootstrap_values is not None
    assert done.bootstrap_values.equal(done.final_prev_values)  # type: ignore[arg-type]  # given above
    assert done.next_obs is None
    wide = part.complete(None, None, torch.tensor([[4.0, 5.0], [6.0, 7.0]]))
    assert wide.bootstrap_values is not None
    assert wide.bootstrap_values.tolist() == [[4], [6]]
    assert part.complete(None, None).bootstrap_values is None


def test_31_on_the_cpu_contiguous_and_detached() -> None:
    turned = numbers(3, 2).t()
    learned = torch.ones(2, 3, requires_grad=True) * 2
    output = PolicyOutput(
        forward_inputs={"action": turned, "deep": {"list": [learned, turned]}},
        prev_logprobs=learned,
        prev_values=turned,
    )
    deep = output.forward_inputs["deep"]["list"]
    for tensor in (
        output.forward_inputs["action"],
        *deep,
        output.prev_logprobs,
        output.prev_values,
    ):
        assert tensor.is_contiguous()
        assert not tensor.requires_grad
        assert tensor.device.type == "cpu"
    transition = EnvTransition(rewards=learned, dones=turned > 1)
    assert transition.rewards is not None
    assert not transition.rewards.requires_grad
    assert transition.dones is not None
    assert transition.dones.is_contiguous()
    # Nothing is copied that is like that already.
    plain = numbers(2, 3)
    assert EnvTransition(rewards=plain).rewards is plain


def request(**given: Any) -> PolicyInput:
    return PolicyInput(
        **{
            "obs": {"states": numbers(4, 2), "image": np.arange(8).reshape(4, 2)},
            "sources": [
                TrajectorySource(key(), 2),
                TrajectorySource(key(rank=1), 2),
            ],
            "intervene_flags": flags([True], [False], [True], [False]),
            "rlt_switch_flags": flags([False], [False], [True], [True]),
            **given,
        }
    )


def test_32_splitting_and_merging_a_request() -> None:
    whole = request()
    shards = whole.split([1, 3])
    assert shards[0].sources == [TrajectorySource(key(), 1, 0)]
    assert shards[1].sources == [
        TrajectorySource(key(), 1, 1),
        TrajectorySource(key(rank=1), 2, 0),
    ]
    back = PolicyInput.merge(shards)
    assert back.sources == whole.sources
    assert back.obs["states"].equal(whole.obs["states"])
    assert np.array_equal(back.obs["image"], whole.obs["image"])
    assert back.intervene_flags is not None
    assert back.intervene_flags.equal(whole.intervene_flags)  # type: ignore[arg-type]  # given above
    assert back.rlt_switch_flags is not None
    assert back.rlt_switch_flags.equal(whole.rlt_switch_flags)  # type: ignore[arg-type]  # given above
    assert back.request_sizes == [1, 3]


def test_33_a_request_with_external_actions() -> None:
    whole = request(external_actions=numbers(4, 2, 3))
    shards = whole.split([1, 3])
    assert not any(shard.requires_inference for shard in shards)
    back = PolicyInput.merge(shards)
    assert not back.requires_inference
    assert back.external_actions is not None
    assert back.external_actions.equal(numbers(4, 2, 3))
    with pytest.raises(TrajectoryValueError, match="merge one kind"):
        PolicyInput.merge([shards[0], request()])


def test_34_episode_data_round_trip() -> None:
    data = {
        "chunk_actions": numbers(3, 2, 1),
        "obs_list": [{"states": numbers(3, 2)}, {"states": numbers(3, 2) + 10}],
        "infos_list": [{"n": numbers(3), "step": 0}, {"n": numbers(3), "step": 1}],
        "terminations": flags(*[[False, True]] * 3),
        "truncations": False,
        "valid_action_mask": None,
    }
    shards = split_episode_data(data, [1, 2])
    assert [len(shard["obs_list"]) for shard in shards if shard] == [2, 2]
    assert shards[1] is not None
    assert shards[1]["obs_list"][1]["states"].tolist() == [[12, 13], [14, 15]]
    back = merge_episode_data([shard for shard in shards if shard is not None])
    assert back["obs_list"][1]["states"].equal(data["obs_list"][1]["states"])  # type: ignore[index]  # made above
    assert back["infos_list"][1]["step"] == 1
    assert back["truncations"] is False
    assert back["chunk_actions"].equal(data["chunk_actions"])


def test_35_offsets_of_an_environment_part() -> None:
    previous = EnvPart(
        sources=[TrajectorySource(key(), 4)],
        transition=runs.boundary(4),
        initial_transition=runs.boundary(4),
    )
    now = TrajectorySource(key(1), 4)
    shards = request(sources=[now], env_parts=[previous]).split([1, 3])
    assert shards[1].sources == [TrajectorySource(key(1), 3, 1)]
    (part,) = shards[1].env_parts
    assert part is not None
    assert part.sources == [TrajectorySource(key(), 3, 1)]
    assert shards[1].request_sizes == [3]
    assert part.initial_transition is not None
    assert part.initial_transition.dones is not None
    assert part.initial_transition.dones.shape == (3, 1)
    merged = PolicyInput.merge(shards)
    assert len(merged.env_parts) == 2
    with pytest.raises(TrajectoryValueError, match="producer's request"):
        merged.split([2, 2])


@pytest.mark.parametrize("value", [True, 3, 1.5, "reset"])
def test_36_scalars(value: Any) -> None:
    shards = split_batch_value({"x": value}, [1, 3])
    assert merge_batch_values(shards) == {"x": value}
    assert type(merge_batch_values(shards)["x"]) is type(value)
    with pytest.raises(TrajectoryValueError, match="the same in all"):
        merge_batch_values([*shards, {"x": "another"}])


def test_37_a_policy_part_of_two_sources() -> None:
    part = PolicyPart(
        sources=[TrajectorySource(key(), 1, 0), TrajectorySource(key(), 3, 1)],
        obs={"states": numbers(4, 1)},
        output=PolicyOutput(forward_inputs={"action": numbers(4, 2)}),
    )
    fragments = part.split()
    assert [f.sources for f in fragments] == [[source] for source in part.sources]
    back = PolicyPart.merge(fragments)
    assert back.sources == [TrajectorySource(key(), 4)]
    assert back.output is not None
    assert back.output.forward_inputs["action"].equal(numbers(4, 2))
    with pytest.raises(TrajectoryValueError, match="without a hole"):
        PolicyPart.merge(fragments[::-1])


def test_38_an_intervention() -> None:
    of = key()
    policy = runs.policy(
        of,
        forward_inputs={
            "action": torch.tensor([[1.0, 2.0, 3.0, 4.0]]),
            "model_action": torch.zeros(1, 4),
        },
        obs={"states": torch.ones(1, 1), "task_descriptions": ["pick"]},
    )
    env = runs.env(
        of,
        slots=2,
        next_obs={"states": torch.ones(1, 1), "task_descriptions": ["pick"]},
        intervene_actions=torch.tensor([[9.0, 8.0, 7.0, 6.0]]),
        intervene_flags=flags([False, True]),
    )
    step = TrajectoryStep.from_parts(policy, env, None, collect_transitions=True)
    assert step.actions is not None
    assert step.actions.tolist() == [[1, 2, 7, 6]]
    assert step.intervene_flags is not None
    assert step.intervene_flags.tolist() == [[False, False, True, True]]
    assert step.forward_inputs["action"].tolist() == [[1, 2, 7, 6]]
    assert set(step.forward_inputs) == {"action"}
    assert set(step.curr_obs) == set(step.next_obs) == {"states"}
    assert step.final_prev_values is not None
    assert step.final_prev_values.tolist() == [[5]]
    # The part that it came of is as it was.
    assert "model_action" in policy.output.forward_inputs


def test_39_stacking_splitting_and_batching() -> None:
    steps = [
        TrajectoryStep(
            actions=numbers(2, 1) + 10 * at,
            dones=flags([False], [True]),
            initial_dones=flags([False], [False]) if at == 0 else None,
            forward_inputs={"action": numbers(2, 1)},
        )
        for at in range(2)
    ]
    whole = Trajectory.from_steps(steps, 7)
    assert whole.actions is not None
    assert whole.dones is not None
    assert list(whole.actions.shape) == [2, 2, 1]
    assert list(whole.dones.shape) == [3, 2, 1]
    shards = whole.split(2)
    assert [list(s.actions.shape) for s in shards if s.actions is not None] == [
        [2, 1, 1],
        [2, 1, 1],
    ]
    batch = Trajectory.to_batch(shards)
    assert batch["actions"].equal(whole.actions)
    assert batch["dones"].equal(whole.dones)
    assert batch["forward_inputs"]["action"].equal(whole.forward_inputs["action"])
    assert set(batch) == {"actions", "dones", "forward_inputs", "intervene_flags"}
    assert {s.model_weights_id for s in shards} == {whole.model_weights_id}
