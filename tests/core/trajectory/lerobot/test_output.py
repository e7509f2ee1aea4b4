"""The lerobot output inside the collector: shards, steps, retries, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from isoscope.core.channel.hooks import ChannelContext
from isoscope.core.trajectory.collector import TrajectoryCollector
from isoscope.core.trajectory.env import EnvPart, EnvTransition
from isoscope.core.trajectory.errors import TrajectoryTypeError, TrajectoryValueError
from isoscope.core.trajectory.keys import TrajectoryKey, TrajectorySource
from isoscope.core.trajectory.policy import PolicyPart

ENVS, SLOTS = 2, 2


def collector(actors: int = 2, chunks: int = 1, **lerobot: Any) -> TrajectoryCollector:
    """One source of two environments; chunks of two steps."""
    cfg = {
        "env": {
            "train": {
                "total_num_envs": ENVS,
                "max_episode_steps": 100,
                "max_steps_per_rollout_epoch": chunks * SLOTS,
                "rollout_epoch": 1,
                "auto_reset": True,
                "ignore_terminations": False,
            }
        },
        "rollout": {"pipeline_stage_num": 1},
        "actor": {"model": {"num_action_chunks": SLOTS, "action_dim": 1}},
        "algorithm": {"dagger": {"online_lerobot": {"enabled": True, **lerobot}}},
        "runner": {},
    }
    made = TrajectoryCollector()
    options = {"env_world_size": 1, "actor_world_size": actors}
    made.setup(ChannelContext("t", cfg=cfg, options=options))
    return made


def observed(*states: float) -> dict[str, Any]:
    return {
        "states": torch.tensor(states).reshape(-1, 1),
        "task_descriptions": ["pick", "place"],
    }


def parts(
    step: int,
    chunk: int,
    ends: tuple[tuple[int, int], ...] = (),
    **changes: Any,
) -> tuple[PolicyPart, EnvPart]:
    """A chunk whose frames have state and action `now`, counted through the chunks."""
    now = float(step * 100 + chunk * SLOTS)
    source = TrajectorySource(TrajectoryKey(step, 0, 0, 0, chunk), ENVS)
    actions = torch.tensor([[[now], [now + 1]]] * ENVS)
    over = torch.zeros(ENVS, SLOTS, dtype=torch.bool)
    for env, slot in ends:
        over[env, slot] = True
    no = torch.zeros_like(over)
    data = {
        "chunk_actions": actions,
        "obs_list": [observed(*[now + slot + 1] * ENVS) for slot in range(SLOTS)],
        "terminations": over,
        "truncations": no,
        "infos_list": [{}, {}],
        **changes,
    }
    policy = PolicyPart(
        sources=[source], obs=observed(*[now] * ENVS), external_actions=actions
    )
    start = EnvTransition(dones=no, terminations=no, truncations=no)
    env = EnvPart(
        sources=[source],
        transition=EnvTransition(dones=over, episode_data=data),
        initial_transition=start if chunk == 0 else None,
    )
    return policy, env


def push(made: TrajectoryCollector, *given: Any) -> list[tuple[Any, Any]]:
    return [pair for part in given for pair in made.collect(part, None)]


def states(episode: list[dict[str, Any]]) -> list[float]:
    return [float(frame["state"][0]) for frame in episode]


def test_19_external_actions_and_no_finished_episode_give_an_empty_list_a_shard() -> (
    None
):
    assert push(collector(), *parts(0, 0)) == [("default_queue", [])] * 2


def test_episodes_go_on_across_training_steps_and_are_dealt_to_shards() -> None:
    made = collector(chunks=2)
    assert push(made, *parts(0, 0, ((0, 1),)), *parts(0, 1)) != []
    # Both environments end twice in the next step: four episodes, two a shard.
    got = push(
        made,
        *parts(1, 0, ((0, 0), (1, 0))),
        *parts(1, 1, ((0, 1), (1, 1))),
    )
    assert [key for key, _ in got] == ["default_queue"] * 2
    one, two = ([states(episode) for episode in item] for _, item in got)
    assert one == [[2, 3, 100], [101, 102, 103]]
    assert two == [[0, 1, 2, 3, 100], [101, 102, 103]]
    for _, item in got:
        for episode in item:
            assert [float(frame["actions"][0]) for frame in episode] == states(episode)
            assert [bool(f["done"][0]) for f in episode] == [False] * (
                len(episode) - 1
            ) + [True]


def test_masked_chunks_record_what_was_executed() -> None:
    made = collector(actors=1)
    before = [observed(0, 0), observed(1, 1)]
    mask = torch.tensor([[True, False], [True, True]])
    policy, env = parts(0, 0, ((0, 1), (1, 1)), obs_list=before, valid_action_mask=mask)
    ((_, episodes),) = push(made, policy, env)
    assert [states(episode) for episode in episodes] == [[0], [0, 1]]


@pytest.mark.parametrize("at", ["policy", "env"])
def test_what_is_refused_can_be_mended_and_sent_again(at: str) -> None:
    made = collector(actors=1)
    policy, env = parts(0, 0, ((0, 1),))
    bad_policy, bad_env = parts(0, 0, ((0, 1),))
    if at == "policy":
        bad_policy.obs.pop("task_descriptions")
    else:
        bad_env.transition.episode_data["infos_list"] = [{}]
    push(made, bad_policy)
    with pytest.raises(TrajectoryValueError, match="step 0 epoch 0 env_rank 0"):
        push(made, bad_env)
    ((_, episodes),) = push(made, policy if at == "policy" else env)
    assert [states(episode) for episode in episodes] == [[0, 1]]


def test_a_scope_that_fails_leaves_every_episode_as_it_was() -> None:
    """The 256th segment of an episode, in a scope's second chunk."""
    made = collector(actors=1, chunks=2)
    advance = [{"segment_advance": True}] * SLOTS
    for step in range(63):  # 252 segments
        push(made, *parts(step, 0, infos_list=advance))
        push(made, *parts(step, 1, infos_list=advance))
    push(made, *parts(63, 0, infos_list=advance))
    policy, env = parts(63, 1, infos_list=advance)
    push(made, policy)
    for _ in range(2):
        with pytest.raises(TrajectoryValueError, match="segments"):
            push(made, env)
    _, mended = parts(63, 1, ((0, 1), (1, 1)))
    ((_, episodes),) = push(made, mended)
    for episode in episodes:
        assert len(episode) == 64 * 2 * SLOTS
        assert [int(f["segment_id"][0]) for f in episode[-4:]] == [253, 254, 254, 254]


@pytest.mark.parametrize(
    ("data", "error", "names"),
    [
        ({"reward": [0]}, TrajectoryTypeError, "'reward'"),
        ({"obs_list": [observed(0, 0)]}, TrajectoryValueError, "infos"),
        ({"chunk_actions": torch.zeros(2, 3)}, TrajectoryValueError, "chunk_actions"),
        (
            {"chunk_actions": torch.zeros(2, 1, 1)},
            TrajectoryValueError,
            "an action a step",
        ),
        ({"terminations": torch.zeros(2, 1)}, TrajectoryValueError, "terminations"),
    ],
)
def test_episode_data_that_does_not_fit_is_refused_by_name(
    data: dict[str, Any], error: type[Exception], names: str
) -> None:
    with pytest.raises(error, match=names):
        push(collector(), *parts(0, 0, **data))


def test_episode_data_is_needed_whole() -> None:
    policy, env = parts(0, 0)
    del env.transition.episode_data["truncations"]
    with pytest.raises(TrajectoryTypeError, match="truncations"):
        push(collector(), policy, env)
    env.transition.episode_data = None
    with pytest.raises(TrajectoryValueError, match="episode_data"):
        push(collector(), policy, env)
