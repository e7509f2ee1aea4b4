"""Steps that belong to no environment's control step, among some that do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.bare_steps import given_up
from isoscope.core.isolation.context import runs
from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.words import natives
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity

ID = "free-scene"
SEVERITY: Severity = "note"
ABOUT = "native steps that no environment's control step took"


def run(context: Context) -> Iterator[Finding]:
    """Yield one note for each run of such steps.

    A scene that nobody ever resets is free from end to end: that is what it is, and
    nothing to note.
    """
    subject = context.subject
    kinds = subject.attribution.labels.kind
    if not np.isin(kinds, (StepKind.RESET, StepKind.SUBSTEP)).any():
        return
    free = np.flatnonzero(kinds == StepKind.FREE)
    for first, last in runs(np.union1d(free, given_up(subject))):
        env, _, _ = subject.place(first)
        verb = "belongs" if first == last else "belong"
        headline = f"{natives(first, last)} {verb} to no control step"
        yield Finding(
            id=ID,
            severity=SEVERITY,
            env=env,
            native=(first, last),
            headline=headline,
            message=f"{headline}: somebody stepped the scene itself",
            remedy=(
                "Nothing to do if it was meant, such as letting bodies settle. Leave "
                "these steps out of transitions."
            ),
            evidence={"rows": last - first + 1},
        )
