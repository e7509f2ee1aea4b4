"""All kinds of pairs in random poses, against distances found by brute force."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.gpu.contact.contacts import KINDS
from tests.gpu.contact.scenes import (
    GROUND,
    body,
    box,
    capsule,
    compiled,
    numbers,
    pose_of,
    random_motion,
    scene,
    sphere,
    surface_distance,
)

if TYPE_CHECKING:
    from isoscope.gpu.contact.report import ContactReport
    from isoscope.gpu.model.spec import Shape
    from tests.gpu.contact.scenes import Array, Motion

Pose = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
WORLDS = 24
SAMPLES = 2001
SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=15)


def shape_of(kind: str, random: np.random.Generator) -> Shape:
    size = random.uniform(0.05, 0.2, size=3)
    if kind == "sphere":
        return sphere(size[0])
    if kind == "capsule":
        return capsule(size[0], size[1])
    return box(*size)


def sampled_pair(
    kind: tuple[str, str], seed: int
) -> tuple[Shape, Shape, Motion, ContactReport]:
    random = np.random.default_rng(seed)
    a = shape_of(kind[0], random)
    if kind[1] == "plane":
        b = GROUND
        model = scene(body("a", a), world=(GROUND,))
    else:
        b = shape_of(kind[1], random)
        model = scene(body("a", a), body("b", b))
    motion = random_motion(random, len(model.actors), WORLDS, 0.12)
    _, parameters, contacts = compiled(model, WORLDS)
    return a, b, motion, contacts.evaluate(motion, parameters)


def poses(
    motion: Motion, world: int
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    first = pose_of(motion, 0, world)
    if motion.position.shape[0] == 1:
        return first, (np.zeros(3), np.eye(3))
    return first, pose_of(motion, 1, world)


def core(shape: Shape, position: Array, matrix: Array) -> tuple[Array, float, float]:
    """Points, the radius about them that is the shape, and the points' spacing."""
    if shape.type == "sphere":
        return position[None], shape.size[0], 0.0
    if shape.type == "capsule":
        radius, half = shape.size
        along = np.linspace(-half, half, SAMPLES)
        step = along[1] - along[0]
        return position + along[:, None] * matrix[:, 2], radius, float(step)
    return corners(shape, position, matrix), 0.0, 0.0


def corners(shape: Shape, position: Array, matrix: Array) -> Array:
    signs = np.array(list(itertools.product((-1, 1), repeat=3)))
    return np.asarray(position + (signs * shape.size) @ matrix.T)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != ("box", "box")])
@FEW
@given(seed=SEEDS)
def test_the_least_distance_is_that_of_the_shapes(
    kind: tuple[str, str], seed: int
) -> None:
    a, b, motion, report = sampled_pair(kind, seed)
    for world in range(WORLDS):
        pose_a, pose_b = poses(motion, world)
        points, radius, step = core(a, *pose_a)
        away = surface_distance(b, *pose_b, points).min()
        shared = numbers(report, "share", world) > 0
        found = numbers(report, "distance", world)[shared].min()
        if kind == ("capsule", "box") and away < step:
            # The axis runs through the box, and the middle of that counts; or it passes
            # closer than its samples are apart.
            assert found <= max(away, 0.0) - radius + 1e-9
        else:
            assert found <= away - radius + 1e-9
            assert found >= away - radius - step / 2 - 1e-9


def separation(a: Array, b: Array, axes: Array) -> float:
    """The largest gap between two sets of corners along any of some directions."""
    on_a, on_b = a @ axes.T, b @ axes.T
    gaps = np.maximum(
        on_a.min(axis=0) - on_b.max(axis=0), on_b.min(axis=0) - on_a.max(axis=0)
    )
    return float(gaps.max())


@FEW
@given(seed=SEEDS)
def test_boxes_touch_where_they_overlap_and_as_deep(seed: int) -> None:
    a, b, motion, report = sampled_pair(("box", "box"), seed)
    for world in range(WORLDS):
        pose_a, pose_b = poses(motion, world)
        pairs = itertools.product(pose_a[1].T, pose_b[1].T)
        edges = np.array([np.cross(one, two) for one, two in pairs])
        length = np.linalg.norm(edges, axis=1, keepdims=True)
        axes = np.concatenate(
            (pose_a[1].T, pose_b[1].T, (edges / length)[length[:, 0] > 1e-3])
        )
        gap = separation(corners(a, *pose_a), corners(b, *pose_b), axes)
        if abs(gap) < 1e-9:
            continue
        assert numbers(report, "active", world).any() == (gap < 0)
        if gap < 0:
            shared = numbers(report, "share", world) > 0
            deepest = numbers(report, "distance", world)[shared].min()
            # Faces are preferred where edges are hardly better, and cut to the outline.
            assert 1.15 * gap - 1e-9 <= deepest <= 0.9 * gap


@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(seed=SEEDS)
def test_points_lie_on_both_surfaces(kind: tuple[str, str], seed: int) -> None:
    a, b, motion, report = sampled_pair(kind, seed)
    for world in range(WORLDS):
        active = numbers(report, "active", world)
        if (numbers(report, "distance", world)[active] < -0.04).any():
            continue
        which = np.flatnonzero(active)
        middle = numbers(report, "position", world)[which]
        normal = numbers(report, "normal", world)[which]
        half_gaps = 0.5 * numbers(report, "distance", world)[which]
        half = half_gaps[:, None] * normal
        pose_a, pose_b = poses(motion, world)
        np.testing.assert_allclose((normal**2).sum(axis=1), 1.0, atol=1e-12)
        on_a = surface_distance(a, *pose_a, middle + half)
        on_b = surface_distance(b, *pose_b, middle - half)
        np.testing.assert_allclose(on_b, 0.0, atol=3e-6)
        # A ball on a capsule's axis is within the capsule, and the deepest touches it.
        assert on_a.max(initial=0.0) <= 3e-6
        if a.type != "capsule":
            np.testing.assert_allclose(on_a, 0.0, atol=3e-6)
        elif len(which):
            assert on_a[half_gaps.argmin()] == pytest.approx(0.0, abs=3e-6)


@pytest.mark.parametrize("kind", KINDS)
@FEW
@given(seed=SEEDS)
def test_shares_are_parts_of_one(kind: tuple[str, str], seed: int) -> None:
    _, _, _, report = sampled_pair(kind, seed)
    assert bool((report.share >= 0).all())
    whole = report.share.sum(0)
    touching = report.active.any(0)
    torch.testing.assert_close(whole[touching], torch.ones_like(whole[touching]))


@pytest.mark.parametrize("kind", ["sphere", "capsule", "box"])
@FEW
@given(seed=SEEDS)
def test_a_and_b_may_be_swapped(kind: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    one, two = shape_of(kind, random), shape_of(kind, random)
    motion = random_motion(random, 2, WORLDS, 0.12)
    swapped = type(motion)(
        *(
            getattr(motion, name).flip(0)
            for name in ("position", "matrix", "linear", "angular")
        )
    )
    _, parameters, contacts = compiled(scene(body("1", one), body("2", two)))
    _, others, swapped_contacts = compiled(scene(body("2", two), body("1", one)))
    here = contacts.evaluate(motion, parameters)
    there = swapped_contacts.evaluate(swapped, others)
    torch.testing.assert_close(here.active.any(0), there.active.any(0))
    least, other = (
        torch.where(report.share > 0, report.distance, torch.inf).amin(0)
        for report in (here, there)
    )
    difference = (here.wrench - there.wrench.flip(0)).abs().amax((0, 1))
    same = difference <= 1e-6 * (here.wrench.abs().amax((0, 1)) + 1.0)
    if kind == "box":
        # Of two boxes' faces nearly alike A's is taken.
        assert same.double().mean() >= 0.8
    else:
        torch.testing.assert_close(least, other, rtol=0, atol=1e-9)
        # Where capsules are abreast is asked along A.
        assert kind == "capsule" or bool(same.all())
