"""Timestamps advance by one control step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.validate.rule import NotCheckableError, Quiet, Where

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Episode, Feature
    from isoscope.core.dataset.validate.rule import Outcome, Severity, Subject
    from isoscope.core.recording.tracks import Array

TOLERANCE_S = 1e-4  # LeRobot's own, for what it asks of timestamps


class TimestampsRule(Quiet):
    """See the module's docstring."""

    ID = "timestamps"
    SEVERITY: Severity = "error"
    ABOUT = "times within an episode advance by 1 / control frequency"

    def begin(self, subject: Subject) -> None:
        """Find the times."""
        hz = subject.episodes.control_hz
        if not hz:
            raise NotCheckableError("the control frequency is not known")
        times = [f.name for f in subject.episodes.features if f.role == "time"]
        if not times:
            raise NotCheckableError("there is no column of times")
        self._step_s = 1.0 / hz
        self._last: dict[str, float] = {}

    def take(
        self, episode: Episode, feature: Feature, start: int, values: Array
    ) -> None:
        """Compare with the one before."""
        if feature.role != "time" or not len(values):
            return
        times = values.reshape(len(values), -1)[:, 0].astype(np.float64)
        before = self._last.get(feature.name) if start else None
        first = times[0] - self._step_s if before is None else before
        steps = np.diff(times, prepend=first)
        # float32 times of long episodes are that coarse by themselves
        coarse = np.spacing(np.abs(values.reshape(len(values), -1)[:, 0]))
        off = np.abs(steps - self._step_s) > TOLERANCE_S + 2 * coarse.astype(np.float64)
        self._last[feature.name] = float(times[-1])
        if off.any():
            at = int(np.flatnonzero(off)[0])
            self.outcome.fail(
                Where(
                    episode=episode.id,
                    env=episode.env,
                    step=start + at,
                    feature=feature.name,
                    value=float(steps[at]),
                    expected=self._step_s,
                ),
                count=int(off.sum()),
            )

    def finish(self) -> Outcome:
        """Count."""
        if self.outcome.count:
            self.outcome.message = (
                f"{self.outcome.count} times don't follow the one before by a control "
                "step: rows are missing, doubled or out of order, or the frequency is "
                "another"
            )
        return self.outcome
