"""The worked examples of the contract, formulas written out, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.trajectory.errors import (
    TrajectoryAssertionError,
    TrajectoryError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.preprocess import (
    calculate_adv_and_returns,
    compute_loss_mask,
    masked_stats,
    merge_rollout_epochs,
    normalize_from_stats,
    preprocess_embodied_batch,
    split_dict_to_chunk,
)
from isoscope.core.trajectory.preprocess.advantages import ADVANTAGES, REFUSED
from isoscope.core.trajectory.preprocess.settings import PreprocessSettings

CHUNK, ACTION = "chunk_level", "action_level"


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values).reshape(-1, 1, 1)


def close(found: torch.Tensor, wanted: list[float]) -> None:
    torch.testing.assert_close(
        found.flatten(), torch.tensor(wanted), rtol=1e-6, atol=1e-5
    )


def gae(done_after: int | None) -> dict[str, torch.Tensor]:
    dones = torch.zeros(4, 1, 1, dtype=torch.bool)
    if done_after is not None:
        dones[done_after + 1] = True
    return calculate_adv_and_returns(
        adv_type="gae",
        rewards=column(1, 2, 3),
        dones=dones,
        values=column(0.5, 0.4, 0.3, 0.2),
        reward_type=CHUNK,
        gamma=0.9,
        gae_lambda=0.8,
        normalize_advantages=False,
    )


def test_gae_as_worked() -> None:
    found = gae(None)
    close(found["advantages"], [3.699392, 3.9436, 2.88])
    close(found["returns"], [4.199392, 4.3436, 3.18])
    close(gae(1)["advantages"], [2.012, 1.6, 2.88])


def test_grpo_as_worked() -> None:
    found = calculate_adv_and_returns(
        adv_type="grpo",
        rewards=torch.tensor([1.0, 0, 2, 2]).reshape(1, 4, 1),
        dones=torch.zeros(2, 4, 1, dtype=torch.bool),
        loss_mask=torch.ones(1, 4, 1, dtype=torch.bool),
        group_size=2,
        reward_type=CHUNK,
    )
    torch.testing.assert_close(
        found["advantages"].flatten(),
        torch.tensor([0.7071, -0.7071, 0, 0]),
        rtol=1e-4,
        atol=1e-4,
    )
    assert "returns" not in found


def test_loss_mask_as_worked() -> None:
    dones = torch.zeros(3, 1, 2, dtype=torch.bool)
    dones[1, 0, 1] = True
    mask, count = compute_loss_mask(dones)
    assert mask.squeeze(1).tolist() == [[True, True], [False, False]]
    assert count.squeeze(1).tolist() == [[2, 2], [2, 2]]
    dones[1, 0, 0] = True
    mask, count = compute_loss_mask(dones)
    assert mask.squeeze(1).tolist() == [[True, False], [False, False]]
    assert count.unique().tolist() == [1]


def test_normalising_as_worked() -> None:
    values = torch.tensor([1.0, 2, 3, 4])
    found = normalize_from_stats(values, masked_stats(values, None))
    close(found, [-1.34164, -0.44721, 0.44721, 1.34164])


def test_44_splitting_into_chunks() -> None:
    data = {"l": list(range(10)), "t": torch.arange(10), "n": {"t": torch.arange(10)}}
    parts = split_dict_to_chunk(data, 3)
    assert [part["l"] for part in parts] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    for part in parts:
        assert part["t"].tolist() == part["n"]["t"].tolist() == part["l"]
    short = split_dict_to_chunk({"l": ["a", "b"], "t": torch.arange(2)}, 4)
    assert [len(part["l"]) for part in short] == [1, 1, 0, 0]
    assert [len(part["t"]) for part in short] == [1, 1, 0, 0]


@st.composite
def batches(draw: st.DrawFn) -> dict[str, Any]:
    """T, b, C, and random data of these sizes."""
    chunks, envs, slots = (draw(st.integers(1, high)) for high in (5, 4, 3))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    reward_type = draw(st.sampled_from([CHUNK, ACTION]))
    columns = 1 if reward_type == CHUNK else slots

    def numbers(*shape: int) -> torch.Tensor:
        return torch.randint(-64, 64, shape, generator=generator) / 16

    return {
        "rewards": numbers(chunks, envs, slots),
        "values": numbers(chunks + 1, envs, columns),
        "dones": torch.rand(chunks + 1, envs, slots, generator=generator) < 0.2,
        "reward_type": reward_type,
    }


@given(batches())
@settings(max_examples=80, deadline=None)
def test_gae_is_the_formula_written_out(batch: dict[str, Any]) -> None:
    found = calculate_adv_and_returns(
        adv_type="gae", gamma=0.5, gae_lambda=0.75, normalize_advantages=False, **batch
    )
    rewards, dones, values = batch["rewards"], batch["dones"], batch["values"]
    if batch["reward_type"] == CHUNK:
        rewards, dones = rewards.sum(-1, keepdim=True), dones.any(-1, keepdim=True)
    chunks, envs, slots = rewards.shape
    for env in range(envs):
        times = [(t, c) for t in range(chunks) for c in range(slots)]
        advantage = 0.0
        for at in reversed(range(len(times))):
            t, c = times[at]
            # The state after this step, in the rows that lie one step later.
            going_on = 0.0 if dones[t + 1, env, c] else 1.0
            after = (at + 1) // slots, (at + 1) % slots
            delta = (
                rewards[t, env, c] + 0.5 * values[after[0], env, after[1]] * going_on
            )
            delta = float(delta - values[t, env, c])
            advantage = delta + 0.5 * 0.75 * going_on * advantage
            assert found["advantages"][t, env, c] == pytest.approx(
                advantage, rel=1e-5, abs=1e-5
            )
            assert found["returns"][t, env, c] == pytest.approx(
                advantage + float(values[t, env, c]), rel=1e-5, abs=1e-5
            )


@given(batches())
@settings(max_examples=60, deadline=None)
def test_the_mask_ends_after_the_first_done(batch: dict[str, Any]) -> None:
    dones = batch["dones"]
    mask, count = compute_loss_mask(dones)
    rows, envs, slots = dones.shape
    for env in range(envs):
        over = bool(dones[0, env, -1])
        valid = 0
        for t in range(rows - 1):
            for c in range(slots):
                assert mask[t, env, c] == (not over)
                valid += not over
                over = over or bool(dones[t + 1, env, c])
        assert count[:, env].unique().tolist() == [valid]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_merging_epochs_puts_each_beside_the_others(
    m: int, epochs: int, b: int
) -> None:
    rows = torch.arange(epochs * m * b * 2).reshape(epochs * m, b, 2)
    merged = merge_rollout_epochs({"x": rows, "d": {"x": rows}}, epochs)
    for key in (merged["x"], merged["d"]["x"]):
        assert key.shape == (m, epochs * b, 2)
        for epoch in range(epochs):
            columns = key[:, epoch * b : (epoch + 1) * b]
            assert torch.equal(columns, rows[epoch * m : (epoch + 1) * m])


@given(batches())
@settings(max_examples=40, deadline=None)
def test_stats_of_shards_add_up(batch: dict[str, Any]) -> None:
    values = batch["rewards"]
    mask = values > 0
    parts = [masked_stats(v, m) for v, m in zip(values, mask, strict=True)]
    torch.testing.assert_close(sum(parts), masked_stats(values, mask))


def settings_of(**given: Any) -> PreprocessSettings:
    return PreprocessSettings(
        **{
            "adv_type": "gae",
            "reward_type": CHUNK,
            "auto_reset": True,
            "ignore_terminations": False,
            "num_action_chunks": 2,
            **given,
        }
    )


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"adv_type": "reinforce"}, "gae, grpo, grpo_video, raw"),
        ({"adv_type": "GAE"}, "gae, grpo, grpo_video, raw"),
        ({"adv_type": "reinpp"}, "token"),
        ({"adv_type": "opd"}, "teacher"),
        ({"adv_type": "grpo_dynamic"}, "agent"),
        ({"adv_type": "grpo", "group_size": 2}, "loss mask"),
        ({"adv_type": "raw"}, "loss mask"),
        ({"adv_type": "raw", "auto_reset": False, "ignore_terminations": True}, "mask"),
        ({"adv_type": "grpo", "auto_reset": False}, "group_size"),
        (
            {"adv_type": "grpo_video", "auto_reset": False, "group_size": 2},
            "advantage_mode",
        ),
        ({"filter_rewards": True, "group_size": 2}, "rewards_lower_bound"),
        (
            {
                "filter_rewards": True,
                "group_size": 2,
                "rewards_lower_bound": 0.0,
                "rewards_upper_bound": 1.0,
                "reward_type": ACTION,
            },
            "chunk_level",
        ),
    ],
)
def test_h7_h8_what_can_not_work_is_refused_before_anything(
    given: dict[str, Any], names: str
) -> None:
    with pytest.raises(TrajectoryValueError, match=names):
        settings_of(**given).check()


def test_what_works_is_not_refused() -> None:
    filtered = {
        "filter_rewards": True,
        "group_size": 2,
        "rewards_lower_bound": 0.0,
        "rewards_upper_bound": 1.0,
    }
    settings_of().check()
    settings_of(adv_type="raw", auto_reset=False).check()
    settings_of(adv_type="grpo", **filtered).check()
    settings_of(reward_type=ACTION, auto_reset=False, **filtered).check()
    settings_of(reward_type=ACTION, num_action_chunks=1, **filtered).check()


def test_every_kind_is_either_there_or_refused_with_its_reason() -> None:
    assert not set(ADVANTAGES) & set(REFUSED)
    for name, why in REFUSED.items():
        with pytest.raises(TrajectoryError, match=why[:20]):
            calculate_adv_and_returns(
                adv_type=name, rewards=column(1), dones=torch.zeros(2, 1, 1).bool()
            )


@pytest.mark.parametrize(
    ("sizes", "error", "names"),
    [
        ({"filter_rewards": True}, TrajectoryAssertionError, "group_size"),
        ({"adv_type": "grpo"}, TrajectoryValueError, "group_size"),
        ({"micro_batch_size": 4}, TrajectoryValueError, "micro_batch_size"),
        ({"micro_batch_size": None}, TrajectoryValueError, "micro_batch_size"),
        ({"seed": None}, TrajectoryValueError, "seed"),
        ({"collect_prev_infos": False}, KeyError, "collect_prev_infos"),
    ],
)
def test_sizes_that_do_not_divide_are_refused_before_anything(
    sizes: dict[str, Any], error: type[Exception], names: str
) -> None:
    """One shard of 3 environments and 2 chunks."""
    base = {"group_size": 2, "micro_batch_size": 3, "seed": 1}
    with pytest.raises(error, match=names):
        settings_of(**{**base, **sizes}).check_micro_batches(2, [3])
    settings_of(**base).check_micro_batches(2, [3])


def test_a_filters_mask_that_does_not_fit_is_refused_when_computing_too() -> None:
    """H7, for a caller who skips the settings."""
    rewards = torch.ones(2, 2, 3)
    dones = torch.zeros(3, 2, 3, dtype=torch.bool)
    batch = preprocess_embodied_batch(
        {"rewards": rewards, "dones": dones},
        rollout_epoch=1,
        auto_reset=True,
        ignore_terminations=False,
        reward_type=ACTION,
        filter_rewards=True,
        group_size=1,
        rewards_lower_bound=0.0,
        rewards_upper_bound=100.0,
    )
    with pytest.raises(TrajectoryValueError, match="loss mask"):
        calculate_adv_and_returns(
            adv_type="raw",
            rewards=rewards,
            dones=dones,
            loss_mask=batch["loss_mask"],
            reward_type=ACTION,
        )
