"""What is refused on the way names its chunk, and is refused by us and not by torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from isoscope.core.trajectory import (
    EnvPart,
    EnvTransition,
    PolicyPart,
    TrajectorySource,
)
from isoscope.core.trajectory.errors import (
    TrajectoryError,
    TrajectoryIndexError,
    TrajectoryTypeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.preprocess import flatten_embodied_batch
from tests.core.trajectory import runs
from tests.core.trajectory.runs import config, env, flags, items, key, policy

PIPELINE: dict[str, Any] = {
    "runner": {"use_training_pipeline": True},
    "algorithm": {"adv_type": "raw"},
}
NONE = flags([False])


def refused(cfg: dict[str, Any], *parts: Any) -> TrajectoryError:
    """What the last of these parts is refused with; those before it are taken."""
    made = runs.collector(cfg)
    items(made, *parts[:-1])
    with pytest.raises(TrajectoryError) as caught:
        items(made, parts[-1])
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "given",
    [
        {"intervene_actions": torch.ones(1, 1)},
        {"intervene_actions": torch.ones(1, 1, 1), "intervene_flags": NONE},
        {"intervene_actions": torch.ones(1, 1), "intervene_flags": NONE[..., None]},
        {"reward_assign_lengths": [2]},
        {"reward_model_output": torch.ones(1, 3)},
        {"bootstrap_values": torch.ones(2, 1)},
        {"rewards": torch.ones(1, 1, dtype=torch.int64)},
    ],
)
def test_a_chunk_that_can_t_be_stored_is_named(given: dict[str, Any]) -> None:
    of = key(1, step=3)
    problem = refused(config(chunks=2), policy(of), env(of, **given))
    assert str(of) in str(problem)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"prev_values": None}, {}),
        ({"obs": {"states": torch.zeros(1, 2)}}, {"obs": {"images": torch.zeros(1)}}),
        ({"prev_logprobs": torch.zeros(1, 2)}, {"prev_logprobs": torch.zeros(1, 3)}),
    ],
)
def test_fragments_that_can_t_be_merged_are_named(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    parts = policy(key(), 1, 0, **one), policy(key(), 1, 1, **other)
    assert str(key()) in str(refused(config(envs=2), *parts))


def test_rows_that_are_not_those_of_the_sources_are_named() -> None:
    part = policy(key(), 3)
    part.sources[:] = [TrajectorySource(key(), 1), TrajectorySource(key(1), 1)]
    assert str(key()) in str(refused(config(envs=2, chunks=2), part))


@pytest.mark.parametrize("pipeline", [False, True])
def test_a_scope_that_can_t_go_out_is_named_by_its_last_chunk(pipeline: bool) -> None:
    wide = torch.zeros(1, 2)
    cfg = config(chunks=2, auto_reset=False, **(PIPELINE if pipeline else {}))
    parts = policy(key()), env(key()), env(key(1)), policy(key(1), prev_logprobs=wide)
    problem = str(refused(cfg, *parts))
    assert str(key(1)) in problem
    assert "stacking prev_logprobs" in problem


@pytest.mark.parametrize(
    ("half", "name", "value"),
    [
        ("env", "rewards", [1.0]),
        ("env", "rewards", np.ones((1, 1))),
        ("env", "dones", np.ones((1, 1), bool)),
        ("env", "truncations", [[True]]),
        ("env", "bootstrap_values", 1.0),
        ("env", "final_prev_values", np.ones((1, 1))),
        ("policy", "prev_values", np.ones((1, 1))),
        ("policy", "prev_values", {"value": torch.ones(1, 1)}),
        ("policy", "intervene_flags", [[True]]),
        ("policy", "forward_inputs", {"action": np.ones((1, 1))}),
        ("policy", "forward_inputs", [1]),
        ("env", "reward_assign_lengths", [None]),
        ("env", "reward_assign_lengths", [1.5]),
        ("env", "reward_assign_lengths", 2),
        ("env", "initial_transition", {"dones": NONE}),
    ],
)
def test_what_is_no_tensor_is_refused_before_it_is_stored(
    half: str, name: str, value: Any
) -> None:
    given = {name: value}
    of = key()
    parts = policy(of, **(given if half == "policy" else {})), env(of)
    if half == "env":
        parts = parts[0], env(of, **given)
    problem = refused(config(), *parts)
    assert isinstance(problem, TrajectoryTypeError)
    assert str(of) in str(problem)
    assert name in str(problem)
    made = runs.collector(config())
    with pytest.raises(TrajectoryTypeError):
        items(made, *parts)
    right = policy(of) if half == "policy" else env(of)
    assert len(items(made, right)) == 1  # that half can be sent anew


def test_an_expert_s_actions_are_tensors_too() -> None:
    given = {"intervene_actions": np.ones((1, 1)), "intervene_flags": NONE}
    problem = refused(config(), policy(key()), env(key(), **given))
    assert isinstance(problem, TrajectoryTypeError)
    assert "intervene_actions" in str(problem)


@pytest.mark.parametrize(
    ("half", "name", "value"),
    [
        ("policy", "obs", torch.ones(1, 1)),
        ("env", "next_obs", [torch.ones(1, 1)]),
    ],
)
def test_observations_that_are_kept_are_dicts(half: str, name: str, value: Any) -> None:
    of, given = key(), {name: value}
    final = {"next_obs": {"states": torch.ones(1, 1)}}
    parts = (
        policy(of, **(given if half == "policy" else {})),
        env(of, **{**final, **(given if half == "env" else {})}),
    )
    kept = config(rollout={"collect_transitions": True})
    problem = refused(kept, *parts)
    assert isinstance(problem, TrajectoryTypeError)
    assert f".{name} is" in str(problem)
    assert len(items(runs.collector(config()), *parts)) == 1  # nobody looks at them


def test_halves_are_made_of_records() -> None:
    sources = [TrajectorySource(key(), 1)]
    wrong: Any = {"rewards": torch.ones(1, 1)}
    part = EnvPart(
        sources=sources, transition=wrong, initial_transition=runs.boundary()
    )
    assert "EnvPart.transition is dict" in str(refused(config(), policy(key()), part))
    half = PolicyPart(sources=sources, obs={}, output=wrong)
    assert "PolicyPart.output is dict" in str(refused(config(), env(key()), half))


def test_sources_are_sources() -> None:
    part = policy(key())
    wrong: Any = [(key(), 1, 0)]
    part.sources = wrong
    problem = refused(config(), part)
    assert isinstance(problem, TrajectoryTypeError)
    assert "TrajectorySource(key, size, offset)" in str(problem)


def test_a_reference_chunk_is_a_tensor() -> None:
    inputs = {name: torch.ones(1, 1) for name in ("action", "z_rl", "proprio")}
    flagged = {"intervene_actions": torch.ones(1, 1), "intervene_flags": NONE}
    problem = refused(
        config(algorithm={"loss_type": "rlt_ac"}),
        policy(key(), forward_inputs={**inputs, "ref_chunk": [1.0]}),
        env(key(), next_rlt_obs={"z_rl": torch.ones(1, 1)}, **flagged),
    )
    assert isinstance(problem, TrajectoryTypeError)
    assert "ref_chunk is list" in str(problem)


def test_external_actions_are_refused_as_such() -> None:
    part = PolicyPart(
        sources=[TrajectorySource(key(), 1)],
        obs={},
        external_actions=torch.ones(1, 1, 1),
    )
    assert "external actions" in str(refused(config(), env(key()), part))


# RLinf fails with an IndexError once the epoch is complete.
@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"final_prev_values": None}, "prev_values and no final_prev_values"),
        (
            {"initial_transition": EnvTransition(dones=NONE, terminations=NONE)},
            "truncations and no initial_truncations",
        ),
        ({"truncations": None}, "initial_truncations and no truncations"),
    ],
)
def test_a_micro_batch_needs_every_extra_row(given: dict[str, Any], names: str) -> None:
    cfg = config(auto_reset=False, **PIPELINE)
    problem = refused(cfg, policy(key()), env(key(), **given))
    assert isinstance(problem, TrajectoryValueError)
    assert str(key()) in str(problem)
    assert names in str(problem)


def test_flattening_too_few_rows_is_refused_by_name() -> None:
    batch = {"rewards": torch.ones(2, 3, 1), "prev_values": torch.ones(2, 3, 1)}
    with pytest.raises(TrajectoryIndexError, match=r"prev_values .*3 rows.*row 5"):
        flatten_embodied_batch(batch, torch.arange(6))
    batch["prev_values"] = torch.ones(3, 3, 1)
    assert len(flatten_embodied_batch(batch, torch.arange(6))["prev_values"]) == 6
