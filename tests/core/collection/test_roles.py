"""Environment role and rollout role: contract tests 45 to 47, and what lies between."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from isoscope.core.collection.env_role import EnvLayout, EnvRole
from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.policies.external import PlayedBack
from isoscope.core.collection.rollout_role import RolloutRole
from isoscope.core.trajectory.env import EnvPart, EnvTransition
from isoscope.core.trajectory.keys import TrajectoryKey, TrajectorySource
from isoscope.core.trajectory.policy import PolicyOutput, PolicyPart
from isoscope.core.trajectory.policy_input import PolicyInput
from tests.core.collection.known import (
    Counting,
    NativeCounting,
    Numbered,
    counting_envs,
)

T, F = True, False


def request(
    chunk_id: int,
    state: float,
    part: EnvPart | None = None,
    external: torch.Tensor | None = None,
    rank: int = 0,
) -> PolicyInput:
    """Ask for one environment's actions; the state is (0, `state`)."""
    key = TrajectoryKey(0, 0, rank, 0, chunk_id)
    return PolicyInput(
        obs={"states": torch.tensor([[0.0, state]])},
        sources=[TrajectorySource(key, 1)],
        env_parts=[part],
        request_sizes=[1],
        external_actions=external,
    )


def env_part(chunk_id: int, *, infer: bool = False, rank: int = 0) -> EnvPart:
    flags = torch.zeros(1, 1, dtype=torch.bool)
    return EnvPart(
        sources=[TrajectorySource(TrajectoryKey(0, 0, rank, 0, chunk_id), 1)],
        transition=EnvTransition(rewards=torch.ones(1, 1), dones=flags),
        requires_inference=infer,
        initial_transition=EnvTransition(dones=flags) if chunk_id == 0 else None,
    )


def closing(state: float, part: EnvPart) -> PolicyInput:
    return PolicyInput(
        obs={"states": torch.tensor([[0.0, state]])},
        env_parts=[part],
        request_sizes=[1],
        is_last=True,
    )


class TwoValues(Numbered):
    """Its values have two columns: the state's second number, and one more."""

    def value(self, obs: Any) -> torch.Tensor:
        self.valued.append(obs)
        state = obs["states"][:, 1:2]
        return torch.cat([state, state + 1], dim=1)


def kinds(parts: list[Any]) -> list[tuple[str, int]]:
    return [
        ("policy" if isinstance(p, PolicyPart) else "env", p.sources[0].key.chunk_id)
        for p in parts
    ]


def test_45_two_chunks_and_a_closing_message() -> None:
    published: list[Any] = []
    policy = TwoValues()
    rollout = RolloutRole(policy, published.append)
    first = rollout.answer(request(0, 1.0))
    second = rollout.answer(request(1, 2.0, env_part(0)))
    assert rollout.answer(closing(4.0, env_part(1, infer=True))) is None
    assert (first, second) == (torch.tensor([[1.0]]), torch.tensor([[2.0]]))
    assert kinds(published) == [("policy", 0), ("policy", 1), ("env", 0), ("env", 1)]
    last = published[-1]
    assert last.bootstrap_values.tolist() == [[4.0]]
    assert last.final_prev_values.tolist() == [[4.0, 5.0]]
    assert not last.requires_inference
    assert rollout.inferences == 3
    assert [part.next_obs for part in published if isinstance(part, EnvPart)] == [
        None,
        None,
    ]


def test_45_the_next_observation_is_kept_if_transitions_are_collected() -> None:
    published: list[Any] = []
    rollout = RolloutRole(Numbered(), published.append, collect_transitions=True)
    rollout.answer(request(1, 2.0, env_part(0)))
    assert published[-1].next_obs["states"].tolist() == [[0.0, 2.0]]
    override = env_part(0).replaced(next_obs={"states": torch.tensor([[9.0, 9.0]])})
    rollout.answer(request(1, 2.0, override))
    assert published[-1].next_obs["states"].tolist() == [[9.0, 9.0]]


def test_46_external_actions_are_not_inferred_and_come_back_unchanged() -> None:
    published: list[Any] = []
    rollout = RolloutRole(Numbered(), published.append)
    rollout.answer(request(0, 1.0))
    external = torch.tensor([[[7.0]]])
    back = rollout.answer(request(1, 2.0, env_part(0), external))
    assert back is not None
    assert torch.equal(back, external)
    assert rollout.inferences == 1
    assert published[1].external_actions.tolist() == external.tolist()
    assert not published[1].inferred
    assert kinds(published) == [("policy", 0), ("policy", 1), ("env", 0)]


def layout(**changes: Any) -> EnvLayout:
    return EnvLayout(**{"chunk": 2, "chunks": 2, **changes})


def drive(role: EnvRole, steps: int, *, close: bool = True) -> list[PolicyInput]:
    """Answer every request with zeros; gives the requests."""
    requests: list[PolicyInput] = []
    runs = [role.step(step) for step in range(steps)]
    for run in [*runs, *([role.close()] if close else [])]:
        answer: Any = None
        while True:
            try:
                asked = run.send(answer)
            except StopIteration:
                break
            requests.append(asked)
            answer = torch.zeros(role.slots.num_envs, 2)
    return requests


def test_47_a_decoupled_epochs_last_half_travels_with_the_next_request() -> None:
    role = EnvRole(counting_envs([100]), layout(decoupled=True))
    requests = drive(role, 2, close=False)
    assert [r.is_last for r in requests] == [F] * 4  # nothing closes an epoch
    brought = [r.env_parts[0] for r in requests]
    assert brought[0] is None
    keys = [p.sources[0].key for p in brought if p is not None]
    assert [(k.step_id, k.chunk_id) for k in keys] == [(0, 0), (0, 1), (1, 0)]
    travelling = brought[2]
    assert travelling is not None
    assert travelling.next_obs is not None  # the request's may be another epoch's
    assert travelling.next_obs["states"].tolist() == [[0.0, 4.0]]
    assert travelling.requires_inference
    (rest,) = drive(role, 0)
    assert rest.is_last
    assert rest.env_parts[0] is not None
    assert rest.env_parts[0].sources[0].key == TrajectoryKey(1, 0, 0, 0, 1)
    assert drive(role, 0) == []


def test_an_epoch_asks_for_every_chunk_and_closes() -> None:
    role = EnvRole(counting_envs([100, 100]), layout(epochs=2), env_rank=3, stage_id=1)
    requests = drive(role, 1)
    assert [r.is_last for r in requests] == [F, F, T, F, F, T]
    keys = [r.sources[0].key for r in requests if r.sources]
    assert [(k.epoch_id, k.chunk_id) for k in keys] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert {k.source for k in keys} == {(3, 1)}
    parts = [r.env_parts[0] for r in requests if r.env_parts[0] is not None]
    assert [p.initial_transition is not None for p in parts] == [T, F, T, F]
    assert [p.requires_inference for p in parts] == [F, T, F, T]
    assert [p.next_obs for p in parts] == [None] * 4
    assert parts[0].initial_transition is not None
    assert parts[0].initial_transition.rewards is None
    # with auto-reset the next epoch goes on where this one ended
    assert requests[3].obs["states"][0].tolist() == [0.0, 4.0]
    assert role.transitions == 2 * 8


def test_without_auto_reset_every_epoch_begins_anew() -> None:
    role = EnvRole(counting_envs([100]), layout(epochs=2, auto_reset=False))
    requests = drive(role, 1)
    assert requests[2].obs["states"][0].tolist() == [0.0, 4.0]
    assert requests[3].obs["states"][0].tolist() == [1.0, 0.0]


def test_an_end_inside_a_chunk_is_told_in_its_last_slot() -> None:
    role = EnvRole(counting_envs([3, 100]), layout(chunk=2, chunks=4))
    requests = drive(role, 1)
    part = requests[2].env_parts[0]
    assert part is not None
    transition = part.transition
    assert transition.rewards is not None
    assert transition.dones is not None
    assert transition.terminations is not None
    assert transition.rewards.tolist() == [[1, 0], [1, 1]]
    assert transition.dones.tolist() == [[F, T], [F, F]]
    assert transition.terminations.tolist() == [[F, T], [F, F]]
    assert part.requires_inference
    assert part.next_obs is not None
    # the terminal state of the one, what comes next of the other
    assert part.next_obs["states"].tolist() == [[0.0, 3.0], [0.0, 4.0]]
    # it was reset in the chunk, taken along, and reset again
    assert requests[2].obs["states"].tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_a_truncated_episode_is_told_apart() -> None:
    role = EnvRole(counting_envs([2]), layout(chunk=2, chunks=2))
    parts = [r.env_parts[0] for r in drive(role, 1)][1:]
    flags = [
        (p.transition.terminations, p.transition.truncations)
        for p in parts
        if p is not None
    ]
    assert [tuple(f.tolist() for f in pair if f is not None) for pair in flags] == [
        ([[F, T]], [[F, F]]),
        ([[F, F]], [[F, T]]),
    ]


def test_without_auto_reset_an_end_stays_in_its_slot() -> None:
    role = EnvRole(counting_envs([1]), layout(auto_reset=False))
    parts = [r.env_parts[0] for r in drive(role, 1)][1:]
    dones = [p.transition.dones for p in parts if p is not None]
    assert [d.tolist() for d in dones if d is not None] == [[[T, F]], [[F, F]]]


def test_a_void_chunk_teaches_nothing() -> None:
    role = EnvRole(
        NativeCounting([2, 100], AutoresetMode.NEXT_STEP), layout(chunk=2, chunks=3)
    )
    part = drive(role, 1)[2].env_parts[0]
    assert part is not None
    assert part.transition.rewards is not None
    assert part.transition.truncations is not None
    assert part.transition.rewards[0].tolist() == [0, 0]
    assert part.transition.truncations[0].tolist() == [F, T]
    assert part.next_obs is not None
    assert part.next_obs["states"][0].tolist() == [0.0, 2.0]  # as it began


def test_values_are_not_asked_for_where_nobody_wants_them() -> None:
    for changes in ({"wants_values": False}, {"records_episodes": True}):
        role = EnvRole(counting_envs([1]), layout(**changes))
        parts = [p for r in drive(role, 1) for p in r.env_parts if p is not None]
        assert [p.requires_inference for p in parts] == [F, F]


def test_frames_go_along_for_episodes() -> None:
    role = EnvRole(
        counting_envs([3, 100]),
        layout(chunk=2, chunks=2, records_episodes=True, task="count"),
    )
    parts = [p for r in drive(role, 1) for p in r.env_parts if p is not None]
    data = parts[1].transition.episode_data
    assert data is not None
    assert data["valid_action_mask"].tolist() == [[T, F], [T, T]]
    assert data["terminations"].tolist() == [[T, F], [F, F]]
    assert data["obs_list"][0]["states"][0].tolist() == [0.0, 2.0]
    assert data["obs_list"][0]["task_descriptions"] == ["count", "count"]
    assert data["infos_list"][0]["success"].tolist() == [T, F]
    assert data["chunk_actions"].shape == (2, 2, 1)


def test_external_actions_come_with_the_request() -> None:
    actions = np.arange(4, dtype=float).reshape(1, 2, 2, 1)
    role = EnvRole(counting_envs([9, 9]), layout(), external=PlayedBack(actions))
    requests = drive(role, 1)
    external = [r.external_actions for r in requests]
    assert external[0] is not None
    assert external[0].tolist() == [[[0.0], [1.0]], [[2.0], [3.0]]]
    assert external[1:] == [None, None]
    with pytest.raises(CollectionError, match="give \\[chunks"):
        PlayedBack(np.zeros((2, 2)))


class Guided(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A person takes over in every second step."""

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(action)
        info["intervene_flag"] = info["step"] % 2 == 0
        info["intervene_action"] = np.array([5.0], dtype=np.float32)
        return observation, reward, terminated, truncated, info


def test_an_experts_actions_are_reported() -> None:
    envs = SyncVectorEnv([lambda: Guided(Counting(100))])
    role = EnvRole(envs, layout())
    parts = [p for r in drive(role, 1) for p in r.env_parts if p is not None]
    transition = parts[0].transition
    assert transition.intervene_flags is not None
    assert transition.intervene_actions is not None
    assert transition.intervene_flags.tolist() == [[F, T]]
    assert transition.intervene_actions.tolist() == [[5.0, 5.0]]


# -- merged requests -------------------------------------------------------------------


def test_merged_requests_are_answered_together() -> None:
    published: list[Any] = []
    policy = Numbered()
    rollout = RolloutRole(policy, published.append, collect_transitions=True)
    merged = PolicyInput.merge(
        [
            request(1, 2.0, env_part(0, infer=True)),
            request(0, 7.0, None, rank=1),
            request(1, 3.0, env_part(0, rank=2), rank=2),
        ]
    )
    actions = rollout.answer(merged)
    assert actions is not None
    assert actions.shape == (3, 1)
    assert rollout.inferences == 2  # one for all of them, one for a value
    assert [s.key.env_rank for s in published[0].sources] == [0, 1, 2]
    assert [p.next_obs["states"].tolist() for p in published[1:]] == [
        [[0.0, 2.0]],
        [[0.0, 3.0]],
    ]
    assert published[1].final_prev_values.tolist() == [[2.0]]


def test_a_merged_request_says_its_sizes() -> None:
    rollout = RolloutRole(Numbered(), lambda part: None)
    merged = PolicyInput.merge([request(0, 1.0), request(0, 2.0, env_part(0), rank=1)])
    merged.request_sizes = [2]
    with pytest.raises(CollectionError, match="1 request_sizes and 2 env_parts"):
        rollout.answer(merged)


def test_nothing_keeps_a_gradient() -> None:
    class WithGradient(Numbered):
        def act(self, obs: Any, sources: Any) -> PolicyOutput:
            assert not torch.is_grad_enabled()
            return super().act(obs, sources)

    rollout = RolloutRole(WithGradient(), lambda part: None)
    assert rollout.answer(request(0, 1.0)) is not None
