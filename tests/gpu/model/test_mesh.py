from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.inertia import capsule_volume
from isoscope.gpu.model.mesh import link_mesh, shape_mesh
from isoscope.gpu.model.named import named_model
from isoscope.gpu.model.rotations import about
from isoscope.gpu.model.spec import Shape

TURN = about((0.6, 0.0, 0.8), 1.1)
CLOSED = [
    (Shape(name="b", type="box", size=(0.1, 0.2, 0.3)), 8 * 0.006, 1e-6),
    (Shape(name="s", type="sphere", size=(0.5,)), 4 / 3 * math.pi * 0.125, 0.05),
    (Shape(name="c", type="capsule", size=(0.2, 0.4)), capsule_volume(0.2, 0.4), 0.05),
    (
        Shape(
            name="t",
            type="box",
            size=(0.1, 0.2, 0.3),
            position=(1.0, -2.0, 3.0),
            rotation=TURN,
        ),
        8 * 0.006,
        1e-4,
    ),
]


@pytest.mark.parametrize(
    ("shape", "volume", "within"), CLOSED, ids=[c[0].name for c in CLOSED]
)
def test_meshes_are_closed_and_look_outwards(
    shape: Shape, volume: float, within: float
) -> None:
    mesh = shape_mesh(shape)
    assert mesh.vertices.dtype == np.float32
    assert mesh.faces.dtype == np.int32
    assert mesh.face_indices.shape == (3 * len(mesh.faces), 1)
    edges = Counter(
        (int(face[i]), int(face[(i + 1) % 3])) for face in mesh.faces for i in range(3)
    )
    # every edge is there once in each direction
    assert set(edges.values()) == {1}
    assert all((b, a) in edges for a, b in edges)
    assert set(mesh.faces.ravel()) == set(range(len(mesh.vertices)))
    corners = mesh.vertices.astype(np.float64)[mesh.faces]
    found = np.einsum(
        "ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])
    ).sum() / 6  # fmt: skip
    assert found == pytest.approx(volume, rel=within)
    assert found <= volume * (1 + 1e-4)


def test_round_meshes_touch_what_they_stand_for() -> None:
    mesh = shape_mesh(Shape(name="c", type="capsule", size=(0.2, 0.4)))
    past = np.maximum(abs(mesh.vertices[:, 2]) - 0.4, 0)
    radius = np.sqrt(mesh.vertices[:, 0] ** 2 + mesh.vertices[:, 1] ** 2 + past**2)
    np.testing.assert_allclose(radius, 0.2, atol=1e-6)
    assert mesh.vertices[:, 2].max() == pytest.approx(0.6)


def test_a_plane_looks_along_its_z() -> None:
    mesh = shape_mesh(
        Shape(name="p", type="plane", rotation=about((1, 0, 0), -math.pi / 2)),
        plane_half=2.0,
    )
    a, b, c = mesh.vertices[mesh.faces[0]]
    np.testing.assert_allclose(np.cross(b - a, c - a), (0, 16, 0), atol=1e-5)
    assert abs(mesh.vertices).max() == 2.0


def test_a_links_shapes_make_one_mesh_and_none_makes_none() -> None:
    tree = build_tree(named_model("pusher"))
    forearm = next(link.index for link in tree.links if link.name == "Forearm")
    mesh = link_mesh(tree, forearm)
    parts = [shape_mesh(e.shape) for e in tree.shapes if e.link == forearm]
    assert mesh is not None
    assert len(parts) == 2
    assert len(mesh.vertices) == sum(len(part.vertices) for part in parts)
    assert mesh.faces.max() == len(mesh.vertices) - 1
    assert link_mesh(build_tree(named_model("cartpole")), -1) is None
