"""Every clock and every number of a native step, in words; no Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.core.attribution.result import Reason
from isoscope.core.isolation.sentence import WHY_UNKNOWN
from isoscope.core.recording.model import StepKind
from isoscope.core.timeaxis import TimeKind
from isoscope.core.timeline.ruler import stamp_text
from isoscope.widgets.row_words import row_word

if TYPE_CHECKING:
    from isoscope.core.analysis import Analysis
    from isoscope.widgets.session import Document

UNKNOWN = "unknown"
ABSENT = "not recorded"
RESIDUAL_TELLS_M = 1e-6  # below it a residual is rounding


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and a value; `tone` is ``"dim"`` for what isn't there, or a severity."""

    name: str
    value: str
    tone: str = "text"


def facts_at(document: Document, row: int) -> list[Fact]:
    """All clocks and indices of a native step, as far as they are known."""
    steps = document.recording.steps
    if not 0 <= row < len(steps):
        return []
    analysis = document.analysis
    inside = analysis is not None and row < analysis.rows
    known = analysis if inside else None
    return [
        *_number_of(document, row),
        *_times(document, known, row),
        *_place(known, row),
        *_evidence(known, row),
        *_fits(known, row, row_word(document.recording)),
        _seconds("h", float(steps.h_s[row]), ABSENT),
        *_confidence(known, row),
    ]


def _number_of(document: Document, row: int) -> list[Fact]:
    steps = document.recording.steps
    of = f"{row:,} of {len(steps) - 1:,}"
    if document.recording.row_is == "control step":
        return [Fact("row", of)]
    event = Fact("event", f"{int(steps.event[row]):,}")
    return [Fact("native step", of), event]


def _times(document: Document, analysis: Analysis | None, row: int) -> list[Fact]:
    steps = document.recording.steps
    scene_s = float(steps.scene_time_s[row])
    control_s = since_s = math.nan
    if analysis is not None:
        found = analysis.attribution
        if not math.isfinite(scene_s):
            scene_s = float(found.scene_time_s[row])
        control_s = float(analysis.control_s[row])
        since_s = float(found.scene_time_since_s[row])
    otherwise = UNKNOWN
    if math.isfinite(since_s) and not math.isfinite(scene_s):
        # Recording began after the reset, so that only differences are known.
        otherwise = f"began + {since_s:.5f} s"
    return [
        _seconds("recording", float(steps.time_s[row]), ABSENT),
        _seconds("scene", scene_s, otherwise),
        _seconds("control", control_s, UNKNOWN),
        _wall(document, row),
    ]


def _wall(document: Document, row: int) -> Fact:
    wall_s = document.recording.wall_s
    value = math.nan if wall_s is None or row >= len(wall_s) else float(wall_s[row])
    if not math.isfinite(value):
        return Fact("wall", ABSENT, "dim")
    return Fact("wall", stamp_text(TimeKind.WALL, value, 3))


def _place(analysis: Analysis | None, row: int) -> list[Fact]:
    if analysis is None:
        return []
    labels = analysis.labels
    env, episode = int(labels.env[row]), int(labels.episode[row])
    control, substep = int(labels.control_step[row]), int(labels.substep[row])
    reset = labels.kind[row] == StepKind.RESET
    many = analysis.attribution.substeps
    of = f" of {many}" if many is not None and substep >= 0 else ""
    return [
        _number("environment", env, f"env {env}"),
        _number("episode", episode),
        Fact("control step", "0, the reset")
        if reset
        else _number("control step", control),
        Fact("substep", "—", "dim")
        if reset
        else _number("substep", substep, f"{substep}{of}"),
    ]


def _evidence(analysis: Analysis | None, row: int) -> list[Fact]:
    if analysis is None:
        return []
    facts = [_goes_on(analysis, row)]
    residual = float(analysis.attribution.residual_m[row])
    if math.isfinite(residual):
        tone = "error" if residual > RESIDUAL_TELLS_M else "text"
        facts.append(Fact("residual", f"{residual:.3g} m", tone))
    return facts


def _fits(analysis: Analysis | None, row: int, word: str) -> list[Fact]:
    """How the scene's clock lies over the control steps in this stretch."""
    segment = None if analysis is None else analysis.segment_at(row)
    if segment is None:
        return []
    facts = []
    for fit in segment.fits:
        if fit.clock != "scene":
            continue
        slope, each = fit.slope_s_per_control_step, "control"
        if slope is None:
            slope, each = fit.slope_s_per_native_step, "native"
        if slope is not None:
            facts.append(Fact("scene clock", f"{slope:.6g} s/{each}"))
        # A constant, such as the 1e-5 s of the reset's own step, is no drift.
        about = " (relative)" if fit.relative else ""
        offset_s = round(fit.offset_s, 12) + 0.0  # what is less is rounding
        facts.append(Fact("its offset", f"{offset_s:.3g} s{about}"))
        # Others' clocks jitter, too, wherever the turns come in no fixed order.
        facts.append(Fact("its jitter", f"{fit.jitter_s:.3g} s"))
    first, last = segment.native
    facts.append(Fact("clocks run", f"{word} {first:,} to {last:,}"))
    facts.append(Fact("until", _ENDS.get(segment.why_it_ends, segment.why_it_ends)))
    return facts


_ENDS = {
    "reset": "a reset",
    "missed_restore": "a missed restore",
    "rewind": "a rewind",
    "gap": "missing steps",
    "clock_restart": "a clock that restarts",
    "recording_end": "the recording's end",
}


def _confidence(analysis: Analysis | None, row: int) -> list[Fact]:
    if analysis is None:
        return []
    found = analysis.attribution
    facts = []
    margin = float(found.margin_m[row])
    if math.isfinite(margin):
        facts.append(Fact("next best", f"{margin:.3g} m off"))
    if found.labels.env[row] >= 0:
        facts.append(Fact("confidence", f"{float(found.confidence[row]):.4g}"))
    reason = Reason(int(found.reason[row]))
    if reason is not Reason.NONE:
        facts.append(Fact("why unknown", WHY_UNKNOWN.get(reason, reason.key), "dim"))
    return facts


def _goes_on(analysis: Analysis, row: int) -> Fact:
    """Which native step's state this one began from."""
    parent = int(analysis.attribution.parent[row])
    env = analysis.owner(row)
    if parent < 0:
        reset = analysis.labels.kind[row] == StepKind.RESET
        return Fact("goes on from", "the reset" if reset else UNKNOWN, "dim")
    theirs = analysis.owner(parent)
    foreign = theirs != env and env >= 0 and theirs >= 0
    whose = f", env {theirs}" if foreign else ""
    return Fact(
        "goes on from", f"native {parent:,}{whose}", "error" if foreign else "text"
    )


def _seconds(name: str, value: float, otherwise: str) -> Fact:
    if math.isfinite(value):
        return Fact(name, f"{value:.5f} s")
    return Fact(name, otherwise, "dim")


def _number(name: str, value: int, text: str = "") -> Fact:
    if value < 0:
        return Fact(name, UNKNOWN, "dim")
    return Fact(name, text or f"{value:,}")
