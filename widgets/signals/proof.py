"""The plot that proves a finding, shown while that is looked at; no Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.series import component_count, is_numeric, track_of
from isoscope.widgets.session import FieldRef

if TYPE_CHECKING:
    from isoscope.core.isolation.findings import Finding
    from isoscope.core.recording.model import Recording


def proof_plots(recording: Recording, finding: Finding | None) -> list[FieldRef]:
    """The field that a finding names, if it can be plotted: its worst component."""
    if finding is None or not finding.field:
        return []
    ref = _named(recording, finding.field)
    track = None if ref is None else track_of(recording, ref)
    if ref is None or track is None or not is_numeric(track):
        return []
    if track.ragged or component_count(track) == 1:
        return [ref]
    return [FieldRef(ref.actor, ref.field, _worst(finding, component_count(track)))]


def _named(recording: Recording, field: str) -> FieldRef | None:
    """``"gravity"`` of the step, or ``"Actor.field"``."""
    if field in recording.scene:
        return FieldRef(None, field)
    name, _, part = field.rpartition(".")
    for actor in recording.actors:
        if actor.name == name and part in actor.fields:
            return FieldRef(actor.index, part)
    return None


def _worst(finding: Finding, count: int) -> int | None:
    """The component that differs most from what is expected; None where unknown."""
    try:
        value = np.array(finding.value, float).reshape(-1)
        expected = np.array(finding.expected, float).reshape(-1)
    except (TypeError, ValueError):
        return None
    if not len(value) == len(expected) == count:
        return None
    apart = np.abs(value - expected)
    return int(apart.argmax()) if np.isfinite(apart).all() and apart.any() else None
