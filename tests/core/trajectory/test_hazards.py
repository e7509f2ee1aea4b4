"""Where RLinf goes wrong or stays silent: the contract's section 8.

H1 to H6, H9, H13 and H17. The golden runs of H1, H3, H5 and H17 are in
test_golden_collector; H4 is in test_pending.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from isoscope.core.trajectory import (
    Trajectory,
    TrajectoryKey,
    TrajectoryStep,
)
from isoscope.core.trajectory.errors import (
    TrajectoryKeyError,
    TrajectoryRuntimeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.events import Stage
from tests.core.trajectory import runs
from tests.core.trajectory.runs import config, env, flags, items, key, policy

NAN = float("nan")


def numbered(of: TrajectoryKey, **given: Any) -> Any:
    """A policy part whose action tells its chunk."""
    value = 10.0 * of.epoch_id + of.chunk_id
    return policy(of, forward_inputs={"action": torch.full((1, 1), value)}, **given)


def test_h1_chunks_of_an_epoch_in_any_order() -> None:
    made = runs.collector(config(epochs=2, chunks=2))
    keys = [key(1, epoch=1), key(0), key(1), key(0, epoch=1)]
    out = [item for of in keys for item in items(made, numbered(of), env(of))]
    assert out[0].actions.flatten().tolist() == [0, 1, 10, 11]
    assert out[0].dones.flatten().tolist() == [False, True, True, False, True, True]


def test_h1_delayed_rewards_reach_back_in_order_too() -> None:
    cfg = config(chunks=3, auto_reset=False, reward={"reward_weight": 2.0})
    late = {
        "reward_model_output": torch.full((1, 1), 3.0),
        "reward_assign_lengths": [2],
    }

    def rewards(order: list[int]) -> list[float]:
        made = runs.collector(cfg)
        parts = [
            part
            for chunk in order
            for part in (
                policy(key(chunk)),
                env(key(chunk), **(late if chunk == 1 else {})),
            )
        ]
        (trajectory,) = items(made, *parts)
        found: list[float] = trajectory.rewards.flatten().tolist()
        return found

    assert rewards([0, 1, 2]) == [7, 7, 1]
    assert rewards([1, 2, 0]) == rewards([2, 1, 0]) == [7, 7, 1]


def test_h2_a_failed_flush_can_be_tried_again_with_a_better_chunk() -> None:
    made = runs.collector(config(chunks=2))
    assert items(made, policy(key(0)), env(key(0)), policy(key(1))) == []
    wide = torch.ones(1, 2)
    for _ in range(2):  # and what fails again leaves nothing behind
        with pytest.raises(TrajectoryRuntimeError, match="stacking rewards"):
            made.collect(env(key(1), rewards=wide, bootstrap_values=None), None)
    (trajectory,) = items(made, env(key(1)))
    assert trajectory.rewards.flatten().tolist() == [3, 3]
    assert not made.pending()


def test_h2_delayed_rewards_are_not_added_twice() -> None:
    # Section 9, 5: what fails while they are assigned must not have stored the step.
    cfg = config(chunks=2, auto_reset=False, reward={"reward_weight": 2.0})
    made = runs.collector(cfg)
    late = {"reward_model_output": torch.full((1, 1), 3.0)}
    items(made, policy(key(0)), env(key(0)), policy(key(1)))
    with pytest.raises(TrajectoryValueError, match="no reward_model_output"):
        made.collect(env(key(1), reward_assign_lengths=[2]), None)
    with pytest.raises(TrajectoryValueError, match="one a row"):
        made.collect(env(key(1), reward_assign_lengths=[2, 2], **late), None)
    wrong = torch.zeros(1, 2, dtype=torch.bool)
    with pytest.raises(TrajectoryRuntimeError, match="stacking"):
        made.collect(env(key(1), dones=wrong, reward_assign_lengths=[2], **late), None)
    (trajectory,) = items(made, env(key(1), reward_assign_lengths=[2], **late))
    assert trajectory.rewards.flatten().tolist() == [7, 7]


def test_h2_a_chunk_can_be_taken_back_and_sent_anew() -> None:
    made = runs.collector(config(chunks=2))
    items(made, policy(key(0)), env(key(0), rewards=torch.ones(1, 2), slots=2))
    items(made, policy(key(1)))
    with pytest.raises(TrajectoryRuntimeError, match="stacking"):
        made.collect(env(key(1)), None)
    assert made.discard(key(0))
    assert not made.discard(key(0))
    assert items(made, policy(key(0)), env(key(0))) == []
    assert len(list(made.retry())) == 1


def test_h3_one_half_again_is_ignored_and_told() -> None:
    made = runs.collector(config())
    with made.events.listen() as listener:
        assert len(items(made, policy(key()), env(key()))) == 1
        assert items(made, policy(key()), policy(key())) == []
        told = [e for e in listener.take() if e.stage is Stage.REPEATED]
    assert [e.key for e in told] == [key(), key()]
    assert not made.pending()  # nothing of it is kept
    with pytest.raises(TrajectoryValueError, match="duplicate"):
        made.collect(env(key()), None)


def test_h3_steps_may_overtake_one_another() -> None:
    """A step that went out doesn't close the door on an earlier one."""
    made = runs.collector(config())
    late, early = key(step=3), key(step=1)
    assert len(items(made, policy(late), env(late))) == 1
    assert len(items(made, policy(early), env(early))) == 1
    assert items(made, policy(late)) == []
    with pytest.raises(TrajectoryValueError, match="duplicate"):
        made.collect(env(late), None)


def test_h3_fragments_of_a_duplicate_are_counted() -> None:
    made = runs.collector(config(envs=2))
    assert len(items(made, policy(key(), 2), env(key(), 2))) == 1
    assert items(made, policy(key(), 1, 0), env(key(), 2)) == []
    with pytest.raises(TrajectoryValueError, match="duplicate"):
        made.collect(policy(key(), 1, 1), None)


def steps(**of_second: Any) -> list[TrajectoryStep]:
    first = {
        "actions": torch.zeros(2, 1),
        "rewards": torch.zeros(2, 1),
        "prev_values": torch.zeros(2, 1),
        "forward_inputs": {"action": torch.zeros(2, 1)},
        "dones": flags([False], [False]),
        "initial_dones": flags([False], [False]),
        "final_prev_values": torch.zeros(2, 1),
    }
    second = {k: v for k, v in {**first, **of_second}.items() if v is not None}
    return [TrajectoryStep(**first), TrajectoryStep(**second)]


@pytest.mark.parametrize(
    "name",
    [
        "actions",
        "rewards",
        "prev_values",
        "dones",
        "initial_dones",
        "final_prev_values",
    ],
)
def test_h5_fields_in_some_chunks_only(name: str) -> None:
    assert Trajectory.from_steps(steps()).batch_size == 2
    with pytest.raises(TrajectoryValueError) as refused:
        Trajectory.from_steps(steps(**{name: None}))
    told = "epochs" if name.startswith(("initial", "final")) else name
    assert told in str(refused.value)


def test_h5_a_key_that_only_later_chunks_have_is_left_out_and_told() -> None:
    # Section 9, 13.
    told: list[str] = []
    more = {"action": torch.zeros(2, 1), "hidden": torch.zeros(2, 1)}
    found = Trajectory.from_steps(steps(forward_inputs=more), tell=told.append)
    assert set(found.forward_inputs) == {"action"}
    assert "hidden of chunk 1" in told[0]


def test_h5_an_expert_s_chunk_takes_the_model_s_action_out_of_all() -> None:
    made = runs.collector(config(chunks=2))
    both = {"action": torch.ones(1, 1), "model_action": torch.ones(1, 1)}
    expert = {"intervene_actions": torch.zeros(1, 1), "intervene_flags": flags([True])}
    for order in ((0, 1), (1, 0)):
        made = runs.collector(config(chunks=2))
        out = [
            item
            for chunk in order
            for item in items(
                made,
                policy(key(chunk), forward_inputs=both),
                env(key(chunk), **(expert if chunk == 1 else {})),
            )
        ]
        assert set(out[0].forward_inputs) == {"action"}
        assert not made.warnings.count


@pytest.mark.parametrize("odd", [NAN, float("inf")])
def test_h6_what_stands_in_an_expert_s_unflagged_slots_does_no_harm(odd: float) -> None:
    step = TrajectoryStep(actions=torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    step.apply_interventions(torch.tensor([[odd, odd, 7.0, 6.0]]), flags([False, True]))
    assert step.actions is not None
    assert step.actions.tolist() == [[1, 2, 7, 6]]


def test_h9_a_truncation_before_the_last_slot_is_told_with_row_and_slot() -> None:
    cut = flags([False, False, False], [False, True, False], [False, False, True])
    values = {"rewards": torch.ones(3, 3), "truncations": cut, "dones": cut.clone()}

    def run(auto_reset: bool) -> Any:
        made = runs.collector(config(envs=3, slots=3, auto_reset=auto_reset))
        with made.events.listen() as listener:
            (trajectory,) = items(
                made, policy(key(), 3), env(key(), 3, slots=3, **values)
            )
            told = [e for e in listener.take() if e.stage is Stage.WARNED]
        return trajectory, [w.text for w in made.warnings], told

    trajectory, texts, told = run(auto_reset=True)
    assert trajectory.rewards.tolist() == [[[1, 1, 1], [1, 1, 1], [1, 1, 3]]]
    assert len(texts) == len(told) == 1
    assert "row 1 in slot 1" in texts[0]
    assert "row 2" not in texts[0]
    assert told[0].key == key()
    assert run(auto_reset=False)[1:] == ([], [])


def both_sides(rule: str | None) -> Any:
    cfg = config(slots=2, width=1)
    if rule is not None:
        cfg["algorithm"]["intervene_flags"] = rule
    made = runs.collector(cfg)
    given = {"forward_inputs": {"action": torch.ones(1, 2)}}
    return items(
        made,
        policy(key(), intervene_flags=flags([True, False]), **given),
        env(
            key(),
            slots=2,
            rewards=torch.ones(1, 2),
            intervene_actions=torch.zeros(1, 2),
            intervene_flags=flags([False, True]),
        ),
    )[0]


def test_h13_flags_of_both_sides_are_kept() -> None:
    for rule in (None, "keep_both"):
        found = both_sides(rule)
        assert found.actions.tolist() == [[[1, 0]]]
        assert found.intervene_flags.tolist() == [[[True, True]]]
        assert found.env_intervene_flags.tolist() == [[[False, True]]]
        assert found.policy_intervene_flags.tolist() == [[[True, False]]]


def test_h13_overwriting_has_a_name() -> None:
    found = both_sides("policy_overwrites")
    assert found.intervene_flags.tolist() == [[[True, False]]]
    assert found.env_intervene_flags is found.policy_intervene_flags is None
    with pytest.raises(TrajectoryValueError, match="keep_both, policy_overwrites"):
        both_sides("both")


def test_h13_a_side_that_is_silent_in_a_chunk_flagged_nothing_there() -> None:
    made = runs.collector(config(chunks=3))
    expert = {"intervene_actions": torch.zeros(1, 1), "intervene_flags": flags([True])}
    marked = {"intervene_flags": flags([True])}
    out = items(
        made,
        policy(key(0), **marked),
        env(key(0), **expert),
        policy(key(1)),
        env(key(1), **expert),
        policy(key(2), **marked),
        env(key(2)),
    )
    assert out[0].env_intervene_flags.flatten().tolist() == [True, True, False]
    assert out[0].policy_intervene_flags.flatten().tolist() == [True, False, True]
    assert out[0].intervene_flags.all()


@pytest.mark.parametrize(
    ("sizes", "names"),
    [
        ({"envs": 7}, "total_num_envs is 7"),
        ({"envs": 0}, "total_num_envs is 0"),
        ({"epochs": 0}, "rollout_epoch"),
        ({"slots": 0}, "max_steps_per_rollout_epoch is 0"),
    ],
)
def test_h17_sizes_that_don_t_divide_are_refused(
    sizes: dict[str, int], names: str
) -> None:
    with pytest.raises(TrajectoryValueError, match=names):
        runs.collector(config(**{"envs": 4, **sizes}), env_world=2)


def test_h17_shards_that_don_t_divide_are_told_at_once_and_refused() -> None:
    made = runs.collector(config(envs=3), actors=2)
    (warned,) = made.warnings
    assert "3 environments of a source can't be cut into 2 equal shards" in warned.text
    assert items(made, policy(key(), 3)) == []
    with pytest.raises(TrajectoryValueError, match="2 equal parts"):
        made.collect(env(key(), 3), None)


@pytest.mark.parametrize("filled", [0, 1])
def test_h5_a_dict_that_is_empty_in_some_chunks_is_refused(filled: int) -> None:
    steps = [TrajectoryStep(actions=torch.ones(1, 1)) for _ in range(2)]
    steps[filled].curr_obs = {"states": torch.ones(1, 1)}
    with pytest.raises(TrajectoryKeyError, match=r"curr_obs.*states.*chunk 1"):
        Trajectory.from_steps(steps)
