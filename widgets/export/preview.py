"""What would come of an export, found out without writing anything. No Qt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.exporters import place
from isoscope.core.dataset.exporters.registry import exporter
from isoscope.core.dataset.exporters.run import plan_export
from isoscope.core.errors import IsoscopeError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from isoscope.core.dataset.exporters.plan import Plan
    from isoscope.core.dataset.model import Episodes, Feature
    from isoscope.widgets.export.request import Request


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be written.

    Attributes
    ----------
    size_bytes
        Of the values, before whatever compression the format has.
    names
        What each feature of the source would be called.
    splits
        Number of episodes by split.
    left_out
        One line for everything of the source that the format leaves out.
    problem
        Why it can't be; empty if it can.
    """

    episodes: int
    transitions: int
    size_bytes: int = 0
    names: Mapping[str, str] = field(default_factory=dict)
    splits: Mapping[str, int] = field(default_factory=dict)
    left_out: Sequence[str] = ()
    problem: str = ""

    @property
    def text(self) -> str:
        """``"4 episodes, 320 transitions, about 1.2 MB before compression"``."""
        plural = "" if self.episodes == 1 else "s"
        said = f"{self.episodes:,} episode{plural}, {self.transitions:,} transitions"
        if self.size_bytes:
            said += f", about {bytes_text(self.size_bytes)} before compression"
        shares = ", ".join(f"{name} {count:,}" for name, count in self.splits.items())
        return f"{said} · {shares}" if shares else said


def preview(episodes: Episodes, request: Request) -> Preview:
    """Find out what an export would write, or why it can't be."""
    transitions = sum(e.length for e in episodes.episodes)
    count = len(episodes.episodes)
    extra = "data"
    try:
        module = exporter(request.format)
        extra = module.EXTRA or extra
        place.refuse(
            request.target,
            overwrite=request.overwrite,
            folder=module.FOLDER,
            sources=[episodes.path],
        )
        plan = plan_export(
            episodes,
            request.format,
            request.target,
            mapping=request.fields,
            splits=request.splits,
            options=request.options,
        )
    except ImportError as error:
        missing = MissingExtraError(
            f"exporting to {request.format}", extra, str(error.name)
        )
        return Preview(count, transitions, problem=str(missing))
    except IsoscopeError as error:
        return Preview(count, transitions, problem=in_the_window(str(error)))
    return Preview(
        count,
        transitions,
        _size(plan),
        {c.source: c.feature.name for c in plan.columns if c.source and not c.derived},
        {name: len(chosen) for name, chosen in plan.splits.items()},
        tuple(in_the_window(line) for line in plan.left_out),
    )


def refused(request: Request, source: Path | None) -> str:
    """Why the target may not be written by now; empty if it may.

    Parameters
    ----------
    source
        The recording's file, if it has one.
    """
    try:
        place.refuse(
            request.target,
            overwrite=request.overwrite,
            folder=exporter(request.format).FOLDER,
            sources=[source],
        )
    except ImportError:
        return ""  # told where the package is needed
    except IsoscopeError as error:
        return in_the_window(str(error))
    return ""


def _size(plan: Plan) -> int:
    steps = sum(plan.source.episodes[k].length for k in plan.order)
    ends = sum(plan.source.episodes[k].final for k in plan.order)
    total = 0
    for column in plan.columns:
        boundary = column.feature.per == "boundary" and plan.keeps_final
        total += (steps + ends * boundary) * row_bytes(column.feature)
    return total


def in_the_window(text: str) -> str:
    """A message with what to do here, where it names an option of the command."""
    for option, here in (
        ("give --overwrite to replace it", "tick replace, or rename"),
        ("give --fps", "give the rate"),
        ("--next-observation keeps it", "tick the observation after each step"),
    ):
        text = text.replace(option, here)
    return text


def row_bytes(feature: Feature) -> int:
    """Bytes of one row's value."""
    return int(np.prod(feature.shape, dtype=np.int64)) * feature.dtype.itemsize


def bytes_text(size: float) -> str:
    """A size in three digits: ``"1.2 MB"``."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB"
