"""The rollout output: one trajectory per source and step, cut into equal shards."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from isoscope.core.channel.hooks import DEFAULT_QUEUE
from isoscope.core.trajectory import rewards as reward_rules
from isoscope.core.trajectory.accumulator import TrajectoryAccumulator
from isoscope.core.trajectory.errors import TrajectoryValueError
from isoscope.core.trajectory.fields import on_change, trajectory_fields
from isoscope.core.trajectory.outputs.base import OutputStrategy
from isoscope.core.trajectory.plan import TrajectoryMode
from isoscope.core.trajectory.settings import FlagRule
from isoscope.core.trajectory.steps import FLAGS, TrajectoryStep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.trajectory.env import EnvTransition
    from isoscope.core.trajectory.joiner import JoinedChunk
    from isoscope.core.trajectory.keys import TrajectoryKey
    from isoscope.core.trajectory.outputs.base import (
        Emitted,
        ReadyChunk,
        Scope,
        Source,
    )


class PreparedStep(NamedTuple):
    """A step, its delayed rewards if it has any, its rows, and what it doesn't have."""

    step: TrajectoryStep
    delayed: EnvTransition | None
    rows: int
    absent: tuple[str, ...]


class AccumulatingOutput(OutputStrategy[PreparedStep]):
    """What rollout and pipeline have in common: chunks become steps of trajectories."""

    def prepare(self, chunk: JoinedChunk) -> PreparedStep:
        """Make a step of a joined chunk.

        Raises
        ------
        TrajectoryValueError
            If something that the settings want is missing or doesn't fit.
        """
        settings = self.settings
        rewards = reward_rules.compute(
            chunk.env.transition,
            chunk.env.bootstrap_values,
            env_reward_weight=settings.env_reward_weight,
            reward_weight=settings.reward_weight,
            auto_reset=settings.auto_reset,
            bootstrap_type=settings.bootstrap_type,
            gamma=settings.gamma,
            fresh=False,  # `accumulate` copies before it adds delayed rewards
        )
        last = chunk.key.chunk_id == self.geometry.chunk_count - 1
        step = TrajectoryStep.from_parts(
            chunk.policy,
            chunk.env,
            rewards,
            collect_prev_infos=settings.collect_prev_infos,
            collect_transitions=settings.collect_transitions,
            enable_rlt=settings.enable_rlt,
            include_final_value=last,
            policy_overwrites=settings.flag_rule is FlagRule.POLICY_OVERWRITES,
        )
        transition = chunk.env.transition
        reward_rules.check_spread(transition)
        delayed = transition if transition.reward_assign_lengths is not None else None
        if settings.auto_reset:
            self._warn_of_early_cuts(chunk)
        self._warn_of_flattened_flags(step, chunk.key)
        rows = sum([source.size for source in chunk.env.sources])
        return PreparedStep(step, delayed, rows, _absent(step))

    def check_with(
        self, first: PreparedStep, other: PreparedStep, key: TrajectoryKey
    ) -> None:
        """Refuse a chunk that has other fields than the first one of its scope."""
        if first.absent == other.absent:
            return
        odd = set(first.absent) ^ set(other.absent)
        name = next(name for name in _in_all_or_none() if name in odd)
        raise TrajectoryValueError(
            f"storing {key}: {name} is "
            f"{'missing' if name in other.absent else 'there'}, unlike in "
            "others of its scope; give it in every chunk or in none"
        )

    def accumulate(
        self, chunks: Sequence[ReadyChunk[PreparedStep]]
    ) -> TrajectoryAccumulator:
        """Put one source's steps after one another, and spread delayed rewards.

        What was prepared stays as it is, so that this can be done again.
        """
        accumulator = TrajectoryAccumulator(
            self.settings.max_episode_steps,
            tell=lambda text: self.warn(
                f"{chunks[0].key} and on: {text}", chunks[0].key
            ),
        )
        if all([chunk.prepared.delayed is None for chunk in chunks]):
            accumulator.steps += [chunk.prepared.step for chunk in chunks]
            return accumulator
        for chunk in chunks:
            accumulator.append(chunk.prepared.step.copy())
            if chunk.prepared.delayed is not None:
                accumulator.assign_history_rewards(
                    chunk.prepared.delayed, self.settings.reward_weight
                )
        return accumulator

    def _warn_of_flattened_flags(
        self, step: TrajectoryStep, key: TrajectoryKey
    ) -> None:
        actions, marked = step.actions, step.policy_side
        if actions is None or marked is None or actions.ndim == marked.ndim:
            return
        self.warn(
            f"{key}: actions are {list(actions.shape)} and the policy's intervention "
            f"flags became {list(marked.shape)}, as in RLinf; flatten actions to "
            "[B, D] to have both in one shape",
            key,
        )

    def _warn_of_early_cuts(self, chunk: JoinedChunk) -> None:
        cuts = reward_rules.cut_before_the_end(chunk.env.transition)
        if not cuts:
            return
        named = ", ".join(f"row {row} in slot {slot}" for row, slot in cuts[:5])
        more = f" and {len(cuts) - 5} more" if len(cuts) > 5 else ""
        self.warn(
            f"{chunk.key}: an episode was truncated before the chunk's last slot "
            f"({named}{more}); under auto_reset only the last slot's reward is "
            "completed by a value, so these count as worth nothing more; end chunks "
            "where episodes are truncated",
            chunk.key,
        )


class RolloutOutput(AccumulatingOutput):
    """Emits `shards_per_source` trajectories of equally many environments a source."""

    mode: ClassVar[TrajectoryMode] = TrajectoryMode.ROLLOUT

    def flush(
        self, scope: Scope, batch: Mapping[Source, Sequence[ReadyChunk[PreparedStep]]]
    ) -> list[Emitted]:
        """Stack each source's steps and cut the environments into shards.

        Raises
        ------
        TrajectoryValueError
            If the environments can't be divided, or chunks don't fit one another.
        """
        return [
            (DEFAULT_QUEUE, trajectory)
            for chunks in batch.values()
            for trajectory in self.accumulate(chunks).to_shards(
                self.geometry.shards_per_source, chunks[0].prepared.rows
            )
        ]

    def ranks(self, source: Source) -> tuple[int, ...]:
        """The numbers of a source's shards."""
        return tuple(range(self.geometry.shards_per_source))


@cache
def _in_all_or_none() -> tuple[str, ...]:
    """Fields that every chunk of a scope has, or none; stacking looks after dicts.

    Intervention flags are there wherever actions are.
    """
    return tuple(
        item.name
        for item in trajectory_fields()
        if not item.tree and not item.false_where_absent and item.name != FLAGS
    )


def _absent(step: TrajectoryStep) -> tuple[str, ...]:
    """Which of these a step lacks."""
    values = step.__dict__
    return tuple([name for name in _in_all_or_none() if values.get(name) is None])


on_change(_in_all_or_none.cache_clear)
