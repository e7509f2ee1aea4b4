"""The rows of the Costs table: a report as text, in sections; no Qt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isoscope.core.costs.naming import DIRECTIONS, LAUNCH, SOLVE_PARTS, SYNCS
from isoscope.widgets.costs.words import ABSENT, envs, number, seconds, share, sized

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.core.costs.compare import Comparison
    from isoscope.core.costs.report import CostReport, PartCosts
    from isoscope.core.costs.spread import Spread

HEADER = ("", "median", "p95", "without parts", "share", "first step", "count")
ABOUT_HEADER = (
    "What was timed",
    "Half of all take no longer",
    "95 of 100 take no longer",
    "Median of what is left without the entries inside of it",
    "Of the whole: of the control step, of all bytes, of the slowest worker's turn",
    "The slowest first control step of an environment: it makes and compiles things",
    "How many were looked at; without first steps and initialisation",
)
MOST_COMPARED = 8
OUTSIDE = ("reset", "wait")


@dataclass(slots=True)
class Row:
    """A line of the table.

    Attributes
    ----------
    key
        Names it from one report to the next, so that what is folded stays so.
    cells
        One text a column; those beyond are empty.
    about
        Its tooltip.
    bar
        0 to 1: drawn behind its share.
    dim
        Whether it says that something is not there.
    """

    key: str
    cells: tuple[str, ...]
    about: str = ""
    bar: float = 0.0
    dim: bool = False
    children: list[Row] = field(default_factory=list)

    @property
    def section(self) -> bool:
        """Whether it is a section's heading."""
        return ":" not in self.key


def rows_of(report: CostReport, comparison: Comparison | None = None) -> list[Row]:
    """The sections of a report, what is not told said in each."""
    inside = [p for p in report.parts if _root(p) not in OUTSIDE]
    outside = [p for p in report.parts if _root(p) in OUTSIDE]
    sections = [] if comparison is None else [_compared(comparison)]
    sections.append(_parts("step", "A control step", inside))
    if outside:
        sections.append(_parts("outside", "Resets and waits", outside))
    sections += [_workers(report), _solves(report), _copies(report)]
    sections += [_solver(report), _wall(report)]
    if report.others:
        rows = [
            Row(
                f"other:{path}", (f"{path} [{unit}]" if unit else path, *_of(s, number))
            )
            for path, unit, s in report.others
        ]
        sections.append(Row("others", ("Other entries",), children=rows))
    return sections


def _root(part: PartCosts) -> str:
    return part.path.partition("/")[0].removesuffix(LAUNCH)


def _of(spread: Spread, word: Callable[[float], str]) -> tuple[str, ...]:
    told = f"{spread.count:,}"
    return word(spread.median), word(spread.p95), "", "", "", told


def _nothing(key: str, about: str) -> list[Row]:
    return [Row(f"{key}:none", ("not told",), about, dim=True)]


def _parts(key: str, title: str, parts: list[PartCosts]) -> Row:
    top = Row(key, (title,))
    if not parts:
        top.children = _nothing(key, "No profiler entries in this window.")
        return top
    whole = sum(p.whole.total for p in parts if p.depth == 0 and p.whole.count)
    open_: list[Row] = [top]
    for part in parts:
        row = _part(key, part, whole)
        del open_[part.depth + 1 :]
        open_[-1].children.append(row)
        open_.append(row)
    return top


def _part(key: str, part: PartCosts, whole: float) -> Row:
    name = part.path.rpartition("/")[2]
    spent = part.own.total
    about = [
        part.path,
        f"told in {part.unit}; counts as {part.stage.value}",
        f"in all {seconds(part.whole.total)}, without parts {seconds(spent)}",
    ]
    if part.initialisation.count:
        about.append(f"initialisation: {seconds(part.initialisation.total)}")
    if part.launch:
        about.append("the time to launch it: the device does it later")
    cells = (
        name,
        seconds(part.whole.median),
        seconds(part.whole.p95),
        seconds(part.own.median),
        share(spent, whole),
        seconds(part.first.largest),
        f"{part.whole.count:,}",
    )
    bar = spent / whole if whole > 0 and part.own.count else 0.0
    return Row(f"{key}:{part.path}", cells, "\n".join(about), min(max(bar, 0.0), 1.0))


def _workers(report: CostReport) -> Row:
    top = Row("workers", ("Workers",))
    longest = max((w.turn_s for w in report.workers if w.envs), default=0.0)
    for worker in report.workers:
        named = f"{worker.name} ({envs(worker)})" if worker.envs else worker.name
        slowest = worker is report.slowest
        about = [f"{stage.value}: {seconds(s)}" for stage, s in worker.stages.items()]
        about.insert(0, f"{named}: {seconds(worker.turn_s)} a turn, on the average")
        about.append(f"waits {seconds(worker.wait_s)} between turns")
        if not worker.envs:
            about.append("its turn holds those of its workers: never added to them")
        cells = (
            f"▲ {named}, slowest" if slowest else named,
            seconds(worker.step.median),
            seconds(worker.step.p95),
            "",
            share(worker.turn_s, longest) if worker.envs else "",
            "",
            f"{worker.step.count:,}",
        )
        bar = worker.turn_s / longest if worker.envs and longest > 0 else 0.0
        key = f"worker:{worker.name}"
        top.children.append(Row(key, cells, "\n".join(about), bar))
    if not top.children:
        top.children = _nothing("workers", "No profiler entries in this window.")
    return top


def _solves(report: CostReport) -> Row:
    top = Row("solves", ("A linear solve",))
    whole = sum(s.total for s in report.solves.values())
    for part, spread in report.solves.items():
        median, p95, *_, told = _of(spread, seconds)
        cells = (SOLVE_PARTS[part], median, p95, "", share(spread.total, whole), "")
        about = f"{SOLVE_PARTS[part]}: in all {seconds(spread.total)}"
        bar = spread.total / whole if whole > 0 else 0.0
        top.children.append(Row(f"solve:{part}", (*cells, told), about, bar))
    if not top.children:
        about = (
            "Times of linear solves are told where they are taken "
            "(SolveOptions(timing=True)) and recorded, as solve/host_to_device, …"
        )
        top.children = _nothing("solves", about)
    return top


def _copies(report: CostReport) -> Row:
    top = Row("copies", ("Copies a control step, by cause",))
    moved = [c for c in report.copies if c.way != SYNCS]
    whole = sum(c.total for c in moved)
    for copy in report.copies:
        waits = copy.way == SYNCS
        word = number if waits else sized
        way = "waits for the device" if waits else DIRECTIONS[copy.way]
        median, p95, *_, told = _of(copy.each, word)
        part = "" if waits else share(copy.total, whole)
        cells = (f"{copy.cause}: {way}", median, p95, "", part, "", told)
        bar = copy.total / whole if not waits and whole > 0 else 0.0
        about = f"{copy.cause}, {way}: in all {word(copy.total)}"
        top.children.append(Row(f"copy:{copy.way}/{copy.cause}", cells, about, bar))
    if not top.children:
        top.children = _nothing("copies", "The scene keeps no ledger of copies.")
    return top


def _solver(report: CostReport) -> Row:
    solver = report.solver
    top = Row("solver", ("Solver, a native step",))
    for name, spread in (
        ("iterations", solver.iterations),
        ("residual", solver.residual),
    ):
        if spread.count:
            about = f"{name}: at most {number(spread.largest)}"
            cells = (name, *_of(spread, number))
            top.children.append(Row(f"solver:{name}", cells, about))
    for name, count in solver.statuses.items():
        part = share(count, solver.told)
        cells = (name, "", "", "", part, "", f"{count:,}")
        bar = count / solver.told if solver.told else 0.0
        top.children.append(Row(f"solver:status {name}", cells, "", bar))
    if not top.children:
        top.children = _nothing("solver", "The native steps tell nothing of a solver.")
    return top


def _wall(report: CostReport) -> Row:
    top = Row("wall", ("By the wall's clock, from end to end",))
    for name, spread, about in (
        (
            "native steps",
            report.wall.native,
            "from one native step's end to the next one's, in one control step",
        ),
        (
            "control steps",
            report.wall.control,
            "from one control step's end to the same environment's next one: with the "
            "policy, the other environments, and all else between",
        ),
    ):
        if spread.count:
            cells = (name, *_of(spread, seconds))
            top.children.append(Row(f"wall:{name}", cells, about))
    if not top.children:
        top.children = _nothing("wall", "Wall times were not recorded.")
    return top


def _compared(found: Comparison) -> Row:
    cells = ("Against what was kept", "now", "kept", "more", "", "", "")
    top = Row("compared", cells)
    for one in found.differences[:MOST_COMPARED]:
        sign = "+" if one.more_s > 0 else ""
        more = f"{sign}{seconds(one.more_s)}" if one.more_s else ABSENT
        told = (one.path, seconds(one.after_s), seconds(one.before_s), more)
        about = f"{one.path}, without parts, median of a steady control step"
        top.children.append(Row(f"compared:{one.path}", told, about))
    return top
