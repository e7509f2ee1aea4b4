"""The persistent configuration: told, compared by fingerprint, changed or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.gpu.model.declarations import DECLARATIONS
from isoscope.gpu.scene.errors import ConfigurationError, SceneError
from tests.gpu.scene.models import H, bits, cartpole, everything, scatter, scene_of

if TYPE_CHECKING:
    from isoscope.gpu.scene.scene import SimulatedScene


def same(a: SimulatedScene, b: SimulatedScene) -> bool:
    return a.configuration_fingerprint() == b.configuration_fingerprint()


def test_it_tells_all_of_it() -> None:
    told = scene_of(everything(), 3).persistent_configuration()
    assert {d.name for d in DECLARATIONS} <= set(told)
    assert told["gravity"].tolist() == pytest.approx([0, 0, -9.8])
    assert told["mass"].shape == (7,)
    assert told["inertia"].shape == (7, 6)
    assert told["damping"].shape == (18,)
    assert told["contact_stiffness"].shape == ()
    assert told["integrator"].item() == "semi_implicit"
    assert len(told["model"].item()) == 64


def test_what_is_told_can_t_be_written_to() -> None:
    scene = scene_of(cartpole())
    before = scene.configuration_fingerprint()
    told = scene.persistent_configuration()
    with pytest.raises(ValueError, match="read-only"):
        told["mass"][0] = 5  # type: ignore[index]
    told.clear()  # type: ignore[attr-defined]
    assert scene.configuration_fingerprint() == before


def test_the_fingerprint_is_that_of_the_values() -> None:
    one, other = scene_of(cartpole()), scene_of(cartpole(), 3)
    assert same(one, other)
    assert not same(one, scene_of(everything()))
    one.step(H)
    scatter(one)
    assert same(one, other)
    for declared in DECLARATIONS:
        fresh = scene_of(everything())
        value = fresh.persistent_configuration()[declared.name]
        if value.size:
            changed = np.where(np.isfinite(value), value * 1.5 + 0.25, 1.0)
            if declared.name == "inertia":
                changed = value * 1.5 + [0.25, 0.25, 0.25, 0, 0, 0]
            if "lower" in declared.name:
                changed = np.full(value.shape, -1.0)
            fresh.configure(declared.name, changed)
            assert not same(fresh, scene_of(everything())), declared.name
            fresh.configure(declared.name, value)
            assert same(fresh, scene_of(everything())), declared.name


def test_what_is_set_acts() -> None:
    scene, heavy = scene_of(cartpole()), scene_of(cartpole())
    heavy.configure("gravity", np.array([0, 0, -20.0]))
    for each in (scene, heavy):
        each.set_state(0, np.array([[0, 0.3]]), np.zeros((1, 2)))
        each.step(H)
    assert heavy.velocities(0)[0, 1] > 1.5 * scene.velocities(0)[0, 1]


def test_zeros_may_become_something_and_go_back() -> None:
    """Generated code leaves zeros out; that must never be seen."""
    scene, twin = scene_of(cartpole()), scene_of(cartpole())
    center = scene.persistent_configuration()["center"]
    for each in (scene, twin):
        each.set_state(0, np.array([[0, 0.3]]), np.zeros((1, 2)))
    start = scene.capture()
    scene.configure("center", np.add(center, [[0, 0, 0], [0.1, 0, 0]]))
    scene.configure("armature", np.array([0.0, 0.1]))
    scene.step(H)
    twin.step(H)
    assert bits(scene) != bits(twin)
    scene.configure("center", center)
    scene.configure("armature", 0.0 * np.ones(2))
    scene.restore(start)
    scene.step(H)
    assert bits(scene) == bits(twin)


def test_worlds_may_differ() -> None:
    scene = scene_of(cartpole(), 4)
    mask = np.array([False, True, False, True])
    scene.configure("mass", np.array([16.0, 2.5]), mask)
    told = scene.persistent_configuration()["mass"]
    assert told.tolist() == [[16.0, 2.5 if chosen else 1.25] for chosen in mask]
    every = np.array([[16.0, 1 + w] for w in range(4)])
    scene.configure("mass", every, np.array([True, False, False, False]))
    assert scene.persistent_configuration()["mass"][:, 1].tolist() == [
        1,
        2.5,
        1.25,
        2.5,
    ]
    scene.configure("mass", every)
    assert scene.persistent_configuration()["mass"].tolist() == every.tolist()
    scene.configure("gravity", np.arange(12.0).reshape(4, 3))
    assert scene.persistent_configuration()["gravity"].shape == (4, 3)
    scene.configure("slip_speed", np.array([1.0, 2.0, 3.0, 4.0]))
    assert scene.persistent_configuration()["slip_speed"].shape == (4,)
    before = scene.configuration_fingerprint()
    scene.configure("mass", np.array([1.0, 1.0]), np.zeros(4, bool))
    assert scene.configuration_fingerprint() == before
    for name in ("mass", "gravity", "slip_speed"):
        value = scene_of(cartpole()).persistent_configuration()[name]
        scene.configure(name, np.array([value] * 4))
    assert same(scene, scene_of(cartpole()))


INERTIA = np.array([[1.0, 1.0, 1.0, 0, 0, 0], [0.1, 0.1, 0.001, 0, 0, 0]])


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("mass", np.array([16.0, -1.0]), "at least 0"),
        ("mass", np.array([16.0, 0.0]), "CartPole/Pole would have none"),
        ("mass", np.array([16.0, 1e-60]), "CartPole/Pole would have none"),
        ("mass", np.array([16.0, np.nan]), "not finite"),
        ("mass", np.array([16.0]), r"give \(2,\)"),
        ("mass", np.array(["a", "b"]), "give numbers"),
        ("inertia", INERTIA * [1, 1, 5, 1, 1, 1], "two must be at least"),
        ("inertia", -INERTIA, "not positive definite"),
        ("inertia", INERTIA * [[1], [0]], "CartPole/Pole would have none"),
        ("damping", np.array([-0.1, 0.0]), "at least 0"),
        ("armature", np.array([0.0, -1.0]), "at least 0"),
        ("gravity", np.array([0.0, np.inf, 0.0]), "not finite"),
        ("gravity", np.zeros((2, 3)), r"give \(3,\)"),
        ("limit_lower", np.array([np.nan, 0.0]), "not finite"),
        ("limit_lower", np.array([2.0, 0.0]), "above the upper one"),
        ("drive_force_upper", np.array([-1.0]), "above the upper one"),
        ("slip_speed", np.array(0.0), "more than 0"),
        ("integrator", np.array("backward_euler"), "make another scene"),
        ("model", np.array("a"), "no such value"),
        ("Mass", np.array([1.0, 1.0]), "there are armature"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, value: Any, problem: str) -> None:
    scene = scene_of(cartpole(), 3)
    scene.configure("limit_upper", np.array([1.0, 1.0]))
    scene.configure("drive_force_lower", np.array([-0.5]))
    before, state = scene.configuration_fingerprint(), scene.capture()
    parameters, machine = scene.parameters, scene.machine
    with pytest.raises(ConfigurationError, match=problem):
        scene.configure(name, value)
    assert scene.parameters is parameters
    assert scene.machine is machine
    assert scene.configuration_fingerprint() == before
    assert scene.is_equal(state, scene.capture())


def test_a_mask_that_does_not_fit_is_refused() -> None:
    scene = scene_of(cartpole(), 3)
    with pytest.raises(SceneError, match=r"give bool \[3\]"):
        scene.configure("mass", np.array([1.0, 1.0]), np.ones(2, bool))
