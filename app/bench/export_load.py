"""The episodes that an export is measured with: computed when they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.dataset.model import Dropped, Episode, Feature

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoscope.core.recording.tracks import Array

F4 = np.dtype(np.float32)
FEATURES = (
    Feature("observation", "observation", F4, (4,), per="boundary"),
    Feature("action", "action", F4, (1,)),
    Feature("reward", "reward", F4),
    Feature("terminated", "terminated", np.dtype(np.bool_)),
)
TABLE_ROWS = 1 << 12


class Load:
    """Episodes of equal length: 4 observations, 1 action, reward and done.

    Parameters
    ----------
    episodes, length
        How many, and transitions of each.
    """

    name = "generated"
    path: Path | None = None
    format = "generated"
    features: Sequence[Feature] = FEATURES
    control_hz: float | None = 50.0
    dropped: Sequence[Dropped] = ()
    identity: Mapping[str, Any] = {}

    def __init__(self, episodes: int, length: int) -> None:
        self.episodes: Sequence[Episode] = [
            Episode(k, f"e{k}", length, terminated=True, truncated=False, final=False)
            for k in range(episodes)
        ]
        rng = np.random.default_rng(0)
        self._table = rng.standard_normal((TABLE_ROWS, 4)).astype(np.float32)
        self._length = length

    def read(
        self, episode: int, feature: str, start: int = 0, stop: int | None = None
    ) -> Array:
        """Rows start .. stop of a feature of an episode, as far as it has them."""
        stop = self._length if stop is None else min(stop, self._length)
        at = np.arange(start, stop)
        if feature == "terminated":
            return np.asarray(at == self._length - 1)
        values = self._table[(at + 17 * episode) % TABLE_ROWS]
        if feature == "observation":
            return values
        return values[:, :1] if feature == "action" else values[:, 1]

    def close(self) -> None:
        """Do nothing."""
