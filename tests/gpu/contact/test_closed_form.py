"""Each kind of pair where the answer is known by geometry."""

from __future__ import annotations

import math

import numpy as np
import pytest

from isoscope.gpu.model.spec import NO_TURN, Quaternion, Shape, Vector
from tests.gpu.contact.scenes import (
    GROUND,
    Motion,
    body,
    box,
    capsule,
    compiled,
    numbers,
    placed,
    scene,
    sphere,
    touching,
)

HALF = math.sqrt(0.5)
ABOUT_X_90: Quaternion = (HALF, 0.0, 0.0, HALF)
ABOUT_Y_90: Quaternion = (0.0, HALF, 0.0, HALF)
ABOUT_X_45: Quaternion = (math.sin(math.pi / 8), 0.0, 0.0, math.cos(math.pi / 8))
ABOUT_Y_45: Quaternion = (0.0, math.sin(math.pi / 8), 0.0, math.cos(math.pi / 8))
DEPTH = 1e-3
Pose = tuple[Vector, Quaternion]


def at(x: float, y: float, z: float, turn: Quaternion = NO_TURN) -> Pose:
    return (x, y, z), turn


# A, where; B, where (None: the ground); what touches: points of the middle surface,
# and the normal
CASES: dict[str, tuple[Shape, Pose, Shape | None, Pose, list[Vector], Vector]] = {
    "sphere on plane": (
        sphere(0.1),
        at(1.0, 2.0, 0.1 - DEPTH),
        None,
        at(0, 0, 0),
        [(1.0, 2.0, -DEPTH / 2)],
        (0, 0, 1),
    ),
    "capsule lying on plane": (
        capsule(0.05, 0.1),
        at(0.0, 0.0, 0.05 - DEPTH, ABOUT_Y_90),
        None,
        at(0, 0, 0),
        [(-0.1, 0.0, -DEPTH / 2), (0.1, 0.0, -DEPTH / 2)],
        (0, 0, 1),
    ),
    "capsule standing on plane": (
        capsule(0.05, 0.1),
        at(0.3, 0.0, 0.15 - DEPTH),
        None,
        at(0, 0, 0),
        [(0.3, 0.0, -DEPTH / 2)],
        (0, 0, 1),
    ),
    "box on plane": (
        box(0.1, 0.2, 0.3),
        at(0.0, 0.0, 0.3 - DEPTH),
        None,
        at(0, 0, 0),
        [(x, y, -DEPTH / 2) for x in (-0.1, 0.1) for y in (-0.2, 0.2)],
        (0, 0, 1),
    ),
    "box on its edge": (
        box(),
        at(0.0, 0.0, 0.1 * math.sqrt(2) - DEPTH, ABOUT_X_45),
        None,
        at(0, 0, 0),
        [(-0.1, 0.0, -DEPTH / 2), (0.1, 0.0, -DEPTH / 2)],
        (0, 0, 1),
    ),
    "spheres": (
        sphere(0.1),
        at(0.3 - DEPTH, 0.0, 0.0),
        sphere(0.2),
        at(0, 0, 0),
        [(0.2 - DEPTH / 2, 0.0, 0.0)],
        (1, 0, 0),
    ),
    "sphere on a capsule's side": (
        sphere(0.1),
        at(0.0, 0.15 - DEPTH, 0.07),
        capsule(0.05, 0.1),
        at(0, 0, 0),
        [(0.0, 0.05 - DEPTH / 2, 0.07)],
        (0, 1, 0),
    ),
    "sphere on a capsule's end": (
        sphere(0.1),
        at(0.0, 0.0, 0.25 - DEPTH),
        capsule(0.05, 0.1),
        at(0, 0, 0),
        [(0.0, 0.0, 0.15 - DEPTH / 2)],
        (0, 0, 1),
    ),
    "capsules across": (
        capsule(0.05, 0.1),
        at(0.02, 0.1 - DEPTH, 0.03, ABOUT_Y_90),
        capsule(0.05, 0.1),
        at(0, 0, 0),
        [(0.0, 0.05 - DEPTH / 2, 0.03)] * 3,
        (0, 1, 0),
    ),
    "capsules abreast": (
        capsule(0.05, 0.1),
        at(0.0, 0.1 - DEPTH, 0.05),
        capsule(0.05, 0.1),
        at(0, 0, 0),
        [(0.0, 0.05 - DEPTH / 2, -0.05), (0.0, 0.05 - DEPTH / 2, 0.1)],
        (0, 1, 0),
    ),
    "capsules end to end": (
        capsule(0.05, 0.1),
        at(0.0, 0.0, 0.3 - DEPTH),
        capsule(0.05, 0.1),
        at(0, 0, 0),
        [(0.0, 0.0, 0.15 - DEPTH / 2)] * 3,
        (0, 0, 1),
    ),
    "sphere on a box's face": (
        sphere(0.1),
        at(0.05, 0.02, 0.2 - DEPTH),
        box(),
        at(0, 0, 0),
        [(0.05, 0.02, 0.1 - DEPTH / 2)],
        (0, 0, 1),
    ),
    "sphere on a box's edge": (
        sphere(0.1),
        at(0.1 + 0.06 - 0.6 * DEPTH, 0.02, 0.1 + 0.08 - 0.8 * DEPTH),
        box(),
        at(0, 0, 0),
        [(0.1 - 0.3 * DEPTH, 0.02, 0.1 - 0.4 * DEPTH)],
        (0.6, 0, 0.8),
    ),
    "sphere inside a box": (
        sphere(0.01),
        at(0.0, 0.07, 0.0),
        box(),
        at(0, 0, 0),
        [(0.0, 0.08, 0.0)],
        (0, 1, 0),
    ),
    "capsule lying on a box": (
        capsule(0.05, 0.06),
        at(0.0, 0.0, 0.15 - DEPTH, ABOUT_Y_90),
        box(),
        at(0, 0, 0),
        [(-0.06, 0.0, 0.1 - DEPTH / 2), (0.06, 0.0, 0.1 - DEPTH / 2)],
        (0, 0, 1),
    ),
    "capsule over a box's edge": (
        capsule(0.05, 0.3),
        at(0.25, 0.0, 0.15 - DEPTH, ABOUT_Y_90),
        box(),
        at(0, 0, 0),
        [(-0.05, 0.0, 0.1 - DEPTH / 2), (0.1, 0.0, 0.1 - DEPTH / 2)],
        (0, 0, 1),
    ),
    "capsule across a box's edge": (
        capsule(0.05, 0.3),
        at(0.0, 0.0, 0.05 + 0.1 * math.sqrt(2) - DEPTH, ABOUT_Y_90),
        box(0.1, 0.2, 0.1),
        at(0, 0, 0, ABOUT_Y_45),
        [(0.0, 0.0, 0.1 * math.sqrt(2) - DEPTH / 2)],
        (0, 0, 1),
    ),
    "edges of boxes across": (
        box(0.3, 0.1, 0.1),
        at(0.02, 0.03, 0.2 * math.sqrt(2) - DEPTH, ABOUT_X_45),
        box(0.1, 0.3, 0.1),
        at(0, 0, 0, ABOUT_Y_45),
        [(0.0, 0.03, 0.1 * math.sqrt(2) - DEPTH / 2)],
        (0, 0, 1),
    ),
}


def poses(case: str) -> tuple[Shape, Shape | None, Motion]:
    a, where_a, b, where_b, _, _ = CASES[case]
    return a, b, placed(where_a, where_b) if b is not None else placed(where_a)


@pytest.mark.parametrize("case", CASES)
def test_points_normals_and_depths(case: str) -> None:
    a, b, motion = poses(case)
    bodies = [body("a", a)] if b is None else [body("a", a), body("b", b)]
    _, parameters, contacts = compiled(
        scene(*bodies, world=(GROUND,) if b is None else ())
    )
    report = contacts.evaluate(motion, parameters)
    carrying = [i for i in touching(report) if numbers(report, "share")[i] > 1e-3]
    points, normal = CASES[case][4:]
    found = numbers(report, "position")[carrying]
    depth = 0.04 if case == "sphere inside a box" else DEPTH
    distance = numbers(report, "distance")[carrying]
    np.testing.assert_allclose(distance, -depth, atol=3e-6)
    np.testing.assert_allclose(
        numbers(report, "normal")[carrying],
        [normal] * len(found),
        atol=0.01,
    )
    expected = {tuple(np.round(point, 4)) for point in points}
    assert {tuple(np.round(point, 4) + 0.0) for point in found} == {
        tuple(np.array(point) + 0.0) for point in expected
    }
    # together they carry what the depth says
    force = numbers(report, "force").sum(0)
    np.testing.assert_allclose(
        force, 2e4 * depth * np.array(normal), rtol=2e-3, atol=0.1
    )


def test_a_box_on_a_box_touches_by_the_outline_of_what_they_share() -> None:
    _, parameters, contacts = compiled(scene(body("a", box()), body("b", box())))
    report = contacts.evaluate(
        placed(at(0.05, 0.0, 0.2 - DEPTH), at(0.0, 0.0, 0.0)), parameters
    )
    which = touching(report)
    position = numbers(report, "position")[which]
    share = numbers(report, "share")[which]
    assert share.sum() == pytest.approx(1.0)
    corners = {(x, y) for x in (-0.05, 0.1) for y in (-0.1, 0.1)}
    assert {(round(p[0], 5), round(p[1], 5)) for p in position} == corners
    # the middle of the outline is where the load is
    np.testing.assert_allclose(share @ position, [0.025, 0, 0.1 - DEPTH / 2], atol=1e-6)
    np.testing.assert_allclose(numbers(report, "normal")[which][:, 2], 1.0)


@pytest.mark.parametrize("turn", [0.0, 0.3, math.pi / 4, 1.0])
def test_a_turned_box_on_a_box_is_carried_in_the_middle(turn: float) -> None:
    spun: Quaternion = (0.0, 0.0, math.sin(turn / 2), math.cos(turn / 2))
    _, parameters, contacts = compiled(scene(body("a", box()), body("b", box())))
    report = contacts.evaluate(
        placed(at(0.0, 0.0, 0.2 - DEPTH, spun), at(0.0, 0.0, 0.0)), parameters
    )
    wrench = report.wrench[0, :, 0].numpy()
    np.testing.assert_allclose(wrench, [0, 0, 2e4 * DEPTH, 0, 0, 0], atol=1e-9)
