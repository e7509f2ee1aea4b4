"""No value is NaN or infinite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.validate.rule import Quiet, Where
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Episode, Feature
    from isoscope.core.dataset.validate.rule import Outcome, Severity
    from isoscope.core.recording.tracks import Array

# What says that nothing was recorded; it never enters a transition.
MAY_BE_ABSENT = ("info", "reward_term", "state")


class FiniteRule(Quiet):
    """See the module's docstring."""

    ID = "finite"
    SEVERITY: Severity = "error"
    ABOUT = "no observation, action or reward is NaN or infinite"

    def __init__(self) -> None:
        super().__init__()
        self._episodes: set[str] = set()

    def take(
        self, episode: Episode, feature: Feature, start: int, values: Array
    ) -> None:
        """Count what is not finite, and where it begins."""
        if values.dtype.kind not in "fc" or feature.role in MAY_BE_ABSENT:
            return
        bad = ~np.isfinite(values.reshape(len(values), -1))
        if not bad.any():
            return
        rows, components = np.nonzero(bad)
        at, component = int(rows[0]), int(components[0])
        self._episodes.add(episode.id)
        self.outcome.fail(
            Where(
                episode=episode.id,
                env=episode.env,
                step=start + at,
                feature=feature.name,
                component=component,
                value=float(values.reshape(len(values), -1)[at, component]),
            ),
            count=len(rows),
        )

    def finish(self) -> Outcome:
        """Count."""
        if self.outcome.count:
            self.outcome.message = (
                f"{counted(self.outcome.count, 'value')} in "
                f"{counted(len(self._episodes), 'episode')} not finite: cut these rows "
                "or reject the episodes"
            )
        return self.outcome
