"""Normals for shading: smooth over curved surfaces, sharp at edges.

A triangle's corner takes the mean of the normals of those triangles around its vertex
that are inclined to its own by less than the crease angle. A ball then looks round and
a box keeps its edges. Which triangles those are is found once, on the reference shape;
a deforming body only averages anew.

Axis order: corners are [3 f], the three of face 0 first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array

CREASE_DEGREES = 40.0
# Above this many faces the pairs of neighbours take too much memory, and triangles are
# so small that facets don't show.
MOST_SMOOTHED_FACES = 150_000
_MOST_PAIRS = 20_000_000  # a fan of thousands of triangles makes millions of pairs


@dataclass(frozen=True, slots=True, eq=False)
class Smoothing:
    """Which faces each corner's normal is the mean of, in compressed rows.

    Attributes
    ----------
    faces
        int64 [n, 3]: the mesh's faces.
    members
        int64 [p]: face numbers.
    starts
        int64 [3 f]: where each corner's members begin. Every corner has some.
    """

    faces: Array
    members: Array
    starts: Array

    def corner_normals(self, positions: Array) -> Array:
        """Unit normals [3 f, 3] at the corners for these positions [n, 3]."""
        normals = face_normals(positions, self.faces)
        if not len(self.members):
            return np.repeat(unit(normals), 3, axis=0)
        return unit(np.add.reduceat(normals[self.members], self.starts, axis=0))


def face_normals(positions: Array, faces: Array) -> Array:
    """Normals [f, 3] by the right-hand rule, as long as twice the face's area [m²]."""
    a, b, c = positions[faces[:, 0]], positions[faces[:, 1]], positions[faces[:, 2]]
    return np.cross(b - a, c - a)


def unit(vectors: Array) -> Array:
    """Vectors [n, 3] of length 1; zero where there is no direction."""
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return vectors / np.where(length > 0, length, 1.0)[:, None]


def smoothing(
    positions: Array, faces: Array, crease_degrees: float = CREASE_DEGREES
) -> Smoothing:
    """Find the faces that each corner's normal is the mean of.

    Parameters
    ----------
    positions
        [n, 3]. Vertices at the same place count as one, since many files list a vertex
        once for every face.
    faces
        int64 [f, 3].
    """
    nothing = Smoothing(faces, np.zeros(0, np.int64), np.zeros(0, np.int64))
    if not len(faces) or len(faces) > MOST_SMOOTHED_FACES:
        return nothing
    _, place = np.unique(positions, axis=0, return_inverse=True)
    corner_place = place.reshape(-1)[faces].reshape(-1)
    corners = len(corner_place)
    face_of = np.repeat(np.arange(len(faces)), 3)
    # Pair every corner with every corner at the same place, in one go: sort by place,
    # then each corner's partners are a run of the sorted list.
    order = np.argsort(corner_place, kind="stable")
    counts = np.bincount(corner_place)
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    partners = counts[corner_place]
    if partners.sum() > _MOST_PAIRS:
        return nothing
    own = np.repeat(np.arange(corners), partners)
    first = np.repeat(np.cumsum(partners) - partners, partners)
    within = np.arange(len(own)) - first
    other = order[begins[corner_place[own]] + within]
    normals = unit(face_normals(positions, faces))
    cosine = np.einsum("ij,ij->i", normals[face_of[own]], normals[face_of[other]])
    # A face is always its own member, also one without an area.
    near = (cosine > np.cos(np.radians(crease_degrees))) | (own == other)
    members = face_of[other[near]]
    per_corner = np.bincount(own[near], minlength=corners)
    return Smoothing(faces, members, np.cumsum(per_corner) - per_corner)
