"""The generated code against plain floats, an independent sum, and its own laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.gpu.dynamics.dynamics import Dynamics
from isoscope.gpu.dynamics.joint_forces import Control
from isoscope.gpu.model.parameters import Parameters
from isoscope.gpu.model.rest import rest_mass_matrix, rest_pose
from isoscope.gpu.model.spec import Actor, Link, Model
from tests.gpu.dynamics.models import (
    arm,
    built,
    cartpole,
    double_pendulum,
    forest,
    random_models,
    random_state,
    reference,
    varied,
)

SEEDS = st.integers(0, 1000)
H = torch.tensor(0.01, dtype=torch.float64)
# nv, nq, tolerances: sums of a few hundred products
CLOSE: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}


def close(actual: torch.Tensor, expected: torch.Tensor | np.ndarray) -> None:
    torch.testing.assert_close(
        actual, torch.as_tensor(expected, dtype=actual.dtype), **CLOSE
    )


@pytest.mark.parametrize("model", [cartpole(), double_pendulum(), arm(), forest()])
def test_every_program_computes_what_plain_floats_do(model: Model) -> None:
    tree, parameters = built(model)
    parameters = varied(tree, 3)
    dynamics = Dynamics(tree, parameters)
    q, v, other = random_state(tree, 3)
    wrench = torch.randn(len(tree.links), 6, 3, dtype=torch.float64)
    targets = torch.randn(len(tree.drives), 3, dtype=torch.float64)
    control = Control(targets, other, wrench)
    kinematics = dynamics.kinematics(q, v, parameters)
    whole = torch.cat(
        [
            part.flatten(0, 1)
            for part in (
                kinematics.position,
                kinematics.rotation,
                kinematics.matrix,
                kinematics.linear,
                kinematics.angular,
                kinematics.center,
                kinematics.center_velocity,
            )
        ]
    )
    state = {"q": q, "v": v}
    outside = {"targets": targets, "forces": other}
    results: list[tuple[str, dict[str, torch.Tensor], torch.Tensor]] = [
        ("kinematics", state, whole),
        (
            "inverse",
            {**state, "a": other, "wrench": wrench},
            dynamics.inverse(q, v, other, parameters, wrench),
        ),
        ("bias", state, dynamics.bias(q, v, parameters)),
        ("mass_matrix", {"q": q}, dynamics.mass_matrix(q, parameters).flatten(0, 1)),
        (
            "acceleration",
            {**state, "force": other, "wrench": wrench},
            dynamics.acceleration(q, v, other, parameters, wrench),
        ),
        ("integrate", {**state, "h": H}, dynamics.integrate(q, v, 0.01, parameters)),
        ("energy", state, torch.stack(dynamics.energy(q, v, parameters))),
        ("momentum", state, dynamics.momentum(q, v, parameters).flatten(0, 1)),
        (
            "joint_force",
            {**state, **outside},
            dynamics.joint_force(q, v, control, parameters),
        ),
        (
            "semi_implicit",
            {**state, "h": H, **outside, "wrench": wrench},
            torch.cat(dynamics.semi_implicit(q, v, 0.01, control, parameters)),
        ),
        (
            "residual",
            {**state, "next_v": v + 0.1, "h": H, **outside, "wrench": wrench},
            dynamics.residual(q, v, v + 0.1, 0.01, control, parameters),
        ),
    ]
    for name, inputs, result in results:
        for world in range(3):
            expected = reference(name, tree, parameters, world, **inputs)
            close(result[:, world], expected)


@settings(max_examples=20)
@given(random_models(), SEEDS)
def test_kinematics_and_mass_matrix_agree_with_a_plain_sum(
    model: Model, seed: int
) -> None:
    tree, parameters = built(model)
    dynamics = Dynamics(tree, parameters)
    q, v, _ = random_state(tree, 2, seed=seed)
    kinematics = dynamics.kinematics(q, v, parameters)
    mass = dynamics.mass_matrix(q, parameters)
    for world in range(2):
        at = q[:, world].tolist()
        pose = rest_pose(tree, at)
        close(kinematics.position[:, :, world], pose.position)
        close(kinematics.center[:, :, world], pose.center)
        close(kinematics.matrix[:, :, world].reshape(-1, 3, 3), pose.rotation)
        expected = rest_mass_matrix(tree, at) + np.diag(parameters.armature[:, 0])
        close(mass[:, :, world], expected)


@settings(max_examples=20)
@given(random_models(), SEEDS)
def test_inverse_is_mass_times_acceleration_plus_bias(model: Model, seed: int) -> None:
    tree, parameters = built(model)
    dynamics = Dynamics(tree, parameters)
    q, v, a = random_state(tree, 3, seed=seed)
    wrench = torch.randn(len(tree.links), 6, 3, dtype=torch.float64)
    mass = dynamics.mass_matrix(q, parameters)
    bias = dynamics.bias(q, v, parameters, wrench)
    force = dynamics.inverse(q, v, a, parameters, wrench)
    close(force, torch.einsum("ijw,jw->iw", mass, a) + bias)
    close(dynamics.acceleration(q, v, force, parameters, wrench), a)


@settings(max_examples=15)
@given(random_models(), SEEDS)
def test_velocities_are_the_rates_of_positions(model: Model, seed: int) -> None:
    tree, parameters = built(model)
    dynamics = Dynamics(tree, parameters)
    q, v, _ = random_state(tree, 2, seed=seed)
    h = 1e-6
    before = dynamics.kinematics(
        dynamics.integrate(q, v, -h, parameters), v, parameters
    )
    after = dynamics.kinematics(dynamics.integrate(q, v, h, parameters), v, parameters)
    now = dynamics.kinematics(q, v, parameters)
    for place, rate in (("position", "linear"), ("center", "center_velocity")):
        slope = (getattr(after, place) - getattr(before, place)) / (2 * h)
        torch.testing.assert_close(slope, getattr(now, rate), rtol=1e-6, atol=1e-6)
    # R' = [ω]x R
    slope = ((after.matrix - before.matrix) / (2 * h)).reshape(-1, 3, 3, 2)
    matrix = now.matrix.reshape(-1, 3, 3, 2)
    turned = torch.linalg.cross(
        now.angular[:, :, None].expand_as(matrix), matrix, dim=1
    )
    torch.testing.assert_close(slope, turned, rtol=1e-6, atol=1e-6)


@settings(max_examples=15)
@given(random_models(), SEEDS)
def test_power_is_the_rate_of_the_energy(model: Model, seed: int) -> None:
    tree, parameters = built(model)
    dynamics = Dynamics(tree, parameters)
    q, v, force = random_state(tree, 2, seed=seed)
    a = dynamics.acceleration(q, v, force, parameters)
    h = 1e-5

    def total(sign: float) -> torch.Tensor:
        # to second order in time, which central differences need
        mean = v + sign * 0.5 * h * a
        moved = dynamics.integrate(q, mean, sign * h, parameters)
        kinetic, potential = dynamics.energy(moved, v + sign * h * a, parameters)
        return kinetic + potential

    slope = (total(1.0) - total(-1.0)) / (2 * h)
    power = (force * v).sum(0)
    scale = 1 + power.abs().max().item() + a.abs().sum().item()
    torch.testing.assert_close(slope, power, rtol=1e-4, atol=1e-4 * scale)


@settings(max_examples=15)
@given(random_models(), SEEDS)
def test_a_wrench_does_the_same_work_as_its_generalised_force(
    model: Model, seed: int
) -> None:
    tree, parameters = built(model)
    dynamics = Dynamics(tree, parameters)
    q, v, _ = random_state(tree, 2, seed=seed)
    wrench = torch.randn(len(tree.links), 6, 2, dtype=torch.float64)
    force = dynamics.bias(q, v, parameters) - dynamics.bias(q, v, parameters, wrench)
    now = dynamics.kinematics(q, v, parameters)
    power = (wrench[:, :3] * now.linear + wrench[:, 3:] * now.angular).sum((0, 1))
    close((force * v).sum(0), power)


@settings(max_examples=15)
@given(random_models())
def test_quaternions_stay_unit_and_equal_their_matrices(model: Model) -> None:
    tree, parameters = built(model)
    dynamics = Dynamics(tree, parameters)
    q, v, _ = random_state(tree, 4)
    for h in (1e-4, 0.1, 3.0):
        moved = dynamics.integrate(q, v, h, parameters)
        now = dynamics.kinematics(moved, v, parameters)
        close(now.rotation.norm(dim=1), torch.ones(len(tree.links), 4))
        x, y, z, w = now.rotation.unbind(1)
        close(now.matrix[:, 1], 2 * (x * y - w * z))
        close(now.matrix[:, 8], 1 - 2 * (x * x + y * y))


def test_trees_of_a_forest_do_not_touch_each_other() -> None:
    tree, parameters = built(forest())
    dynamics = Dynamics(tree, parameters)
    mass = dynamics.mass_matrix(random_state(tree, 2)[0], parameters)
    spans = [slice(*actor.velocities) for actor in tree.actors]
    for one in spans:
        for other in spans:
            assert (one == other) == bool((mass[one, other] != 0).any())


def test_a_tree_without_joints_has_nothing_to_compute() -> None:
    post = Actor(name="post", links=(Link(name="post", mass=1.0),))
    still = Model(name="still", actors=(post,))
    tree, parameters = built(still)
    dynamics = Dynamics(tree, parameters)
    q = v = torch.zeros(0, 5, dtype=torch.float64)
    assert dynamics.mass_matrix(q, parameters).shape == (0, 0, 5)
    assert dynamics.acceleration(q, v, v, parameters).shape == (0, 5)
    assert dynamics.kinematics(q, v, parameters).rotation.shape == (1, 4, 5)
    next_q, next_v = dynamics.semi_implicit(q, v, 0.1, Control(), parameters)
    assert next_q.shape == next_v.shape == (0, 5)


def test_a_parameter_that_was_zero_is_honoured_when_it_is_set() -> None:
    tree, parameters = built(cartpole())
    dynamics = Dynamics(tree, parameters)
    q, v, force = random_state(tree, 2)
    before = dynamics.acceleration(q, v, force, parameters)
    for name, value in (
        ("armature", 0.5),
        ("gravity", [1.0, 0.0, -9.81]),
        ("center", [0.1, 0.0, 0.0, 0.0, 0.0, 0.5]),
    ):
        changed = parameters.replaced(name, value)
        after = dynamics.acceleration(q, v, force, changed)
        assert (after - before).abs().max() > 1e-3 or name == "center"
        for world in range(2):
            inputs = {"q": q, "v": v, "force": force}
            expected = reference("acceleration", tree, changed, world, **inputs)
            close(after[:, world], expected)


def test_code_is_shared_in_the_process_and_can_be_read() -> None:
    tree, parameters = built(cartpole())
    source = Dynamics(tree, parameters).source("semi_implicit", "targets")
    assert "cos(q[1])" in source
    again, other = built(cartpole())
    assert Dynamics(again, other).source("semi_implicit", "targets") is source
    assert "targets" not in Dynamics(again, other).source("semi_implicit")


def test_parameters_are_forgotten_when_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree, parameters = built(cartpole())
    dynamics = Dynamics(tree, parameters)
    q, v, force = random_state(tree, 2)
    monkeypatch.setattr("isoscope.gpu.dynamics.dynamics.REMEMBERED", 3)
    many = [parameters.replaced("gravity", [0.0, 0.0, -k]) for k in range(1, 9)]
    for changed in (*many, *many):
        result = dynamics.acceleration(q, v, force, changed)
        fresh = Dynamics(tree, changed).acceleration(q, v, force, changed)
        assert torch.equal(result, fresh)
    assert len(dynamics._known) == 3
    monkeypatch.setattr("isoscope.gpu.dynamics.dynamics.REMEMBERED_BYTES", 1)
    dynamics.acceleration(q, v, force, many[0])
    assert len(dynamics._known) == 1


def test_blocks_are_smaller_where_more_is_alive() -> None:
    small, large = Dynamics(*built(cartpole())), Dynamics(*built(arm()))
    sizes = [
        dynamics.block_worlds(1_000_000, dtype)
        for dynamics in (small, large)
        for dtype in (torch.float32, torch.float64)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 1.5 * sizes[1]
    assert min(sizes) >= 4096
    assert large.block_worlds(100, torch.float32) == 100
    assert large.block_worlds(0, torch.float32) == 0
    assert large.block_worlds(1_000_000, torch.float32, "cuda") == 1_000_000


def test_other_precisions_get_the_same_code() -> None:
    tree, parameters = built(arm())
    dynamics = Dynamics(tree, parameters)
    q, v, force = random_state(tree, 4)
    exact = dynamics.acceleration(q, v, force, parameters)
    single = Parameters.from_tree(tree, dtype=torch.float32)
    rough = dynamics.acceleration(q.float(), v.float(), force.float(), single)
    assert rough.dtype == torch.float32
    torch.testing.assert_close(rough.double(), exact, rtol=1e-2, atol=1e-2)
