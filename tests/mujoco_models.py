"""Models that MuJoCo reads too, and its positions in Isoscope's order.

A model of the Gymnasium package is named as its file; what Isoscope does not support in
it is left out, and MuJoCo's side then compares only what does not depend on that.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import gymnasium
import mujoco
import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

# else its advice goes into a file where the tests were started
mujoco.set_mju_user_warning(lambda _: None)

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
# each file, and what reading it has to ignore
GYMNASIUM: dict[str, tuple[str, ...]] = {
    "ant.xml": (),
    "half_cheetah.xml": (),
    "hopper.xml": (),
    "humanoid.xml": ("tendon",),
    "inverted_double_pendulum.xml": (),
    "inverted_pendulum.xml": (),
    "pusher.xml": ("cylinder",),
    "reacher.xml": (),
    "swimmer.xml": ("fluid",),
    "walker2d.xml": (),
}
FREE, BALL = 0, 1


def quaternion_starts(model: mujoco.MjModel) -> list[int]:
    """Where quaternions begin in q; of each joint MuJoCo and Isoscope have as many."""
    offsets = {FREE: 3, BALL: 0}
    return [
        int(start) + offsets[int(kind)]
        for start, kind in zip(model.jnt_qposadr, model.jnt_type, strict=True)
        if int(kind) in offsets
    ]


def ours(model: mujoco.MjModel, qpos: Array) -> Array:
    """MuJoCo's positions with quaternions x y z w."""
    q = np.array(qpos, dtype=np.float64)
    for start in quaternion_starts(model):
        q[start : start + 4] = np.roll(q[start : start + 4], -1)
    return q


def some_positions(model: mujoco.MjModel, seed: int) -> Array:
    """MuJoCo's positions, at random, with unit quaternions."""
    qpos = np.random.default_rng(seed).normal(size=model.nq)
    mujoco.mj_normalizeQuat(model, qpos)
    return qpos


def mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """The mass matrix, armature included, (nv, nv)."""
    full = np.zeros((model.nv, model.nv))
    if hasattr(data, "qM"):  # before 4
        mujoco.mj_fullM(model, full, data.qM)
    else:
        mujoco.mj_fullM(model, data, full)
    return full


def at(model: mujoco.MjModel, qpos: Array, qvel: Array | None = None) -> mujoco.MjData:
    """MuJoCo's data at a state, with everything that depends on it."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    if qvel is not None:
        data.qvel[:] = qvel
    mujoco.mj_forward(model, data)
    return data
