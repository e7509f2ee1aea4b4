"""The collector against the contract's rules done row by row, on runs of chance."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
import torch

from isoscope.core.trajectory import (
    EnvPart,
    EnvTransition,
    PolicyOutput,
    PolicyPart,
    TrajectoryKey,
    TrajectorySource,
)
from tests.core.trajectory import plain, runs
from tests.core.trajectory.plain import Chunk, Layout, Tree

COMPUTED = ("advantages", "returns")
RUNS = 40


def configured(chance: random.Random, pipeline: bool) -> dict[str, Any]:
    """A configuration that is not refused."""
    kind = chance.choice(["gae", "gae", "grpo", "raw"]) if pipeline else "gae"
    auto_reset, ignored = chance.random() < 0.5, chance.random() < 0.25
    unmasked = auto_reset or ignored
    filtered = pipeline and (chance.random() < 0.3 or (unmasked and kind != "gae"))
    by_chunk = chance.random() < 0.5 or (filtered and unmasked)
    group = chance.choice([2, 3]) if kind == "grpo" else chance.choice([1, 2])
    stages, ranks, actors = (chance.randint(1, high) for high in (2, 3, 3))
    cfg = runs.config(
        envs=ranks * stages * actors * group * chance.choice([1, 2]),
        epochs=chance.randint(1, 3),
        chunks=chance.randint(1, 4),
        slots=chance.randint(1, 3),
        width=chance.randint(1, 3),
        auto_reset=auto_reset,
        stages=stages,
        algorithm={
            "adv_type": kind,
            "reward_type": "chunk_level" if by_chunk else "action_level",
            "gamma": chance.choice([0.5, 0.9, 1.0]),
            "gae_lambda": chance.choice([0.5, 0.95, 1.0]),
            "bootstrap_type": chance.choice(["standard", "always"]),
            "group_size": group,
            "normalize_advantages": chance.random() < 0.5,
            "shuffle_rollout": chance.random() < 0.5,
            "filter_rewards": filtered,
            "rewards_lower_bound": -0.5,
            "rewards_upper_bound": 1.0,
            "intervene_flags": "policy_overwrites",
        },
        reward=chance.choice([{}, {"env_reward_weight": 0.5}, {"reward_weight": 2.0}]),
        runner={"use_training_pipeline": pipeline},
    )
    cfg["env"]["train"]["ignore_terminations"] = ignored
    cfg["actor"]["seed"] = chance.randint(0, 99)
    cfg["worlds"] = {"env_world": ranks, "actors": actors}
    return cfg


def numbers(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Multiples of 1/64, so that sums are exact."""
    return torch.randint(-64, 65, shape, generator=generator) / 64


def chunks_of(
    chance: random.Random, cfg: dict[str, Any], rows: int, keys: list[TrajectoryKey]
) -> dict[TrajectoryKey, Chunk]:
    """Both halves of every chunk; what is there is there in all of them."""
    made = torch.Generator().manual_seed(chance.randrange(10**9))
    model = cfg["actor"]["model"]
    slots, width = model["num_action_chunks"], model["action_dim"]
    by_chunk = cfg["algorithm"]["reward_type"] == "chunk_level"
    columns = 1 if by_chunk else slots
    expert, marks, modelled, delayed = (chance.random() < 0.4 for _ in range(4))
    extra = cfg["actor"]["seed"] % 2 == 1  # the same for all sources
    shape = chance.choice([(rows, slots), (rows,), (rows, 1)])
    found = {}

    def happened(share: float) -> torch.Tensor:
        return torch.rand(rows, slots, generator=made) < share

    def flags() -> torch.Tensor:
        return torch.rand(shape, generator=made) < 0.4

    for key in keys:
        source = [TrajectorySource(key, rows)]
        inputs = {"action": numbers(made, rows, slots * width)}
        if extra:
            inputs["model_action"] = numbers(made, rows, 2)
        policy = PolicyPart(
            sources=source,
            obs={"states": torch.zeros(rows, 1)},
            output=PolicyOutput(
                forward_inputs=inputs,
                prev_logprobs=numbers(made, rows, slots * width),
                prev_values=numbers(made, rows, columns),
                versions=numbers(made, rows, 1) if extra else None,
                intervene_flags=flags() if marks else None,
            ),
        )
        terminated, truncated, none = happened(0.15), happened(0.15), happened(0)
        more: dict[str, Any] = {}
        if expert:
            more["intervene_actions"] = numbers(made, rows, slots * width)
            more["intervene_flags"] = flags()
        if modelled:
            more["reward_model_output"] = numbers(made, rows, slots)
        if modelled and delayed:
            reach = [chance.randint(0, len(keys) + 1) for _ in range(rows)]
            more["reward_assign_lengths"] = reach
        env = EnvPart(
            sources=source,
            transition=EnvTransition(
                rewards=numbers(made, rows, slots),
                dones=terminated | truncated,
                terminations=terminated,
                truncations=truncated,
                **more,
            ),
            bootstrap_values=numbers(made, rows, 1) if chance.random() < 0.6 else None,
            final_prev_values=numbers(made, rows, columns),
            initial_transition=EnvTransition(
                dones=happened(0.1), terminations=none, truncations=none
            )
            if key.chunk_id == 0
            else None,
        )
        found[key] = policy, env
    return found


def run_of(number: int, *, pipeline: bool) -> tuple[Layout, dict[Any, Chunk]]:
    chance = random.Random(number)
    cfg = configured(chance, pipeline)
    stages, worlds = cfg["rollout"]["pipeline_stage_num"], cfg["worlds"]
    layout = Layout(cfg, worlds["env_world"] * stages, worlds["actors"])
    sizes = {layout.envs // math.lcm(layout.sources, layout.actors)}
    if pipeline:  # any divisor of every shard's rows
        rows = layout.chunks * sizes.pop()
        even = [n for n in range(1, rows + 1) if rows % n == 0]
        cfg["actor"]["micro_batch_size"] = chance.choice(even)
    chunks: dict[Any, Chunk] = {}
    for rank in range(layout.sources):
        keys = [
            TrajectoryKey(step, epoch, *divmod(rank, stages), chunk)
            for step in range(chance.choice([1, 2]) if rank == 0 else 2)
            for epoch in range(layout.train["rollout_epoch"])
            for chunk in range(layout.chunks)
        ]
        rows = layout.envs // layout.sources
        chunks |= chunks_of(chance, cfg, rows, keys)
    return layout, chunks


def same(found: Any, wanted: Any, name: str) -> None:
    if isinstance(wanted, dict):
        assert set(found) == set(wanted), name
        for key, value in wanted.items():
            same(found[key], value, key)
        return
    assert found.shape == wanted.shape, name
    assert found.dtype == wanted.dtype, name
    # Where nearly all advantages are equal, normalising enlarges their last bits.
    tolerance = 1e-4 if name in COMPUTED else 0.0
    torch.testing.assert_close(
        found, wanted, rtol=tolerance, atol=tolerance, msg=lambda m: f"{name}: {m}"
    )


def emitted(layout: Layout, chunks: dict[Any, Chunk]) -> list[tuple[Any, Any]]:
    made = runs.collector(layout.cfg, **layout.cfg["worlds"])
    return [
        pair
        for key in chunks
        for part in chunks[key]
        for pair in made.collect(part, None)
    ]


def scopes(chunks: dict[Any, Chunk], *names: str) -> dict[Any, dict[Any, Chunk]]:
    found: dict[Any, dict[Any, Chunk]] = {}
    for key, chunk in chunks.items():
        scope = tuple(getattr(key, name) for name in names)
        found.setdefault(scope, {})[key] = chunk
    return found


@pytest.mark.parametrize("number", range(RUNS))
def test_trajectories_are_as_the_contract_says(number: int) -> None:
    layout, chunks = run_of(number, pipeline=False)
    wanted = [
        tree
        for group in scopes(chunks, "step_id", "env_rank", "stage_id").values()
        for tree in plain.rollout(layout, group)
    ]
    found = [item for _, item in emitted(layout, dict(in_scopes(chunks)))]
    assert len(found) == len(wanted) > 0
    for trajectory, tree in zip(found, wanted, strict=True):
        for name, value in tree.items():
            same(getattr(trajectory, name), value, name)


def in_scopes(chunks: dict[Any, Chunk]) -> list[tuple[Any, Chunk]]:
    groups = scopes(chunks, "step_id", "env_rank", "stage_id").values()
    return [item for group in groups for item in group.items()]


@pytest.mark.parametrize("number", range(RUNS))
def test_micro_batches_are_as_the_contract_says(number: int) -> None:
    layout, chunks = run_of(number, pipeline=True)
    generators: dict[int, torch.Generator] = {}
    wanted: list[tuple[str, Tree]] = []
    sent: dict[Any, Chunk] = {}
    for _, epoch in sorted(scopes(chunks, "step_id", "epoch_id").items()):
        sources = [
            group for _, group in sorted(scopes(epoch, "env_rank", "stage_id").items())
        ]
        if len(sources) < layout.sources:
            continue  # a source that made fewer steps
        sent |= epoch
        wanted += plain.pipeline(layout, sources, generators)
    found = emitted(layout, sent)
    assert [key for key, _ in found] == [key for key, _ in wanted]
    assert found
    for (_, batch), (_, tree) in zip(found, wanted, strict=True):
        same(batch, tree, "a micro-batch")
