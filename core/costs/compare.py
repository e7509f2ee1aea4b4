"""Two stretches side by side: which is faster, and what makes the difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.core.costs.naming import LAUNCH, Stage

if TYPE_CHECKING:
    from isoscope.core.costs.report import CostReport


@dataclass(frozen=True, slots=True)
class Difference:
    """One kind of entry in both.

    Attributes
    ----------
    path
        As told, without what says that it only launches: a run on a GPU has that.
    before_s, after_s
        Median seconds of a steady control step without what is inside; NaN where it is
        not told.
    """

    path: str
    before_s: float
    after_s: float

    @property
    def more_s(self) -> float:
        """How much longer; what is not told counts as none."""
        return _or_zero(self.after_s) - _or_zero(self.before_s)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What became of a steady control step.

    Attributes
    ----------
    before_s, after_s
        Its median seconds; NaN where not told.
    differences
        The largest first.
    stages
        The share of each stage after, the largest first, 0 to 1; they add up to 1.
    launches
        Whether the times after are partly those of launches only.
    """

    before_s: float
    after_s: float
    differences: tuple[Difference, ...]
    stages: tuple[tuple[Stage, float], ...]
    launches: bool

    @property
    def ratio(self) -> float:
        """After over before; NaN where either is not told."""
        return self.after_s / self.before_s if self.before_s else math.nan


def compare(before: CostReport, after: CostReport) -> Comparison:
    """Lay two windows (of one recording or of two) over one another."""
    old, new = _own(before), _own(after)
    found = [
        Difference(path, old.get(path, math.nan), new.get(path, math.nan))
        for path in dict.fromkeys([*old, *new])
    ]
    shares: dict[Stage, float] = {}
    for part in after.parts:
        if part.stage is not Stage.WAIT and _in_step(part.path):
            spent = _or_zero(part.own.total)
            shares[part.stage] = shares.get(part.stage, 0.0) + spent
    total = sum(shares.values())
    stages = [(stage, s / total) for stage, s in shares.items() if total > 0 and s > 0]
    return Comparison(
        before_s=_step_s(before),
        after_s=_step_s(after),
        differences=tuple(sorted(found, key=lambda d: -abs(d.more_s))),
        stages=tuple(sorted(stages, key=lambda pair: -pair[1])),
        launches=any(part.launch for part in after.parts),
    )


def sentence(found: Comparison) -> str:
    """What to read first: which is faster, what dominates, where they differ."""
    if math.isnan(found.before_s) or math.isnan(found.after_s):
        return "One of the two tells no control steps: there is nothing to compare."
    if abs(found.ratio - 1) < 0.02:
        verdict = "takes as long as before"
    else:
        verdict = f"takes {found.ratio:.2f} times as long"
    said = (
        f"A control step {verdict}: {1e3 * found.after_s:.3g} ms against "
        f"{1e3 * found.before_s:.3g} ms."
    )
    if found.stages:
        stage, share = found.stages[0]
        said += f" {100 * share:.0f} % of it is {stage.value}."
    if found.differences and found.differences[0].more_s:
        most = found.differences[0]
        way = "longer" if most.more_s > 0 else "shorter"
        said += (
            f" The most of the difference is {most.path}, "
            f"{1e3 * abs(most.more_s):.3g} ms {way}."
        )
    if found.launches:
        said += (
            " Times of launches say nothing of the device: what waits for it has that."
        )
    return said


def _own(report: CostReport) -> dict[str, float]:
    return {
        part.path.replace(LAUNCH, ""): part.own.median
        for part in report.parts
        if part.own.count and _in_step(part.path)
    }


def _in_step(path: str) -> bool:
    return path.partition("/")[0].replace(LAUNCH, "") not in ("reset", "wait")


def _step_s(report: CostReport) -> float:
    tops = [p.whole for p in report.parts if p.depth == 0 and _in_step(p.path)]
    told = [spread.median for spread in tops if spread.count]
    return sum(told) if told else math.nan


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value
