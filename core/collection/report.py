"""What a collecting run says in the end: ``isoscope.collect/1``."""

from __future__ import annotations

import statistics

import msgspec


class ChunkCounts(msgspec.Struct):
    """What became of the chunks, as ``isoscope.collect/1`` prints it.

    Attributes
    ----------
    policy_parts, env_parts
        Halves that came, with fragments counted each.
    joined
        Chunks whose halves were both complete; one that had to be tried again counts
        again.
    flushed
        Chunks that went out.
    failed
        Refusals, duplicates not among them.
    duplicates
        Rows that came again after their chunk was stored, or before.
    pending
        Chunks of which something came that have not gone out.
    """

    policy_parts: int = 0
    env_parts: int = 0
    joined: int = 0
    flushed: int = 0
    failed: int = 0
    duplicates: int = 0
    pending: int = 0


class OutputCount(msgspec.Struct):
    """How many items came out for one actor, by the key of their queue."""

    mode: str
    key: str
    actor: int
    count: int


class Returns(msgspec.Struct):
    """Undiscounted returns of the episodes that ended; None where none did."""

    mean: float | None
    min: float | None
    max: float | None
    count: int

    @classmethod
    def of(cls, returns: list[float]) -> Returns:
        """Sum up a list of returns."""
        if not returns:
            return cls(None, None, None, 0)
        return cls(statistics.fmean(returns), min(returns), max(returns), len(returns))


class CollectReport(msgspec.Struct):
    """What was collected.

    Attributes
    ----------
    chunks
        What became of the chunks.
    outputs
        What came out.
    transitions
        Control steps that really carried out their action for the chunk's episode.
    returns
        Of episodes that ended.
    shards
        Names of the files that were written.
    seconds
        How long it took.
    warnings
        How often something was doubtful.
    incomplete
        What never completed, a line each.
    lost
        Producers that went away, a line each.
    """

    chunks: ChunkCounts
    outputs: list[OutputCount]
    transitions: int
    returns: Returns
    shards: list[str]
    seconds: float
    warnings: int
    incomplete: list[str]
    lost: list[str]
    schema: str = "isoscope.collect/1"
