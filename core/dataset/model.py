"""Episodes of transitions, whatever they come from: the one form that all here share.

A recording's transitions, a dataset on disk, and a curated choice of either are all
`Episodes`. Nothing is read before it is asked for, and then only the rows asked for.

An episode of T transitions (o_k, a_k, r_k, o_k+1, terminated, truncated) has T rows of
a feature that goes with control steps, and T + 1 rows of one that goes with the
boundaries between them, such as an observation: row k is before control step k + 1,
row T is what the episode ended in. Where that last one is not known, `Episode.final`
says so and there are T rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np

    from isoscope.core.recording.tracks import Array

Role: TypeAlias = Literal[
    "observation",
    "action",  # as it was applied: clipped
    "raw_action",  # as the policy gave it
    "reward",
    "reward_term",
    "terminated",
    "truncated",
    "state",  # the simulator's
    "info",
    "image",
    "time",
]
Per: TypeAlias = Literal["step", "boundary"]


@dataclass(frozen=True, slots=True)
class Feature:
    """One column.

    Attributes
    ----------
    name
        As in the source, such as ``"observation"`` or ``"obs/position"``.
    shape
        Of one row's value; () for a number.
    names, units
        Of the flat components; empty where unknown. A unit of None is unknown, ``""`` a
        pure number.
    low, high
        Declared limits by flat component; None where there are none.
    per
        Whether it goes with control steps or with the boundaries between them.
    """

    name: str
    role: Role
    dtype: np.dtype[Any]
    shape: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    units: tuple[str | None, ...] = ()
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    per: Per = "step"
    about: str = ""


@dataclass(frozen=True, slots=True)
class Episode:
    """One episode.

    Attributes
    ----------
    index
        Its place among the episodes.
    id
        What the source calls it; stays with it through curation and export.
    env, number
        Environment (from 0) and episode (from 1) where that is known.
    length
        T: transitions.
    terminated, truncated
        How it ended; both may be. None where the source doesn't say.
    complete
        Whether it ended at all within the source.
    final
        Whether the observation that it ended in is there: T + 1 boundary rows.
    native
        First and last native step, both included.
    rows
        int64 [T]: control steps' numbers in the source's own table; None where they are
        just consecutive.
    """

    index: int
    id: str
    length: int
    env: int | None = None
    number: int | None = None
    terminated: bool | None = None
    truncated: bool | None = None
    complete: bool = True
    final: bool = True
    seed: int | None = None
    task: str = ""
    native: tuple[int, int] | None = None
    rows: Array | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rows of the source that are no transitions, and why."""

    why: str
    count: int


@dataclass(frozen=True, slots=True)
class StoredStats:
    """Statistics that a dataset keeps of itself, as they were written; float64, flat.

    Attributes
    ----------
    where
        The file that those of all are in; empty if there is none.
    whole
        By feature and statistic: min, max, mean, std, count.
    episodes
        The same for each episode.
    """

    where: str
    whole: Mapping[str, Mapping[str, Array]]
    episodes: Sequence[Mapping[str, Mapping[str, Array]]]


@runtime_checkable
class Episodes(Protocol):
    """A source of episodes, read lazily."""

    @property
    def name(self) -> str:
        """What to call it in messages."""
        ...

    @property
    def path(self) -> Path | None:
        """The file or folder it comes from."""
        ...

    @property
    def format(self) -> str:
        """Key of the reader."""
        ...

    @property
    def features(self) -> Sequence[Feature]:
        """The columns; the same for all episodes."""
        ...

    @property
    def episodes(self) -> Sequence[Episode]:
        """In the source's order."""
        ...

    @property
    def control_hz(self) -> float | None:
        """Control steps a second; what a dataset calls fps. None where unknown."""
        ...

    @property
    def dropped(self) -> Sequence[Dropped]:
        """What was left out on the way here."""
        ...

    @property
    def identity(self) -> Mapping[str, Any]:
        """Engine, build, precision, versions, seeds, schedule, as far as known."""
        ...

    def read(
        self, episode: int, feature: str, start: int = 0, stop: int | None = None
    ) -> Array:
        """Rows start .. stop of a feature of an episode, [rows, *shape].

        Raises
        ------
        UsageError
            If there is no such episode or feature.
        ReadError
            If the source can't give them.
        """
        ...

    def close(self) -> None:
        """Let go of the source; may be called twice."""
        ...
