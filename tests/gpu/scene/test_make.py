"""The door: models by name and by value, with integrators, devices and settings."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.core.errors import IsoscopeError
from isoscope.core.scene import Scene
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.named import model_names
from isoscope.gpu.model.spec import Model, Shape
from isoscope.gpu.scene.errors import ConfigurationError
from isoscope.gpu.scene.make import make_scene
from tests.gpu.scene.models import H, ball, bits, cartpole, give, scatter, scene_of


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


@pytest.mark.parametrize("integrator", ["semi_implicit", "backward_euler"])
def test_what_is_not_finite_is_diverged_and_hurts_no_other(integrator: str) -> None:
    """Integrators promise the status; the scene relies on it."""
    scene, twin = (scene_of(cartpole(), 3, integrator=integrator) for _ in range(2))
    for each in (scene, twin):
        scatter(each)
    forces = np.zeros((3, 2))
    twin.set_dof_forces(0, forces)
    forces[1] = np.nan
    scene.set_dof_forces(0, forces)
    for step in range(3):
        assert scene.step(H).status.tolist() == [0, -1 if step else 2, 0]
        twin.step(H)
    assert scene.valid.tolist() == [True, False, True]
    assert bits(scene, 0) == bits(twin, 0)
    assert bits(scene, 2) == bits(twin, 2)


def test_both_integrators_go_the_same_way_as_steps_get_short() -> None:
    ends = []
    for integrator in ("semi_implicit", "backward_euler"):
        scene = scene_of(cartpole(), integrator=integrator, precision="float64")
        scene.set_state(0, np.array([[0.0, 0.3]]), np.zeros((1, 2)))
        for _ in range(100):
            scene.step(1e-3)
        ends.append(scene.read(0, "pose")[0])
    assert abs(ends[0] - ends[1]).max() < 1e-3
    assert abs(ends[0] - ends[1]).max() > 0


def test_settings_of_the_integrator_are_persistent_values() -> None:
    options = {"integrator": "backward_euler"}
    scene = scene_of(cartpole(), 2, **options)
    told = scene.persistent_configuration()
    assert told["integrator"].item() == "backward_euler"
    before, machine = scene.configuration_fingerprint(), scene.machine
    for value, problem in (
        (np.array(0), "must be 1 or more"),
        (np.array(3.5), "is no int"),
        (np.array([1, 2]), "give one value"),
    ):
        with pytest.raises(ConfigurationError, match=problem):
            scene.configure("integrator.max_iterations", value)
    with pytest.raises(ConfigurationError, match="all worlds share it"):
        scene.configure(
            "integrator.max_iterations", np.array(7), np.array([True, False])
        )
    assert scene.configuration_fingerprint() == before
    assert scene.machine is machine
    scene.configure("integrator.max_iterations", np.array(7))
    assert scene.persistent_configuration()["integrator.max_iterations"] == 7
    same = scene_of(cartpole(), settings={"integrator.max_iterations": 7}, **options)
    assert same.configuration_fingerprint() == scene.configuration_fingerprint()
    assert same.configuration_fingerprint() != before
    assert scene.step(H).status.tolist() == [0, 0]


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


def test_a_ball_comes_to_rest_alone_as_among_64() -> None:
    """Backward Euler, contact, quaternions, capture and restore; to the last bit."""
    model = Model(
        name="ball",
        gravity=(0.0, 0.0, -10.0),
        actors=(ball(height=0.15),),
        shapes=(Shape(name="Ground", type="plane"),),
    )
    many = scene_of(model, 64, integrator="backward_euler", precision="float64")
    alone = scene_of(model, integrator="backward_euler", precision="float64")
    scatter(many)
    q = many.to_host(many.positions(0), "test")
    q[:, 2] = np.linspace(0.1, 0.105, 64)
    many.set_state(0, q, 0.05 * many.velocities(0))
    chosen = 37
    give(alone, many, chosen)
    for step in range(40):
        for scene in (many, alone):
            scene.step(0.02)
        if step == 20:
            alone.restore(alone.capture(), release_immediately=True)
    assert many.valid.all()
    assert bits(alone) == bits(many, chosen)
    for field in alone.rows[0].fields:
        one = alone.read(0, field)[0]
        assert one.tobytes() == many.read(0, field)[chosen].tobytes(), field
    assert alone.read(0, "contacts_active").all()
    np.testing.assert_allclose(alone.read(0, "contacts_force")[0, 0, 2], 10, rtol=0.02)
