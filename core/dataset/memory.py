"""Episodes that lie in memory, for what is computed here and for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoscope.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoscope.core.dataset.model import Dropped, Episode, Feature
    from isoscope.core.recording.tracks import Array


@dataclass(slots=True)
class MemoryEpisodes:
    """Episodes whose columns are arrays; see `isoscope.core.dataset.model.Episodes`.

    Attributes
    ----------
    columns
        For each episode its arrays [rows, *shape] by feature.
    """

    name: str
    features: Sequence[Feature]
    episodes: Sequence[Episode]
    columns: Sequence[Mapping[str, Array]]
    control_hz: float | None = None
    format: str = "memory"
    path: Path | None = None
    dropped: Sequence[Dropped] = ()
    identity: Mapping[str, Any] = field(default_factory=dict)

    def read(
        self, episode: int, feature: str, start: int = 0, stop: int | None = None
    ) -> Array:
        """Rows start .. stop of a feature of an episode, [rows, *shape]."""
        if not 0 <= episode < len(self.episodes):
            raise UsageError(f"{self.name} has no episode {episode}")
        if feature not in self.columns[episode]:
            raise UsageError(f"{self.name} has no feature {feature!r}")
        return self.columns[episode][feature][start:stop]

    def close(self) -> None:
        """Do nothing."""
