"""Flags are set in an episode's last row or nowhere; what never ends is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.validate.rule import NotCheckableError, Quiet, Where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.dataset.model import Episode, Feature
    from isoscope.core.dataset.validate.rule import Outcome, Severity, Subject
    from isoscope.core.recording.tracks import Array

FLAGS = ("terminated", "truncated")


class EndsRule(Quiet):
    """Rows after an end belong to another episode."""

    ID = "ends"
    SEVERITY: Severity = "error"
    ABOUT = "terminated and truncated are set in an episode's last row, or nowhere"

    def begin(self, subject: Subject) -> None:
        """Find the flags."""
        if not any(f.role in FLAGS for f in subject.episodes.features):
            raise NotCheckableError("there is neither terminated nor truncated")

    def take(
        self, episode: Episode, feature: Feature, start: int, values: Array
    ) -> None:
        """Look for flags before the last row."""
        if feature.role not in FLAGS:
            return
        early = np.flatnonzero(values.astype(np.bool_)) + start
        early = early[early < episode.length - 1]
        if len(early):
            self.outcome.fail(
                Where(
                    episode=episode.id,
                    env=episode.env,
                    step=int(early[0]),
                    feature=feature.name,
                    value=True,
                    expected=f"only in row {episode.length - 1}",
                ),
                count=len(early),
            )

    def finish(self) -> Outcome:
        """Say what that means."""
        if self.outcome.count:
            self.outcome.message = "an episode goes on after it ended"
        return self.outcome


class IncompleteRule(Quiet):
    """Neither flag: the episode just stops, which is no time-out and no end."""

    ID = "incomplete"
    SEVERITY: Severity = "warning"
    ABOUT = "every episode ended: terminated, truncated, or both"

    def end(self, episode: Episode, rows: Mapping[str, int]) -> None:
        """See whether it ended."""
        if not episode.complete:
            self.outcome.fail(Where(episode=episode.id, env=episode.env))

    def finish(self) -> Outcome:
        """Count."""
        if self.outcome.count:
            many = self.outcome.count != 1
            who = (
                f"{self.outcome.count} episodes just stop"
                if many
                else ("1 episode just stops")
            )
            self.outcome.message = (
                f"{who}: neither terminated nor truncated, and nothing is made up; a "
                f"value at {'their end' if many else 'its end'} must be bootstrapped, "
                f"or {'they' if many else 'it'} be rejected"
            )
        return self.outcome
