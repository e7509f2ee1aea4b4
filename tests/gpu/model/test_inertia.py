from __future__ import annotations

import math

import numpy as np
import pytest

from isoscope.gpu.model import inertia

SAMPLES = 200_000
SIZE = (0.3, 0.2, 0.5)


def inside(kind: str, p: np.ndarray) -> np.ndarray:
    x, y, z = p.T
    a, b, c = SIZE
    if kind == "box":
        return (abs(x) <= a) & (abs(y) <= b) & (abs(z) <= c)
    if kind == "ellipsoid":
        return (x / a) ** 2 + (y / b) ** 2 + (z / c) ** 2 <= 1
    if kind == "sphere":
        return x * x + y * y + z * z <= a * a
    if kind == "cylinder":
        return (x * x + y * y <= a * a) & (abs(z) <= c)
    past = np.maximum(abs(z) - c, 0)
    return x * x + y * y + past * past <= a * a


EXACT = {
    "box": lambda m: inertia.box_inertia(m, SIZE),
    "ellipsoid": lambda m: inertia.ellipsoid_inertia(m, SIZE),
    "sphere": lambda m: inertia.sphere_inertia(m, SIZE[0]),
    "cylinder": lambda m: inertia.cylinder_inertia(m, SIZE[0], SIZE[2]),
    "capsule": lambda m: inertia.capsule_inertia(m, SIZE[0], SIZE[2]),
}


@pytest.mark.parametrize("kind", EXACT)
def test_solids_have_the_inertia_of_their_points(kind: str) -> None:
    rng = np.random.default_rng(0)
    p = rng.uniform(-0.8, 0.8, (SAMPLES, 3))
    p = p[inside(kind, p)]
    spread = p.T @ p / len(p)
    expected = np.trace(spread) * np.eye(3) - spread
    np.testing.assert_allclose(EXACT[kind](1.0), expected, atol=0.003)
    assert not inertia.impossible_inertia(inertia.six_numbers(EXACT[kind](2.0)))


def test_a_capsule_without_length_is_a_sphere() -> None:
    np.testing.assert_allclose(
        inertia.capsule_inertia(2.0, 0.3, 0.0), inertia.sphere_inertia(2.0, 0.3)
    )
    assert inertia.capsule_volume(0.3, 0.0) == pytest.approx(4 / 3 * math.pi * 0.027)


def test_two_halves_make_a_whole() -> None:
    half = inertia.box_inertia(1.0, (0.1, 0.2, 0.3))
    whole = inertia.moved(half, 1.0, (0.1, 0.0, 0.0)) * 2
    np.testing.assert_allclose(whole, inertia.box_inertia(2.0, (0.2, 0.2, 0.3)))


def test_a_flat_plate_is_possible_and_a_little_less_is_not() -> None:
    assert inertia.impossible_inertia((1.0, 2.0, 3.0, 0.0, 0.0, 0.0)) == ""
    assert inertia.impossible_inertia((1.0, 2.0, 3.01, 0.0, 0.0, 0.0))
    assert inertia.impossible_inertia((0.0,) * 6) == ""


def test_tiny_solids_divide_by_nothing() -> None:
    tiny = inertia.capsule_inertia(1.0, 1e-320, 1e-320)
    assert np.isfinite(tiny).all()
