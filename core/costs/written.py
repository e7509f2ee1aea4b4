"""A report of costs as CSV, in SI units; what is absent is an empty cell."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoscope.core.costs.report import CostReport
    from isoscope.core.costs.spread import Spread

HEADER = (
    *("section", "name", "stage", "unit"),
    *("count", "median", "p95", "mean", "total", "largest"),
    *("own_median", "own_total", "first_step", "initialisation_total"),
)


def to_csv(report: CostReport) -> str:
    """All of it, a line an entry, with a header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    for part in report.parts:
        own = [part.own.median, part.own.total]
        early = [part.first.largest, part.initialisation.total]
        row = ["part", part.path, part.stage.value, "s", *_spread(part.whole)]
        writer.writerow([*row, *map(_cell, own + early)])
    for worker in report.workers:
        for stage, seconds in worker.stages.items():
            told = ["", "", "", _cell(seconds)]
            writer.writerow(["turn", worker.name, stage.value, "s", *told])
        row = ["step", worker.name, "", "s", *_spread(worker.step)]
        writer.writerow(row)
        if not math.isnan(worker.wait_s):
            told = ["", "", "", _cell(worker.wait_s)]
            writer.writerow(["turn", worker.name, "wait", "s", *told])
    for name, spread in report.solves.items():
        writer.writerow(["solve", name, "", "s", *_spread(spread)])
    for copy in report.copies:
        unit = "" if copy.way == "syncs" else "B"
        row = ["copies", copy.cause, copy.way, unit, *_spread(copy.each)]
        writer.writerow(row)
    for name, count in report.solver.statuses.items():
        writer.writerow(["solver status", name, "", "", count])
    for name, spread, unit in (
        ("iterations", report.solver.iterations, ""),
        ("residual", report.solver.residual, ""),
        ("between native steps", report.wall.native, "s"),
        ("between control steps", report.wall.control, "s"),
    ):
        if spread.count:
            writer.writerow(["native", name, "", unit, *_spread(spread)])
    for path, unit, spread in report.others:
        writer.writerow(["other", path, "", unit, *_spread(spread)])
    return out.getvalue()


def _spread(spread: Spread) -> list[str]:
    values = (spread.median, spread.p95, spread.mean, spread.total, spread.largest)
    return [str(spread.count), *map(_cell, values)]


def _cell(value: float) -> str:
    return "" if math.isnan(value) else repr(value)
