"""There is an observation and an action, declared without contradiction."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.validate.rule import Quiet, Where

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Feature
    from isoscope.core.dataset.validate.rule import Outcome, Severity, Subject

NEEDED = ("observation", "action")


class SchemaRule(Quiet):
    """See the module's docstring."""

    ID = "schema"
    SEVERITY: Severity = "error"
    ABOUT = "observations and actions are there; names, units and limits fit the shape"

    def begin(self, subject: Subject) -> None:
        """Look at the declarations; values are not needed."""
        features = subject.episodes.features
        roles = {f.role for f in features}
        for role in NEEDED:
            if role not in roles and not (role == "action" and "raw_action" in roles):
                self.outcome.fail(Where(expected=f"a feature that is an {role}"))
        for name, count in Counter(f.name for f in features).items():
            if count > 1:
                self.outcome.fail(Where(feature=name, value=f"declared {count} times"))
        for feature in features:
            self._feature(feature)

    def _feature(self, feature: Feature) -> None:
        size = int(np.prod(feature.shape, dtype=np.int64))
        for what in ("names", "units", "low", "high"):
            told = getattr(feature, what)
            if told and len(told) != size:
                self.outcome.fail(
                    Where(
                        feature=feature.name,
                        value=f"{len(told)} {what}",
                        expected=f"{size}, one a component",
                    )
                )
        if len(set(feature.names)) != len(feature.names):
            twice = [n for n, c in Counter(feature.names).items() if c > 1]
            self.outcome.fail(
                Where(feature=feature.name, value=f"two components named {twice[0]!r}")
            )
        low, high = feature.low, feature.high
        if low and high and any(a > b for a, b in zip(low, high, strict=False)):
            self.outcome.fail(Where(feature=feature.name, value="low above high"))

    def finish(self) -> Outcome:
        """Say what contradicts itself."""
        if self.outcome.count:
            self.outcome.message = "the declaration of the columns contradicts itself"
        return self.outcome
