"""``isoscope align``: how the clocks of a recording lie over one another."""

from typing import TYPE_CHECKING, Any

from isoscope.app import console
from isoscope.app.commands.options import AsJson, File, LabelFile, Substeps

if TYPE_CHECKING:
    from rich.table import Table

    from isoscope.core.attribution.align import AlignResult, AlignSegment, ClockFit

LISTED_AT_MOST = 60  # segments
ENDS = {
    "reset": "a reset",
    "missed_restore": "a missed restore",
    "rewind": "a rewind",
    "gap": "missing steps",
    "clock_restart": "a clock that restarts",
    "recording_end": "the recording",
}


def align(
    file: File,
    substeps: Substeps = None,
    labels: LabelFile = None,
    as_json: AsJson = False,
) -> int:
    """Fit recording, scene and control time to the control steps."""
    from isoscope.app.examining import examine
    from isoscope.core.attribution.align import align as lay

    examined = examine(file, substeps, labels)
    found = lay(examined.recording, examined.attribution)
    if as_json:
        console.emit_json(found)
    else:
        from isoscope.core.isolation.sentence import what_it_is

        said = what_it_is(examined.recording, examined.attribution)
        console.emit(said, *_parts(found))
    return 0


def _parts(found: "AlignResult") -> list[Any]:
    parts: list[Any] = []
    if found.environments:
        parts.append(_segments(found))
    if found.rewinds:
        parts.append(_rewinds(found))
    return parts


def _segments(found: "AlignResult") -> "Table":
    table = console.table(
        "env",
        "episode",
        "native steps",
        "control steps",
        "clock",
        "s per control step",
        "offset s",
        "off by up to s",
        "jitter s",
        "gaps",
        "ends with",
        right=(
            "env",
            "episode",
            "native steps",
            "control steps",
            "s per control step",
            "offset s",
            "off by up to s",
            "jitter s",
            "gaps",
        ),
        title="Clocks, fitted to the number of the control step",
    )
    shown = 0
    total = sum(len(one.segments) for one in found.environments)
    for one in found.environments:
        for segment in one.segments:
            if shown == LISTED_AT_MOST:
                more = f"and {total - shown:,} more: --json has all"
                table.add_row(*[""] * 10, more)
                return table
            shown += 1
            for number, fit in enumerate(segment.fits or [None]):
                head = _head(one.env, segment) if number == 0 else [""] * 4
                ends = ENDS.get(segment.why_it_ends, segment.why_it_ends)
                tail = [_gaps(segment, fit), ends if number == 0 else ""]
                table.add_row(*head, *_fit(fit), *tail)
    return table


def _head(env: int | None, segment: "AlignSegment") -> list[str]:
    control = segment.control_steps
    return [
        "?" if env is None else str(env),
        "?" if segment.episode is None else str(segment.episode),
        "{:,} to {:,}".format(*segment.native),
        "?" if control is None else "{:,} to {:,}".format(*control),
    ]


def _fit(fit: "ClockFit | None") -> list[str]:
    if fit is None:
        return ["none", "", "", "", ""]
    name = f"{fit.clock}, from its first state" if fit.relative else fit.clock
    return [
        name,
        _seconds(fit.slope_s_per_control_step),
        _seconds(fit.offset_s),
        f"{fit.max_residual_s:.2g}",
        f"{fit.jitter_s:.2g}",
    ]


def _seconds(value: float | None) -> str:
    return "?" if value is None else f"{round(value, 12):.9g}"


def _gaps(segment: "AlignSegment", fit: "ClockFit | None") -> str:
    if fit is None:
        return ""
    gaps = [gap for gap in segment.gaps if gap.clock == fit.clock]
    kinds = (
        (len(gaps), "gap"),
        (sum(d.clock == fit.clock for d in segment.duplicates), "duplicate"),
        (sum(r.clock == fit.clock for r in segment.reorders), "reorder"),
    )
    return ", ".join(f"{n:,} {kind}{'s' * (n != 1)}" for n, kind in kinds if n)


def _rewinds(found: "AlignResult") -> "Table":
    table = console.table(
        "native step",
        "scene time from s",
        "to s",
        right=("native step", "scene time from s", "to s"),
        title="Rewinds",
    )
    for rewind in found.rewinds[:LISTED_AT_MOST]:
        table.add_row(
            f"{rewind.native:,}",
            _seconds(rewind.scene_time_from_s),
            _seconds(rewind.scene_time_to_s),
        )
    if len(found.rewinds) > LISTED_AT_MOST:
        table.add_row(f"and {len(found.rewinds) - LISTED_AT_MOST:,} more")
    return table
