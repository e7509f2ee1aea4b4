"""Properties: round trips, any order of arrival, fragments, the T and T+E alignment."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

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
from isoscope.core.trajectory.joiner import ChunkJoiner
from isoscope.core.trajectory.overview import flat_tensors
from isoscope.core.trajectory.values import merge_batch_values, split_batch_value
from tests.core.trajectory import runs
from tests.core.trajectory.runs import key

SMALL = settings(max_examples=60, deadline=None)


@st.composite
def sizes(draw: st.DrawFn, rows: int, least: int = 0) -> list[int]:
    """Sizes that add up to `rows`."""
    found: list[int] = []
    while rows:
        found.append(draw(st.integers(max(least, 1 if not found else least), rows)))
        rows -= found[-1]
    return found or [0]


def tensor(rows: int, *shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((rows, *shape), generator=generator)


def leaves(rows: int) -> st.SearchStrategy[Any]:
    seeds = st.integers(0, 9)
    return st.one_of(
        st.builds(lambda seed, n: tensor(rows, n, seed=seed), seeds, st.integers(0, 3)),
        st.builds(lambda seed: tensor(rows, seed=seed) > 0, seeds),
        st.builds(lambda seed: np.arange(rows * 2).reshape(rows, 2) + seed, seeds),
        st.lists(st.text(max_size=3), min_size=rows, max_size=rows),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=3),
        st.none(),
    )


def trees(rows: int) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves(rows),
        lambda inner: st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    )


def assert_equal(left: Any, right: Any) -> None:
    assert type(left) is type(right)
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for name in left:
            assert_equal(left[name], right[name])
    elif isinstance(left, torch.Tensor):
        assert left.dtype == right.dtype
        assert left.equal(right)
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        assert np.array_equal(left, right)
    else:
        assert left == right or (left != left and right != right)


@SMALL
@given(st.data())
def test_what_is_split_merges_back(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 6))
    value = data.draw(trees(rows))
    cut = data.draw(sizes(rows))
    shards = split_batch_value(value, cut)
    assert len(shards) == len(cut)
    assert_equal(merge_batch_values(shards), value)


@SMALL
@given(st.data())
def test_sources_split_and_merge_back(data: st.DataObject) -> None:
    sources, rows = [], 0
    for rank in range(data.draw(st.integers(1, 4))):
        size, offset = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 3))
        sources.append(TrajectorySource(key(rank=rank), size, offset))
        rows += size
    cut = data.draw(sizes(rows))
    shards = TrajectorySource.split(sources, cut)
    assert [sum(s.size for s in shard) for shard in shards] == cut
    assert TrajectorySource.merge(shards) == sources


def records(rows: int) -> list[Any]:
    """One of each record, with every field that runs along the batch."""
    slots, width = 2, 3
    source = [TrajectorySource(key(), rows)]
    transition = EnvTransition(
        rewards=tensor(rows, slots),
        dones=tensor(rows, slots) > 0,
        terminations=tensor(rows, slots) > 1,
        truncations=tensor(rows, slots) < -1,
        intervene_actions=tensor(rows, slots * width),
        intervene_flags=tensor(rows, slots) > 0,
        rlt_switch_flags=tensor(rows, slots) > 0,
        reward_model_output=tensor(rows, slots),
        reward_assign_lengths=list(range(rows)),
        episode_data={
            "obs_list": [{"states": tensor(rows, 2)}] * slots,
            "infos_list": [{"step": at} for at in range(slots)],
            "chunk_actions": tensor(rows, slots, width),
        },
    )
    output = PolicyOutput(
        forward_inputs={"action": tensor(rows, 6), "deep": {"x": tensor(rows, 1)}},
        prev_logprobs=tensor(rows, 6),
        prev_values=tensor(rows, 1),
        intervene_flags=tensor(rows, slots) > 0,
        versions=tensor(rows, 6),
    )
    part = EnvPart(
        sources=source,
        transition=transition,
        next_obs={"states": tensor(rows, 2), "task_descriptions": ["a"] * rows},
        next_rlt_obs={"z_rl": tensor(rows, 2)},
        bootstrap_values=tensor(rows, 1),
        final_prev_values=tensor(rows, 1),
        initial_transition=EnvTransition(dones=tensor(rows, slots) > 0),
    )
    request = PolicyInput(
        obs={"states": tensor(rows, 2)},
        rlt_switch_flags=tensor(rows) > 0,
        intervene_flags=tensor(rows, slots) > 0,
        sources=source,
        env_parts=[part],
        request_sizes=[rows],
    )
    return [transition, output, part, request]


@SMALL
@given(st.data())
def test_records_split_and_merge_back(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 5))
    cut = data.draw(sizes(rows, least=1))
    for record in records(rows):
        shards = record.split(cut)
        merged = type(record).merge(shards)
        assert_equal(flat_tensors(merged), flat_tensors(record))
        if not isinstance(record, PolicyInput):
            assert_equal(merged.__dict__.get("sources"), record.__dict__.get("sources"))
        for shard in shards:
            assert all(t.is_contiguous() for t in flat_tensors(shard).values())


def halves(rows: int, chunk: int, cuts: list[list[int]], epoch: int = 0) -> list[Any]:
    """Both halves of a chunk, each cut as given, with numbers that tell where from."""
    of = key(chunk, epoch=epoch)
    number = 100 * epoch + 10 * chunk
    parts: list[Any] = []
    for half, cut in zip((runs.policy, runs.env), cuts, strict=True):
        offset = 0
        for size in cut:
            here = torch.arange(offset, offset + size)[:, None] + float(number)
            if half is runs.policy:
                parts.append(half(of, size, offset, forward_inputs={"action": here}))
            else:
                parts.append(half(of, size, offset, rewards=here))
            offset += size
    return parts


@pytest.mark.parametrize("cuts", [[[4], [4]], [[1, 3], [2, 2]], [[1, 2, 1], [2, 1, 1]]])
def test_every_order_of_up_to_six_parts_joins_the_same(cuts: list[list[int]]) -> None:
    rows = 4
    parts = halves(rows, 0, cuts)
    wanted = torch.arange(rows, dtype=torch.float32)[:, None]
    for order in itertools.permutations(parts):
        joiner = ChunkJoiner(rows)
        joined = [chunk for part in order for chunk in joiner.push(part)]
        (chunk,) = joined
        assert chunk.policy.output is not None
        assert chunk.policy.output.forward_inputs["action"].equal(wanted)
        assert chunk.env.transition.rewards is not None
        assert chunk.env.transition.rewards.equal(wanted)
        assert not joiner.buckets
        joiner.acknowledge(chunk.key)
        assert not joiner.halves


@SMALL
@given(st.data())
def test_any_order_of_a_run_gives_the_same_trajectory(data: st.DataObject) -> None:
    rows, epochs, chunks = (data.draw(st.integers(1, 3)) for _ in range(3))
    parts = [
        part
        for epoch in range(epochs)
        for chunk in range(chunks)
        for part in halves(
            rows,
            chunk,
            [data.draw(sizes(rows, least=1)), data.draw(sizes(rows, least=1))],
            epoch,
        )
    ]
    cfg = runs.config(envs=rows, epochs=epochs, chunks=chunks, auto_reset=False)
    (expected,) = runs.items(runs.collector(cfg), *parts)
    (found,) = runs.items(runs.collector(cfg), *data.draw(st.permutations(parts)))
    assert_equal(flat_tensors(found), flat_tensors(expected))
    assert found.model_weights_id == expected.model_weights_id
    whole = torch.arange(rows, dtype=torch.float32)
    for epoch, chunk in itertools.product(range(epochs), range(chunks)):
        row = expected.actions[epoch * chunks + chunk, :, 0]
        assert row.equal(whole + 100 * epoch + 10 * chunk)


@SMALL
@given(
    epochs=st.integers(1, 3),
    chunks=st.integers(1, 4),
    rows=st.integers(1, 3),
    slots=st.integers(1, 3),
)
def test_rows_between_chunks_lie_where_they_belong(
    epochs: int, chunks: int, rows: int, slots: int
) -> None:
    """dones[t] is before chunk t and dones[t + 1] after it, in every epoch."""

    def state(epoch: int, at: int) -> torch.Tensor:
        return torch.full((rows, slots), 100.0 * epoch + at)

    steps = [
        TrajectoryStep(
            actions=state(epoch, at),
            dones=state(epoch, at + 1),
            initial_dones=state(epoch, 0) if at == 0 else None,
            prev_values=state(epoch, at),
            final_prev_values=state(epoch, chunks) if at == chunks - 1 else None,
        )
        for epoch in range(epochs)
        for at in range(chunks)
    ]
    whole = Trajectory.from_steps(steps)
    assert whole.actions is not None
    assert whole.dones is not None
    assert whole.prev_values is not None
    assert list(whole.actions.shape) == [epochs * chunks, rows, slots]
    dones = whole.dones.reshape(epochs, chunks + 1, rows, slots)
    assert whole.prev_values.equal(whole.dones)
    for epoch, at in itertools.product(range(epochs), range(chunks)):
        assert whole.actions[epoch * chunks + at].equal(dones[epoch, at])
        assert dones[epoch, at + 1].equal(state(epoch, at + 1))


@SMALL
@given(st.data())
def test_shards_are_what_splitting_gives(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 6))
    cut = data.draw(sizes(rows, least=1))
    steps = [
        TrajectoryStep(
            actions=tensor(rows, 2, seed=at),
            versions=tensor(rows, 2, seed=at + 5),
            forward_inputs={"a": {"b": tensor(rows, 1, seed=at)}},
            initial_dones=tensor(rows, 1) > 0 if at == 0 else None,
            dones=tensor(rows, 1) > 0,
        )
        for at in range(3)
    ]
    ends = list(itertools.accumulate(cut))
    spans = [(end - size, end) for size, end in zip(cut, ends, strict=True)]
    direct = Trajectory.shards_from_steps(steps, 7, spans)
    whole = Trajectory.from_steps(steps, 7)
    for left, right in zip(direct, whole.split(cut), strict=True):
        assert_equal(flat_tensors(left), flat_tensors(right))
        assert left.model_weights_id == right.model_weights_id == whole.model_weights_id
        assert all(t.is_contiguous() for t in flat_tensors(left).values())
    for shard in direct:
        shard.forward_inputs = {}
    joined = Trajectory.to_batch(direct)
    assert joined["actions"].equal(whole.actions)


@SMALL
@given(st.data())
def test_a_policy_part_of_several_sources_splits_and_merges(
    data: st.DataObject,
) -> None:
    rows = data.draw(st.integers(1, 6))
    cut = data.draw(sizes(rows, least=1))
    ends = list(itertools.accumulate(cut))
    part = PolicyPart(
        sources=[
            TrajectorySource(key(), size, end - size)
            for size, end in zip(cut, ends, strict=True)
        ],
        obs={"states": tensor(rows, 2)},
        external_actions=tensor(rows, 2, 3),
    )
    back = PolicyPart.merge(part.split())
    assert back.sources == [TrajectorySource(key(), rows)]
    assert_equal(flat_tensors(back), flat_tensors(part))
