"""The three ways to run the same parts, and what happens when one of them fails."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from isoscope.core.channel.errors import ChannelFullError
from isoscope.core.channel.local import LocalChannel
from isoscope.core.collection.env_role import EnvRole
from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.loops import finish, synchronous, threaded
from isoscope.core.collection.making import make_policy, make_roles
from isoscope.core.collection.rollout_role import RolloutRole
from isoscope.core.collection.run import channel_settings
from isoscope.core.collection.settings import CollectSettings, Runner
from isoscope.core.trajectory.fields import trajectory_fields
from tests.core.collection.known import Numbered, counting_envs
from tests.core.collection.test_roles import kinds, layout

RUN = {"env": "CartPole-v1", "envs": 4, "workers": 2, "steps": 48, "horizon": 16}


def collected(runner: Runner) -> list[Any]:
    """Run it and give the trajectories, by source and step."""
    settings = CollectSettings(**RUN, runner=runner)  # type: ignore[arg-type]  # a dict
    channel = LocalChannel(**channel_settings(settings))
    roles = make_roles(settings)
    policy = make_policy(settings, roles[0])
    with channel.producer("rollout") as sender:
        rollout = RolloutRole(policy, sender.put)
        if runner is Runner.SYNC:
            for step in range(settings.training_steps):
                synchronous(roles, rollout, step)
            finish(roles, rollout)
        else:
            merged = 2 if runner is Runner.DECOUPLED else 1
            threaded(roles, rollout, range(3), merge_at_most=merged)
    items = list(channel.items(consumer=0))
    assert channel.waiting() == ()
    return items


def numbers(trajectory: Any) -> dict[str, torch.Tensor]:
    found = {}
    for item in trajectory_fields():
        value = getattr(trajectory, item.name)
        for name, tensor in value.items() if isinstance(value, dict) else [("", value)]:
            if tensor is not None:
                found[f"{item.name}.{name}"] = tensor
    return found


def equal(one: Any, other: Any) -> bool:
    left, right = numbers(one), numbers(other)
    return left.keys() == right.keys() and all(
        torch.equal(left[name], right[name]) for name in left
    )


def test_all_runners_collect_the_same() -> None:
    expected = collected(Runner.SYNC)
    assert len(expected) == 6
    for runner in (Runner.ASYNC, Runner.DECOUPLED):
        came = collected(runner)
        assert len(came) == 6
        for trajectory in expected:
            close = [
                t
                for t in came
                if torch.equal(t.actions, trajectory.actions)
                and torch.equal(t.rewards, trajectory.rewards)
            ]
            assert len(close) == 1, runner
            if runner is Runner.ASYNC:  # decoupled infers in other batches
                assert equal(close[0], trajectory)


def test_a_run_can_be_repeated_bit_for_bit() -> None:
    for one, other in zip(collected(Runner.SYNC), collected(Runner.SYNC), strict=True):
        assert equal(one, other)


def test_both_halves_have_one_producer_and_one_order() -> None:
    published: list[Any] = []
    rollout = RolloutRole(Numbered(2), published.append)
    role = EnvRole(counting_envs([5]), layout())
    synchronous([role], rollout, 0)
    assert kinds(published) == [("policy", 0), ("policy", 1), ("env", 0), ("env", 1)]


def test_a_decoupled_loop_answers_those_that_wait_together() -> None:
    rollout = RolloutRole(Numbered(2), lambda part: None)
    roles = [
        EnvRole(counting_envs([50]), layout(chunks=20, decoupled=True), env_rank=rank)
        for rank in range(4)
    ]
    threaded(roles, rollout, range(2), merge_at_most=4)
    assert rollout.inferences < 4 * 40 + 4 * 2 + 100
    policy = rollout.policy
    assert isinstance(policy, Numbered)
    sizes = [len(obs["states"]) for obs in policy.acted]
    assert sum(sizes) == 4 * 40
    assert max(sizes) > 1


def test_what_comes_out_is_taken_between_answers() -> None:
    settings = CollectSettings(**RUN)  # type: ignore[arg-type]  # a dict
    channel = LocalChannel(**{**channel_settings(settings), "maxsize": 1})
    roles = make_roles(settings)
    rollout = RolloutRole(make_policy(settings, roles[0]), channel.put)
    taken: list[Any] = []

    def take() -> None:
        while channel.qsize(consumer=0):
            taken.append(channel.get(consumer=0))

    for step in range(3):
        synchronous(roles, rollout, step, take)
    assert len(taken) == 6


class Failing(Numbered):
    def act(self, obs: Any, sources: Any) -> Any:
        if len(self.acted) == 3:
            raise CollectionError("the policy gives up")
        return super().act(obs, sources)


def test_a_policy_that_fails_ends_all_threads() -> None:
    rollout = RolloutRole(Failing(2), lambda part: None)
    roles = [
        EnvRole(counting_envs([50]), layout(chunks=20), env_rank=r) for r in (0, 1)
    ]
    with pytest.raises(CollectionError, match="the policy gives up"):
        threaded(roles, rollout, range(1))


def test_an_environment_that_fails_leaves_the_others_their_answers() -> None:
    class Breaking(EnvRole):
        def _act(self, source: Any, actions: Any) -> Any:
            if source.key.chunk_id == 2:
                raise CollectionError("the environment breaks")
            return super()._act(source, actions)

    published: list[Any] = []
    rollout = RolloutRole(Numbered(2), published.append)
    roles = [
        Breaking(counting_envs([50]), layout(chunks=5)),
        EnvRole(counting_envs([50]), layout(chunks=5), env_rank=1),
    ]
    with pytest.raises(CollectionError, match="the environment breaks"):
        threaded(roles, rollout, range(1))
    whole = [p for p in published if p.sources[0].key.env_rank == 1]
    assert len(whole) == 10


def test_a_channel_that_stays_full_ends_all_threads() -> None:
    channel = LocalChannel(maxsize=1, timeout_s=0.1)
    rollout = RolloutRole(Numbered(2), channel.put)
    roles = [EnvRole(counting_envs([50]), layout(chunks=5))]
    with pytest.raises(ChannelFullError, match="no room in time"):
        threaded(roles, rollout, range(1))
