"""The lerobot output: episodes that ended, dealt to the shards of their source.

Episodes go on across scopes and training steps; what is emitted when a scope completes
is what ended in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from isoscope.core.channel.hooks import DEFAULT_QUEUE
from isoscope.core.trajectory.errors import (
    TrajectoryError,
    TrajectoryTypeError,
    TrajectoryValueError,
    at,
)
from isoscope.core.trajectory.lerobot.episodes import (
    DecodedStep,
    LeRobotEpisodeAccumulator,
)
from isoscope.core.trajectory.lerobot.options import SECTION, LeRobotOptions
from isoscope.core.trajectory.outputs.base import OutputStrategy
from isoscope.core.trajectory.plan import TrajectoryMode
from isoscope.core.trajectory.settings import switch

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
    from isoscope.core.trajectory.plan import RolloutGeometry
    from isoscope.core.trajectory.settings import CollectorSettings

REQUIRED = ("chunk_actions", "obs_list", "terminations", "truncations", "infos_list")
MASK = "valid_action_mask"

Decoded = list[DecodedStep]


class LeRobotOutput(OutputStrategy[Decoded]):
    """Emits the episodes that ended in a scope, one list a shard, empty ones too.

    The strategy of :class:`~isoscope.core.trajectory.plan.TrajectoryMode` ``lerobot``;
    parameters as :class:`OutputStrategy`. Shard i of a source gets
    ``episodes[i::shards]``. How frames are recorded is read from the configuration,
    see :class:`LeRobotOptions`.
    """

    mode: ClassVar[TrajectoryMode] = TrajectoryMode.LEROBOT
    needs_inferred_policy: ClassVar[bool] = False
    flushes_in_order: ClassVar[bool] = True

    def __init__(
        self,
        settings: CollectorSettings,
        geometry: RolloutGeometry,
        warn: Callable[[str, TrajectoryKey], None] = lambda text, key: None,
    ) -> None:
        super().__init__(settings, geometry, warn)
        self.options = LeRobotOptions.from_cfg(settings.cfg)
        self._sizes: dict[str, Any] = {
            "num_envs": settings.source_batch_size(geometry.source_count),
            "num_action_chunks": settings.num_action_chunks,
            "action_dim": settings.action_dim,
            "only_success": switch(settings.cfg, f"{SECTION}.only_success", False),
            "options": self.options,
        }
        # Decoding changes nothing, so one decoder serves every source.
        self._decoder = LeRobotEpisodeAccumulator(**self._sizes)
        self._accumulators: dict[Source, LeRobotEpisodeAccumulator] = {}

    def prepare(self, chunk: JoinedChunk) -> Decoded:
        """Decode a chunk's episode data, and build its frames.

        Raises
        ------
        TrajectoryValueError
            If there is no episode data, or it can't be recorded.
        TrajectoryTypeError
            If a key of it is missing or unknown; only the mask may be left out.
        """
        data = chunk.env.transition.episode_data
        if data is None:
            raise TrajectoryValueError(
                f"recording {chunk.key}: its environment part has no episode_data; "
                f"online LeRobot ({SECTION}.enabled) needs it in every chunk"
            )
        missing = [name for name in REQUIRED if name not in data]
        unknown = [name for name in data if name not in (*REQUIRED, MASK)]
        if missing or unknown:
            what = f"lacks {missing[0]!r}" if missing else f"has {unknown[0]!r}"
            raise TrajectoryTypeError(
                f"recording {chunk.key}: episode_data {what}; its keys are "
                f"{', '.join(REQUIRED)} and maybe {MASK}"
            )
        try:
            return self._decoder.decode(
                policy_output=chunk.policy.output, obs=chunk.policy.obs, **data
            )
        except TrajectoryError as problem:
            raise at(chunk.key, problem) from problem

    def flush(
        self, scope: Scope, batch: Mapping[Source, Sequence[ReadyChunk[Decoded]]]
    ) -> list[Emitted]:
        """Add the chunks of a scope and deal the episodes that ended.

        Raises
        ------
        TrajectoryError
            If a frame can't be built; then no chunk of the scope has been added.
        """
        accumulators = {source: self._accumulator(source) for source in batch}
        marks = {source: each.mark() for source, each in accumulators.items()}
        added = False
        try:
            for source, chunks in batch.items():
                for chunk in chunks:
                    _apply(accumulators[source], chunk)
            added = True
        finally:
            if not added:
                for source, mark in marks.items():
                    accumulators[source].restore(mark)
        shards = self.geometry.shards_per_source
        items: list[Emitted] = []
        for accumulator in accumulators.values():
            episodes = accumulator.drain()
            items += [(DEFAULT_QUEUE, episodes[i::shards]) for i in range(shards)]
        return items

    def ranks(self, source: Source) -> tuple[int, ...]:
        """The numbers of a source's shards."""
        return tuple(range(self.geometry.shards_per_source))

    def _accumulator(self, source: Source) -> LeRobotEpisodeAccumulator:
        if source not in self._accumulators:
            self._accumulators[source] = LeRobotEpisodeAccumulator(**self._sizes)
        return self._accumulators[source]


def _apply(accumulator: LeRobotEpisodeAccumulator, chunk: ReadyChunk[Decoded]) -> None:
    try:
        accumulator.apply(chunk.prepared)
    except TrajectoryError as problem:
        raise at(chunk.key, problem) from problem
