"""What is read from MJCF against what MuJoCo makes of the same file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
import pytest

from isoscope.gpu.model.build import build_tree, dof_values
from isoscope.gpu.model.inertia import symmetric
from isoscope.gpu.model.mjcf.reader import load_mjcf
from isoscope.gpu.model.rest import motion_axes, rest_mass_matrix, rest_pose
from isoscope.gpu.model.rotations import matrix
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

    from isoscope.gpu.model.tree import Tree, TreeLink

# many joints a body, each with its own anchor; references, springs, every orientation
ODD = """
<mujoco model="odd">
  <compiler angle="degree" eulerseq="zYx" boundmass="0.2" boundinertia="0.01"/>
  <option gravity="0.5 -1 -9" timestep="0.004"/>
  <default>
    <joint damping="0.3" armature="0.02"/>
    <geom density="700"/>
    <position kp="20" ctrlrange="-1 1"/>
    <default class="heavy">
      <geom density="3000"/>
      <joint damping="2"/>
      <default class="heavier"><geom density="5000" quat="1 2 3 4"/></default>
    </default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 1" pos="0 0 -3" euler="5 10 0"/>
    <body name="base" pos="1 2 3" euler="10 20 30">
      <joint name="a" type="slide" axis="1 2 0" pos="0.1 0 0" ref="0.25" range="-1 2"/>
      <joint name="b" type="hinge" axis="0 1 1" pos="0.1 0.2 0.3" ref="40"
             range="-90 100" stiffness="7" springref="15"/>
      <joint name="c" type="slide" axis="0 0 2" pos="0 0 1" ref="-0.5"/>
      <joint name="d" type="hinge" axis="1 0 0" pos="-0.1 0.2 0" class="heavy"/>
      <geom type="box" size=".1 .2 .3" pos="0.1 0 0" axisangle="1 1 0 30"/>
      <geom type="capsule" size=".05" fromto="0 0 0 0.3 0.4 0.5"/>
      <body name="arm" pos="0.5 0 0" xyaxes="0 1 0 -1 0.5 0" childclass="heavy">
        <joint name="ball" type="ball" pos="0 0.1 0"/>
        <geom type="sphere" size=".1" pos="0 0.2 0" mass="3"/>
        <geom type="ellipsoid" size=".1 .2 .3" class="heavier"
              contype="0" conaffinity="0"/>
        <body name="fixed" pos="0 0.3 0.1" zaxis="1 1 1">
          <geom type="cylinder" size=".1 .2" contype="0" conaffinity="0"/>
          <body name="tip" pos="0 0 0.2" quat="1 0.5 0 0">
            <joint name="tip" axis="0 1 0" limited="true" range="0 50"/>
            <inertial pos="0.01 0.02 0.03" mass="2"
                      fullinertia="0.1 0.2 0.15 0.01 0.02 -0.01"/>
            <geom type="box" size=".1" fromto="0 0 0 0 0.5 0.2" class="heavier"/>
          </body>
        </body>
      </body>
      <body name="light" pos="0 0.1 0">
        <joint name="e" axis="1 1 1"/>
        <inertial pos="0 0 0.1" mass="0.1" diaginertia="1e-3 2e-3 2e-3"
                  euler="20 0 10"/>
      </body>
    </body>
    <body name="loose" pos="0 3 1" axisangle="0 1 0 45">
      <freejoint name="root"/>
      <geom type="box" size=".1 .2 .3" pos="0.1 0.1 0"/>
    </body>
  </worldbody>
  <actuator>
    <motor joint="a" gear="3" forcerange="-5 4"/>
    <position joint="b" kv="2" forcerange="-2 8" forcelimited="true"/>
    <velocity joint="d" kv="4" gear="-2"/>
    <general joint="tip" gainprm="6" biastype="affine" biasprm="0 -6 -0.5"
             ctrllimited="false"/>
    <general joint="e" gainprm="-2" forcerange="-1 3" ctrlrange="-9 9"/>
  </actuator>
</mujoco>
"""


@pytest.fixture(params=[*GYMNASIUM, "odd"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Tree, mujoco.MjModel]:
    name = request.param
    if name == "odd":
        path = tmp_path / "odd.xml"
        path.write_text(ODD)
    else:
        path = ASSETS / name
    read = load_mjcf(path, ignore=GYMNASIUM.get(name, ()))
    theirs = mujoco.MjModel.from_xml_path(str(path))
    assert read.timestep_s == theirs.opt.timestep
    return build_tree(read.model), theirs


def body_links(tree: Tree, model: mujoco.MjModel) -> list[tuple[int, TreeLink]]:
    """Bodies' numbers and the links that carry them, those without names in order."""
    chains = [link for link in tree.links if "." not in link.name]
    assert len(chains) == model.nbody - 1
    return list(enumerate(chains, start=1))


def test_bodies_are_where_and_what_mujoco_says(pair: Any) -> None:
    tree, model = pair
    assert (tree.nq, tree.nv) == (model.nq, model.nv)
    np.testing.assert_allclose(tree.start, ours(model, model.qpos0), atol=1e-15)
    for qpos in (model.qpos0, some_positions(model, 1), some_positions(model, 2)):
        data = at(model, qpos)
        pose = rest_pose(tree, ours(model, qpos))
        for body, link in body_links(tree, model):
            np.testing.assert_allclose(link.mass, model.body_mass[body], rtol=1e-12)
            i = link.index
            np.testing.assert_allclose(pose.center[i], data.xipos[body], atol=1e-12)
            np.testing.assert_allclose(
                pose.rotation[i].ravel(), data.xmat[body], atol=1e-12
            )
            axes = data.ximat[body].reshape(3, 3)
            theirs = axes @ np.diag(model.body_inertia[body]) @ axes.T
            found = pose.rotation[i] @ symmetric(link.inertia) @ pose.rotation[i].T
            np.testing.assert_allclose(
                found, theirs, atol=1e-12 * max(1.0, abs(theirs).max())
            )


def test_joints_are_where_and_what_mujoco_says(pair: Any) -> None:
    tree, model = pair
    jointed = [link for link in tree.links if link.joint != "fixed"]
    specs = [
        link.joint
        for actor in tree.model.actors
        for link in actor.links
        if link.joint.type != "fixed"
    ]
    assert len(jointed) == model.njnt
    qpos = some_positions(model, 3)
    data = at(model, qpos)
    pose = rest_pose(tree, ours(model, qpos))
    _, turns = motion_axes(tree, pose)
    for number, (link, joint) in enumerate(zip(jointed, specs, strict=True)):
        assert link.joint_name == model.joint(number).name
        if link.joint in ("prismatic", "revolute"):
            axis = pose.rotation[link.index] @ np.array(link.axis)
            np.testing.assert_allclose(axis, data.xaxis[number], atol=1e-12)
            lower, upper = joint.limits or (0.0, 0.0)
            assert (joint.limits is not None) == bool(model.jnt_limited[number])
            if joint.limits:
                np.testing.assert_allclose(
                    (lower, upper), model.jnt_range[number], atol=1e-12
                )
            if joint.stiffness:
                rest = model.qpos_spring[model.jnt_qposadr[number]]
                np.testing.assert_allclose(joint.rest, rest, atol=1e-12)
        if link.joint == "revolute":
            np.testing.assert_allclose(
                pose.position[link.index], data.xanchor[number], atol=1e-12
            )
            np.testing.assert_allclose(turns[link.velocity_start], axis, atol=1e-12)
    theirs = [np.ravel(model.jnt_stiffness[i])[0] for i in range(model.njnt)]
    assert [joint.stiffness for joint in specs] == theirs
    for name, values in (
        ("damping", model.dof_damping),
        ("armature", model.dof_armature),
    ):
        first = np.asarray(values).reshape(model.nv, -1)[:, 0]
        np.testing.assert_allclose(dof_values(tree, name), first, atol=1e-15)


def test_the_mass_matrix_is_mujocos(pair: Any) -> None:
    tree, model = pair
    qpos = some_positions(model, 4)
    theirs = mass_matrix(model, at(model, qpos))
    found = rest_mass_matrix(tree, ours(model, qpos))
    found += np.diag(dof_values(tree, "armature"))
    np.testing.assert_allclose(found, theirs, atol=1e-12 * abs(theirs).max())


def test_shapes_are_where_mujoco_has_geoms(pair: Any) -> None:
    tree, model = pair
    qpos = some_positions(model, 5)
    data = at(model, qpos)
    pose = rest_pose(tree, ours(model, qpos))
    placed = []
    for entry in tree.shapes:
        local, axes = np.array(entry.shape.position), matrix(entry.shape.rotation)
        if entry.link >= 0:
            turn = pose.rotation[entry.link]
            local, axes = pose.position[entry.link] + turn @ local, turn @ axes
        placed.append((local, axes, entry.shape))
    kinds = {0: "plane", 2: "sphere", 3: "capsule", 6: "box"}
    theirs = [i for i in range(model.ngeom) if int(model.geom_type[i]) in kinds]
    assert len(theirs) == len(placed)
    # ours come actor by actor, the world's last; MuJoCo's world comes first
    world = [i for i in theirs if model.geom_bodyid[i] == 0]
    order = [i for i in theirs if model.geom_bodyid[i] != 0] + world
    for i, (position, axes, shape) in zip(order, placed, strict=True):
        assert shape.type == kinds[int(model.geom_type[i])]
        np.testing.assert_allclose(position, data.geom_xpos[i], atol=1e-12)
        np.testing.assert_allclose(axes.ravel(), data.geom_xmat[i], atol=1e-12)
        if shape.type != "plane":
            np.testing.assert_allclose(
                shape.size, model.geom_size[i][: len(shape.size)], rtol=1e-12
            )
        assert shape.friction == model.geom_friction[i][0]
        assert (shape.group, shape.mask) == (
            model.geom_contype[i],
            model.geom_conaffinity[i],
        )
