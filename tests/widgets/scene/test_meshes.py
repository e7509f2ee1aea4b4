from __future__ import annotations

import numpy as np
import pytest

from isoscope.widgets.scene.meshes import (
    Mesh,
    MeshProblem,
    deformable_mesh,
    rigid_mesh,
)
from isoscope.widgets.scene.normals import smoothing
from tests.widgets.scene.build import CUBE, CUBE_FACES

SURFACE = {
    "surfRefPositions": CUBE.astype(np.float32),
    "surfFaceIndices": CUBE_FACES.reshape(-1, 1).astype(np.int32),
}


def test_the_surface_is_taken_as_written() -> None:
    mesh = rigid_mesh(SURFACE)
    assert isinstance(mesh, Mesh)
    assert np.array_equal(mesh.faces, CUBE_FACES)
    assert np.array_equal(mesh.positions, CUBE.astype(np.float32))


def test_the_visual_mesh_is_preferred_and_its_positions_are_flat() -> None:
    visual = {
        "visualMeshPositions": np.arange(9, dtype=np.float32).reshape(-1, 1),
        "visualMeshIndices": np.array([[0], [1], [2]], np.int32),
    }
    mesh = rigid_mesh(SURFACE | visual)
    assert isinstance(mesh, Mesh)
    assert mesh.positions.tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_a_damaged_visual_mesh_leaves_the_surface() -> None:
    visual = {
        "visualMeshPositions": np.arange(9, dtype=np.float32).reshape(-1, 1),
        "visualMeshIndices": np.array([[0], [1], [3]], np.int32),
    }
    mesh = rigid_mesh(SURFACE | visual)
    assert isinstance(mesh, Mesh)
    assert len(mesh.faces) == 12
    assert isinstance(rigid_mesh(visual), MeshProblem)


def test_no_mesh_is_not_a_problem() -> None:
    assert rigid_mesh({}) is None
    assert deformable_mesh({}) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("surfFaceIndices", np.array([0, 1, 8], np.int32)),
        ("surfFaceIndices", np.array([0, -1, 2], np.int32)),
        ("surfFaceIndices", np.array([0, 1], np.int32)),
        ("surfFaceIndices", np.zeros(0, np.int32)),
        ("surfFaceIndices", np.array([0.0, 1.0, 2.0])),
        ("surfRefPositions", np.zeros(7)),
        ("surfRefPositions", np.zeros((0, 3))),
        ("surfRefPositions", np.full((8, 3), np.nan)),
        ("surfRefPositions", np.array([b"a", b"b", b"c"])),
    ],
)
def test_a_damaged_mesh_says_why(key: str, value: np.ndarray) -> None:
    problem = rigid_mesh(SURFACE | {key: value})
    assert isinstance(problem, MeshProblem)
    assert key in problem.text


def test_a_soft_surface_names_the_nodes_that_move_it() -> None:
    volume = np.concatenate([np.zeros((2, 3)), CUBE])
    nodes = np.arange(2, 10, dtype=np.int32).reshape(-1, 1)
    mesh = deformable_mesh(SURFACE | {"refPositions": volume, "surfNodeIndices": nodes})
    assert isinstance(mesh, Mesh)
    assert np.array_equal(mesh.nodes, np.arange(2, 10))


def test_a_soft_surface_that_fits_no_nodes_is_damaged() -> None:
    volume = np.zeros((20, 3))
    assert isinstance(deformable_mesh(SURFACE | {"refPositions": volume}), MeshProblem)


def test_a_rod_is_a_line_through_its_nodes() -> None:
    mesh = deformable_mesh({"surfRefPositions": CUBE})
    assert isinstance(mesh, Mesh)
    assert len(mesh.faces) == 0
    assert np.array_equal(mesh.nodes, np.arange(8))


def test_a_cube_keeps_its_edges() -> None:
    normals = smoothing(CUBE, CUBE_FACES).corner_normals(CUBE)
    assert np.allclose(np.abs(normals).max(axis=1), 1)
    # every corner of a face has that face's normal
    assert np.allclose(normals[0::3], normals[1::3])


def test_a_ball_is_smooth() -> None:
    from tests.widgets.scene.build import actor_named, real

    mesh = rigid_mesh(actor_named(real("rigid_contacts_all"), "BallA").reference)
    assert isinstance(mesh, Mesh)
    normals = smoothing(mesh.positions, mesh.faces).corner_normals(mesh.positions)
    outward = mesh.positions[mesh.faces].reshape(-1, 3) / 0.1
    assert np.einsum("ij,ij->i", normals, outward).min() > 0.99


def test_vertices_listed_once_a_face_are_still_one_place() -> None:
    apart = CUBE[CUBE_FACES].reshape(-1, 3)
    faces = np.arange(36).reshape(-1, 3)
    together = smoothing(CUBE, CUBE_FACES, 120).corner_normals(CUBE)
    found = smoothing(apart, faces, 120).corner_normals(apart)
    assert np.allclose(found, together)


def test_a_face_without_area_has_no_normal_and_harms_nothing() -> None:
    positions = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0.0]])
    faces = np.array([[0, 1, 2], [0, 3, 0]])
    normals = smoothing(positions, faces).corner_normals(positions)
    assert np.isfinite(normals).all()
    assert np.allclose(normals[:3], [0, 0, 1])
