"""Both actor paths give the same advantages, returns and masks for the same data.

The same parts go through two collectors: one emits trajectories, which the actor makes
into a training batch; the other emits micro-batches. Log-probabilities number the rows,
so that each can be found again on either side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.core.channel.hooks import ChannelContext
from isoscope.core.trajectory.collector import TrajectoryCollector
from isoscope.core.trajectory.env import EnvPart, EnvTransition
from isoscope.core.trajectory.keys import TrajectoryKey, TrajectorySource
from isoscope.core.trajectory.policy import PolicyOutput, PolicyPart
from isoscope.core.trajectory.preprocess.microbatches import flatten_embodied_batch
from isoscope.core.trajectory.preprocess.settings import PreprocessSettings
from isoscope.core.trajectory.preprocess.training import to_training_batch

if TYPE_CHECKING:
    from isoscope.core.trajectory.trajectory import Trajectory

COMPARED = (
    *("advantages", "returns", "loss_mask", "loss_mask_sum", "rewards", "dones"),
    *("actions", "intervene_flags", "terminations", "truncations", "prev_values"),
)


@dataclass(frozen=True)
class Run:
    """The sizes of a run, and what is computed from it."""

    envs_per_source: int
    env_ranks: int
    stages: int
    actors: int
    epochs: int
    chunks: int
    slots: int
    reward_type: str
    adv_type: str
    auto_reset: bool
    filtered: bool
    normalized: bool
    seed: int
    ignore_terminations: bool = False
    group_size: int = 2
    gamma: float = 0.5
    gae_lambda: float = 0.75
    cut: bool = False
    modelled: bool = False
    expert: bool = False

    @property
    def sources(self) -> int:
        return self.env_ranks * self.stages

    def cfg(self, pipeline: bool, **algorithm: Any) -> dict[str, Any]:
        total = self.envs_per_source * self.sources
        return {
            "env": {
                "train": {
                    "total_num_envs": total,
                    "max_episode_steps": 100,
                    "max_steps_per_rollout_epoch": self.chunks * self.slots,
                    "rollout_epoch": self.epochs,
                    "auto_reset": self.auto_reset,
                    "ignore_terminations": self.ignore_terminations,
                }
            },
            "rollout": {"pipeline_stage_num": self.stages},
            "actor": {
                "model": {"num_action_chunks": self.slots, "action_dim": 1},
                "micro_batch_size": 1,
                "seed": 3,
            },
            "algorithm": {
                "adv_type": self.adv_type,
                "reward_type": self.reward_type,
                "gamma": self.gamma,
                "gae_lambda": self.gae_lambda,
                "group_size": self.group_size,
                "filter_rewards": self.filtered,
                "rewards_lower_bound": -3.0,
                "rewards_upper_bound": 3.0,
                "normalize_advantages": self.normalized,
                "shuffle_rollout": False,
                **algorithm,
            },
            "reward": {"env_reward_weight": 1.0, "reward_weight": 0.5},
            "runner": {"use_training_pipeline": pipeline},
        }

    def collector(self, pipeline: bool, **algorithm: Any) -> TrajectoryCollector:
        made = TrajectoryCollector()
        worlds = {"env_world_size": self.env_ranks, "actor_world_size": self.actors}
        cfg = self.cfg(pipeline, **algorithm)
        made.setup(ChannelContext("t", cfg=cfg, options=worlds))
        return made

    def parts(self) -> list[PolicyPart | EnvPart]:
        generator = torch.Generator().manual_seed(self.seed)
        count = self.envs_per_source
        columns = 1 if self.reward_type == "chunk_level" else self.slots
        made: list[PolicyPart | EnvPart] = []
        for number, key in enumerate(self.keys()):
            source = TrajectorySource(key, count)
            rows = torch.arange(count).reshape(-1, 1) + number * count
            made.append(
                PolicyPart(
                    sources=[source],
                    obs={"states": torch.zeros(count, 1)},
                    output=PolicyOutput(
                        forward_inputs={"action": torch.zeros(count, self.slots)},
                        prev_logprobs=rows.float().expand(count, self.slots),
                        prev_values=numbers(generator, count, columns),
                    ),
                )
            )
            over = torch.rand(count, self.slots, generator=generator) < 0.15
            no = torch.zeros_like(over)
            cut = torch.rand(count, self.slots, generator=generator) < 0.2
            cut &= self.cut
            more: dict[str, Any] = {}
            if self.modelled:
                more["reward_model_output"] = numbers(generator, count, self.slots)
            if self.expert:
                more["intervene_actions"] = numbers(generator, count, self.slots)
                more["intervene_flags"] = cut
            transition = EnvTransition(
                rewards=numbers(generator, count, self.slots),
                dones=over | cut,
                terminations=over,
                truncations=cut,
                **more,
            )
            first = key.chunk_id == 0
            start = EnvTransition(dones=no, terminations=no, truncations=no)
            made.append(
                EnvPart(
                    sources=[source],
                    transition=transition,
                    bootstrap_values=numbers(generator, count, 1) if self.cut else None,
                    final_prev_values=numbers(generator, count, columns),
                    initial_transition=start if first else None,
                )
            )
        return made

    def keys(self) -> list[TrajectoryKey]:
        return [
            TrajectoryKey(0, epoch, rank, stage, chunk)
            for epoch in range(self.epochs)
            for chunk in range(self.chunks)
            for rank in range(self.env_ranks)
            for stage in range(self.stages)
        ]


def numbers(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Multiples of 1/16, so that sums are exact."""
    return torch.randint(-32, 33, shape, generator=generator) / 16


@st.composite
def runs(draw: st.DrawFn) -> Run:
    kind = draw(st.sampled_from(["gae", "grpo", "raw"]))
    auto_reset, ignored = draw(st.booleans()), draw(st.booleans())
    reward_type = draw(st.sampled_from(["chunk_level", "action_level"]))
    unmasked = auto_reset or ignored
    masked_by_filter = kind != "gae" and unmasked
    if masked_by_filter:
        reward_type = "chunk_level"  # anything else is refused
    filtered = masked_by_filter or (
        (reward_type == "chunk_level" or not unmasked) and draw(st.booleans())
    )
    ranks, stages, actors = (draw(st.integers(1, high)) for high in (3, 2, 3))
    group = draw(st.integers(2 if kind == "grpo" else 1, 3))  # of one: no deviation
    envs = group * actors * draw(st.integers(1, 2))  # whole groups in every shard
    epochs = draw(st.integers(1, 3))
    return Run(
        envs_per_source=envs,
        env_ranks=ranks,
        stages=stages,
        actors=actors,
        epochs=epochs,
        chunks=draw(st.integers(1, 3)),
        slots=draw(st.integers(1, 3)),
        reward_type=reward_type,
        adv_type=kind,
        auto_reset=auto_reset,
        filtered=filtered,
        # An actor of the pipeline normalises by epoch; with one of each that is all.
        normalized=epochs == 1 and actors == 1 and draw(st.booleans()),
        seed=draw(st.integers(0, 10**6)),
        ignore_terminations=ignored,
        group_size=group,
        gamma=draw(st.sampled_from([0.5, 0.9, 1.0])),
        gae_lambda=draw(st.sampled_from([0.75, 0.95, 1.0])),
        cut=draw(st.booleans()),
        modelled=draw(st.booleans()),
        expert=draw(st.booleans()),
    )


def by_row(batches: list[dict[str, Any]]) -> dict[int, dict[str, torch.Tensor]]:
    """Every row of flat batches, by the number in its log-probabilities."""
    found: dict[int, dict[str, torch.Tensor]] = {}
    for batch in batches:
        for at, number in enumerate(batch["prev_logprobs"][:, 0].tolist()):
            assert number not in found
            rows = {k: v[at] for k, v in batch.items() if k in COMPARED}
            found[int(number)] = rows
    return found


def from_trajectories(run: Run) -> dict[int, dict[str, torch.Tensor]]:
    collector = run.collector(pipeline=False)
    got: list[Trajectory] = []
    for part in run.parts():
        got += [item for _, item in collector.collect(part, None)]
    how = PreprocessSettings.from_cfg(run.cfg(pipeline=False))
    # Shards of one source lie side by side again, as its groups did.
    batch = to_training_batch(got, how)
    rows = batch["rewards"].shape[0] * batch["rewards"].shape[1]
    return by_row([flatten_embodied_batch(batch, torch.arange(rows))])


def from_micro_batches(run: Run) -> dict[int, dict[str, torch.Tensor]]:
    collector = run.collector(pipeline=True)
    got: list[dict[str, Any]] = []
    for part in run.parts():
        got += [item for _, item in collector.collect(part, None)]
    return by_row(got)


@given(runs())
@settings(max_examples=60, deadline=None)
def test_both_actor_paths_give_the_same(run: Run) -> None:
    one, other = from_trajectories(run), from_micro_batches(run)
    count = len(run.keys()) * run.envs_per_source
    assert set(one) == set(other) == set(range(count))
    for number, row in one.items():
        assert {"advantages", "rewards", "dones"} <= set(row) == set(other[number])
        for name, value in row.items():
            tolerance = 1e-6 if value.is_floating_point() else 0.0
            torch.testing.assert_close(
                value, other[number][name], rtol=tolerance, atol=tolerance
            )


RUN = Run(
    envs_per_source=4,
    env_ranks=2,
    stages=1,
    actors=2,
    epochs=2,
    chunks=3,
    slots=2,
    reward_type="chunk_level",
    adv_type="grpo",
    auto_reset=False,
    filtered=False,
    normalized=True,
    seed=5,
)


def pipeline(run: Run, **algorithm: Any) -> list[tuple[str, dict[str, Any]]]:
    collector = run.collector(pipeline=True, **algorithm)
    got: list[tuple[str, dict[str, Any]]] = []
    for part in run.parts():
        got += list(collector.collect(part, None))
    return got


TINY = Run(
    **{
        **vars(RUN),
        "envs_per_source": 1,
        "env_ranks": 1,
        "actors": 1,
        "epochs": 1,
        "chunks": 1,
        "slots": 1,
        "adv_type": "gae",
        "auto_reset": True,
        "normalized": False,
    }
)


def test_16_one_source_and_one_actor() -> None:
    ((key, item),) = pipeline(TINY)
    assert key == "0_0_pipeline_actor"
    fields = {"actions", "advantages", "dones", "prev_logprobs", "prev_values"}
    assert fields | {"returns", "rewards"} <= set(item)
    assert all(len(value) == 1 for value in item.values())
    assert item["advantages"].shape == item["returns"].shape


def test_17_nothing_goes_out_before_all_sources_are_there() -> None:
    run = Run(**{**vars(TINY), "env_ranks": 2, "actors": 2})
    collector = run.collector(pipeline=True)
    *first, last = run.parts()
    assert not [pair for part in first for pair in collector.collect(part, None)]
    got = list(collector.collect(last, None))
    assert {key for key, _ in got} == {"0_0_pipeline_actor", "1_1_pipeline_actor"}
    assert all("advantages" in item for _, item in got)


def test_18_every_epoch_goes_out_alone() -> None:
    run = Run(**{**vars(TINY), "epochs": 2})
    collector = run.collector(pipeline=True)
    counts = [len(list(collector.collect(part, None))) for part in run.parts()]
    assert counts == [0, 1, 0, 1]
    assert not collector.pending()


def test_grpo_in_the_pipeline_groups_environments_of_one_source() -> None:
    rows = by_row([item for _, item in pipeline(RUN, normalize_advantages=False)])
    # Rows of the first source's first chunk: groups (0, 1) and (2, 3).
    values = [float(rows[at]["advantages"]) for at in range(4)]
    assert values[0] == pytest.approx(-values[1], abs=1e-6)
    assert values[2] == pytest.approx(-values[3], abs=1e-6)
    assert any(abs(value) > 0.5 for value in values)


def test_an_actor_normalises_over_all_its_sources_and_no_others() -> None:
    """Three sources, two actors: actor 0 has all of source 0 and half of source 1."""
    run = Run(**{**vars(RUN), "env_ranks": 3, "adv_type": "gae", "epochs": 1})
    got = pipeline(run)
    plain = by_row([item for _, item in pipeline(run, normalize_advantages=False)])
    assert {key for key, _ in got} == {"0_0_pipeline_actor", "1_1_pipeline_actor"}
    for actor in ("0_0", "1_1"):
        mine = by_row([item for key, item in got if key.startswith(actor)])
        assert len(mine) == len(plain) // 2
        counted = torch.stack(
            [
                plain[at]["advantages"]
                for at, row in mine.items()
                if bool(row["loss_mask"].all())
            ]
        ).double()
        mean, variance = counted.mean(), counted.var(correction=0)
        for at, row in mine.items():
            wanted = (plain[at]["advantages"].double() - mean) / (
                variance + 1e-5
            ).sqrt()
            assert float(row["advantages"]) == pytest.approx(float(wanted), abs=1e-5)


def test_shuffling_is_the_same_every_time_and_moves_on() -> None:
    run = Run(**{**vars(RUN), "adv_type": "gae", "actors": 1})
    one, two = (pipeline(run, shuffle_rollout=True) for _ in range(2))
    for (key, item), (other_key, other) in zip(one, two, strict=True):
        assert key == other_key
        assert all(torch.equal(item[name], other[name]) for name in item)
    order = [int(item["prev_logprobs"][0, 0]) for _, item in one]
    rows = len(order) // (2 * run.epochs)  # of a source's epoch
    assert sorted(order) == list(range(len(order)))
    first, second = order[:rows], order[rows : 2 * rows]
    assert sorted(range(rows), key=first.__getitem__) != list(range(rows))
    # Every shard is permuted anew.
    ranks = [[sorted(part).index(each) for each in part] for part in (first, second)]
    assert ranks[0] != ranks[1]


def test_a_flush_that_fails_moves_no_permutation_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from isoscope.core.trajectory.preprocess import output

    run = Run(**{**vars(RUN), "adv_type": "gae", "epochs": 1})
    wanted = pipeline(run, shuffle_rollout=True)
    collector = run.collector(pipeline=True, shuffle_rollout=True)
    *parts, last = run.parts()
    for part in parts:
        assert not list(collector.collect(part, None))
    whole = output.normalised

    def broken(shards: Any, how: Any) -> Any:
        if len(calls) == 1:  # the first actor's permutation is drawn already
            calls.append(0)
            raise RuntimeError("full")
        calls.append(0)
        return whole(shards, how)

    calls: list[int] = []
    monkeypatch.setattr(output, "normalised", broken)
    with pytest.raises(RuntimeError, match="full"):
        list(collector.collect(last, None))
    got = list(collector.collect(last, None))
    assert [key for key, _ in got] == [key for key, _ in wanted]
    for (_, item), (_, other) in zip(got, wanted, strict=True):
        assert all(torch.equal(item[name], other[name]) for name in other)


def test_a_group_that_reaches_into_the_next_trajectory_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = Run(**{**vars(RUN), "envs_per_source": 2, "actors": 4, "epochs": 1})
    collector = run.collector(pipeline=False)
    got = [item for part in run.parts() for _, item in collector.collect(part, None)]
    assert [each.batch_size for each in got] == [1, 1, 1, 1]
    how = PreprocessSettings.from_cfg(run.cfg(pipeline=False))
    to_training_batch(got, how)
    assert "1, 1, 1, 1 environments are not whole groups" in caplog.text
    caplog.clear()
    to_training_batch(got, PreprocessSettings.from_cfg(run.cfg(False, adv_type="raw")))
    assert not caplog.text
