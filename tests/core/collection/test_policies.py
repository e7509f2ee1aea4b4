"""Policies: what they give, that it can be repeated, and that the pole stays up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.making import make_envs
from isoscope.core.collection.policies.base import chance, states_of
from isoscope.core.collection.policies.linear import LinearFeedback, cartpole_model
from isoscope.core.collection.policies.mlp import MlpPolicy
from isoscope.core.collection.policies.random import RandomPolicy
from isoscope.core.collection.slots import SlotRunner
from isoscope.core.collection.spaces import ActionSpec, as_observation
from isoscope.core.trajectory.keys import TrajectoryKey, TrajectorySource

DISCRETE = ActionSpec.of(spaces.MultiDiscrete([2, 3]))
BOX = ActionSpec.of(spaces.Box(-2, 2, (2,)))
CARTPOLE = ActionSpec.of(spaces.Discrete(2))
OBS = {"states": torch.randn(6, 4, generator=torch.Generator().manual_seed(1))}


def source(
    rank: int, size: int, offset: int = 0, chunk_id: int = 0
) -> TrajectorySource:
    return TrajectorySource(TrajectoryKey(0, 0, rank, 0, chunk_id), size, offset)


def policies() -> list[Any]:
    return [
        RandomPolicy(DISCRETE, 3, seed=5),
        RandomPolicy(BOX, 3, seed=5),
        MlpPolicy(4, DISCRETE, 3, seed=5),
        MlpPolicy(4, BOX, 3, seed=5),
    ]


@pytest.mark.parametrize("policy", policies())
def test_outputs_have_the_contracts_shapes(policy: Any) -> None:
    policy.version = 3
    output = policy.act(OBS, [source(0, 6)])
    action = output.forward_inputs["action"]
    assert action.shape == output.prev_logprobs.shape == output.versions.shape == (6, 6)
    assert (output.versions == 3).all()
    assert torch.isfinite(output.prev_logprobs).all()
    assert (output.prev_values is not None) == policy.has_values
    spec = policy.spec
    for slot in range(3):
        spec.to_environment(action.reshape(6, 3, 2)[:, slot].numpy())
    if policy.has_values:
        assert output.prev_values.shape == policy.value(OBS).shape == (6, 1)
        assert torch.equal(output.prev_values, policy.value(OBS))


@pytest.mark.parametrize("at", range(4))
def test_what_is_random_depends_on_the_chunk_and_the_seed(at: int) -> None:
    first, again, other = policies()[at], policies()[at], policies()[at]
    other.seed = 6
    one, two = [source(0, 4)], [source(1, 2)]
    together = first.act(OBS, [*one, *two]).forward_inputs["action"]
    there = {"states": OBS["states"][4:]}
    assert torch.equal(again.act(there, two).forward_inputs["action"], together[4:])
    here = {"states": OBS["states"][:4]}
    own = again.act(here, one).forward_inputs["action"]
    assert torch.equal(own, together[:4])
    assert not torch.equal(other.act(here, one).forward_inputs["action"], own)
    later = again.act(here, [source(0, 4, chunk_id=1)]).forward_inputs["action"]
    assert not torch.equal(later, own)


def test_the_global_generator_is_left_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    for policy in policies():
        policy.act(OBS, [source(0, 6)])
    assert torch.equal(torch.rand(3), expected)


def test_chance_is_even() -> None:
    numbers = chance(0, [source(rank, 10) for rank in range(100)], 20, 1000)
    assert numbers.shape == (1000, 20)
    assert 0.49 < float(numbers.mean()) < 0.51
    assert float(numbers.min()) >= 0
    assert float(numbers.max()) < 1
    assert chance(0, [], 2, 3).shape == (3, 2)


def test_random_actions_cover_the_space_evenly() -> None:
    policy = RandomPolicy(DISCRETE, 1)
    obs = {"states": torch.zeros(6000, 1)}
    action = policy.act(obs, [source(0, 6000)]).forward_inputs["action"]
    for column, choices in enumerate((2, 3)):
        counts = np.bincount(action[:, column].int().numpy(), minlength=choices)
        assert np.allclose(counts / 6000, 1 / choices, atol=0.03)
    free = RandomPolicy(ActionSpec.of(spaces.Box(-np.inf, np.inf, (1,))), 1)
    numbers = free.act(obs, [source(0, 6000)]).forward_inputs["action"]
    assert float(numbers.abs().max()) <= 1


@pytest.mark.parametrize("spec", [DISCRETE, BOX])
def test_log_probabilities_are_those_of_the_distribution(spec: ActionSpec) -> None:
    policy = MlpPolicy(4, spec, 3)
    output = policy.act(OBS, [source(0, 6)])
    action = output.forward_inputs["action"]
    parameters, _ = policy.network(OBS["states"])
    expected: list[torch.Tensor] = []
    if spec.choices:
        at = 0
        for column, choices in enumerate(spec.choices * 3):
            logits = parameters[:, at : at + choices]
            found: Any = torch.distributions.Categorical(logits=logits)
            expected.append(found.log_prob(action[:, column]))
            at += choices
    else:
        spread = policy.network.log_spread.exp()
        normal: Any = torch.distributions.Normal(parameters, spread)
        expected += normal.log_prob(action).unbind(1)
    assert output.prev_logprobs is not None
    assert torch.allclose(output.prev_logprobs, torch.stack(expected, 1), atol=1e-6)
    trained = policy.logprobs(OBS["states"], action)
    assert torch.allclose(trained, output.prev_logprobs, atol=1e-6)
    assert trained.requires_grad


def test_drawn_numbers_follow_their_probabilities() -> None:
    policy = MlpPolicy(1, ActionSpec.of(spaces.Discrete(3)), 1)
    with torch.no_grad():
        policy.network.actor.weight.zero_()
        policy.network.actor.bias.copy_(torch.tensor([0.0, 1.0, 2.0]))
    obs = {"states": torch.zeros(8000, 1)}
    action = policy.act(obs, [source(0, 8000)]).forward_inputs["action"]
    counts = np.bincount(action[:, 0].int().numpy(), minlength=3) / 8000
    wanted = torch.softmax(torch.tensor([0.0, 1.0, 2.0]), 0).numpy()
    assert np.allclose(counts, wanted, atol=0.03)


@pytest.mark.parametrize("chunk", [1, 4, 8])
def test_linear_feedback_balances_the_cartpole(chunk: int) -> None:
    runner = SlotRunner(make_envs("CartPole-v1", 4))
    policy = LinearFeedback.cartpole(runner.spec, chunk)
    raw = runner.reset(seed=3)
    for _ in range(504 // chunk):
        output = policy.act(as_observation(raw), [source(0, 4)])
        action = output.forward_inputs["action"].numpy()
        raw = runner.run(action.reshape(4, chunk, 1)).next
    assert runner.episodes.returns == [500.0] * 4  # CartPole-v1 lasts no longer
    runner.envs.close()


def test_the_model_foresees_the_cartpole() -> None:
    model = cartpole_model()
    envs = make_envs("CartPole-v1", 1)
    before, _ = envs.reset(seed=0)
    before = np.array(before[0], dtype=float)
    for action, force in [(1, 10.0), (0, -10.0), (1, 10.0)]:
        after, *_ = envs.step(np.array([action]))
        foreseen = model.state @ before + model.control[:, 0] * force
        assert np.allclose(after[0], foreseen, atol=2e-3)
        before = np.array(after[0], dtype=float)
    envs.close()


def test_a_gain_for_a_box_stays_in_its_bounds() -> None:
    policy = LinearFeedback(BOX, 2, np.array([[1.0, 0.0], [0.0, 100.0]]))
    obs = {"states": torch.tensor([[-1.0, 1.0]])}
    action = policy.act(obs, [source(0, 1)]).forward_inputs["action"]
    assert action.tolist() == [[1.0, -2.0, 1.0, -2.0]]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(CollectionError, match="don't fit actions"):
        LinearFeedback(CARTPOLE, 1, np.zeros((1, 4)))
    with pytest.raises(CollectionError, match="don't fit actions"):
        LinearFeedback(BOX, 1, np.zeros((1, 4)))
    with pytest.raises(CollectionError, match="has 4 numbers and the gain takes 2"):
        LinearFeedback(BOX, 1, np.zeros((2, 2))).act(OBS, [])
    with pytest.raises(CollectionError, match="has 4 numbers and the policy takes 3"):
        MlpPolicy(3, BOX, 1).act(OBS, [])
    with pytest.raises(CollectionError, match="holds no numbers"):
        states_of({"task_descriptions": ["text"]})


def test_all_numbers_of_an_observation_are_used() -> None:
    obs = {
        "images": torch.zeros(2, 2, 2, dtype=torch.uint8),
        "deep": {"b": torch.ones(2, 1), "a": torch.full((2, 1), 2.0)},
        "task_descriptions": ["a", "b"],
    }
    assert states_of(obs)[0].tolist() == [2, 1, 0, 0, 0, 0]
