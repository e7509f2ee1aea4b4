"""The door: models by name and by value, with integrators, devices and settings."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.errors import IsoscopeError
from isoscope.core.scene import Scene
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.named import model_names
from isoscope.gpu.model.spec import Model, Shape
from isoscope.gpu.scene.make import make_scene
from tests.gpu.scene.models import H, ball, bits, cartpole, scatter, scene_of


def test_shapes_of_the_world_are_numbered_one_by_one() -> None:
    planes = tuple(Shape(name=name, type="plane") for name in ("floor", "wall", "lid"))
    tree = build_tree(Model(name="walls", actors=(ball(),), shapes=planes))
    assert [shape.index for shape in tree.shapes] == [0, 1, 2, 3]


@pytest.mark.parametrize("name", model_names())
def test_every_model_that_ships_runs(name: str) -> None:
    one = make_scene(name, device="cpu", integrator="semi_implicit")
    many = make_scene(name, 64, "cpu", integrator="semi_implicit")
    assert isinstance(one, Scene)
    for scene in (one, many):
        for _ in range(20):
            scene.step(1e-3)
        assert scene.valid.all()
    assert bits(many, 0) == bits(many, 63) == bits(one)
    for row in one.rows:
        for field in row.fields:
            assert len(many.read(row.index, field)) == 64
        one.surface(row.index)


def test_a_pole_falls() -> None:
    scene = scene_of(cartpole())
    scene.set_state(0, np.array([[0.0, 0.05]]), np.zeros((1, 2)))
    angles = []
    for _ in range(150):
        scene.step(H)
        angles.append(scene.read(0, "pose")[0, 1])
    assert (np.diff(angles) > 0).all()
    # cosh(rate t) of the linearised equations without friction
    total, inertia, lever = 17.25, 0.104 + 1.25 * 0.25, 1.25 * 0.5
    rate = np.sqrt(lever * 9.8 * total / (total * inertia - lever**2))
    assert angles[-1] == pytest.approx(0.05 * np.cosh(rate * 150 * H), rel=0.03)


@pytest.mark.parametrize("size", [1, 3, 64, 1000])
def test_no_bit_depends_on_the_size_of_blocks(size: int) -> None:
    whole, blocks = (
        scene_of(cartpole(), 130),
        scene_of(cartpole(), 130, block_worlds=size),
    )
    for scene in (whole, blocks):
        scatter(scene)
        scene.configure("mass", np.linspace(1, 2, 260).reshape(130, 2))
        for _ in range(5):
            scene.step(H)
    assert bits(whole) == bits(blocks)


def test_what_can_t_be_had_is_refused_in_one_line() -> None:
    for attempt in (
        lambda: make_scene("no such model"),
        lambda: make_scene(cartpole(), 0),
        lambda: make_scene(cartpole(), device="tpu"),
        lambda: make_scene(cartpole(), precision="float16"),  # type: ignore[arg-type]
        lambda: make_scene(cartpole(), integrator="leapfrog"),
        lambda: make_scene(
            cartpole(), integrator="semi_implicit", settings={"integrator.x": 1}
        ),
    ):
        with pytest.raises(IsoscopeError) as caught:
            attempt()
        assert "\n" not in str(caught.value)
