"""Parts whose tensors have wrong shapes or types: taken, or refused by name."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.trajectory.errors import TrajectoryError
from tests.core.trajectory import runs
from tests.core.trajectory.runs import config, items, key

ROWS, SLOTS, WIDTH = 2, 2, 3
SIZES = st.sampled_from([0, 1, 2, 3, 6])
TENSORS = st.builds(
    lambda shape, dtype: torch.zeros(shape, dtype=torch.float32).to(dtype),
    st.lists(SIZES, max_size=3),
    st.sampled_from([torch.float32, torch.float64, torch.int64, torch.bool]),
)
ONES = st.builds(lambda t: torch.ones_like(t), TENSORS)
VALUES = st.one_of(st.none(), TENSORS, ONES)
POLICY = ("prev_logprobs", "prev_values", "versions", "intervene_flags")
ENV = (
    "rewards",
    "dones",
    "terminations",
    "truncations",
    "intervene_actions",
    "intervene_flags",
    "reward_model_output",
    "bootstrap_values",
    "final_prev_values",
)
FEATURES = ("action", "model_action", "z_rl", "proprio", "ref_chunk")
SECTIONS = st.sampled_from(
    [
        {},
        {"rollout": {"collect_transitions": True}},
        {"algorithm": {"loss_type": "rlt_ac"}},
        {"algorithm": {"bootstrap_type": "always"}},
    ]
)


def right() -> tuple[dict[str, Any], dict[str, Any]]:
    policy = {
        "forward_inputs": {"action": torch.ones(ROWS, SLOTS * WIDTH)},
        "prev_logprobs": torch.zeros(ROWS, SLOTS * WIDTH),
        "versions": torch.zeros(ROWS, SLOTS * WIDTH),
    }
    env = {"rewards": torch.ones(ROWS, SLOTS), "next_obs": {"s": torch.ones(ROWS, 1)}}
    return policy, env


def given_to(cfg: dict[str, Any], actors: int, chunks: list[tuple[Any, Any]]) -> None:
    made = runs.collector(cfg, actors=actors)
    for chunk, (policy, env) in enumerate(chunks):
        items(
            made,
            runs.policy(key(chunk), ROWS, **policy),
            runs.env(key(chunk), ROWS, slots=SLOTS, **env),
        )


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_whatever_is_wrong_is_refused_by_name(data: st.DataObject) -> None:
    chunks = []
    for _ in range(2):
        policy, env = right()
        for name in data.draw(st.sets(st.sampled_from(POLICY), max_size=2)):
            policy[name] = data.draw(VALUES, name)
        for name in data.draw(st.sets(st.sampled_from(ENV), max_size=3)):
            env[name] = data.draw(VALUES, name)
        for name in data.draw(st.sets(st.sampled_from(FEATURES), max_size=3)):
            policy["forward_inputs"][name] = data.draw(VALUES, name)
        if data.draw(st.booleans()):
            env["next_rlt_obs"] = {
                name: data.draw(VALUES, name) for name in FEATURES[2:]
            }
        if data.draw(st.booleans()):
            env["reward_assign_lengths"] = data.draw(
                st.lists(st.integers(-1, 4), max_size=3)
            )
        chunks.append((policy, env))
    sections: Any = data.draw(SECTIONS)
    cfg = config(
        envs=ROWS,
        chunks=2,
        slots=SLOTS,
        width=WIDTH,
        auto_reset=data.draw(st.booleans()),
        **sections,
    )
    with contextlib.suppress(TrajectoryError):
        given_to(cfg, data.draw(st.sampled_from([1, 2])), chunks)


def test_what_is_right_is_taken() -> None:
    given_to(
        config(envs=ROWS, chunks=2, slots=SLOTS, width=WIDTH), 2, [right(), right()]
    )


@pytest.mark.parametrize("sources", [[], None])
def test_a_part_without_sources_is_refused(sources: Any) -> None:
    part = runs.policy(key())
    part.sources = sources
    with pytest.raises(TrajectoryError, match="without sources"):
        runs.collector(config()).collect(part, None)
