"""The contract's section 7: cases of plan, collector, joining and rollout output.

Numbers in the names are the cases' numbers there. 16 to 28 are tested with the pipeline
and LeRobot outputs, 40 with the routing, 41 and 42 with the channel.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from isoscope.core.channel.hooks import ChannelContext
from isoscope.core.trajectory import (
    PolicyOutput,
    PolicyPart,
    TrajectoryCollector,
    TrajectoryMode,
    TrajectoryPlan,
    TrajectorySource,
)
from isoscope.core.trajectory.errors import TrajectoryError, TrajectoryValueError
from tests.core.trajectory import runs
from tests.core.trajectory.runs import config, env, flags, items, key, policy


def test_1_exactly_one_payload() -> None:
    rows = [TrajectorySource(key(), 1)]
    with pytest.raises(TrajectoryValueError, match="exactly one"):
        PolicyPart(sources=rows, obs={})
    with pytest.raises(TrajectoryValueError, match="exactly one"):
        PolicyPart(
            sources=rows,
            obs={},
            output=PolicyOutput(forward_inputs={}),
            external_actions=torch.zeros(1, 1),
        )


def test_2_setting_up_needs_a_configuration() -> None:
    with pytest.raises(TrajectoryValueError, match="no configuration"):
        TrajectoryCollector().setup(ChannelContext("trajectory"))


LEROBOT = {"algorithm": {"dagger": {"online_lerobot": {"enabled": True}}}}
PIPELINE = {"runner": {"use_training_pipeline": True}}
DECOUPLED = {"runner": {"enable_decoupled_mode": True}}


@pytest.mark.parametrize(
    ("sections", "mode", "dispatcher"),
    [
        ({}, "rollout", "least_loaded"),
        ({"runner": {"use_training_pipeline": False}}, "rollout", "least_loaded"),
        (DECOUPLED, "rollout", "least_loaded"),
        (PIPELINE, "pipeline", None),
        (LEROBOT, "lerobot", "least_loaded"),
    ],
    ids=["sync", "async", "decoupled", "pipeline", "lerobot"],
)
def test_3_modes(sections: Any, mode: str, dispatcher: str | None) -> None:
    plan = TrajectoryPlan.from_cfg(config(**sections))
    assert plan.mode == mode
    assert plan.dispatcher == dispatcher
    assert plan.geometry.source_count == plan.geometry.chunk_count == 1


@pytest.mark.parametrize(
    "sections",
    [
        {"runner": PIPELINE["runner"] | DECOUPLED["runner"]},
        PIPELINE | LEROBOT,
        PIPELINE | {"algorithm": {"adv_type": "opd"}},
    ],
    ids=["decoupled", "lerobot", "opd"],
)
def test_4_what_doesn_t_go_with_the_pipeline(sections: Any) -> None:
    with pytest.raises(TrajectoryValueError, match="does not support"):
        TrajectoryPlan.from_cfg(config(**sections))


@pytest.mark.parametrize("policy_first", [True, False])
@pytest.mark.parametrize("sections", [{}, DECOUPLED], ids=["sync", "decoupled"])
def test_5_values_of_a_rollout(policy_first: bool, sections: Any) -> None:
    parts = [policy(key()), env(key())]
    made = runs.collector(config(**sections))
    (trajectory,) = items(made, *(parts if policy_first else reversed(parts)))
    assert trajectory.actions.tolist() == [[[1]]]
    assert trajectory.prev_logprobs.tolist() == [[[0]]]
    assert trajectory.prev_values.tolist() == [[[0]], [[5]]]
    assert trajectory.rewards.tolist() == [[[3]]]
    assert trajectory.dones.tolist() == [[[False]], [[True]]]
    assert trajectory.truncations.tolist() == [[[False]], [[True]]]
    assert trajectory.terminations.tolist() == [[[False]], [[False]]]
    assert trajectory.versions.tolist() == [[[7]]]
    assert trajectory.forward_inputs["action"].tolist() == [[[1]]]
    assert trajectory.max_episode_length == 4
    assert trajectory.curr_obs == trajectory.next_obs == {}


def test_6_sources_go_out_on_their_own() -> None:
    made = runs.collector(config(envs=2), env_world=2, actors=2)
    for rank in (1, 0):
        of = key(rank=rank)
        assert items(made, policy(of)) == []
        assert len(items(made, env(of))) == 1


def test_7_fragments_out_of_order() -> None:
    made = runs.collector(config(envs=2))
    eleven = {"forward_inputs": {"action": torch.full((1, 1), 11.0)}}
    ten = {"forward_inputs": {"action": torch.full((1, 1), 10.0)}}
    assert items(made, policy(key(), 1, 1, **eleven)) == []
    assert items(made, policy(key(), 1, 0, **ten)) == []
    (trajectory,) = items(made, env(key(), 2))
    assert trajectory.actions.tolist() == [[[10], [11]]]
    assert not trajectory.dones[0].any()


def test_8_a_boundary_belongs_to_chunk_0() -> None:
    made = runs.collector(config(chunks=2))
    assert items(made, policy(key(1))) == []
    with pytest.raises(TrajectoryValueError, match="only belongs to chunk 0"):
        made.collect(env(key(1), initial_transition=runs.boundary()), None)


def test_9_chunk_0_needs_its_boundary() -> None:
    made = runs.collector(config())
    assert items(made, policy(key())) == []
    with pytest.raises(TrajectoryValueError, match="lacks its initial_transition"):
        made.collect(env(key(), initial_transition=None), None)


def test_10_a_failing_output_keeps_the_halves(monkeypatch: Any) -> None:
    made = runs.collector(config())
    output = made._running()[1].output
    flush = type(output).flush
    calls: list[int] = []

    def fails_once(self: Any, *given: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise TrajectoryValueError("making room: there is none; make some")
        return flush(self, *given)

    monkeypatch.setattr(type(output), "flush", fails_once)
    assert items(made, policy(key())) == []
    with pytest.raises(TrajectoryValueError, match="making room"):
        made.collect(env(key()), None)
    assert "making room" in made.pending().chunks[0].problem
    assert len(items(made, policy(key()))) == 1
    assert not made.pending()


def test_11_a_key_that_comes_twice() -> None:
    made = runs.collector(config(epochs=2))
    assert items(made, policy(key()), env(key()), policy(key())) == []
    with pytest.raises(TrajectoryValueError, match="duplicate"):
        made.collect(env(key()), None)


def test_12_two_epochs() -> None:
    made = runs.collector(config(epochs=2))
    first, second = key(), key(epoch=1)
    (trajectory,) = items(made, policy(first), env(first), policy(second), env(second))
    assert trajectory.dones.flatten().tolist() == [False, True, False, True]
    assert trajectory.prev_values.flatten().tolist() == [0, 5, 0, 5]


def test_13_without_previous_infos() -> None:
    made = runs.collector(config(rollout={"collect_prev_infos": False}))
    (trajectory,) = items(made, policy(key()), env(key()))
    assert trajectory.prev_logprobs is None
    assert trajectory.prev_values is None
    assert trajectory.versions is not None


def test_14_delayed_rewards() -> None:
    made = runs.collector(
        config(chunks=2, auto_reset=False, reward={"reward_weight": 2.0})
    )
    late = {
        "reward_model_output": torch.full((1, 1), 3.0),
        "reward_assign_lengths": [2],
    }
    (trajectory,) = items(
        made, policy(key(0)), env(key(0)), policy(key(1)), env(key(1), **late)
    )
    assert trajectory.rewards.flatten().tolist() == [7, 7]


@pytest.mark.parametrize("loss", ["rlt_ac", "rlt_td3"])
def test_15_rlt_features(loss: str) -> None:
    made = runs.collector(config(slots=1, width=2, algorithm={"loss_type": loss}))
    features = {
        "z_rl": torch.zeros(1, 3),
        "proprio": torch.zeros(1, 2),
        "ref_chunk": torch.tensor([[1.0, 2.0]]),
    }
    following = {**features, "ref_chunk": torch.tensor([[11.0, 12.0]])}
    (trajectory,) = items(
        made,
        policy(key(), forward_inputs={"action": torch.ones(1, 2), **features}),
        env(
            key(),
            next_rlt_obs={**following, "task_descriptions": ["pick"]},
            intervene_actions=torch.tensor([[9.0, 8.0]]),
            intervene_flags=flags([True]),
        ),
    )
    assert trajectory.curr_obs["ref_chunk"].tolist() == [[[9, 8]]]
    assert trajectory.next_obs["ref_chunk"].tolist() == [[[11, 12]]]
    assert set(trajectory.curr_obs) == set(trajectory.next_obs) == set(features)


def test_parts_before_setup_are_refused() -> None:
    with pytest.raises(TrajectoryError, match="call setup first"):
        TrajectoryCollector().collect(policy(key()), None)


@pytest.mark.parametrize("item", ["hello", 3, None, [policy(key())]])
def test_what_is_no_part_is_refused(item: Any) -> None:
    with pytest.raises(TrajectoryValueError, match="give PolicyParts and EnvParts"):
        runs.collector(config()).collect(item, None)


def test_external_actions_are_refused_here() -> None:
    made = runs.collector(config())
    part = PolicyPart(
        sources=[TrajectorySource(key(), 1)],
        obs={},
        external_actions=torch.ones(1, 1),
    )
    assert items(made, part) == []
    with pytest.raises(TrajectoryValueError, match="only online LeRobot"):
        made.collect(env(key()), None)


def test_one_source_with_another_s_chunks_is_refused() -> None:
    # Error 13: in pipeline mode both sources are needed, and one sent two keys.
    made = runs.collector(config(envs=2, **PIPELINE), env_world=2)
    assert items(made, policy(key(0)), env(key(0)), policy(key(1))) == []
    with pytest.raises(TrajectoryValueError, match="of 1 sources instead of 2"):
        made.collect(env(key(1), initial_transition=None), None)
    # Nothing of it was kept: the other source completes the scope.
    other = key(rank=1)
    assert len(items(made, policy(other), env(other))) == 2


def test_the_modes_are_named() -> None:
    assert list(TrajectoryMode) == ["rollout", "pipeline", "lerobot"]
