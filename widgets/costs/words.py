"""Times, bytes and shares in words, and the sentences above the table; no Qt."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoscope.core.costs.samples import Phase

if TYPE_CHECKING:
    from isoscope.core.costs.report import CostReport, WorkerCosts
    from isoscope.core.live.memory import Memory

ABSENT = "—"
MOST_ENVS = 4
WHO_TELLS = (
    "Isoscope's own environments tell theirs by themselves; for SuperDex Lab turn its "
    "profiler on (profile=True)."
)
HOW_TO_RECORD = (
    "Profiler entries come with a run that is tapped: env = tap.attach(env). "
    f"{WHO_TELLS}"
)
_BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def seconds(value: float) -> str:
    """``"1.23 ms"``; a dash where absent."""
    if math.isnan(value):
        return ABSENT
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(value) >= factor * 0.9995:
            return f"{_three(value / factor)} {unit}"
    return "0" if value == 0 else f"{value / 1e-9:.0f} ns"


def sized(value: float) -> str:
    """``"1.23 MB"``; a dash where absent."""
    if math.isnan(value):
        return ABSENT
    for factor, unit in _BYTES:
        if value >= factor * 0.9995:
            return f"{_three(value / factor)} {unit}"
    return f"{value:.0f} B"


def memory_words(memory: Memory, row_is: str) -> str:
    """How much of a run that is watched is in memory, and what is not."""
    said = f"In memory: {memory.words}"
    if not memory.in_file:
        return said
    return f"{said}; {row_is}s before {memory.in_file:,} in the file"


def number(value: float) -> str:
    """Up to four digits; a dash where absent."""
    return ABSENT if math.isnan(value) else f"{value:.4g}"


def share(part: float, whole: float) -> str:
    """``"12 %"``; a dash where there is no whole."""
    if math.isnan(part) or math.isnan(whole) or whole <= 0:
        return ABSENT
    percent = 100 * part / whole
    return "< 1 %" if 0 < percent < 0.95 else f"{percent:.0f} %"


def envs(worker: WorkerCosts) -> str:
    """``"env 0 to 7"``; empty for no single environment."""
    own = worker.envs
    if not own:
        return ""
    if len(own) > 2 and own == tuple(range(own[0], own[-1] + 1)):
        return f"env {own[0]} to {own[-1]}"
    named = ", ".join(str(e) for e in own[:MOST_ENVS])
    more = f" and {len(own) - MOST_ENVS} more" if len(own) > MOST_ENVS else ""
    return f"env {named}{more}"


def headline(report: CostReport) -> str:
    """Who is slowest and what on, in one sentence; empty where nothing is told."""
    if not report.workers:
        return ""
    slowest = report.slowest
    worker = slowest or report.workers[0]
    if worker.turn_s <= 0:
        return ""
    turn = seconds(worker.turn_s)
    most, spent = max(worker.stages.items(), key=lambda pair: pair[1])
    of = f"{share(spent, worker.turn_s)} of it in {most.value}"
    if slowest is None:
        return f"A turn takes {turn}, {of}."
    named = [w for w in report.workers if w.envs]
    fastest = named[-1]
    least = f"; the fastest, {fastest.name}, takes {seconds(fastest.turn_s)}"
    return f"Slowest is {worker.name} ({envs(worker)}): {turn} a turn, {of}{least}."


def sums(report: CostReport) -> str:
    """Whether the parts add up, and of how many samples; in one line."""
    if not report.parts:
        return ""
    steady = report.samples[Phase.STEADY]
    told = f"{report.samples[Phase.FIRST]:,} first and {steady:,} steady samples"
    if report.adds_up:
        return (
            f"{told}. Each without its parts, all entries add up to what the outermost "
            f"take: {seconds(report.own_s)}."
        )
    return (
        f"{told}. The entries don't add up: {seconds(report.own_s)}, each without its "
        f"parts; the outermost take {seconds(report.top_s)}."
    )


def _three(value: float) -> str:
    digits = max(2 - math.floor(math.log10(abs(value) * 1.0005)), 0)
    return f"{value:.{digits}f}"
