from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.gpu.model import rotations
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.named import model_names, named_model
from isoscope.gpu.model.rest import rest_mass_matrix, rest_pose
from isoscope.gpu.model.spec import (
    POSITIONS,
    VELOCITIES,
    Actor,
    Drive,
    Joint,
    Link,
    Model,
    Shape,
)

ROUND = {"mass": 2.0, "inertia": (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)}
BALL = Shape(name="ball", type="sphere", size=(1.0,))


def two_actors() -> Model:
    free = Link(
        name="free",
        position=(1.0, 2.0, 3.0),
        rotation=(0.0, 0.0, 2**-0.5, 2**-0.5),
        joint=Joint(type="free"),
        shapes=(BALL,),
        **ROUND,
    )
    arm = (
        Link(name="base", shapes=(BALL,)),
        Link(
            name="shoulder",
            parent="base",
            joint=Joint(name="s", type="spherical"),
            **ROUND,
        ),
        Link(
            name="elbow",
            parent="shoulder",
            joint=Joint(name="e", type="revolute", start=(0.5,)),
            **ROUND,
        ),
        Link(
            name="slider",
            parent="base",
            joint=Joint(name="p", type="prismatic", axis=(1.0000001, 0.0, 0.0)),
            shapes=(BALL,),
            **ROUND,
        ),
    )
    drives = (Drive(name="two", joint="p"), Drive(name="one", joint="e"))
    return Model(
        name="two",
        actors=(
            Actor(name="free", links=(free,)),
            Actor(name="arm", links=arm, drives=drives),
        ),
        shapes=(Shape(name="ground", type="plane"),),
    )


def test_everything_is_numbered_in_the_models_order() -> None:
    tree = build_tree(two_actors())
    assert (tree.nq, tree.nv) == (7 + 4 + 1 + 1, 6 + 3 + 1 + 1)
    assert [link.parent for link in tree.links] == [-1, -1, 1, 2, 1]
    assert [link.position_start for link in tree.links] == [0, 7, 7, 11, 12]
    assert [link.velocity_start for link in tree.links] == [0, 6, 6, 9, 10]
    assert [actor.links for actor in tree.actors] == [(0, 1), (1, 5)]
    assert [actor.positions for actor in tree.actors] == [(0, 7), (7, 13)]
    assert [actor.velocities for actor in tree.actors] == [(0, 6), (6, 11)]
    assert [actor.free_body for actor in tree.actors] == [True, False]
    assert [entry.link for entry in tree.shapes] == [0, 1, 4, -1]
    assert [entry.index for entry in tree.shapes] == [0, 1, 2, 3]
    assert [(d.position_index, d.velocity_index) for d in tree.drives] == [
        (12, 10),
        (11, 9),
    ]
    assert tree.link_label(0) == "free"
    assert tree.link_label(3) == "arm/elbow"
    assert tree.link_label(-1) == "world"


def test_q_at_the_start_has_the_free_bodys_place_and_no_turns() -> None:
    tree = build_tree(two_actors())
    half = 2**-0.5
    expected = (1, 2, 3, 0, 0, half, half, 0, 0, 0, 1, 0.5, 0)
    np.testing.assert_allclose(tree.start, expected, atol=1e-15)
    assert tree.links[0].position == (0.0, 0.0, 0.0)
    assert tree.links[4].axis == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("name", model_names())
def test_kinetic_energy_is_that_of_moving_bodies(name: str) -> None:
    """½ vᵀMv is the links' energy, with velocities by differences of poses."""
    tree = build_tree(named_model(name))
    rng = np.random.default_rng(3)
    v = rng.normal(size=tree.nv)
    step = 1e-6
    before = rest_pose(tree, moved(tree, -step * v))
    after = rest_pose(tree, moved(tree, step * v))
    energy = 0.0
    for link in tree.links:
        i = link.index
        speed = (after.center[i] - before.center[i]) / (2 * step)
        change = (after.rotation[i] - before.rotation[i]) / (2 * step)
        spin = change @ rest_pose(tree).rotation[i].T
        omega = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        turn = rest_pose(tree).rotation[i]
        xx, yy, zz, xy, xz, yz = link.inertia
        inertia = turn @ [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]] @ turn.T
        energy += 0.5 * (link.mass * speed @ speed + omega @ inertia @ omega)
    assert 0.5 * v @ rest_mass_matrix(tree) @ v == pytest.approx(energy, rel=1e-7)


def moved(tree, v):
    """The start, moved by a small v."""
    q = list(tree.start)
    for link in tree.links:
        i, j = link.position_start, link.velocity_start
        if link.joint == "free":
            for k in range(3):
                q[i + k] += v[j + k]
            i, j = i + 3, j + 3
        elif POSITIONS[link.joint] == VELOCITIES[link.joint] == 1:
            q[i] += v[j]
            continue
        elif not VELOCITIES[link.joint]:
            continue
        angle = math.sqrt(sum(w * w for w in v[j : j + 3]))
        turn = rotations.about(tuple(w / angle for w in v[j : j + 3]), angle)
        q[i : i + 4] = rotations.product(tuple(q[i : i + 4]), turn)
    return q


quaternions = (
    st.tuples(*[st.floats(-1, 1)] * 4)
    .filter(lambda q: sum(x * x for x in q) > 1e-2)
    .map(rotations.normalised)
)


@given(quaternions, quaternions)
def test_quaternions_multiply_as_their_matrices_do(a, b) -> None:
    product = rotations.matrix(rotations.product(a, b))
    np.testing.assert_allclose(
        product, rotations.matrix(a) @ rotations.matrix(b), atol=1e-14
    )
    identity = rotations.matrix(rotations.product(a, rotations.inverse(a)))
    np.testing.assert_allclose(identity, np.eye(3), atol=1e-14)


@given(quaternions)
def test_a_matrix_gives_its_quaternion_back(q) -> None:
    matrix = rotations.matrix(q)
    back = rotations.from_matrix(matrix)
    assert back[3] >= 0
    np.testing.assert_allclose(rotations.matrix(back), matrix, atol=1e-14)


@given(quaternions)
def test_z_is_turned_into_any_direction(q) -> None:
    direction = rotations.matrix(q)[:, 2]
    turned = rotations.turned(rotations.z_to(direction), (0.0, 0.0, 1.0))
    np.testing.assert_allclose(turned, direction, atol=1e-14)


def test_z_is_turned_into_its_opposite() -> None:
    turned = rotations.turned(rotations.z_to((0.0, 0.0, -2.0)), (0.0, 0.0, 1.0))
    np.testing.assert_allclose(turned, (0, 0, -1), atol=1e-15)
