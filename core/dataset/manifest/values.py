"""A digest and the range of every column, over all its values, in windows.

Two exports of the same data have the same digests whatever their formats are, so that
manifests alone can tell whether datasets are equal bit for bit.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.manifest.forms import FieldEntry
from isoscope.core.errors import CancelledError

if TYPE_CHECKING:
    from isoscope.core.dataset.exporters.plan import Column, Plan
    from isoscope.core.dataset.model import Feature
    from isoscope.core.recording.source import Cancel, Progress
    from isoscope.core.recording.tracks import Array


def fields_of(
    plan: Plan, progress: Progress | None = None, cancelled: Cancel | None = None
) -> list[FieldEntry]:
    """An entry for each column that comes from the source.

    Parameters
    ----------
    progress
        Told columns done and in all.
    """
    chosen = [c for c in plan.columns if not c.derived and c.source]
    out = []
    for number, column in enumerate(chosen):
        out.append(_field(plan, column, cancelled))
        if progress is not None:
            progress(number + 1, len(chosen))
    return out


class _Seen:
    """Digest, count, least, greatest, mean and spread of what was seen so far."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.count = self.finite = 0
        self.low, self.high = math.inf, -math.inf
        self.mean = self.square = 0.0

    def take(self, values: Array) -> None:
        dtype = values.dtype.newbyteorder("<")
        self.digest.update(np.ascontiguousarray(values, dtype).tobytes())
        self.count += len(values)
        if values.dtype.kind not in "biuf":
            return
        with np.errstate(invalid="ignore"):  # NaNs of another kind
            flat = values.astype(np.float64).reshape(-1)
        flat = flat[np.isfinite(flat)]
        if not len(flat):
            return
        self.low = min(self.low, float(flat.min()))
        self.high = max(self.high, float(flat.max()))
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(flat.mean())
            square = float(((flat - mean) ** 2).sum())
        # Chan, Golub and LeVeque: the moments of two parts give those of the whole.
        total = self.finite + len(flat)
        apart = mean - self.mean
        self.square += square + apart * apart * (self.finite * len(flat) / total)
        self.mean += apart * (len(flat) / total)
        self.finite = total


def _field(plan: Plan, column: Column, cancelled: Cancel | None) -> FieldEntry:
    seen = _Seen()
    places = sorted(range(len(plan)), key=plan.order.__getitem__)
    for place in places:
        if cancelled is not None and cancelled():
            raise CancelledError("writing the manifest was stopped")
        for _, values in plan.windows(column, place):
            seen.take(values)
    return _entry(column.feature, column.source, seen)


def _entry(feature: Feature, source: str, seen: _Seen) -> FieldEntry:
    known = seen.finite > 0
    return FieldEntry(
        name=feature.name,
        source=source,
        role=feature.role,
        dtype=np.dtype(feature.dtype).name,
        shape=list(feature.shape),
        per=feature.per,
        names=list(feature.names),
        units=list(feature.units),
        low=None if feature.low is None else [float(x) for x in feature.low],
        high=None if feature.high is None else [float(x) for x in feature.high],
        count=seen.count,
        sha256=seen.digest.hexdigest(),
        finite=seen.finite,
        min=seen.low if known else None,
        max=seen.high if known else None,
        mean=seen.mean if known else None,
        std=math.sqrt(seen.square / seen.finite) if known else None,
    )
