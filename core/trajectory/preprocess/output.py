"""The pipeline output: micro-batches of one epoch, made for each actor as it completes.

Sources are cut by :class:`~.routing.CommMapper` into shards, one source and one actor
each; a micro-batch never mixes shards.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from isoscope.core.trajectory.errors import (
    TrajectoryKeyError,
    TrajectoryTypeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.fields import Rows, trajectory_fields
from isoscope.core.trajectory.outputs.rollout import AccumulatingOutput
from isoscope.core.trajectory.plan import TrajectoryMode
from isoscope.core.trajectory.preprocess.advantages import advantage
from isoscope.core.trajectory.preprocess.microbatches import micro_batches
from isoscope.core.trajectory.preprocess.routing import CommMapper
from isoscope.core.trajectory.preprocess.settings import PreprocessSettings
from isoscope.core.trajectory.preprocess.training import (
    Batch,
    normalised,
    with_advantages,
)
from isoscope.core.trajectory.trajectory import Trajectory, equal_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoscope.core.trajectory.joiner import JoinedChunk
    from isoscope.core.trajectory.keys import TrajectoryKey
    from isoscope.core.trajectory.outputs.base import (
        Emitted,
        ReadyChunk,
        Scope,
        Source,
    )
    from isoscope.core.trajectory.outputs.rollout import PreparedStep
    from isoscope.core.trajectory.plan import RolloutGeometry
    from isoscope.core.trajectory.settings import CollectorSettings
    from isoscope.core.trajectory.steps import TrajectoryStep

QUEUE = "pipeline_actor"


class PipelineOutput(AccumulatingOutput):
    """Emits the micro-batches of an epoch when all its sources are there.

    The strategy of :class:`~isoscope.core.trajectory.plan.TrajectoryMode` ``pipeline``;
    parameters as :class:`OutputStrategy`. What can't work whatever the data is refused
    here.

    Raises
    ------
    TrajectoryValueError
        If the configuration asks for what can't work; see :class:`PreprocessSettings`.
    TrajectoryAssertionError
        If the environments don't divide among sources and actors.
    """

    mode: ClassVar[TrajectoryMode] = TrajectoryMode.PIPELINE

    def __init__(
        self,
        settings: CollectorSettings,
        geometry: RolloutGeometry,
        warn: Callable[[str, TrajectoryKey], None] = lambda text, key: None,
    ) -> None:
        super().__init__(settings, geometry, warn)
        # One epoch at a time: there are none to merge.
        self.how = replace(PreprocessSettings.from_cfg(settings.cfg), rollout_epoch=1)
        self.routes = [
            CommMapper.get_dst_ranks(
                settings.total_num_envs,
                geometry.source_count,
                geometry.actor_world_size,
                rank,
            )
            for rank in range(geometry.source_count)
        ]
        sizes = {size for route in self.routes for _, size in route}
        self.how.check_micro_batches(geometry.chunk_count, sorted(sizes))
        self._generators: dict[int, torch.Generator] = {}

    def scope_of(self, key: TrajectoryKey) -> Scope:
        """The scope that a chunk belongs to: (step_id, epoch_id)."""
        return key.step_id, key.epoch_id

    @property
    def expected_keys(self) -> int:
        """How many chunks complete a scope: those of every source."""
        return self.geometry.source_count * self.geometry.chunk_count

    @property
    def expected_sources(self) -> int:
        """How many sources these chunks must be of: all."""
        return self.geometry.source_count

    def prepare(self, chunk: JoinedChunk) -> PreparedStep:
        """Make a step of a joined chunk that can become part of a micro-batch.

        Raises
        ------
        TrajectoryKeyError
            If there are no prev_logprobs.
        TrajectoryTypeError
            If forward_inputs, or what is collected beside it, holds another dict.
        TrajectoryValueError
            If rewards, dones or values are missing, or not of the width that the
            advantages need.
        """
        prepared = super().prepare(chunk)
        self._check_step(chunk.key, prepared.step)
        return prepared

    def flush(
        self, scope: Scope, batch: Mapping[Source, Sequence[ReadyChunk[PreparedStep]]]
    ) -> list[Emitted]:
        """Prepare every actor's shards and cut them into micro-batches.

        Returns
        -------
        list of (queue key, micro-batch)
            Actor by actor, source by source; the key is ``"{a}_{a}_pipeline_actor"``.

        Raises
        ------
        TrajectoryError
            If the shards can't be prepared; then no permutation has moved on.
        """
        before = {a: each.get_state() for a, each in self._generators.items()}
        made = False
        try:
            items = self._items(batch)
            made = True
        finally:
            if not made:
                self._generators = {
                    actor: _generator(state) for actor, state in before.items()
                }
        return items

    def ranks(self, source: Source) -> tuple[int, ...]:
        """The actors that get rows of a source."""
        return tuple(actor for actor, _ in self._route(source))

    # -- inside -----------------------------------------------------------------

    def _items(
        self, batch: Mapping[Source, Sequence[ReadyChunk[PreparedStep]]]
    ) -> list[Emitted]:
        shards: dict[int, list[Batch]] = {}
        for source, chunks in batch.items():
            route = self._route(source)
            for (actor, _), each in zip(route, self._cut(chunks, route), strict=True):
                shards.setdefault(actor, []).append(
                    with_advantages(Trajectory.to_batch([each]), self.how)
                )
        size = self.how.micro_batch_size or 0
        items: list[Emitted] = []
        for actor in sorted(shards):
            key = CommMapper.build_channel_key(actor, actor, QUEUE)
            generator = self._generator(actor) if self.how.shuffle_rollout else None
            for shard in normalised(shards[actor], self.how):
                items += [(key, each) for each in micro_batches(shard, size, generator)]
        return items

    def _cut(
        self,
        chunks: Sequence[ReadyChunk[PreparedStep]],
        route: Sequence[tuple[int, int]],
    ) -> list[Trajectory]:
        """Stack a source's steps into one trajectory for each actor of its route."""
        accumulator = self.accumulate(chunks)
        if len(route) == 1:
            return accumulator.to_shards(1, chunks[0].prepared.rows)
        rows = chunks[0].prepared.rows
        return Trajectory.shards_from_steps(
            accumulator.steps,
            accumulator.max_episode_length,
            equal_spans(rows, [size for _, size in route]),
            accumulator.tell,
            rows,
        )

    def _route(self, source: Source) -> list[tuple[int, int]]:
        env_rank, stage_id = source
        rank = env_rank * self.settings.pipeline_stage_num + stage_id
        if not 0 <= rank < len(self.routes):
            raise TrajectoryValueError(
                f"routing env_rank {env_rank} stage {stage_id}: there are "
                f"{len(self.routes)} sources; check the env world size and "
                "rollout.pipeline_stage_num"
            )
        return self.routes[rank]

    def _generator(self, actor: int) -> torch.Generator:
        if actor not in self._generators:
            seed = (self.how.seed or 0) + actor
            self._generators[actor] = torch.Generator().manual_seed(seed)
        return self._generators[actor]

    def _check_step(self, key: TrajectoryKey, step: TrajectoryStep) -> None:
        doing = f"preparing {key}"
        if step.prev_logprobs is None:
            raise TrajectoryKeyError(
                f"{doing}: there are no prev_logprobs; the policy has to give them for "
                "the training pipeline"
            )
        for field in trajectory_fields():
            if field.tree:
                _check_flat(doing, field.name, getattr(step, field.name))
        for name in ("rewards", "dones"):
            value = getattr(step, name)
            if isinstance(value, Tensor) and value.dim() != 2:
                raise TrajectoryValueError(
                    f"{doing}: {name} is {list(value.shape)}; give [B, C]"
                )
            if not isinstance(value, Tensor):
                raise TrajectoryValueError(
                    f"{doing}: the environment gave no {name}; the training pipeline "
                    "needs them in every chunk"
                )
        if key.chunk_id == 0 and step.initial_dones is None:
            raise TrajectoryValueError(
                f"{doing}: its initial_transition has no dones; the row before an "
                "epoch's first chunk is needed"
            )
        if advantage(self.how.adv_type).needs_values:
            self._check_values(doing, "prev_values", step.prev_values)
            if key.chunk_id == self._last_chunk:
                self._check_values(doing, "final_prev_values", step.final_prev_values)
        _check_extra_rows(
            doing, step, key.chunk_id == 0, key.chunk_id == self._last_chunk
        )

    @property
    def _last_chunk(self) -> int:
        return self.geometry.chunk_count - 1

    def _check_values(self, doing: str, name: str, values: Tensor | None) -> None:
        if values is None:
            raise TrajectoryValueError(
                f"{doing}: there are no {name}; algorithm.adv_type {self.how.adv_type} "
                "needs them, let the policy give values or choose another"
            )
        if values.dim() != 2 or values.shape[1] != self.how.columns:
            raise TrajectoryValueError(
                f"{doing}: {name} is {list(values.shape)}; algorithm.reward_type "
                f"{self.how.reward_type} needs [B, {self.how.columns}]"
            )


def _check_flat(doing: str, name: str, tree: Mapping[str, Any]) -> None:
    for key, value in tree.items():
        if isinstance(value, dict):
            raise TrajectoryTypeError(
                f"{doing}: {name}[{key!r}] is a dict; a batch has one level of "
                "keys, flatten it"
            )


def _check_extra_rows(
    doing: str, step: TrajectoryStep, first_chunk: bool, last_chunk: bool
) -> None:
    """Refuse a field without its row before the epoch, or after it, or only that."""
    for field in trajectory_fields():
        if field.extra is None:
            continue
        at_end = field.rows is Rows.T_PLUS_LAST
        if not (last_chunk if at_end else first_chunk):
            continue
        values, extra = getattr(step, field.name), getattr(step, field.extra)
        if (values is None) != (extra is None):
            have, lack = field.name, field.extra
            if values is None:
                have, lack = lack, have
            raise TrajectoryValueError(
                f"{doing}: there are {have} and no {lack}; a micro-batch needs the row "
                f"{'after' if at_end else 'before'} the epoch of what it holds, so "
                "give both or neither"
            )


def _generator(state: Tensor) -> torch.Generator:
    generator = torch.Generator()
    generator.set_state(state)
    return generator
