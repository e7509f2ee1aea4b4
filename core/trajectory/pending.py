"""What a collector is waiting for: halves, fragments, scopes, and for how long.

No torch in here: the window and the command line show it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from isoscope.core.trajectory.keys import TrajectoryKey

Spans = tuple[tuple[int, int], ...]
NAMED_AT_MOST = 8  # more missing chunks than this are counted, not named


@dataclass(frozen=True, slots=True)
class PendingHalf:
    """A half whose other half hasn't come.

    Attributes
    ----------
    key
        Of which chunk.
    has, waits_for
        ``"policy"`` or ``"env"``.
    rows
        How many environments.
    age_s
        Since it came.
    """

    key: TrajectoryKey
    has: str
    waits_for: str
    rows: int
    age_s: float

    def __str__(self) -> str:
        return (
            f"{self.key}: has its {self.has} half ({self.rows} rows), waits for its "
            f"{self.waits_for} half since {self.age_s:.3g} s"
        )


@dataclass(frozen=True, slots=True)
class PendingFragments:
    """Fragments of a half, of which some are missing, or which don't fit.

    Attributes
    ----------
    key, half
        Of which half of which chunk.
    have, missing
        (first row, rows) of what is there and of what isn't.
    fits
        Whether the missing rows would complete it. If not, it has to be discarded.
    age_s
        Since the first of them came.
    """

    key: TrajectoryKey
    half: str
    have: Spans
    missing: Spans
    fits: bool
    age_s: float

    def __str__(self) -> str:
        waits = f"waits for {_rows(self.missing)}"
        if not self.fits:
            waits = "can't be put together: discard the key and send it again"
        return (
            f"{self.key}: has {_rows(self.have)} of its {self.half} half, {waits}; "
            f"since {self.age_s:.3g} s"
        )


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A joined chunk that isn't stored, because that failed or wasn't tried yet.

    Attributes
    ----------
    key
        Which.
    problem
        Why; empty if it wasn't tried. Resending either half tries it (again).
    age_s
        Since its second half came.
    """

    key: TrajectoryKey
    problem: str
    age_s: float

    def __str__(self) -> str:
        why = f"failed: {self.problem}" if self.problem else "waits to be stored"
        return f"{self.key}: joined since {self.age_s:.3g} s, {why}"


@dataclass(frozen=True, slots=True)
class PendingScope:
    """A scope that isn't complete, or that can't go out yet.

    Attributes
    ----------
    scope
        (step, env_rank, stage), or (step, epoch) in pipeline mode.
    stored
        The chunks that are there.
    expected
        How many complete it.
    missing
        The chunks that are not stored.
    behind
        The open scope that has to go out before this one; None if there is none.
    age_s
        Since its first chunk was stored.
    """

    scope: tuple[int, ...]
    stored: tuple[TrajectoryKey, ...]
    expected: int
    missing: tuple[TrajectoryKey, ...]
    behind: tuple[int, ...] | None
    age_s: float

    def __str__(self) -> str:
        if len(self.stored) >= self.expected:
            waits = "could not go out: call retry, or look at the last error"
            if self.behind is not None:
                waits = f"waits for scope {self.behind} to go out first"
        else:
            named = ", ".join(
                f"epoch {k.epoch_id} env_rank {k.env_rank} stage {k.stage_id} "
                f"chunk {k.chunk_id}"
                for k in self.missing[:NAMED_AT_MOST]
            )
            more = len(self.missing) - NAMED_AT_MOST
            waits = f"waits for {named}" + (f" and {more} more" if more > 0 else "")
        return (
            f"scope {self.scope}: has {len(self.stored)} of {self.expected} chunks "
            f"since {self.age_s:.3g} s, {waits}"
        )


@dataclass(frozen=True, slots=True)
class PendingReport:
    """Everything that isn't complete, oldest first in each list. False if nothing."""

    halves: tuple[PendingHalf, ...] = ()
    fragments: tuple[PendingFragments, ...] = ()
    chunks: tuple[PendingChunk, ...] = ()
    scopes: tuple[PendingScope, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.halves or self.fragments or self.chunks or self.scopes)

    @property
    def oldest_s(self) -> float:
        """The age of what has waited longest; 0 if nothing waits."""
        return max((item.age_s for item in self._items()), default=0.0)

    def lines(self) -> list[str]:
        """One line each."""
        return [str(item) for item in self._items()]

    def by_key(self) -> Iterator[tuple[TrajectoryKey, str]]:
        """Every chunk that isn't through, with the line that says why."""
        for half in self.halves:
            yield half.key, str(half)
        for fragments in self.fragments:
            yield fragments.key, str(fragments)
        for chunk in self.chunks:
            yield chunk.key, str(chunk)
        for scope in self.scopes:
            for key in scope.stored:
                yield key, str(scope)

    def of_sources(self, of: Iterable[Hashable]) -> PendingReport:
        """Only what these (env_rank, stage_id) have, or scopes that wait for them."""
        sources = set(of)
        return PendingReport(
            tuple(x for x in self.halves if x.key.source in sources),
            tuple(x for x in self.fragments if x.key.source in sources),
            tuple(x for x in self.chunks if x.key.source in sources),
            tuple(
                x
                for x in self.scopes
                if x.scope[1:] in sources or any(k.source in sources for k in x.missing)
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and dicts, as they are written into JSON."""
        return asdict(self)

    def _items(self) -> tuple[Any, ...]:
        return (*self.halves, *self.fragments, *self.chunks, *self.scopes)


def missing_spans(have: Spans, total: int) -> tuple[Spans, bool]:
    """The rows that are not there, and whether what is there fits together."""
    missing, reached, fits = [], 0, True
    for first, rows in sorted(have):
        if first > reached:
            missing.append((reached, first - reached))
        fits &= first >= reached
        reached = max(reached, first + rows)
    if reached < total:
        missing.append((reached, total - reached))
    return tuple(missing), fits and reached <= total


def _rows(spans: Spans) -> str:
    named = [f"{a} to {a + n - 1}" if n > 1 else f"{a}" for a, n in sorted(spans)]
    return f"rows {', '.join(named)}" if named else "no rows"
