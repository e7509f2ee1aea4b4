"""Environments and policies by name."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from isoscope.core.collection.env_role import EnvLayout, EnvRole
from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.guarded import environments
from isoscope.core.collection.policies.base import states_of
from isoscope.core.collection.policies.linear import LinearFeedback
from isoscope.core.collection.policies.mlp import MlpPolicy
from isoscope.core.collection.policies.random import RandomPolicy
from isoscope.core.collection.settings import PolicyName, Runner
from isoscope.core.collection.spaces import ActionSpec, as_observation
from isoscope.core.errors import one_line
from isoscope.core.trajectory.plan import TrajectoryMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from gymnasium.vector import VectorEnv

    from isoscope.core.collection.policies.base import Policy
    from isoscope.core.collection.settings import CollectSettings

CARTPOLE = "CartPole"


def make_envs(env: str, count: int) -> VectorEnv[Any, Any, Any]:
    """Make a vector of Gymnasium environments, stepped one after another.

    Parameters
    ----------
    env
        Its id; ``"module:Id"`` imports a module that registers it.
    count
        How many.

    Raises
    ------
    CollectionError
        If there is none of that id, or it can't be made.
    """
    doing = f"making {count} environments {env}"
    with environments(doing):
        try:
            with warnings.catch_warnings():
                # Gymnasium recommends newer versions; the user chose one
                warnings.filterwarnings("ignore", category=DeprecationWarning)
                warnings.filterwarnings("ignore", category=UserWarning)
                made: VectorEnv[Any, Any, Any] = gymnasium.make_vec(
                    env,
                    num_envs=count,
                    vectorization_mode="sync",
                    vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED},
                )
        except (gymnasium.error.Error, ImportError, TypeError, ValueError) as error:
            raise CollectionError(f"{doing}: {one_line(error)[:300]}") from None
    return made


def make_roles(
    settings: CollectSettings, around: Callable[[Any], Any] | None = None
) -> list[EnvRole]:
    """Make the environment roles of a run, one a worker.

    Parameters
    ----------
    settings
        The run.
    around
        Called with the environments of each; gives what is used in their place.

    Raises
    ------
    CollectionError
        If the environments can't be made, or are of a kind that can't be collected.
    """
    layout = EnvLayout(
        chunk=settings.chunk,
        chunks=settings.chunks,
        epochs=settings.epochs,
        auto_reset=settings.auto_reset,
        wants_values=settings.wants_values,
        records_episodes=settings.mode is TrajectoryMode.LEROBOT,
        decoupled=settings.runner is Runner.DECOUPLED,
        task=settings.task or settings.env,
    )
    size = settings.envs_per_worker

    def made() -> Any:
        envs = make_envs(settings.env, size)
        return envs if around is None else around(envs)

    return [
        EnvRole(
            made(),
            layout,
            env_rank=rank,
            seed=settings.seed + rank * size,
        )
        for rank in range(settings.workers)
    ]


def make_policy(settings: CollectSettings, role: EnvRole) -> Policy:
    """Make the policy of a run, for environments like a role's.

    Raises
    ------
    IsoscopeError
        If the policy, or the weights that it begins with, don't fit them.
    """
    spec, chunk, seed = role.slots.spec, settings.chunk, settings.seed
    if settings.policy is PolicyName.RANDOM:
        return RandomPolicy(spec, chunk, seed)
    if settings.policy is PolicyName.LINEAR:
        if not settings.env.rpartition(":")[2].startswith(CARTPOLE):
            raise CollectionError(
                f"making the linear feedback: gains are known for {CARTPOLE} only, not "
                f"for {settings.env}; take random or mlp, or make a LinearFeedback"
            )
        return LinearFeedback.cartpole(spec, chunk)
    space = role.slots.envs.single_observation_space
    example = as_observation(_one_row(space.sample()))
    made = MlpPolicy(states_of(example).shape[1], spec, chunk, seed)
    if settings.weights:
        from isoscope.core.collection.policies.saved import take_weights
        from isoscope.core.replay.checkpoint.bundle import read_checkpoint

        take_weights(made, read_checkpoint(settings.weights), settings.weights)
    return made


def action_dim(settings: CollectSettings) -> tuple[int, int | None]:
    """Numbers in one action, and control steps of the longest episode if limited."""
    envs = make_envs(settings.env, 1)
    try:
        spec = ActionSpec.of(envs.single_action_space)
        limit = envs.spec.max_episode_steps if envs.spec is not None else None
    finally:
        envs.close()
    return spec.width, limit


def _one_row(sample: Any) -> Any:
    if isinstance(sample, dict):
        return {key: _one_row(item) for key, item in sample.items()}
    if isinstance(sample, tuple):
        return tuple(_one_row(item) for item in sample)
    return np.asarray(sample)[None]
