"""Which shapes can touch at all: decided once per tree.

Two shapes touch where their group and mask bits say so, but never where they can't move
against one another (one link, links that fixed joints join, the world and what is fixed
to it), nor where their links are parent and child. Links without mass or shapes, which
only join two joints, are passed over when parents are looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isoscope.gpu.model.spec import ShapeType
    from isoscope.gpu.model.tree import Tree, TreeShape

# The first of a pair is of the earlier type; of two alike, the earlier shape.
ORDER: dict[ShapeType, int] = {"sphere": 0, "capsule": 1, "box": 2, "plane": 3}

Kind = tuple["ShapeType", "ShapeType"]
WORLD = -1


def touching_pairs(tree: Tree) -> dict[Kind, list[tuple[int, int]]]:
    """List the pairs of shapes that can touch, by kind, in the order of the shapes.

    Returns
    -------
    dict
        From the types of A and B to (A's index, B's index) in ``tree.shapes``.
    """
    bodies = _bodies(tree)
    above = _bodies_above(tree, bodies)
    found: dict[Kind, list[tuple[int, int]]] = {}
    for number, first in enumerate(tree.shapes):
        for second in tree.shapes[number + 1 :]:
            if not _can_touch(first, second, bodies, above):
                continue
            a, b = first, second
            if ORDER[a.shape.type] > ORDER[b.shape.type]:
                a, b = b, a
            kind = (a.shape.type, b.shape.type)
            found.setdefault(kind, []).append((a.index, b.index))
    return dict(sorted(found.items(), key=lambda item: tuple(map(ORDER.get, item[0]))))


def _can_touch(
    first: TreeShape, second: TreeShape, bodies: list[int], above: list[int]
) -> bool:
    a, b = first.shape, second.shape
    if a.type == "plane" and b.type == "plane":
        return False
    if not (a.group & b.mask or b.group & a.mask):
        return False
    body_a = bodies[first.link] if first.link >= 0 else WORLD
    body_b = bodies[second.link] if second.link >= 0 else WORLD
    if body_a == body_b:
        return False
    # Everything's last parent is the world, which everything may touch.
    child_of_other = body_b != WORLD and body_a != WORLD
    return not (
        child_of_other and (above[first.link] == body_b or above[second.link] == body_a)
    )


def _bodies(tree: Tree) -> list[int]:
    """The first link of the rigid body that each link belongs to, or the world."""
    bodies: list[int] = []
    for link in tree.links:
        if link.joint != "fixed":
            bodies.append(link.index)
        else:
            bodies.append(WORLD if link.parent < 0 else bodies[link.parent])
    return bodies


def _bodies_above(tree: Tree, bodies: list[int]) -> list[int]:
    """The body that each link's body hangs on."""
    solid = {bodies[link.index] for link in tree.links if link.mass > 0}
    solid |= {bodies[shape.link] for shape in tree.shapes if shape.link >= 0}
    above: list[int] = []
    for link in tree.links:
        body = bodies[link.index]
        parent = body
        while parent >= 0:
            hangs_on = tree.links[parent].parent
            parent = WORLD if hangs_on < 0 else bodies[hangs_on]
            if parent in solid:
                break
        above.append(parent)
    return above
