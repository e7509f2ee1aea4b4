"""A field is declared once, and everything follows from that."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from isoscope.core.trajectory import (
    EnvPart,
    EnvTransition,
    PolicyInput,
    PolicyOutput,
    PolicyPart,
    Trajectory,
    TrajectoryStep,
)
from isoscope.core.trajectory.errors import TrajectoryTypeError, TrajectoryValueError
from isoscope.core.trajectory.fields import (
    Field,
    Merge,
    Owner,
    Rows,
    all_fields,
    declare,
    declared,
    fields_of,
    trajectory_fields,
)
from isoscope.core.trajectory.overview import overview
from isoscope.core.trajectory.preprocess.settings import PreprocessSettings
from isoscope.core.trajectory.preprocess.training import to_training_batch
from tests.core.trajectory import runs

ENTROPY = Field(
    "entropy", Owner.POLICY_OUTPUT, shape="[B, 1]", doc="of the policy's actions"
)
CONTACT = Field(
    "contact", Owner.ENV_TRANSITION, Rows.T_PLUS_FIRST, shape="[B, C]", dtype="bool"
)
SURPRISE = Field("surprise", Owner.POLICY_OUTPUT, Rows.T_PLUS_LAST, shape="[B, 1]")
MEMORY = Field("memory", Owner.POLICY_OUTPUT, batch_axis=1, shape="[L, B, H]")


def numbers(rows: int, first: float) -> torch.Tensor:
    return torch.arange(rows, dtype=torch.float32)[:, None] + first


def parts(chunks: int, rows: int, chunk: int) -> list[object]:
    """Both halves of a chunk with all four fields, in two fragments each."""
    of = runs.key(chunk)
    halves: list[object] = []
    for offset, size in ((1, rows - 1), (0, 1)):
        span = slice(offset, offset + size)
        halves.append(
            runs.policy(
                of,
                size,
                offset,
                entropy=numbers(rows, 100 * chunk)[span],
                surprise=numbers(rows, 1000 * chunk)[span],
                memory=numbers(rows, chunk)
                .repeat(2, 1, 3)
                .reshape(2, rows, 3)[:, span],
            )
        )
        initial = runs.boundary(size)
        before = EnvTransition(
            **{**vars(initial), "contact": runs.flags(*[[True]] * size)}
        )
        last = chunk == chunks - 1
        halves.append(
            runs.env(
                of,
                size,
                offset,
                contact=runs.flags(*[[chunk == 1]] * size),
                initial_transition=before if chunk == 0 else None,
                final_surprise=numbers(rows, 9000)[span] if last else None,
            )
        )
    return halves


@pytest.fixture
def made_up():  # type: ignore[no-untyped-def]  # a generator fixture
    with (
        declared(ENTROPY),
        declared(CONTACT),
        declared(SURPRISE),
        declared(MEMORY),
    ):
        yield


@pytest.mark.usefixtures("made_up")
def test_a_made_up_field_goes_all_the_way_to_a_trajectory() -> None:
    rows, chunks = 3, 2
    made = runs.collector(runs.config(envs=rows, chunks=chunks))
    out = [
        item
        for chunk in reversed(range(chunks))
        for item in runs.items(made, *parts(chunks, rows, chunk))
    ]
    (trajectory,) = out
    assert trajectory.entropy.tolist() == [[[0], [1], [2]], [[100], [101], [102]]]
    assert trajectory.contact[..., 0].tolist() == [[True] * 3, [False] * 3, [True] * 3]
    assert trajectory.surprise[..., 0].tolist() == [
        [0, 1, 2],
        [1000, 1001, 1002],
        [9000, 9001, 9002],
    ]
    # Wherever its batch axis was, it is axis 1 from here on.
    assert list(trajectory.memory.shape) == [2, 3, 2, 3]
    assert trajectory.memory.is_contiguous()
    shards = trajectory.split([1, 2])
    assert [list(shard.memory.shape) for shard in shards] == [
        [2, 1, 2, 3],
        [2, 2, 2, 3],
    ]
    batch = Trajectory.to_batch(shards)
    assert batch["entropy"].equal(trajectory.entropy)
    assert batch["contact"].equal(trajectory.contact)


@pytest.mark.usefixtures("made_up")
def test_a_made_up_field_takes_both_ways_to_the_actor() -> None:
    rows, chunks = 2, 2
    by_rollout = runs.config(envs=rows, chunks=chunks)
    by_pipeline = runs.config(
        envs=rows, chunks=chunks, runner={"use_training_pipeline": True}
    )
    sent = [part for chunk in range(chunks) for part in parts(chunks, rows, chunk)]
    (trajectory,) = runs.items(runs.collector(by_rollout), *sent)
    batch = to_training_batch([trajectory], PreprocessSettings.from_cfg(by_rollout))
    micro = runs.items(runs.collector(by_pipeline), *sent)
    assert len(micro) == rows * chunks
    for name in ("entropy", "contact", "surprise", "memory"):
        # Rows of a micro-batch are chunks by environments, without the extra row.
        flat = batch[name][:chunks].reshape(rows * chunks, *batch[name].shape[2:])
        assert torch.cat([each[name] for each in micro]).equal(flat), name


@pytest.mark.usefixtures("made_up")
def test_a_made_up_field_is_refused_in_some_chunks_only() -> None:
    made = runs.collector(runs.config(envs=1, chunks=2))
    assert runs.items(made, runs.policy(runs.key(0), entropy=numbers(1, 0))) == []
    assert runs.items(made, runs.env(runs.key(0))) == []
    assert runs.items(made, runs.policy(runs.key(1))) == []
    with pytest.raises(TrajectoryValueError, match=r"chunk 1: entropy is missing"):
        made.collect(runs.env(runs.key(1)), None)


@pytest.mark.usefixtures("made_up")
def test_a_made_up_field_is_shown_with_what_it_is() -> None:
    output = PolicyOutput(forward_inputs={}, entropy=torch.zeros(3, 1))
    (shown,) = (row for row in overview(output) if row.name == "entropy")
    assert shown.shape == (3, 1)
    assert shown.doc == "of the policy's actions"
    step = TrajectoryStep(entropy=torch.zeros(2, 1))
    assert step.entropy.shape == (2, 1)  # type: ignore[attr-defined]  # declared above


def test_without_a_declaration_it_is_refused_by_name() -> None:
    with pytest.raises(TrajectoryTypeError, match="entropy is not declared"):
        PolicyOutput(forward_inputs={}, entropy=torch.zeros(1, 1))
    with pytest.raises(TrajectoryTypeError, match="entropy is not declared"):
        Trajectory(entropy=torch.zeros(1, 1))
    with pytest.raises(TrajectoryTypeError, match="entropy is not declared"):
        TrajectoryStep(entropy=torch.zeros(1, 1))


def test_a_request_s_field_has_no_rows_in_trajectories() -> None:
    with pytest.raises(TrajectoryValueError, match=r"'hint': a request .*Rows\.NONE"):
        declare(Field("hint", Owner.POLICY_INPUT))


def test_zeros_where_absent_follow_the_declaration() -> None:
    field = Field("hint", Owner.POLICY_INPUT, Rows.NONE, merge=Merge.ZERO_WHERE_ABSENT)
    with declared(field):
        merged = PolicyInput.merge(
            [
                PolicyInput(obs={"states": torch.zeros(1, 2)}),
                PolicyInput(obs={"states": torch.zeros(2, 2)}, hint=numbers(2, 5)),
            ]
        )
    assert merged.hint.tolist() == [[0], [5], [6]]  # type: ignore[attr-defined]  # declared above


@pytest.mark.parametrize("name", ["rewards", "final_prev_values", "initial_dones"])
def test_a_name_that_is_taken_is_refused(name: str) -> None:
    with pytest.raises(TrajectoryValueError, match="choose another"):
        declare(Field(name, Owner.POLICY_OUTPUT))
    with pytest.raises(TrajectoryValueError, match="no name"):
        declare(Field("not a name", Owner.POLICY_OUTPUT))


@pytest.mark.parametrize(
    "kind", [PolicyInput, PolicyOutput, PolicyPart, EnvTransition, EnvPart]
)
def test_what_a_record_says_it_has_is_what_is_declared(kind: type) -> None:
    """The attributes that type checkers see are those of the declarations."""
    own = {"sources", "env_parts", "request_sizes", "is_last", "output"}
    own |= {"transition", "requires_inference", "initial_transition"}
    written = {item.name for item in dataclasses.fields(kind)} - own
    assert written == {field.name for field in fields_of(kind.owner)}  # type: ignore[attr-defined]  # a record


def test_what_step_and_trajectory_say_they_have_is_what_is_declared() -> None:
    stacked = {field.name for field in trajectory_fields()}
    extra = {field.extra for field in trajectory_fields() if field.extra}
    written = {item.name for item in dataclasses.fields(Trajectory)}
    assert written - {"max_episode_length", "model_weights_id"} == stacked
    sides = {"env_intervene_flags", "policy_intervene_flags"}
    written = {item.name for item in dataclasses.fields(TrajectoryStep)}
    assert written == (stacked | extra) - sides


def test_every_stacked_field_says_what_it_is() -> None:
    for field in trajectory_fields():
        assert field.doc, field.name
        assert field.shape, field.name
    names = [(field.owner, field.name) for field in all_fields()]
    assert len(set(names)) == len(names)
