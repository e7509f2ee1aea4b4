"""What RLinf fails at by accident: the contract's section 9, and settings.

Ours refuses the same earlier and says why, or tells what it does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from isoscope.core.channel.hooks import ChannelContext
from isoscope.core.trajectory import (
    Trajectory,
    TrajectoryCollector,
)
from isoscope.core.trajectory.errors import (
    TrajectoryRuntimeError,
    TrajectoryTypeError,
    TrajectoryValueError,
)
from tests.core.trajectory import runs
from tests.core.trajectory.runs import config, env, flags, items, key, policy


def test_9_4_flags_that_become_flat_are_told() -> None:
    made = runs.collector(config(slots=2, width=3))
    three = {"forward_inputs": {"action": torch.ones(1, 2, 3)}}
    (found,) = items(
        made,
        policy(key(), intervene_flags=flags([True, False]), **three),
        env(key(), slots=2, rewards=torch.ones(1, 2)),
    )
    assert list(found.intervene_flags.shape) == [1, 1, 6]  # as in RLinf
    assert any("flatten actions" in warned.text for warned in made.warnings)


def test_9_6_what_was_completed_before_a_failure_is_not_lost() -> None:
    made = runs.collector(config(envs=2), env_world=2)
    good, bad = key(rank=0), key(rank=1)
    items(made, env(good))
    items(made, env(bad, rewards=torch.ones(1, 1, dtype=torch.int64)))
    both = policy(good, 2)
    both.sources[:] = [each.sources[0] for each in (policy(good), policy(bad))]
    pairs = iter(made.collect(both, None))
    assert next(pairs)[0] == "default_queue"
    with pytest.raises(TrajectoryRuntimeError, match="floating-point"):
        next(pairs)
    assert [chunk.key for chunk in made.pending().chunks] == [bad]
    assert len(items(made, env(bad))) == 1


def test_9_6_what_comes_after_a_failure_is_tried_with_the_next_part() -> None:
    made = runs.collector(config(envs=2), env_world=2)
    bad, good = key(rank=0), key(rank=1)
    items(made, env(bad, rewards=torch.ones(1, 1, dtype=torch.int64)), env(good))
    both = policy(good, 2)
    both.sources[:] = [each.sources[0] for each in (policy(bad), policy(good))]
    with pytest.raises(TrajectoryRuntimeError, match="floating-point"):
        made.collect(both, None)
    assert {c.key: bool(c.problem) for c in made.pending().chunks} == {
        bad: True,
        good: False,
    }
    other = key(rank=0, step=1)
    assert len(items(made, policy(other))) == 1  # the good one
    assert len(items(made, env(bad))) == 1


def test_9_6_fragments_that_can_t_fit_are_told_and_can_be_discarded() -> None:
    made = runs.collector(config(envs=3))
    assert items(made, policy(key(), 2, 0)) == []
    for bad in (policy(key(), 2, 0), policy(key(), 1, 2)):
        with pytest.raises(TrajectoryValueError, match="discard the key"):
            made.collect(bad, None)
    (left,) = made.pending().fragments
    assert not left.fits
    assert made.discard(key())
    assert not made.pending()
    assert items(made, policy(key(), 2, 0), policy(key(), 1, 2)) == []
    assert len(items(made, env(key(), 3))) == 1


@pytest.mark.parametrize(
    ("given", "kind", "names"),
    [
        ({"rewards": torch.ones(2, 1)}, IndexError, r"give both as \[B, C\]"),
        ({"truncations": flags(True)}, IndexError, r"give both as \[B, C\]"),
        ({"reward_model_output": torch.ones(1, 3)}, RuntimeError, "composing"),
        (
            {"reward_model_output": torch.ones(1), "reward_assign_lengths": [2]},
            ValueError,
            "one a row of",
        ),
        ({"dones": flags([True], [True])}, RuntimeError, "stacking dones"),
        ({"rewards": torch.ones(1, 1, dtype=torch.int64)}, RuntimeError, "floating"),
        ({"bootstrap_values": torch.ones(1, 2)}, RuntimeError, r"give \[B, 1\]"),
        (
            {
                "intervene_actions": torch.ones(1, 1, 1),
                "intervene_flags": flags([True]),
            },
            ValueError,
            "flatten both",
        ),
        (
            {"intervene_actions": torch.ones(1, 3), "intervene_flags": flags([True])},
            RuntimeError,
            "in one shape",
        ),
        (
            {
                "intervene_actions": torch.ones(1, 1),
                "intervene_flags": flags([True, True]),
            },
            RuntimeError,
            "divide an action's numbers",
        ),
    ],
)
def test_9_what_fails_by_accident_is_refused_by_name_before_it_is_stored(
    given: Any, kind: type[Exception], names: str
) -> None:
    made = runs.collector(config())
    assert items(made, policy(key())) == []
    with pytest.raises(kind, match=names):
        made.collect(env(key(), **given), None)
    assert not made.pending().scopes
    assert len(items(made, env(key()))) == 1


def test_9_12_true_merges_with_1_and_arrays_are_checked() -> None:
    from isoscope.core.trajectory.values import merge_batch_values

    assert merge_batch_values([True, 1]) is True


def test_9_13_a_dict_in_a_dict_can_t_be_batched() -> None:
    deep = {"a": {"b": torch.zeros(1, 2, 1)}}
    with pytest.raises(TrajectoryValueError, match="batch size is unknown"):
        Trajectory(forward_inputs=deep).split(2)
    nested = Trajectory(forward_inputs={**deep, "c": torch.zeros(1, 2, 1)})
    assert nested.batch_size == 2
    assert nested.split(2)[1].forward_inputs["a"]["b"].shape == (1, 1, 1)
    with pytest.raises(TrajectoryTypeError, match="one level of keys"):
        Trajectory.to_batch([nested])


def test_9_16_fewer_steps_than_a_chunk_are_refused() -> None:
    cfg = config(slots=8)
    cfg["env"]["train"]["max_steps_per_rollout_epoch"] = 7
    with pytest.raises(TrajectoryValueError, match="at least one chunk"):
        TrajectoryCollector().setup(ChannelContext("trajectory", cfg=cfg))


def test_a_chunk_outside_the_layout_counts_and_is_told() -> None:
    made = runs.collector(config(chunks=2))
    out = items(made, policy(key(0)), env(key(0)), policy(key(5)), env(key(5)))
    assert len(out) == 1  # as in RLinf
    assert "chunk_id 5 is outside 0 to 1" in next(iter(made.warnings)).text


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("env.train", "total_num_envs", "many"),
        ("env.train", "rollout_epoch", 1.5),
        ("env.train", "max_episode_steps", None),
        ("actor.model", "action_dim", True),
        ("algorithm", "gamma", "high"),
        ("reward", "reward_weight", None),
    ],
)
def test_a_setting_that_is_no_number_is_named(
    section: str, name: str, value: Any
) -> None:
    cfg = config()
    inside = cfg
    for part in section.split("."):
        inside = inside[part]
    inside[name] = value
    with pytest.raises(TrajectoryValueError, match=f"{name} is {value!r}"):
        runs.collector(cfg)


def test_tensors_of_other_environments_than_the_sources_say_are_refused() -> None:
    made = runs.collector(config(envs=2))
    three = {"forward_inputs": {"action": torch.ones(3, 1)}}
    items(made, policy(key(), 2, **three))
    with pytest.raises(TrajectoryRuntimeError, match="for 2 environments"):
        made.collect(env(key(), 2), None)


@pytest.mark.parametrize("world", [0, -1, "two", 1.5])
def test_a_world_size_that_is_none_is_refused(world: Any) -> None:
    with pytest.raises(TrajectoryValueError, match="env world size"):
        runs.collector(config(), env_world=world)


@pytest.mark.parametrize(
    "path",
    [
        "env.train.total_num_envs",
        "env.train.max_episode_steps",
        "env.train.max_steps_per_rollout_epoch",
        "env.train.rollout_epoch",
        "env.train.auto_reset",
        "env.train.ignore_terminations",
        "rollout.pipeline_stage_num",
        "actor.model.num_action_chunks",
        "actor.model.action_dim",
    ],
)
def test_a_missing_setting_is_named(path: str) -> None:
    cfg = config()
    *sections, name = path.split(".")
    inside = cfg
    for section in sections:
        inside = inside[section]
    del inside[name]
    with pytest.raises(TrajectoryValueError, match=path.replace(".", r"\.")):
        runs.collector(cfg)


@pytest.mark.parametrize(
    ("section", "name", "value", "wanted"),
    [
        ("algorithm", "gae_lambda", "x", "give a number"),
        ("algorithm", "gae_lambda", None, "give a number"),
        ("algorithm", "group_size", "2", "give a whole number"),
        ("algorithm", "rewards_lower_bound", "low", "give a number"),
        ("actor", "micro_batch_size", 1.5, "give a whole number"),
        ("actor", "seed", [1], "give a whole number"),
        ("algorithm", "shuffle_rollout", "false", "give true or false"),
        ("runner", "enable_decoupled_mode", "no", "give true or false"),
        ("rollout", "collect_transitions", {}, "give true or false"),
    ],
)
def test_a_setting_of_another_kind_is_refused_by_name(
    section: str, name: str, value: Any, wanted: str
) -> None:
    cfg = config(runner={"use_training_pipeline": True})
    cfg[section] = {**cfg[section], name: value}
    with pytest.raises(TrajectoryValueError, match=rf"{section}\.{name} .*{wanted}"):
        runs.collector(cfg)


def test_a_switch_may_be_a_number_or_numpy_s() -> None:
    for on in (True, 1, np.True_):
        cfg = config(runner={"use_training_pipeline": on})
        assert runs.collector(cfg).plan.mode == "pipeline"
    for off in (False, 0, None, np.False_):
        cfg = config(runner={"use_training_pipeline": off})
        assert runs.collector(cfg).plan.mode == "rollout"
