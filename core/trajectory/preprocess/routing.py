"""Which actor takes which environments of which source.

All environments lie on a line. A source owns one block of it, an actor owns one block
of another division, and a source's batch is cut where the two overlap. Trace, 12
environments, 2 sources, 3 actors::

    source   0 0 0 0 0 0 1 1 1 1 1 1
    actor    0 0 0 0 1 1 1 1 2 2 2 2

    source 0 sends 4 rows to actor 0, then 2 to actor 1;
    source 1 sends 2 rows to actor 1, then 4 to actor 2.
"""

from __future__ import annotations

from isoscope.core.trajectory.errors import TrajectoryAssertionError


class CommMapper:
    """The routing tables, from either side; and the keys of the actors' queues."""

    @staticmethod
    def get_dst_ranks(
        batch_size: int, src_world_size: int, dst_world_size: int, src_rank: int
    ) -> list[tuple[int, int]]:
        """Say where the rows of one source go.

        Parameters
        ----------
        batch_size
            All environments together.
        src_world_size, dst_world_size
            How many sources and how many actors there are.
        src_rank
            The source, from 0.

        Returns
        -------
        list of (actor, rows)
            In the order of the rows; the sizes sum up to the source's batch.

        Raises
        ------
        TrajectoryAssertionError
            If `batch_size` does not divide by both world sizes, or there is no such
            source.
        """
        _divides(batch_size, src_world_size, "sources")
        _divides(batch_size, dst_world_size, "actors")
        _is_rank(src_rank, src_world_size, "source")
        return _overlaps(
            src_rank, batch_size // src_world_size, batch_size // dst_world_size
        )

    @staticmethod
    def get_src_ranks(
        batch_size: int, src_world_size: int, dst_world_size: int, dst_rank: int
    ) -> list[tuple[int, int]]:
        """Say where the rows of one actor come from.

        The same table as :meth:`get_dst_ranks`, read by actor: (source, rows) in the
        order of the rows. Parameters and errors are the same, with `dst_rank` for an
        actor.
        """
        _divides(batch_size, src_world_size, "sources")
        _divides(batch_size, dst_world_size, "actors")
        _is_rank(dst_rank, dst_world_size, "actor")
        return _overlaps(
            dst_rank, batch_size // dst_world_size, batch_size // src_world_size
        )

    @staticmethod
    def build_channel_key(src_rank: int, dst_rank: int, extra: str) -> str:
        """Name the queue between two ranks, such as ``"1_1_pipeline_actor"``."""
        return f"{src_rank}_{dst_rank}_{extra}"


def _overlaps(rank: int, own: int, other: int) -> list[tuple[int, int]]:
    """Cut the block `rank` of size `own` by the blocks of size `other`."""
    at, end = rank * own, (rank + 1) * own
    found = []
    while at < end:
        peer = at // other
        until = min((peer + 1) * other, end)
        found.append((peer, until - at))
        at = until
    return found


def _divides(batch_size: int, world_size: int, what: str) -> None:
    if world_size <= 0 or batch_size <= 0 or batch_size % world_size:
        raise TrajectoryAssertionError(
            f"routing {batch_size} environments: they don't divide among {world_size} "
            f"{what}; choose env.train.total_num_envs as a multiple"
        )


def _is_rank(rank: int, world_size: int, what: str) -> None:
    if not 0 <= rank < world_size:
        raise TrajectoryAssertionError(
            f"routing: there is no {what} {rank}; there are {world_size}, from 0"
        )
