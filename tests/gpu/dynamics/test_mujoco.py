"""Agreement with MuJoCo: kinematics, mass matrix and bias to rounding, and motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from isoscope.gpu.dynamics.dynamics import Dynamics
from isoscope.gpu.dynamics.joint_forces import Control
from isoscope.gpu.integrators.semi_implicit import SemiImplicitEuler
from tests.gpu.dynamics.mjcf import mjcf, positions
from tests.gpu.dynamics.models import (
    arm,
    built,
    cartpole,
    double_pendulum,
    floating_pair,
    forest,
    random_state,
)

if TYPE_CHECKING:
    from isoscope.gpu.model.spec import Model

mujoco: Any = pytest.importorskip("mujoco")

MODELS = [cartpole(), double_pendulum(), arm(), floating_pair(), forest()]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_kinematics_mass_matrix_and_bias_agree(model: Model) -> None:
    other = mujoco.MjModel.from_xml_string(mjcf(model, 1e-3))
    data = mujoco.MjData(other)
    tree, parameters = built(model)
    dynamics = Dynamics(tree, parameters)
    q, v, _ = random_state(tree, 5)
    kinematics = dynamics.kinematics(q, v, parameters)
    mass = dynamics.mass_matrix(q, parameters)
    bias = dynamics.bias(q, v, parameters)
    assert (other.nq, other.nv) == (tree.nq, tree.nv)
    for world in range(5):
        data.qpos[:] = positions(tree, q[:, world].numpy())
        data.qvel[:] = v[:, world].numpy()
        mujoco.mj_forward(other, data)
        full = np.zeros((tree.nv, tree.nv))
        for column in range(tree.nv):
            unit, result = np.eye(tree.nv)[column], np.zeros(tree.nv)
            mujoco.mj_mulM(other, data, result, unit)
            full[:, column] = result
        close(mass[:, :, world], full)
        close(bias[:, world], data.qfrc_bias)
        close(kinematics.position[:, :, world], data.xpos[1:])
        close(kinematics.matrix[:, :, world], data.xmat[1:])
        close(kinematics.center[:, :, world], data.xipos[1:])


def close(ours: torch.Tensor, theirs: Any) -> None:
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-9, atol=1e-9)


ARM_START = [0.1, 0.5, -0.2, 0.7, 0.3, -0.4, 0.2]


@pytest.mark.parametrize(
    ("model", "q", "steps", "least"),
    [
        (double_pendulum(), [1.0, 0.5], 10_000, 1.0),
        (arm(), ARM_START, 500, 0.01),
        pytest.param(arm(), ARM_START, 10_000, 0.5, marks=pytest.mark.slow),
    ],
    ids=["double", "arm", "arm for a second"],
)
def test_motion_agrees(model: Model, q: list[float], steps: int, least: float) -> None:
    h = 1e-4
    other = mujoco.MjModel.from_xml_string(mjcf(model, h))
    data = mujoco.MjData(other)
    data.qpos[:] = q
    tree, parameters = built(model)
    integrator = SemiImplicitEuler(Dynamics(tree, parameters))
    at = torch.tensor(q, dtype=torch.float64)[:, None]
    speed = torch.zeros_like(at)
    moved = 0.0
    for _ in range(steps):
        outcome = integrator.step(at, speed, h, Control(), parameters)
        at, speed = outcome.q, outcome.v
        mujoco.mj_step(other, data)
        moved = max(moved, float(np.abs(data.qpos - q).max()))
        assert float(np.abs(at[:, 0].numpy() - data.qpos).max()) < 1e-3
    assert moved > least
