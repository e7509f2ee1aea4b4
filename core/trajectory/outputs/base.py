"""What an output strategy has to do; the collector does everything else.

The collector joins the halves, catches duplicates, keeps what was prepared until its
scope is complete, puts it in order and tells events. A strategy prepares one chunk, and
turns the chunks of a complete scope into items. Both either succeed or leave no trace::

    prepare(chunk) -> prepared      pure: what it refuses is not stored anywhere
    flush(scope, batch) -> items    if it raises, the strategy is as it was before, and
                                    the same call can be made again
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from isoscope.core.trajectory.keys import TrajectoryKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoscope.core.trajectory.joiner import JoinedChunk
    from isoscope.core.trajectory.plan import RolloutGeometry, TrajectoryMode
    from isoscope.core.trajectory.settings import CollectorSettings

Scope = tuple[int, ...]
Source = tuple[int, int]
Emitted = tuple[Any, Any]
Prepared = TypeVar("Prepared")


class ReadyChunk(NamedTuple, Generic[Prepared]):
    """One chunk that waits for its scope: its key, and what `prepare` made of it."""

    key: TrajectoryKey
    prepared: Prepared


class OutputStrategy(ABC, Generic[Prepared]):
    """Turns joined chunks into what the actors take from the channel.

    Parameters
    ----------
    settings
        The configuration, read once (section 1.13 of the contract).
    geometry
        How many sources, chunks, shards and actors there are.
    warn
        Where to say what is doubtful without being wrong: a text and its key.

    Attributes
    ----------
    mode
        The mode that this serves.
    needs_inferred_policy
        Whether parts with external actions are refused.
    flushes_in_order
        Whether the scopes of a source must be flushed in order, because something is
        carried from one to the next. A complete scope then waits for an open earlier
        one, and a chunk of a scope before the last flushed one is refused.
    """

    mode: ClassVar[TrajectoryMode]
    needs_inferred_policy: ClassVar[bool] = True
    flushes_in_order: ClassVar[bool] = False

    def __init__(
        self,
        settings: CollectorSettings,
        geometry: RolloutGeometry,
        warn: Callable[[str, TrajectoryKey], None] = lambda text, key: None,
    ) -> None:
        self.settings = settings
        self.geometry = geometry
        self.warn = warn

    def scope_of(self, key: TrajectoryKey) -> Scope:
        """The scope that a chunk belongs to; (step_id, env_rank, stage_id) here."""
        return key.step_id, key.env_rank, key.stage_id

    @property
    def expected_keys(self) -> int:
        """How many chunks complete a scope; E·n here."""
        return self.settings.rollout_epoch * self.geometry.chunk_count

    @property
    def expected_sources(self) -> int:
        """How many sources these chunks must be of; one here."""
        return 1

    def keys_of(self, scope: Scope) -> list[TrajectoryKey]:
        """The chunks that complete a scope, in order; for reports."""
        stages = self.settings.pipeline_stage_num
        sources = [divmod(rank, stages) for rank in range(self.geometry.source_count)]
        return [
            key
            for epoch in range(self.settings.rollout_epoch)
            for source in sources
            for chunk in range(self.geometry.chunk_count)
            if self.scope_of(key := TrajectoryKey(scope[0], epoch, *source, chunk))
            == scope
        ]

    @abstractmethod
    def prepare(self, chunk: JoinedChunk) -> Prepared:
        """Check a joined chunk and turn it into what `flush` needs. Changes nothing.

        Everything that can be refused looking at one chunk is refused here, so that the
        event that brought it fails and its halves can be sent again.
        """

    def check_with(self, first: Prepared, other: Prepared, key: TrajectoryKey) -> None:
        """Refuse a chunk that doesn't fit the first one stored in its scope.

        Parameters
        ----------
        first
            What was prepared of the scope's first chunk.
        other
            What was prepared of the chunk with this `key`.
        """

    @abstractmethod
    def flush(
        self, scope: Scope, batch: Mapping[Source, Sequence[ReadyChunk[Prepared]]]
    ) -> list[Emitted]:
        """Make the items of a complete scope, each with its queue key.

        Parameters
        ----------
        scope
            Which.
        batch
            Its chunks: sources ascending, and the chunks of each in the order
            (step, epoch, chunk), whatever order they came in.

        Returns
        -------
        list of (queue key, item)
        """

    @abstractmethod
    def ranks(self, source: Source) -> tuple[int, ...]:
        """Where the rows of a source go: actor ranks, or the numbers of its shards."""
