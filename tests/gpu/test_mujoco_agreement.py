"""Kinematics, mass matrix, bias and acceleration against MuJoCo, to 1e-9."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import pytest
import torch

from isoscope import resources
from isoscope.gpu.dynamics.dynamics import Dynamics
from isoscope.gpu.dynamics.joint_forces import Control
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.model.mjcf.reader import load_mjcf
from isoscope.gpu.model.named import named_model
from isoscope.gpu.model.parameters import Parameters
from tests.mujoco_models import (
    ASSETS,
    GYMNASIUM,
    at,
    mass_matrix,
    ours,
    some_positions,
)

if TYPE_CHECKING:
    from pathlib import Path

WORLDS = 3
WITHIN = 1e-9
SHIPPED = ("arm7", "cartpole")

# a chain with a ball joint, a free root, drives of all kinds, a gear and force limits
MIXED = """
<mujoco model="mixed">
  <compiler angle="radian"/>
  <option gravity="1 2 -9"/>
  <worldbody>
    <body name="root" pos="0 0 1">
      <freejoint name="root"/>
      <inertial pos="0.1 0 0.2" mass="2" fullinertia="0.1 0.2 0.15 0.01 0.02 -0.01"/>
      <body name="one" pos="0.3 0 0" euler="0.3 0.2 0.1">
        <joint name="ball" type="ball" pos="0 0 0.1" damping="0.2" armature="0.01"/>
        <geom type="box" size=".1 .05 .2" contype="0" conaffinity="0"/>
        <body name="two" pos="0 0.2 0">
          <joint name="x" axis="1 0 1" pos="0 0.1 0" damping="0.1" stiffness="3"
                 springref="0.4"/>
          <joint name="y" type="slide" axis="0 1 0" ref="0.3"/>
          <joint name="z" axis="0 0 1" ref="0.7"/>
          <geom type="capsule" size=".05 .2" pos="0.1 0 0" contype="0" conaffinity="0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="x" gear="3" ctrlrange="-0.5 0.4"/>
    <position joint="y" kp="20" kv="2" forcerange="-2 3"/>
    <velocity joint="z" kv="4" gear="-2"/>
    <general joint="x" gainprm="-2" forcerange="-1 0.3"/>
  </actuator>
</mujoco>
"""


class Pair:
    """A model on both sides, and a few states of it."""

    def __init__(self, path: Path, ignore: tuple[str, ...]) -> None:
        self.tree = build_tree(load_mjcf(path, ignore=ignore).model)
        self.parameters = Parameters.from_tree(self.tree)
        self.dynamics = Dynamics(self.tree, self.parameters)
        self.theirs = mujoco.MjModel.from_xml_path(str(path))
        # contacts, limits, tendons and fluids are not what is compared here
        self.theirs.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.theirs.opt.density = self.theirs.opt.viscosity = 0.0
        rng = np.random.default_rng(7)
        self.qpos = [some_positions(self.theirs, 100 + w) for w in range(WORLDS)]
        self.qvel = rng.normal(size=(WORLDS, self.theirs.nv))
        self.ctrl = rng.normal(size=(WORLDS, self.theirs.nu))
        self.data = [
            at(self.theirs, *state) for state in zip(self.qpos, self.qvel, strict=True)
        ]
        self.q = columns([ours(self.theirs, qpos) for qpos in self.qpos])
        self.v = columns(list(self.qvel))


def columns(rows: list[Any]) -> torch.Tensor:
    return torch.from_numpy(np.array(rows)).T.contiguous()


@pytest.fixture(scope="module", params=[*GYMNASIUM, *SHIPPED, "mixed"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Pair:
    name = request.param
    if name in GYMNASIUM:
        return Pair(ASSETS / name, GYMNASIUM[name])
    if name in SHIPPED:
        return Pair(resources.path("models", f"{name}.xml"), ())
    path = tmp_path_factory.mktemp("mjcf") / "mixed.xml"
    path.write_text(MIXED)
    return Pair(path, ())


def agree(found: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=0, atol=WITHIN * scale)


def test_kinematics(pair: Pair) -> None:
    found = pair.dynamics.kinematics(pair.q, pair.v, pair.parameters)
    bodies = [link.index for link in pair.tree.links if "." not in link.name]
    assert len(bodies) == pair.theirs.nbody - 1
    for world, data in enumerate(pair.data):
        mujoco.mj_comVel(pair.theirs, data)
        for body, link in enumerate(bodies, start=1):
            agree(found.center[link, :, world], data.xipos[body])
            agree(found.matrix[link, :, world], data.xmat[body])
            twist = np.zeros(6)
            mujoco.mj_objectVelocity(
                pair.theirs, data, mujoco.mjtObj.mjOBJ_BODY, body, twist, 0
            )
            agree(found.angular[link, :, world], twist[:3])
            agree(found.center_velocity[link, :, world], twist[3:])


def test_mass_matrix(pair: Pair) -> None:
    found = pair.dynamics.mass_matrix(pair.q, pair.parameters)
    for world, data in enumerate(pair.data):
        agree(found[:, :, world], mass_matrix(pair.theirs, data))


def test_bias_force(pair: Pair) -> None:
    found = pair.dynamics.bias(pair.q, pair.v, pair.parameters)
    for world, data in enumerate(pair.data):
        agree(found[:, world], data.qfrc_bias)


def test_acceleration_with_drives_and_joint_forces(pair: Pair) -> None:
    # limits are constraints in MuJoCo, which are off here
    open_ended = pair.parameters.replaced("limit_lower", -np.inf)
    open_ended = open_ended.replaced("limit_upper", np.inf)
    force = pair.dynamics.joint_force(
        pair.q, pair.v, Control(targets=columns(list(pair.ctrl))), open_ended
    )
    found = pair.dynamics.acceleration(pair.q, pair.v, force, open_ended)
    for world, data in enumerate(pair.data):
        data.ctrl[:] = pair.ctrl[world]
        mujoco.mj_forward(pair.theirs, data)
        agree(force[:, world], data.qfrc_passive + data.qfrc_actuator)
        agree(found[:, world], data.qacc)


@pytest.mark.parametrize("name", SHIPPED)
def test_both_forms_of_a_shipped_model_are_the_same(name: str) -> None:
    from_xml = build_tree(load_mjcf(resources.path("models", f"{name}.xml")).model)
    from_json = build_tree(named_model(name))
    assert from_xml.model.name == from_json.model.name
    assert from_xml.start == from_json.start
    assert from_xml.drives == from_json.drives
    assert from_xml.actors == from_json.actors
    ours_, theirs = Parameters.from_tree(from_json), Parameters.from_tree(from_xml)
    for declaration, values in ours_.items():
        torch.testing.assert_close(
            theirs[declaration.name], values, rtol=1e-14, atol=1e-16
        )
    for a, b in zip(from_json.links, from_xml.links, strict=True):
        assert (a.name, a.parent, a.joint, a.joint_name) == (
            b.name,
            b.parent,
            b.joint,
            b.joint_name,
        )
        for part in ("axis", "position", "rotation"):
            np.testing.assert_allclose(getattr(a, part), getattr(b, part), atol=1e-15)
    for a, b in zip(from_json.shapes, from_xml.shapes, strict=True):
        assert (a.link, a.shape.name, a.shape.type) == (
            b.link,
            b.shape.name,
            b.shape.type,
        )
        np.testing.assert_allclose(a.shape.size, b.shape.size, atol=1e-15)
        np.testing.assert_allclose(a.shape.position, b.shape.position, atol=1e-15)
        np.testing.assert_allclose(a.shape.rotation, b.shape.rotation, atol=1e-15)
