"""Actions lie within their declared limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.validate.rule import NotCheckableError, Quiet, Where
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Episode, Feature
    from isoscope.core.dataset.validate.rule import Outcome, Severity, Subject
    from isoscope.core.recording.tracks import Array


class ActionBoundsRule(Quiet):
    """See the module's docstring; raw actions may lie outside, that is what clips."""

    ID = "action-bounds"
    SEVERITY: Severity = "error"
    ABOUT = "applied actions lie within their declared limits"

    def begin(self, subject: Subject) -> None:
        """Find the actions that have limits."""
        self._limits = {
            f.name: (np.array(f.low), np.array(f.high))
            for f in subject.episodes.features
            if f.role == "action" and f.low is not None and f.high is not None
        }
        if not self._limits:
            raise NotCheckableError("no action has declared limits")

    def take(
        self, episode: Episode, feature: Feature, start: int, values: Array
    ) -> None:
        """Compare with the limits as the column's own dtype holds them."""
        limits = self._limits.get(feature.name)
        if limits is None or not len(values):
            return
        flat = values.reshape(len(values), -1)
        low, high = (limit.astype(flat.dtype) for limit in limits)
        out = (flat < low) | (flat > high)
        if out.any():
            rows, components = np.nonzero(out)
            at, c = int(rows[0]), int(components[0])
            self.outcome.fail(
                Where(
                    episode=episode.id,
                    env=episode.env,
                    step=start + at,
                    feature=feature.name,
                    component=c,
                    value=float(flat[at, c]),
                    expected=[float(low[c]), float(high[c])],
                ),
                count=len(rows),
            )

    def finish(self) -> Outcome:
        """Count."""
        if self.outcome.count:
            self.outcome.message = (
                f"{counted(self.outcome.count, 'action component')} outside of the "
                "limits: are these the raw ones?"
            )
        return self.outcome
