"""A run's sizes: what they come to, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from isoscope.core.collection.errors import CollectionError
from isoscope.core.collection.settings import (
    CollectSettings,
    PolicyName,
    Runner,
)
from isoscope.core.trajectory.plan import TrajectoryMode


def settings(**changes: Any) -> CollectSettings:
    return CollectSettings(env="CartPole-v1", **changes)


@pytest.mark.parametrize(
    ("changes", "chunks", "steps"),
    [
        ({"steps": 100}, 25, 1),
        ({"steps": 1000}, 50, 5),
        ({"steps": 4 * 131}, 131, 1),  # no even division: one training step
        ({"steps": 96, "horizon": 32}, 8, 3),
        ({"steps": 96, "epochs": 3}, 8, 1),
        ({"steps": 4}, 1, 1),
    ],
)
def test_a_run_is_divided_evenly(
    changes: dict[str, Any], chunks: int, steps: int
) -> None:
    made = settings(**changes)
    assert (made.chunks, made.training_steps) == (chunks, steps)
    assert made.chunks * made.chunk * made.epochs * made.training_steps == made.steps


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"envs": 0}, "envs is 0; give 1 or more"),
        ({"envs": 10**12}, "envs is 1,000,000,000,000; give 65,536 or fewer"),
        ({"seed": -1}, "seed is -1"),
        ({"steps": 50}, "not whole chunks of 4; give 48 or 52"),
        ({"steps": 2}, "not whole chunks of 4; give 4"),
        ({"steps": 48, "epochs": 5}, "in 5 epochs; give 40 or 60"),
        ({"workers": 3}, "8 environments can't be divided among 3 workers"),
        ({"horizon": 6}, "a horizon of 6 control steps"),
        ({"steps": 96, "horizon": 64}, "not whole training steps of 64"),
        ({"envs": 3, "actors": 2}, "can't be cut into 2 equal shards for 2 actors"),
        (
            {"mode": TrajectoryMode.PIPELINE, "policy": PolicyName.RANDOM},
            "the policy random has not; take mlp",
        ),
        (
            {"mode": TrajectoryMode.PIPELINE, "actors": 3},
            "can't be divided among 3 actors",
        ),
        (
            {"mode": TrajectoryMode.PIPELINE, "runner": Runner.DECOUPLED},
            "pipeline mode does not support the decoupled runner.*take sync or async",
        ),
        (
            {"mode": TrajectoryMode.PIPELINE, "micro_batch": 7, "steps": 32},
            "micro batches of 7 rows don't divide the 64 .*give a divisor of 64",
        ),
        ({"mode": TrajectoryMode.PIPELINE, "micro_batch": 0}, "micro_batch is 0; give"),
    ],
)
def test_what_does_not_divide_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(CollectionError, match=said):
        settings(**changes)


@pytest.mark.parametrize(
    ("workers", "actors", "rows"), [(1, 1, 200), (2, 3, 50), (3, 2, 50), (2, 2, 150)]
)
def test_micro_batches_divide_every_shard(workers: int, actors: int, rows: int) -> None:
    made = settings(
        envs=12 if (workers, actors) != (1, 1) else 8,
        steps=100,
        workers=workers,
        actors=actors,
        mode=TrajectoryMode.PIPELINE,
    )
    assert made.micro_batch_rows == rows
    assert made.outputs_per_step * rows == made.envs * made.chunks


def test_values_are_wanted_where_they_are_used() -> None:
    assert settings().wants_values
    assert not settings(policy=PolicyName.RANDOM).wants_values
    assert not settings(mode=TrajectoryMode.LEROBOT).wants_values


def test_the_configuration_says_the_runner_and_the_mode() -> None:
    cfg = settings(runner=Runner.DECOUPLED, mode=TrajectoryMode.LEROBOT).cfg(3, None)
    assert cfg["runner"]["enable_decoupled_mode"]
    assert cfg["algorithm"]["dagger"]["online_lerobot"]["enabled"]
    assert cfg["actor"]["model"] == {"num_action_chunks": 4, "action_dim": 3}
    assert cfg["env"]["train"]["max_episode_steps"] == 256
