"""Index tables of a tree's contacts: where pairs, points and links find one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.gpu.contact.pairs import touching_pairs
from isoscope.gpu.model.rotations import matrix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from isoscope.gpu.contact.pairs import Kind
    from isoscope.gpu.model.spec import ShapeType
    from isoscope.gpu.model.tree import Tree

    Index = np.ndarray[Any, np.dtype[np.int64]]

# How many numbers describe a size.
SIZES: dict[ShapeType, int] = {"sphere": 1, "capsule": 2, "box": 3, "plane": 0}


@dataclass(frozen=True, slots=True)
class Group:
    """All pairs of one kind, as (shape of A, of B), and the first of their points."""

    kind: Kind
    pairs: tuple[tuple[int, int], ...]
    points: int
    start: int

    def side(self, which: int) -> list[int]:
        """The shapes of A (0) or B (1)."""
        return [pair[which] for pair in self.pairs]


@dataclass(frozen=True, slots=True)
class Layout:
    """What belongs to what, on the host.

    Attributes
    ----------
    points
        P.
    link_a, link_b, shape_a, shape_b
        Of each point, [P]; link -1 is the world.
    gather
        Which pairs' wrenches to add for each link, [L, most]: of n pairs, row p is that
        on A of pair p, row n + p that on B, row 2n is zero and fills up.
    """

    groups: tuple[Group, ...]
    points: int
    link_a: Index
    link_b: Index
    shape_a: Index
    shape_b: Index
    gather: Index


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """A layout's tables and the shapes' placements, on one device, in one precision.

    Attributes
    ----------
    place, turn
        Of shapes in their links, [S, 3, 1] and [S, 3, 3, 1].
    shape_link
        [S]; the world is link L, as in all tables here.
    shapes, sizes
        For each group, of A and B: the shapes [n] and their sizes [n, sizes, 1].
    link_a, link_b, shape_a, shape_b
        [P].
    gather
        [L * most].
    """

    place: Tensor
    turn: Tensor
    shape_link: Tensor
    shapes: tuple[tuple[Tensor, Tensor], ...]
    sizes: tuple[tuple[Tensor, Tensor], ...]
    link_a: Tensor
    link_b: Tensor
    shape_a: Tensor
    shape_b: Tensor
    gather: Tensor


def lay_out(tree: Tree, points_of: Mapping[Kind, int]) -> Layout:
    """Number pairs and points, kind by kind, in the order of the shapes.

    Parameters
    ----------
    points_of
        Candidate points of each kind of pair.
    """
    groups: list[Group] = []
    start = 0
    for kind, pairs in touching_pairs(tree).items():
        groups.append(Group(kind, tuple(pairs), points_of[kind], start))
        start += len(pairs) * points_of[kind]
    ordered = [
        pair for group in groups for pair in group.pairs for _ in range(group.points)
    ]
    shapes = np.array(ordered, dtype=np.int64).reshape(-1, 2)
    links = np.array([shape.link for shape in tree.shapes], dtype=np.int64)
    shape_a, shape_b = shapes[:, 0].copy(), shapes[:, 1].copy()
    return Layout(
        groups=tuple(groups),
        points=start,
        link_a=links[shape_a],
        link_b=links[shape_b],
        shape_a=shape_a,
        shape_b=shape_b,
        gather=_gather_table(tree, [pair for g in groups for pair in g.pairs]),
    )


def _gather_table(tree: Tree, pairs: list[tuple[int, int]]) -> Index:
    rows: list[list[int]] = [[] for _ in tree.links]
    for side in (0, 1):
        for number, pair in enumerate(pairs):
            link = tree.shapes[pair[side]].link
            if link >= 0:
                rows[link].append(side * len(pairs) + number)
    most = max([len(row) for row in rows] + [1])
    zero = 2 * len(pairs)
    filled = [row + [zero] * (most - len(row)) for row in rows]
    return np.array(filled, dtype=np.int64).reshape(len(rows), most)


def constants_on(
    tree: Tree, layout: Layout, device: torch.device, dtype: torch.dtype
) -> Constants:
    """Copy a layout's tables and the tree's shapes to a device."""
    shapes = [shape.shape for shape in tree.shapes]
    world = len(tree.links)

    def numbers(values: object, *shape: int) -> Tensor:
        array = np.asarray(values, dtype=np.float64).reshape(shape)
        return torch.from_numpy(array).to(device=device, dtype=dtype)

    def index(values: object) -> Tensor:
        return torch.from_numpy(np.array(values, dtype=np.int64)).to(device)

    def sizes(group: Group, which: int) -> Tensor:
        rows = [shapes[number].size for number in group.side(which)]
        return numbers(rows, len(rows), SIZES[group.kind[which]], 1)

    return Constants(
        place=numbers([shape.position for shape in shapes], -1, 3, 1),
        turn=numbers([_turn(shape.rotation) for shape in shapes], -1, 3, 3, 1),
        shape_link=index([s.link if s.link >= 0 else world for s in tree.shapes]),
        shapes=tuple((index(g.side(0)), index(g.side(1))) for g in layout.groups),
        sizes=tuple((sizes(g, 0), sizes(g, 1)) for g in layout.groups),
        link_a=index(np.where(layout.link_a < 0, world, layout.link_a)),
        link_b=index(np.where(layout.link_b < 0, world, layout.link_b)),
        shape_a=index(layout.shape_a),
        shape_b=index(layout.shape_b),
        gather=index(layout.gather.reshape(-1)),
    )


def _turn(rotation: tuple[float, float, float, float]) -> object:
    """The rotation matrix of a quaternion of any length."""
    length = float(np.linalg.norm(rotation))
    x, y, z, w = (part / length for part in rotation)
    return matrix((x, y, z, w))
