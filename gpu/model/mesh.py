"""Triangle meshes of shapes: for drawing, and for a recording's CreateActor events.

Faces are counter-clockwise seen from outside, so normals point outwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.gpu.model.rotations import matrix, normalised

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from isoscope.gpu.model.spec import Quaternion, Shape
    from isoscope.gpu.model.tree import Tree

    Array = npt.NDArray[np.float64]

# A round shape of this many segments is drawn without visible corners, and a scene of
# thousands of them can still be drawn.
SEGMENTS = 24
# A plane is infinite; this much of it is drawn, to each side of its origin [m].
PLANE_HALF = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """A surface.

    Attributes
    ----------
    vertices
        [m], (n, 3) float32; ``surfRefPositions`` of a recording.
    faces
        Numbers of vertices, (f, 3) int32.
    """

    vertices: npt.NDArray[np.float32]
    faces: npt.NDArray[np.int32]

    @property
    def face_indices(self) -> npt.NDArray[np.int32]:
        """The faces as a recording's ``surfFaceIndices``, (3f, 1)."""
        return self.faces.reshape(-1, 1)


def shape_mesh(shape: Shape, *, plane_half: float = PLANE_HALF) -> Mesh:
    """A shape's surface in the frame of its link, or of the world.

    A plane is a square of twice `plane_half` [m] a side; all others are closed.
    """
    if shape.type == "plane":
        vertices, faces = _square(plane_half)
    elif shape.type == "box":
        vertices, faces = _box(shape.size)
    elif shape.type == "sphere":
        vertices, faces = _round(shape.size[0], 0.0)
    else:
        vertices, faces = _round(shape.size[0], shape.size[1])
    placed = vertices @ matrix(_unit(shape.rotation)).T + np.array(shape.position)
    return Mesh(placed.astype(np.float32), faces)


def link_mesh(tree: Tree, link: int, *, plane_half: float = PLANE_HALF) -> Mesh | None:
    """All shapes of a link (-1: of the world) as one mesh; None if it has none."""
    shapes = (entry.shape for entry in tree.shapes if entry.link == link)
    return joined(shape_mesh(shape, plane_half=plane_half) for shape in shapes)


def joined(meshes: Iterable[Mesh]) -> Mesh | None:
    """Several meshes as one; None of none."""
    vertices: list[npt.NDArray[np.float32]] = []
    faces: list[npt.NDArray[np.int32]] = []
    count = 0
    for mesh in meshes:
        vertices.append(mesh.vertices)
        faces.append(mesh.faces + np.int32(count))
        count += len(mesh.vertices)
    if not vertices:
        return None
    return Mesh(np.concatenate(vertices), np.concatenate(faces))


def _square(half: float) -> tuple[Array, npt.NDArray[np.int32]]:
    vertices = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * half
    return vertices, np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)


def _box(half: tuple[float, ...]) -> tuple[Array, npt.NDArray[np.int32]]:
    """Corner number 4x + 2y + z, with 0 for the negative side."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    quads = [
        (0, 1, 3, 2),
        (4, 6, 7, 5),
        (0, 4, 5, 1),
        (2, 3, 7, 6),
        (0, 2, 6, 4),
        (1, 5, 7, 3),
    ]
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    return signs * np.array(half), np.array(faces, dtype=np.int32)


def _round(radius: float, half: float) -> tuple[Array, npt.NDArray[np.int32]]:
    """A capsule along z, or a sphere where `half` is 0: rings between two poles."""
    quarter = SEGMENTS // 4
    rows = [(i / quarter * math.pi / 2, -half) for i in range(1, quarter + 1)]
    upper = [(math.pi / 2 + i / quarter * math.pi / 2, half) for i in range(quarter)]
    rows += upper if half else upper[1:]
    turn = np.arange(SEGMENTS) * (2 * math.pi / SEGMENTS)
    rings = [
        np.column_stack(
            [
                radius * math.sin(angle) * np.cos(turn),
                radius * math.sin(angle) * np.sin(turn),
                np.full(SEGMENTS, middle - radius * math.cos(angle)),
            ]
        )
        for angle, middle in rows
    ]
    poles = np.array([[0.0, 0.0, -half - radius], [0.0, 0.0, half + radius]])
    vertices = np.concatenate([*rings, poles])
    bottom, top = len(vertices) - 2, len(vertices) - 1
    here = np.arange(SEGMENTS)
    after = (here + 1) % SEGMENTS
    last = (len(rings) - 1) * SEGMENTS
    faces = [
        np.column_stack([np.full(SEGMENTS, bottom), after, here]),
        np.column_stack([last + here, last + after, np.full(SEGMENTS, top)]),
    ]
    for ring in range(len(rings) - 1):
        low, high = ring * SEGMENTS, (ring + 1) * SEGMENTS
        faces.append(np.column_stack([low + here, low + after, high + after]))
        faces.append(np.column_stack([low + here, high + after, high + here]))
    return vertices, np.concatenate(faces).astype(np.int32)


def _unit(values: Quaternion) -> Quaternion:
    x, y, z, w = normalised(values)
    return (x, y, z, w)
