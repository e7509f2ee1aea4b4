"""The costs of a recording, kept up with while it grows, and told for a window.

Taking in costs what is new; a report costs what its window has. Both are for a worker
thread where the recording is large: nothing here is shared with any other thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.costs.columns import CostColumns
from isoscope.core.costs.naming import (
    ENGINE,
    SCENE_STEP,
    copy_of,
    launches,
    leaf_of,
    root_of,
    solve_part_of,
    unit_of,
)
from isoscope.core.costs.outside import solver_costs, wall_costs
from isoscope.core.costs.report import (
    EVERYTHING,
    CopyCosts,
    CostReport,
    PartCosts,
    Window,
)
from isoscope.core.costs.samples import Phase, Samples, What, last_steps
from isoscope.core.costs.solves import Solves
from isoscope.core.costs.spread import Spread
from isoscope.core.costs.tree import Own, Tree, is_time, own_times, tree_of
from isoscope.core.costs.workers import Crew, worker_costs

if TYPE_CHECKING:
    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.recording.tracks import Array, BoolArray


class CostModel:
    """What a labelled recording's profile, wall times and solver say about costs."""

    def __init__(self, labelled: LabelledRecording) -> None:
        self._labelled = labelled
        self._columns = CostColumns()
        self._samples = Samples()
        self._solves = Solves()
        self._crew = Crew()
        self._tree = Tree({}, ())
        self._known = 0  # kinds that the tables below cover
        self._factor = self._what = self._top = np.zeros(0)

    def update(self) -> bool:
        """Take in what the recording has grown by; whether that was anything.

        Raises
        ------
        ReadError
            If it can't be read.
        """
        columns, labelled = self._columns, self._labelled
        native = columns.native.update(labelled)
        moved = columns.transitions.update(labelled)
        self._crew.update(columns.native, labelled.identity)
        return columns.entries.update(labelled, self._take) or native or moved

    def report(self, window: Window = EVERYTHING) -> CostReport:
        """Where the time goes in this window."""
        columns, samples, tree = self._columns, self._samples, self._tree
        inside = self._inside(window)
        values = samples.values[inside]
        env, phase = samples.env[inside], samples.phase[inside]
        what = samples.what[inside]
        own = own_times(tree, values)
        # A vector environment's own step contains those of its workers.
        apart = (env == -1) & bool((env >= 0).any())
        parts = self._parts(values, own, phase, what, ~apart)
        steady = (phase == Phase.STEADY) & (what == What.STEP) & ~apart
        tops = [node.kind for node in tree.tops if self._what[node.kind] == What.STEP]
        steps = [k for k in tree.nodes if self._what[k] == What.STEP]
        problems = [*tree.problems, *own.problems, *self._remarks()]
        whole = inside.all() if len(inside) else True
        row_of = columns.transitions["last_row"]
        return CostReport(
            window=window,
            entries=columns.entries.taken,
            samples={p: int(((phase == p) & ~apart).sum()) for p in Phase},
            parts=tuple(parts),
            top_s=float(sum(np.nansum(values[steady, k]) for k in tops)),
            own_s=float(sum(np.nansum(own.values[k][steady]) for k in steps)),
            workers=worker_costs(tree, self._crew, values, own, env, phase, what),
            solves=self._solves.spreads(None if whole else self._rows(inside), row_of),
            copies=self._copies(values, ~apart),
            solver=solver_costs(
                columns.native, columns.transitions, window, self._labelled.identity
            ),
            wall=wall_costs(columns.native, columns.transitions, window),
            others=self._others(values[steady]),
            problems=tuple(dict.fromkeys(problems)),
        )

    # -- taking in ---------------------------------------------------------------------

    def _take(
        self, kind: Array, value: Array, env: Array, transition: Array, row: Array
    ) -> None:
        kinds = self._columns.entries.kinds
        if len(kinds) != self._known:
            self._known = len(kinds)
            units = [unit_of(unit) for _, _, unit in kinds]
            factors = [1.0 if unit is None else unit.factor for unit in units]
            self._factor = np.array(factors)
            self._tree = tree_of(kinds)
            what = [_what(self._tree, number) for number in range(len(kinds))]
            self._what = np.array(what, np.int64)
            tops = {node.kind for node in self._tree.tops}
            self._top = np.array([number in tops for number in range(len(kinds))])
        si = value * self._factor[kind]
        self._samples.add(kind, si, env, transition, row, self._what, self._top)
        self._solves.add(kinds, kind, si, transition, row)

    # -- the window --------------------------------------------------------------------

    def _inside(self, window: Window) -> BoolArray:
        """Bool [samples]."""
        samples = self._samples
        if window.last_steps is not None:
            return last_steps(samples, window.last_steps)
        inside = np.ones(len(samples), np.bool_)
        if window.rows is not None:
            rows = self._sample_rows()
            inside = (rows >= window.rows[0]) & (rows <= window.rows[1])
        return inside

    def _sample_rows(self) -> Array:
        """The native row that each sample goes with, [samples]; -1 where not told."""
        last_row = self._columns.transitions["last_row"]
        rows, transition = self._samples.row.copy(), self._samples.transition
        led = (rows < 0) & (transition >= 0) & (transition < len(last_row))
        rows[led] = last_row[transition[led]]
        return rows

    def _rows(self, inside: BoolArray) -> tuple[int, int]:
        """First and last native row of some samples."""
        rows = self._sample_rows()[inside]
        rows = rows[rows >= 0]
        return (int(rows.min()), int(rows.max())) if len(rows) else (0, -1)

    # -- what is told of it ------------------------------------------------------------

    def _parts(
        self, values: Array, own: Own, phase: Array, what: Array, told: BoolArray
    ) -> list[PartCosts]:
        parts = []
        for node in self._tree.nodes.values():
            kind = node.kind
            usual = told & (what == What.STEP) & (phase == Phase.STEADY)
            if self._what[kind] != What.STEP:
                usual = told & (phase != Phase.INITIALISATION)
            first = told & (phase == Phase.FIRST) & (what == What.STEP)
            before = told & (phase == Phase.INITIALISATION)
            whole = values[:, kind]
            parts.append(
                PartCosts(
                    path=node.path,
                    unit=node.unit,
                    depth=node.depth,
                    stage=node.stage,
                    whole=Spread.of(whole[usual]),
                    own=Spread.of(own.values[kind][usual]),
                    first=Spread.of(whole[first]),
                    initialisation=Spread.of(whole[before]),
                    launch=launches(node.path),
                )
            )
        return parts

    def _copies(self, values: Array, told: BoolArray) -> tuple[CopyCosts, ...]:
        found = []
        for kind, (path, _, _) in enumerate(self._columns.entries.kinds):
            named = copy_of(path)
            if named is None:
                continue
            each = Spread.of(values[told, kind])
            if each.count:
                found.append(CopyCosts(*named, each.total, each))
        return tuple(sorted(found, key=lambda c: (c.way == "syncs", -c.total)))

    def _others(self, values: Array) -> tuple[tuple[str, str, Spread], ...]:
        found = []
        for number, kind in enumerate(self._columns.entries.kinds):
            path, _, unit = kind
            if is_time(kind) or copy_of(path) or solve_part_of(path):
                continue
            spread = Spread.of(values[:, number])
            if spread.count:
                found.append((path, unit, spread))
        return tuple(found)

    def _remarks(self) -> list[str]:
        """What the entries' names and units give reason to say."""
        said = []
        for path, _, unit in self._columns.entries.kinds:
            if unit_of(unit) is None:
                said.append(f"{path} has the unit {unit}, which is not known here")
            elif leaf_of(path).startswith(ENGINE) and not unit:
                said.append(
                    f"{path} is told without a unit: not counted as a time "
                    "(SuperDex's are milliseconds)"
                )
        substeps = self._labelled.identity.substeps or 1
        lab = self._labelled.identity.engine.lower().startswith("superdex")
        if lab and substeps > 1:
            said += [
                f"{node.path} is the last of {substeps} native steps only, as SuperDex "
                "Lab tells it; the others count as what is left of the entry around it"
                for node in self._tree.nodes.values()
                if leaf_of(node.path) == SCENE_STEP
            ]
        return said


def _what(tree: Tree, kind: int) -> int:
    """What entries of this kind belong to; -1 for whatever was before them."""
    node = tree.nodes.get(kind)
    if node is None:
        return -1
    while node.parent is not None:
        node = tree.nodes[node.parent]
    # An own parent that is not told still says where it belongs.
    root = root_of(node.path)
    if root == "wait":
        return What.WAIT
    return What.RESET if root == "reset" else What.STEP
