"""What the readers share: an opened dataset, its episodes made when asked for.

A reader says how many episodes there are, makes each one's description, and reads rows.
Here everything that was asked for is checked first, and what comes back is checked, so
that a file that lies about itself gives one message and no wrong numbers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from isoscope.core.dataset.sidecar import episode_of, with_note
from isoscope.core.errors import ReadError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from isoscope.core.dataset.model import Dropped, Episode, Feature
    from isoscope.core.dataset.sidecar import Sidecar
    from isoscope.core.recording.tracks import Array

READING = "reading"
MAX_READ = 1 << 31  # bytes of one answer
MAX_LENGTH = 1 << 40


@dataclass(frozen=True, slots=True)
class Unfit:
    """A column that is left unread, since its rows can't be told from control steps.

    Attributes
    ----------
    rows, steps
        Rows that it has in this episode, and control steps of the episode.
    """

    episode: str
    name: str
    rows: int
    steps: int


class EpisodeList(Sequence["Episode"]):
    """Episodes that are made when somebody looks at them, and kept."""

    def __init__(self, count: int, make: Callable[[int], Episode]) -> None:
        self._made: list[Episode | None] = [None] * count
        self._make = make

    def __len__(self) -> int:
        """How many."""
        return len(self._made)

    def __iter__(self) -> Iterator[Episode]:
        """All of them; a sequence's own way asks for each by its place."""
        for at, found in enumerate(self._made):
            yield self[at] if found is None else found

    @overload
    def __getitem__(self, index: int) -> Episode: ...
    @overload
    def __getitem__(self, index: slice) -> list[Episode]: ...
    def __getitem__(self, index: int | slice) -> Episode | list[Episode]:
        """One, or some."""
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        at = range(len(self._made))[index]
        found = self._made[at]
        if found is None:
            found = self._made[at] = self._make(at)
        return found


class Dataset(ABC):
    """An opened dataset; see `isoscope.core.dataset.model.Episodes`.

    Parameters
    ----------
    path
        As it was asked for.
    format
        Key of the reader.
    features
        The columns as the data has them.
    count
        Episodes.
    """

    def __init__(
        self, path: Path, format: str, features: Sequence[Feature], count: int
    ) -> None:
        self.path: Path | None = path
        self.root = path
        self.format = format
        self.name = path.name
        self.control_hz: float | None = None
        self.dropped: Sequence[Dropped] = ()
        self.identity: Mapping[str, Any] = {}
        self.splits: Mapping[str, Sequence[int]] = {}
        self.problems: list[str] = []
        self.unfit: list[Unfit] = []
        self._told: Sidecar | None = None
        self.episodes: Sequence[Episode] = EpisodeList(count, self._episode)
        self._set(features)

    def _set(self, features: Sequence[Feature]) -> None:
        self.features: Sequence[Feature] = tuple(features)
        self._named = {f.name: f for f in self.features}

    def take(self, told: Sidecar | None) -> None:
        """Take over what only the description beside the data says, where it fits."""
        if told is None:
            return
        if len(told.episodes.id) != len(self.episodes):
            self.problems.append(
                f"its description speaks of {len(told.episodes.id)} episodes, but "
                f"there are {len(self.episodes)}; it is left out of account"
            )
            return
        self._told = told
        notes = {note.name: note for note in told.features}
        self._set(
            [
                with_note(f, notes[f.name]) if f.name in notes else f
                for f in self.features
            ]
        )
        hidden = set(told.derived)
        self.features = tuple(f for f in self.features if f.name not in hidden)
        self.identity = {**told.identity, **self.identity}
        if self.control_hz is None:
            self.control_hz = told.control_hz
        self.splits = self.splits or told.splits

    def _episode(self, index: int) -> Episode:
        if self._told is not None:
            # Nothing else of the data is needed then, which is much for many episodes.
            told = episode_of(self._told.episodes, index)
            if 0 <= told.length == self.length_of(index) < MAX_LENGTH:
                return told
        found = self.describe(index)
        if not 0 <= found.length < MAX_LENGTH:
            raise self.error(f"episode {found.id} claims {found.length} transitions")
        if self._told is not None:
            self.problems.append(
                f"its description says that episode {told.id} has {told.length} "
                f"transitions, but it has {found.length}"
            )
        return found

    def feature(self, name: str) -> Feature:
        """The feature of this name.

        Raises
        ------
        UsageError
            If there is none; the message lists those there are.
        """
        found = self._named.get(name)
        if found is None:
            names = ", ".join(self._named) or "none"
            raise UsageError(f"{self.name} has no feature {name!r}; it has {names}")
        return found

    def rows_of(self, episode: int, feature: Feature) -> int:
        """How many rows a feature has in an episode."""
        found = self.episodes[episode]
        return found.length + (feature.per == "boundary" and found.final)

    def read(
        self, episode: int, feature: str, start: int = 0, stop: int | None = None
    ) -> Array:
        """Rows start .. stop of a feature of an episode, [rows, *shape]."""
        if not 0 <= episode < len(self.episodes):
            raise UsageError(f"{self.name} has no episode {episode}")
        known = self.feature(feature)
        rows = self.rows_of(episode, known)
        start, stop, _ = slice(start, stop).indices(rows)
        stop = max(stop, start)
        size = math.prod(known.shape) * known.dtype.itemsize
        if (stop - start) * size > MAX_READ:
            raise self.error(
                f"rows {start} to {stop} of {feature} are {(stop - start) * size:,} "
                "bytes; read fewer at a time",
                self.where(episode),
            )
        if stop == start:
            return np.zeros((0, *known.shape), known.dtype)
        values = self.rows(episode, known, start, stop)
        expected = (stop - start, *known.shape)
        if values.dtype != known.dtype or values.size != math.prod(expected):
            raise self.error(
                f"{feature} is {values.dtype}{list(values.shape)} there, not "
                f"{known.dtype}{list(expected)}",
                self.where(episode),
            )
        return values.reshape(expected)

    def where(self, episode: int) -> str:
        """What to call an episode's place in messages."""
        return f"episode {self.episodes[episode].id}"

    def error(self, problem: str, where: str = "", remedy: str = "") -> ReadError:
        """One message about this dataset."""
        return ReadError(READING, self.root, problem, where=where, remedy=remedy)

    def length_of(self, index: int) -> int:
        """T of the episode of this place, from the data alone."""
        return self.describe(index).length

    @abstractmethod
    def describe(self, index: int) -> Episode:
        """The episode of this place, from the data alone."""

    @abstractmethod
    def rows(self, episode: int, feature: Feature, start: int, stop: int) -> Array:
        """Rows start .. stop, which the episode has."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the files; may be called twice."""
