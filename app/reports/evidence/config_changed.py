"""A change of gravity: its value step by step, and whose each step was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.app.reports.evidence.plot import AXES, Line, Mark, Plot
from isoscope.core.isolation.stretches import stretches

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Finding

MARGIN = 60  # native steps shown on either side of a change
STEPS_AT_MOST = 2400
NAMED_AT_MOST = 8


def plot_of(context: Context, finding: Finding) -> Plot | None:
    """Gravity step by step, and whose each step was."""
    subject, native = context.subject, finding.native
    if finding.field != "gravity" or native is None:
        return None
    old, new = np.array(finding.expected, float), np.array(finding.value, float)
    part = int(np.argmax(np.abs(new - old)))
    last = max([native[1], *(a.native for a in finding.affected)])
    start = max(native[0] - MARGIN, 0)
    stop = min(last + MARGIN, len(subject.attribution) - 1)
    rows = np.arange(start, stop + 1)[:STEPS_AT_MOST]
    values = subject.recording.steps.gravity[rows, part]
    env = subject.attribution.labels.env[rows]
    lines = [Line("gravity", rows.astype(float), values, -1)]
    named = [finding.env, *(a.env for a in finding.affected)]
    for e in [one for one in named if one is not None][:NAMED_AT_MOST]:
        own = env == e
        lines.append(
            Line(f"env {e}", rows[own].astype(float), values[own], e, "points")
        )
    marks = [Mark(float(native[1]), float(new[part]), f"env {finding.env} first")]
    marks += [
        Mark(float(a.native), float(new[part]), f"env {a.env} affected")
        for a in finding.affected[:3]
    ]
    tainted = stretches(subject.attribution.labels, finding, subject.rows_of)
    return Plot(
        "Gravity, native step by native step",
        f"gravity {AXES[part]} [m/s²]",
        tuple(lines),
        tuple(marks),
        tuple((s.low - 0.5, min(s.high, int(rows[-1])) + 0.5) for s in tainted[:1]),
    )
