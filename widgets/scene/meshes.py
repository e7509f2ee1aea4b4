"""Surface meshes from what an actor's creation holds.

Source of the names: the SuperDex scene recorder (release 1.0.0). ``surfRefPositions``
[n, 3] and ``surfFaceIndices`` [3 f, 1] are the collision surface,
``visualMeshPositions`` [3 n, 1] and ``visualMeshIndices`` [3 f, 1] the one to look at,
both in the body's frame. A rod has positions and no faces: a line through its nodes.
Nothing in a file is trusted: indices that point nowhere make the mesh damaged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.recording.tracks import Array


@dataclass(frozen=True, slots=True, eq=False)
class Mesh:
    """Triangles in a body's own frame.

    Attributes
    ----------
    positions
        float64 [n, 3].
    faces
        int64 [f, 3] into `positions`; empty for a line through the positions.
    nodes
        int64 [n]: for a deformable body, the node of the volume that each position is;
        empty for a rigid one.
    """

    positions: Array
    faces: Array
    nodes: Array

    def __repr__(self) -> str:
        """Counts, not numbers."""
        return f"Mesh({len(self.positions)} positions, {len(self.faces)} faces)"


@dataclass(frozen=True, slots=True)
class MeshProblem:
    """Why an actor's mesh can't be drawn, as one phrase."""

    text: str


def rigid_mesh(reference: Mapping[str, Array]) -> Mesh | MeshProblem | None:
    """The mesh to draw for a rigid body; None where none was recorded.

    The visual mesh is taken where it is sound, else the collision surface.
    """
    visual = _triangles(reference, "visualMeshPositions", "visualMeshIndices")
    if isinstance(visual, Mesh):
        return visual
    surface = _triangles(reference, "surfRefPositions", "surfFaceIndices")
    return surface if surface is not None else visual


def deformable_mesh(reference: Mapping[str, Array]) -> Mesh | MeshProblem | None:
    """The surface of a deformable body, with the node that moves each position.

    The visual mesh is left aside: it follows the nodes by a skin that isn't always in
    the file.
    """
    if "surfRefPositions" in reference and "surfFaceIndices" not in reference:
        surface = _polyline(reference)
    else:
        surface = _triangles(reference, "surfRefPositions", "surfFaceIndices")
    if not isinstance(surface, Mesh):
        return surface
    nodes = _nodes_of(reference, len(surface.positions))
    if nodes is None:
        return MeshProblem("its surface does not fit its nodes")
    return Mesh(surface.positions, surface.faces, nodes)


def _nodes_of(reference: Mapping[str, Array], count: int) -> Array | None:
    """Which volume node each surface position is; None if that can't be told."""
    volume = _points(reference.get("refPositions"))
    if volume is None or len(volume) == count:
        # A shell or rod has no volume: its surface's nodes are all there are.
        return np.arange(count)
    named = reference.get("surfNodeIndices")
    if named is None or named.size != count or named.dtype.kind not in "iu":
        return None
    nodes = named.reshape(-1).astype(np.int64)
    return nodes if _within(nodes, len(volume)) else None


def _triangles(
    reference: Mapping[str, Array], positions: str, indices: str
) -> Mesh | MeshProblem | None:
    at = reference.get(positions)
    of = reference.get(indices)
    if at is None or of is None:
        return None
    points = _points(at)
    if points is None:
        return MeshProblem(f"{positions} is not a list of positions")
    if of.dtype.kind not in "iu" or of.size % 3 or not of.size:
        return MeshProblem(f"{indices} is not a list of triangles")
    faces = of.reshape(-1, 3).astype(np.int64)
    if not _within(faces, len(points)):
        return MeshProblem(f"{indices} points outside of {positions}")
    if not np.isfinite(points).all():
        return MeshProblem(f"{positions} holds numbers that are not finite")
    return Mesh(points, faces, np.zeros(0, np.int64))


def _polyline(reference: Mapping[str, Array]) -> Mesh | MeshProblem | None:
    points = _points(reference.get("surfRefPositions"))
    if points is None or len(points) < 2 or not np.isfinite(points).all():
        return MeshProblem("surfRefPositions is not a list of positions")
    none = np.zeros((0, 3), np.int64)
    return Mesh(points, none, np.zeros(0, np.int64))


def _points(values: Array | None) -> Array | None:
    """Positions [n, 3] of [n, 3] or flat [3 n] reals, or None."""
    if values is None or values.dtype.kind not in "fiu" or values.size % 3:
        return None
    return values.reshape(-1, 3).astype(np.float64) if values.size else None


def _within(indices: Array, count: int) -> bool:
    return bool(indices.min() >= 0 and indices.max() < count)
