"""Values were not rounded on their way into the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.validate.rule import Quiet, Where
from isoscope.core.isolation.checks.rounded_values import rounding

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Episode, Feature
    from isoscope.core.dataset.validate.rule import Outcome, Severity
    from isoscope.core.recording.tracks import Array

SAMPLE = 4096


class RoundedRule(Quiet):
    """Looks at the first values of each observation and action."""

    ID = "rounded-columns"
    SEVERITY: Severity = "warning"
    ABOUT = "observations and actions have all the digits of their dtype"

    def __init__(self) -> None:
        super().__init__()
        self._sample: dict[str, Array] = {}

    def take(
        self, episode: Episode, feature: Feature, start: int, values: Array
    ) -> None:
        """Keep a sample."""
        if feature.role not in ("observation", "action") or values.dtype.kind != "f":
            return
        held = self._sample.get(feature.name, np.zeros(0, values.dtype))
        if len(held) < SAMPLE:
            flat = values.reshape(-1)
            flat = flat[np.isfinite(flat)][: SAMPLE - len(held)]
            self._sample[feature.name] = np.concatenate([held, flat])

    def finish(self) -> Outcome:
        """Say how, where they were."""
        for name, sample in self._sample.items():
            how = rounding(sample)
            if how is not None and how != "float32 numbers in float64":
                self.outcome.fail(Where(feature=name, value=how))
        if self.outcome.count:
            self.outcome.message = "values were rounded on their way into the source"
        return self.outcome
