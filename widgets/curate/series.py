"""The rewards of an episode as a few points, and their sum. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from isoscope.core.dataset.curate.columns import WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.dataset.curate.edits import Item
    from isoscope.core.dataset.model import Episodes
    from isoscope.core.recording.tracks import Array

POINTS = 48
# The source's episode, and control steps of it: what a series is of.
Key: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """What is known of an item's rewards.

    Attributes
    ----------
    total
        Σ r, float64.
    low, high
        float64 [k], k <= POINTS: the least and the greatest reward of each part; NaN
        where one of its rewards is.
    """

    total: float
    low: Array
    high: Array


def key_of(item: Item) -> Key:
    """What an item's series is known by; a verdict or a tag doesn't change it."""
    return item.source, item.start, item.stop


def reward_of(episodes: Episodes) -> str | None:
    """The feature that is the reward; None where there is none."""
    return next((f.name for f in episodes.features if f.role == "reward"), None)


def series_of(
    episodes: Episodes,
    reward: str,
    keys: Sequence[Key],
    wanted: Callable[[], bool] = lambda: True,
) -> dict[Key, Series]:
    """The series of several items; only those so far if they are wanted no more.

    Raises
    ------
    ReadError
        If rewards can't be read.
    """
    found: dict[Key, Series] = {}
    for key in keys:
        if not wanted():
            break
        source, start, stop = key
        parts = [
            np.asarray(
                episodes.read(source, reward, at, min(at + WINDOW, stop)), np.float64
            ).reshape(-1)
            for at in range(start, stop, WINDOW)
        ]
        found[key] = _decimated(np.concatenate([np.zeros(0), *parts]))
    return found


def _decimated(values: Array) -> Series:
    if not len(values):
        return Series(0.0, values, values)
    parts = min(len(values), POINTS)
    starts = np.arange(parts) * len(values) // parts
    return Series(
        float(values.sum()),
        np.minimum.reduceat(values, starts),
        np.maximum.reduceat(values, starts),
    )
