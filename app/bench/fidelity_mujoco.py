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

    Both sides use semi-implicit Euler with steps of 1e-4 s, in float64; MuJoCo's takes
    friction at the joints implicitly.

    Returns
    -------
    dict
        ``mujoco``: the largest difference of a joint's position [rad] or speed [rad/s]
        over all steps, ``mujoco_double_pendulum`` and ``mujoco_arm7`` of each; all None
        where MuJoCo is not installed, and then ``mujoco_remedy`` says what to do.
    """
    if importlib.util.find_spec("mujoco") is None:
        names = ("mujoco", *(f"mujoco_{name}" for name in STARTS))
        return {**dict.fromkeys(names), "mujoco_remedy": REMEDY}
    with tempfile.TemporaryDirectory(prefix="isoscope-bench-") as folder:
        pendulum = Path(folder) / "double_pendulum.xml"
        pendulum.write_text(DOUBLE_PENDULUM, "utf-8")
        arm = Path(str(resources.path("models", "arm7.xml")))
        errors = {
            f"mujoco_{path.stem}": compare(path, STARTS[path.stem], steps)
            for path in (pendulum, arm)
        }
    return {"mujoco": max(errors.values()), **errors, "mujoco_remedy": None}


def compare(path: Path, start: list[float], steps: int) -> float:
    """Step an MJCF file's model of one-axis joints on both sides.

    Returns
    -------
    float
        The largest difference of a joint's position or speed.
    """
    import mujoco  # type: ignore[import-untyped]

    theirs: Any = mujoco.MjModel.from_xml_path(str(path))
    theirs.opt.timestep = H_S
    data: Any = mujoco.MjData(theirs)
    data.qpos[:] = start
    scene = make_scene(load_mjcf(path).model, 1, "cpu", "float64", "semi_implicit")
    scene.set_state(0, np.array([start]), np.zeros((1, len(start))))
    worst = 0.0
    for _ in range(steps):
        mujoco.mj_step(theirs, data)
        scene.step(H_S)
        worst = max(
            worst,
            _apart(scene.positions(0), data.qpos),
            _apart(scene.velocities(0), data.qvel),
        )
    scene.close()
    return worst


def _apart(ours: Any, theirs: Array) -> float:
    # a view of the scene's own memory, which is on the CPU
    return float(np.abs(ours.numpy()[0] - theirs).max())
