"""The simulator beside MuJoCo: the same MJCF file, the same start, the same step."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope import resources
from isoscope.gpu.model.mjcf.reader import load_mjcf
from isoscope.gpu.scene.make import make_scene

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

H_S = 1e-4
STEPS = 10_000
REMEDY = "MuJoCo is not installed; pip install isoscope[mujoco]"

DOUBLE_PENDULUM = """
<mujoco model="Double pendulum">
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <body name="Upper">
      <joint name="Upper hinge" type="hinge" axis="0 1 0"/>
      <geom type="capsule" size="0.03 0.22" pos="0 0 -0.25" mass="1"/>
      <body name="Lower" pos="0 0 -0.5">
        <joint name="Lower hinge" type="hinge" axis="0 1 0"/>
        <geom type="capsule" size="0.03 0.22" pos="0 0 -0.25" mass="1"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
STARTS = {
    "double_pendulum": [0.8, -0.5],
    "arm7": [0.3, -0.4, 0.2, 0.6, -0.2, 0.5, 0.1],
}


def run(steps: int = STEPS) -> dict[str, Any]:
    """Compare a double pendulum and an arm of seven joints, from rest.

    Both sides use semi-implicit Euler with steps of 1e-4 s, in float64. MuJoCo's
    usually takes friction at the joints implicitly, which ours does not; its option
    that takes it explicitly makes the methods the same: what differs is the dynamics.

    Returns
    -------
    dict
        ``mujoco``: the largest difference of a joint's position [rad] or speed [rad/s]
        over all steps with the same method, ``mujoco_double_pendulum`` and
        ``mujoco_arm7`` of each; ``mujoco_default_position`` and
        ``mujoco_default_speed``: of both models, with MuJoCo as it is usually. All None
        where MuJoCo is not installed, and only then ``mujoco_remedy`` says what to do.
    """
    if importlib.util.find_spec("mujoco") is None:
        defaults = ("mujoco_default_position", "mujoco_default_speed")
        names = ("mujoco", *(f"mujoco_{name}" for name in STARTS), *defaults)
        return {**dict.fromkeys(names), "mujoco_remedy": REMEDY}
    with tempfile.TemporaryDirectory(prefix="isoscope-bench-") as folder:
        pendulum = Path(folder) / "double_pendulum.xml"
        pendulum.write_text(DOUBLE_PENDULUM, "utf-8")
        arm = Path(str(resources.path("models", "arm7.xml")))
        found = {
            path.stem: compare(path, STARTS[path.stem], steps)
            for path in (pendulum, arm)
        }
    same = {f"mujoco_{name}": max(each["same"]) for name, each in found.items()}
    position, speed = (
        max(each["default"][part] for each in found.values()) for part in (0, 1)
    )
    return {
        "mujoco": max(same.values()),
        **same,
        "mujoco_default_position": position,
        "mujoco_default_speed": speed,
    }


def compare(
    path: Path, start: list[float], steps: int
) -> dict[str, tuple[float, float]]:
    """Step an MJCF file's model of one-axis joints on both sides.

    Returns
    -------
    dict
        The largest differences of a joint's position and speed, ``same`` with friction
        explicit on both sides and ``default`` with MuJoCo as it is usually.
    """
    import mujoco

    theirs: dict[str, tuple[Any, Any]] = {}
    for name in ("same", "default"):
        model: Any = mujoco.MjModel.from_xml_path(str(path))
        model.opt.timestep = H_S
        if name == "same":
            model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
        data: Any = mujoco.MjData(model)
        data.qpos[:] = start
        theirs[name] = (model, data)
    scene = make_scene(load_mjcf(path).model, 1, "cpu", "float64", "semi_implicit")
    scene.set_state(0, np.array([start]), np.zeros((1, len(start))))
    worst = dict.fromkeys(theirs, (0.0, 0.0))
    for _ in range(steps):
        scene.step(H_S)
        for name, (model, data) in theirs.items():
            mujoco.mj_step(model, data)
            position, speed = worst[name]
            worst[name] = (
                max(position, _apart(scene.positions(0), data.qpos)),
                max(speed, _apart(scene.velocities(0), data.qvel)),
            )
    scene.close()
    return worst


def _apart(ours: Any, theirs: Array) -> float:
    # a view of the scene's own memory, which is on the CPU
    return float(np.abs(ours.numpy()[0] - theirs).max())
