"""No two episodes are the same, value by value."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.validate.rule import Quiet, Where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.dataset.model import Episode, Feature
    from isoscope.core.dataset.validate.rule import Outcome, Severity, Subject
    from isoscope.core.recording.tracks import Array

COMPARED = ("observation", "action", "raw_action", "image")


class DuplicatesRule(Quiet):
    """Observations and actions are compared by a hash; a reward says too little."""

    ID = "duplicates"
    SEVERITY: Severity = "warning"
    ABOUT = "no two episodes have the same observations and actions"

    def __init__(self) -> None:
        super().__init__()
        self._hash = hashlib.blake2b(digest_size=16)
        self._seen: dict[bytes, str] = {}
        self._compared: set[str] = set()

    def begin(self, subject: Subject) -> None:
        """Note the features that are compared."""
        self._compared = {
            f.name for f in subject.episodes.features if f.role in COMPARED
        }

    def take(
        self, episode: Episode, feature: Feature, start: int, values: Array
    ) -> None:
        """Hash what was observed and done."""
        if feature.role in COMPARED:
            if start == 0:
                self._hash.update(feature.name.encode())
            self._hash.update(np.ascontiguousarray(values).tobytes())

    def end(self, episode: Episode, rows: Mapping[str, int]) -> None:
        """Compare with all that were before."""
        digest = self._hash.digest()
        self._hash = hashlib.blake2b(digest_size=16)
        if not self._compared <= rows.keys():
            return  # not all of it could be read
        first = self._seen.setdefault(digest, episode.id)
        if first != episode.id and episode.length:
            where = Where(episode=episode.id, env=episode.env, value=f"equals {first}")
            self.outcome.fail(where)

    def finish(self) -> Outcome:
        """Count."""
        if self.outcome.count:
            self.outcome.message = (
                f"{self.outcome.count} episodes are copies of others: the same seeds, "
                "or the same file twice"
            )
        return self.outcome
