"""Small runs to test with: a configuration, parts of any chunk, a collector."""

from __future__ import annotations

from typing import Any

import torch

from isoscope.core.channel.hooks import ChannelContext
from isoscope.core.trajectory import (
    EnvPart,
    EnvTransition,
    PolicyOutput,
    PolicyPart,
    TrajectoryCollector,
    TrajectoryKey,
    TrajectorySource,
)

Tensor = torch.Tensor


def config(
    *,
    envs: int = 1,
    epochs: int = 1,
    chunks: int = 1,
    slots: int = 1,
    width: int = 1,
    auto_reset: bool = True,
    stages: int = 1,
    **sections: dict[str, Any],
) -> dict[str, Any]:
    """The base configuration of the contract's section 7, with other sizes.

    Further sections, such as ``reward={"reward_weight": 2.0}``, are merged in.
    """
    cfg: dict[str, Any] = {
        "env": {
            "train": {
                "total_num_envs": envs,
                "max_episode_steps": 4,
                "max_steps_per_rollout_epoch": chunks * slots,
                "rollout_epoch": epochs,
                "auto_reset": auto_reset,
                "ignore_terminations": False,
            }
        },
        "rollout": {"pipeline_stage_num": stages},
        "actor": {
            "model": {"num_action_chunks": slots, "action_dim": width},
            "micro_batch_size": 1,
            "seed": 1,
        },
        "algorithm": {
            "gamma": 0.5,
            "gae_lambda": 1,
            "group_size": 1,
            "adv_type": "gae",
            "reward_type": "chunk_level",
            "normalize_advantages": False,
            "shuffle_rollout": False,
        },
        "reward": {"env_reward_weight": 1.0, "reward_weight": 1.0},
        "runner": {"task_type": "embodied"},
    }
    for name, values in sections.items():
        cfg[name] = {**cfg.get(name, {}), **values}
    return cfg


def collector(
    cfg: dict[str, Any], *, env_world: int = 1, actors: int = 1, **made: Any
) -> TrajectoryCollector:
    """A collector that is set up."""
    found = TrajectoryCollector(
        env_world_size=env_world, actor_world_size=actors, **made
    )
    found.setup(ChannelContext("trajectory", cfg=cfg))
    return found


def key(
    chunk: int = 0, *, step: int = 0, epoch: int = 0, rank: int = 0, stage: int = 0
) -> TrajectoryKey:
    return TrajectoryKey(step, epoch, rank, stage, chunk)


def flags(*rows: object) -> Tensor:
    return torch.tensor(rows if rows else [[False]], dtype=torch.bool)


def policy(of: TrajectoryKey, rows: int = 1, offset: int = 0, **output: Any) -> Any:
    """The contract's default policy part: action 1, log-probability 0, value 0."""
    values: dict[str, Any] = {
        "forward_inputs": {"action": torch.ones(rows, 1)},
        "prev_logprobs": torch.zeros(rows, 1),
        "prev_values": torch.zeros(rows, 1),
        "versions": torch.full((rows, 1), 7.0),
    }
    obs = output.pop("obs", {"states": torch.zeros(rows, 1)})
    return PolicyPart(
        sources=[TrajectorySource(of, rows, offset)],
        obs=obs,
        output=PolicyOutput(**{**values, **output}),
    )


def boundary(rows: int = 1, slots: int = 1) -> EnvTransition:
    """The state at a reset: nothing has ended."""
    none = torch.zeros(rows, slots, dtype=torch.bool)
    return EnvTransition(
        dones=none, terminations=none.clone(), truncations=none.clone()
    )


def env(
    of: TrajectoryKey, rows: int = 1, offset: int = 0, slots: int = 1, **given: Any
) -> Any:
    """The contract's default environment part: reward 1, truncated, values 4 and 5.

    Keywords of the part are taken as such, all others go into the transition.
    """
    part: dict[str, Any] = {
        "bootstrap_values": torch.full((rows, 1), 4.0),
        "final_prev_values": torch.full((rows, 1), 5.0),
        "initial_transition": boundary(rows, slots) if of.chunk_id == 0 else None,
    }
    names = {*part, "next_obs", "next_rlt_obs", "requires_inference"}
    part |= {
        name: given.pop(name)
        for name in list(given)
        if name in names or name.startswith("final_")
    }
    ended = torch.ones(rows, slots, dtype=torch.bool)
    transition: dict[str, Any] = {
        "rewards": torch.ones(rows, slots),
        "dones": ended,
        "truncations": ended.clone(),
        "terminations": ~ended,
    }
    return EnvPart(
        sources=[TrajectorySource(of, rows, offset)],
        transition=EnvTransition(**{**transition, **given}),
        **part,
    )


def items(made: TrajectoryCollector, *parts: Any) -> list[Any]:
    """What comes of parts, one after another, without the queue keys."""
    return [item for part in parts for _, item in made.collect(part, None)]
