"""What contains what among the entries, and what is left of each without its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.costs.naming import (
    COPIES,
    ENGINE,
    ENGINE_TOTAL,
    SCENE_STEP,
    SOLVE,
    Stage,
    leaf_of,
    root_of,
    solve_part_of,
    stage_of,
    unit_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.tracks import Array

# What children may be longer than their parent without anybody wondering: clocks have
# steps, and each entry is rounded.
SLACK_S, SLACK_PART = 2e-6, 1e-3


@dataclass(frozen=True, slots=True)
class Node:
    """A kind of entry whose values are times.

    Attributes
    ----------
    kind
        Its number.
    path, unit
        As told.
    parent
        Number of the node that contains it; None at the top.
    children
        Those directly inside of it.
    stage
        Its own or that of the nearest one around it.
    depth
        0 at the top.
    """

    kind: int
    path: str
    unit: str
    parent: int | None
    children: tuple[int, ...]
    stage: Stage
    depth: int


@dataclass(frozen=True, slots=True)
class Tree:
    """The nodes by kind, in the order in which they are shown, and what is odd."""

    nodes: dict[int, Node]
    problems: tuple[str, ...]

    @property
    def tops(self) -> list[Node]:
        """Those that nothing contains."""
        return [node for node in self.nodes.values() if node.parent is None]


def is_time(kind: tuple[str, str, str]) -> bool:
    """Whether entries of this kind are times of a run's stages."""
    path, _, unit = kind
    meant = unit_of(unit)
    if root_of(path) in (COPIES, SOLVE) or solve_part_of(path) is not None:
        return False
    return meant is not None and meant.measure == "time"


def tree_of(kinds: Sequence[tuple[str, str, str]]) -> Tree:
    """Put these (path, parent, unit) into their places."""
    problems: list[str] = []
    timed = [number for number, kind in enumerate(kinds) if is_time(kind)]
    by_path: dict[str, int] = {}
    for number in timed:
        other = by_path.setdefault(kinds[number][0], number)
        if other != number:
            problems.append(
                f"{kinds[number][0]} is told with two parents or units: shown apart"
            )
    parents: dict[int, int | None] = {}
    for number in timed:
        path, above, _ = kinds[number]
        parents[number] = by_path.get(above) if above else None
        if above and parents[number] is None:
            problems.append(
                f"{path} is told to be inside of {above}, which is not told"
            )
    _place_engine(kinds, timed, parents)
    _break_circles(kinds, parents, problems)
    children: dict[int | None, list[int]] = {}
    for number in timed:
        children.setdefault(parents[number], []).append(number)
    nodes: dict[int, Node] = {}

    def add(number: int, depth: int, around: Stage) -> None:
        path, _, unit = kinds[number]
        own = stage_of(path)
        # What a reset consists of is no step's observing or converting.
        stage = around if own is None or around is Stage.RESET else own
        inside = tuple(children.get(number, ()))
        nodes[number] = Node(number, path, unit, parents[number], inside, stage, depth)
        for child in inside:
            add(child, depth + 1, stage)

    for number in children.get(None, ()):
        add(number, 0, Stage.OTHER)
    return Tree(nodes, tuple(problems))


def _place_engine(
    kinds: Sequence[tuple[str, str, str]],
    timed: list[int],
    parents: dict[int, int | None],
) -> None:
    """Put SuperDex's engine times into one another, which its profiler lists flat.

    ``cpp_total_step`` contains the other ``cpp_*``, and is itself what Lab's
    ``step_scene`` beside it has measured from outside. Added up they would count twice.
    """
    for number in timed:
        leaf = leaf_of(kinds[number][0])
        if not leaf.startswith(ENGINE):
            continue
        wanted = SCENE_STEP if leaf == ENGINE_TOTAL else ENGINE_TOTAL
        beside = [
            other
            for other in timed
            if leaf_of(kinds[other][0]) == wanted
            and kinds[other][1] == kinds[number][1]
            and other != number
        ]
        if beside:
            parents[number] = beside[0]


def _break_circles(
    kinds: Sequence[tuple[str, str, str]],
    parents: dict[int, int | None],
    problems: list[str],
) -> None:
    for number in parents:
        seen, at = {number}, parents[number]
        while at is not None and at not in seen:
            seen.add(at)
            at = parents[at]
        if at == number:
            problems.append(f"{kinds[number][0]} is told to be inside of itself")
            parents[number] = None


@dataclass(frozen=True, slots=True)
class Own:
    """What is left of each node without its parts, by kind; and what doesn't fit.

    Attributes
    ----------
    values
        float64 [n] each: NaN where the sample has no such entry. Negative where the
        parts are longer than the whole.
    problems
        One line each.
    """

    values: dict[int, Array]
    problems: tuple[str, ...]


def own_times(tree: Tree, values: Array) -> Own:
    """Each node's time without its parts'.

    Parameters
    ----------
    values
        float64 [n, kinds], seconds; NaN where absent.
    """
    own: dict[int, Array] = {}
    problems = []
    for node in tree.nodes.values():
        whole = values[:, node.kind]
        parts = np.zeros(len(whole))
        for child in node.children:
            told = values[:, child]
            parts += np.nan_to_num(told)
            orphans = int((~np.isnan(told) & np.isnan(whole)).sum())
            if orphans:
                problems.append(
                    f"{tree.nodes[child].path} is told without {node.path} in "
                    f"{orphans:,} of {len(whole):,}"
                )
        own[node.kind] = whole - parts
        if not node.children:
            continue
        over = parts - whole
        with np.errstate(invalid="ignore"):
            longer = over > SLACK_S + SLACK_PART * whole
        if longer.any():
            problems.append(
                f"the parts of {node.path} are longer than it is in "
                f"{int(longer.sum()):,} of {int((~np.isnan(whole)).sum()):,}, by up to "
                f"{1e3 * float(over[longer].max()):.3g} ms"
            )
    return Own(own, tuple(problems))
