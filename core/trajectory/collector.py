"""The trajectory collector: parts in, trajectories or batches or episodes out.

Section 2.1 of the trajectory contract, and what it leaves to us: duplicates are caught
after a flush too, chunks are put in order, whatever fails leaves everything as it was
and can be sent again, and what waits can be asked for.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from isoscope.core.channel.hooks import ChannelContext, Collector, QueueKey
from isoscope.core.trajectory.env import EnvPart
from isoscope.core.trajectory.errors import (
    TrajectoryRuntimeError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.events import EventStream, Stage
from isoscope.core.trajectory.intake import Intake
from isoscope.core.trajectory.joiner import ChunkJoiner
from isoscope.core.trajectory.outputs.registry import strategy
from isoscope.core.trajectory.plan import TrajectoryMode, TrajectoryPlan
from isoscope.core.trajectory.policy import PolicyPart
from isoscope.core.trajectory.settings import CollectorSettings
from isoscope.core.trajectory.storing import ChunkStore
from isoscope.core.trajectory.waiting import OpenState, report
from isoscope.core.trajectory.warned import Warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from isoscope.core.trajectory.env import TrajectoryPart
    from isoscope.core.trajectory.keys import TrajectoryKey
    from isoscope.core.trajectory.outputs.base import Emitted
    from isoscope.core.trajectory.pending import PendingReport

WORLDS = ("env_world_size", "actor_world_size")

log = logging.getLogger(__name__)


class TrajectoryCollector(Collector):
    """Joins parts into chunks, chunks into scopes, and lets complete scopes out.

    Registered for channels as ``embodied_trajectory``. Parts may come from several
    threads; they are taken one at a time.

    Parameters
    ----------
    env_world_size, actor_world_size
        How many environment workers and actors there are; a channel's options of these
        names go before them.
    clock
        Seconds, monotonic: what ages and events are measured with.

    Attributes
    ----------
    plan, settings
        The layout and the configuration; there after `setup`.
    events
        The life of every chunk; `events.listen()`.
    warnings
        What was doubtful.
    """

    plan: TrajectoryPlan
    settings: CollectorSettings

    def __init__(
        self,
        *,
        env_world_size: int = 1,
        actor_world_size: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._worlds = {
            "env_world_size": env_world_size,
            "actor_world_size": actor_world_size,
        }
        self._clock = clock
        self._lock = threading.RLock()
        self._set_up: tuple[Intake, ChunkStore] | None = None
        self.events = EventStream(clock)
        self.warnings = Warnings(self.events)

    def setup(self, ctx: ChannelContext) -> None:
        """Read the run's configuration and get ready.

        Parameters
        ----------
        ctx
            Its cfg is needed; of its options, env_world_size and actor_world_size.

        Raises
        ------
        TrajectoryValueError
            If there is no configuration, or it doesn't fit together.
        """
        super().setup(ctx)
        if ctx.cfg is None:
            raise TrajectoryValueError(
                "setting up the trajectory collector: there is no configuration; give "
                "the run's cfg when the channel is made"
            )
        worlds = {name: ctx.options.get(name, self._worlds[name]) for name in WORLDS}
        self.plan = TrajectoryPlan.from_cfg(ctx.cfg, **worlds)
        self.settings = CollectorSettings.from_cfg(ctx.cfg)
        geometry = self.plan.geometry
        if geometry.chunk_count < 1 or self.settings.rollout_epoch < 1:
            raise TrajectoryValueError(
                f"setting up the trajectory collector: a training step would have "
                f"{self.settings.rollout_epoch} epochs of {geometry.chunk_count} "
                "chunks; make env.train.rollout_epoch 1 or more, and "
                "env.train.max_steps_per_rollout_epoch at least one chunk's "
                "actor.model.num_action_chunks"
            )
        rows = self.settings.source_batch_size(geometry.source_count)
        output = strategy(self.plan.mode)(self.settings, geometry, self.warnings.add)
        store = ChunkStore(output, rows, self.events, self._clock)
        joiner = ChunkJoiner(rows, self._clock)
        self._set_up = Intake(joiner, store.is_done, self.events), store
        if (
            self.plan.mode is TrajectoryMode.ROLLOUT
            and rows % geometry.shards_per_source
        ):
            self.warnings.add(
                f"setting up the trajectory collector: {rows} environments of a source "
                f"can't be cut into {geometry.shards_per_source} equal shards, so "
                "nothing can go out; change env.train.total_num_envs"
            )

    def collect(self, item: TrajectoryPart, key: QueueKey = None) -> Iterable[Emitted]:
        """Take a part; give what it completes, each with its queue key.

        All is done when this returns. Chunks are stored one after another until one
        fails; its halves stay, so that resending either tries it again, and what comes
        after it is tried with the next part.

        Parameters
        ----------
        item
            A PolicyPart or EnvPart.
        key
            Ignored.

        Returns
        -------
        iterable of (queue key, item)
            Raises after its last pair if a later chunk of the same part failed.

        Raises
        ------
        TrajectoryValueError
            If it is no part, a chunk comes twice, or parts don't fit together.
        """
        with self._lock:
            intake, store = self._running()
            intake.take(item)
            return self._go_on(intake, store)

    def retry(self) -> Iterable[Emitted]:
        """Try again whatever is complete and hasn't gone out; as `collect`."""
        with self._lock:
            intake, store = self._running()
            intake.take_all_joined()
            return self._go_on(intake, store, store.let_out_all())

    def discard(self, key: TrajectoryKey) -> bool:
        """Forget a chunk whose scope hasn't gone out; it can be sent anew.

        Returns
        -------
        bool
            Whether there was anything of it: a half, fragments, or stored in its scope.
        """
        with self._lock:
            intake, store = self._running()
            waiting, stored = intake.discard(key), store.discard(key)
            if waiting or stored:
                intake.tell_failure(key, "discarded")
            return waiting or stored

    def pending(self) -> PendingReport:
        """Which halves, fragments and scopes wait for what, and for how long."""
        with self._lock:
            intake, store = self._running()
            state = OpenState.of(
                intake.joiner, store.ledger, intake.problems, self._clock()
            )
        return report(state, store.output, intake.joiner.source_batch_size)

    def finish(self) -> PendingReport:
        """Say at the end of the stream what never completed; each is told as failed."""
        left = self.pending()
        with self._lock:
            for key, line in left.by_key():
                self.events.tell(
                    Stage.FAILED, key, 0, 0, text=f"never completed: {line}"
                )
        if left:
            log.warning(
                "the stream ended with %d things incomplete, the first: %s",
                len(left.lines()),
                left.lines()[0],
            )
        return left

    def sources_of(self, item: Any) -> Iterable[Hashable]:
        """The (env_rank, stage_id) whose rows a part carries."""
        if not isinstance(item, (PolicyPart, EnvPart)):
            return ()
        return {source.key.source for source in item.sources}

    def waiting(self, sources: Iterable[Hashable] | None = None) -> Sequence[str]:
        """What is incomplete, a line each: of these sources, or all of it."""
        left = self.pending()
        return (left if sources is None else left.of_sources(sources)).lines()

    def _running(self) -> tuple[Intake, ChunkStore]:
        if self._set_up is None:
            raise TrajectoryRuntimeError(
                "using the trajectory collector: it is not set up; call setup first"
            )
        return self._set_up

    def _go_on(
        self,
        intake: Intake,
        store: ChunkStore,
        then: Iterable[list[Emitted]] = (),
    ) -> Iterable[Emitted]:
        """Store what is ready, let out what that completes, until something fails."""
        outputs: list[Emitted] = []
        try:
            while intake.ready:
                chunk = intake.ready.pop(next(iter(intake.ready)))
                try:
                    outputs += store.store(chunk)
                except Exception as problem:
                    intake.failed(chunk.key, problem)
                    raise
                intake.stored(chunk.key)
                for more in store.let_out_after(chunk.key):
                    outputs += more
            for more in then:
                outputs += more
        except Exception as problem:
            if not outputs:
                raise
            return _then_raise(outputs, problem)
        return outputs


def _then_raise(outputs: list[Emitted], problem: Exception) -> Iterator[Emitted]:
    yield from outputs
    raise problem
