"""Where the control steps of episodes are among a document's rows. No Qt.

A labelled recording tells the native steps of each transition, a dataset's rows are its
episodes' one after the other, and in a bare recording the attribution says it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from isoscope.core.dataset.readers.source import Layout

if TYPE_CHECKING:
    from isoscope.core.analysis import Analysis
    from isoscope.core.dataset.curate.edits import Item
    from isoscope.core.dataset.model import Episodes
    from isoscope.core.recording.tracks import Array

_TRANSITIONS = "transitions"


class Places(Protocol):
    """Where episodes are."""

    def steps_of(self, source: int) -> tuple[Array, Array] | None:
        """First and last row int64 [length] of each control step; None if unknown."""
        ...


class DatasetPlaces:
    """Rows of a dataset: its episodes' one after the other."""

    def __init__(self, episodes: Episodes) -> None:
        self._episodes = episodes
        self._layout = Layout(
            episodes, any(f.per == "boundary" for f in episodes.features)
        )
        self._layout.add(list(episodes.episodes))

    def steps_of(self, source: int) -> tuple[Array, Array] | None:
        """First and last row int64 [length] of each control step."""
        episode = self._episodes.episodes[source]
        begin = int(self._layout.ends[source]) + self._layout.extra(episode)
        rows = np.arange(begin, begin + episode.length)
        return rows, rows


class LabelledPlaces:
    """Rows as the recorder told them for each transition.

    Parameters
    ----------
    first, last
        int64 [n]: of each row of the table of transitions; -1 where unknown.
    """

    def __init__(self, episodes: Episodes, first: Array, last: Array) -> None:
        self._episodes, self._first, self._last = episodes, first, last

    def steps_of(self, source: int) -> tuple[Array, Array] | None:
        """First and last row int64 [length] of each control step; None if unknown."""
        rows = self._episodes.episodes[source].rows
        if rows is None or not len(rows):
            return None
        first, last = self._first[rows], self._last[rows]
        return None if first.min() < 0 or last.min() < 0 else (first, last)


class AttributedPlaces:
    """Rows as the attribution has them."""

    def __init__(self, episodes: Episodes, analysis: Analysis) -> None:
        self._episodes, self._analysis = episodes, analysis

    def steps_of(self, source: int) -> tuple[Array, Array] | None:
        """First and last row int64 [length] of each control step; None if unknown."""
        episode = self._episodes.episodes[source]
        if episode.native is None or episode.env is None:
            return None
        own = self._analysis.rows_of(episode.env)
        own = own[slice(*np.searchsorted(own, episode.native + np.array([0, 1])))]
        control = self._analysis.labels.control_step[own]
        own, control = own[control > 0], control[control > 0]
        steps, first = np.unique(control, return_index=True)
        if len(steps) != episode.length:
            return None
        last = np.append(first[1:], len(own)) - 1
        return own[first], own[last]


def rows_of(places: Places, item: Item) -> tuple[int, int] | None:
    """First and last row of what an item has of its episode; None if unknown."""
    steps = places.steps_of(item.source)
    if steps is None or not item.length:
        return None
    return int(steps[0][item.start]), int(steps[1][item.stop - 1])


def step_at(places: Places, item: Item, row: int) -> int | None:
    """The control step of an item, from 0, that a row is in; None if in none.

    A row between two control steps, as where another environment has its turn, counts
    to the one before it.
    """
    steps = places.steps_of(item.source)
    if steps is None or not item.length:
        return None
    first = steps[0][item.start : item.stop]
    if not first[0] <= row <= steps[1][item.stop - 1]:
        return None
    return int(np.searchsorted(first, row, "right")) - 1


def steps_within(
    places: Places, item: Item, low: int, high: int
) -> tuple[int, int] | None:
    """Control steps start .. stop of an item that rows low to high touch, half open."""
    steps = places.steps_of(item.source)
    if steps is None or not item.length:
        return None
    first, last = (rows[item.start : item.stop] for rows in steps)
    start = int(np.searchsorted(last, low, "left"))
    stop = int(np.searchsorted(first, high, "right"))
    return (start, stop) if start < stop else None
