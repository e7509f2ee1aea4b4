"""How near the simulator comes to the real engine, to MuJoCo, and to laws of mechanics.

Nothing is timed here: the figures are errors, in SI units.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.app.bench import fidelity_contact, fidelity_mujoco
from isoscope.core.errors import ReadError, UsageError, one_line
from isoscope.gpu.scene.make import make_scene

if TYPE_CHECKING:
    from isoscope.core.scene import Precision

# Of the source tree, as the recordings themselves.
TRUTH = (
    Path(__file__).resolve().parents[2]
    / "tests/data/recordings/independent_cartpole_env0.truth.json"
)
PRECISIONS: tuple[Precision, ...] = ("float32", "float64")
H_S = 0.02
NEWTONS = 10.0  # a unit of action
ACTION_LIMIT = 3.0


def run() -> dict[str, Any]:
    """Measure; gives `runs` and the figures.

    Returns
    -------
    dict
        ``max_abs_error``: of CartPole with backward Euler against the real engine, over
        all steps, observations and precisions; ``errors_float32``, ``errors_float64``:
        the same for each observation; ``control_steps``: of the episode.

        ``mujoco``: the largest difference of a joint position [rad] or speed [rad/s]
        from MuJoCo's; None where it is not installed, and then ``mujoco_remedy``.

        ``bounce``, ``sliding``: relative errors of contact against closed forms, for
        each step length of ``bounce_h_s`` and ``sliding_h_s``; ``resting_depth``: that
        of a depth at rest.
    """
    errors = {precision: cartpole_errors(precision) for precision in PRECISIONS}
    figures: dict[str, Any] = {
        "runs": 1,
        "max_abs_error": max(max(each.values()) for each in errors.values()),
        "control_steps": len(_first_episode()),
    }
    for precision, each in errors.items():
        figures[f"errors_{precision}"] = each
    return {**figures, **fidelity_mujoco.run(), **fidelity_contact.run()}


def cartpole_errors(precision: Precision) -> dict[str, float]:
    """Replay the first episode of the recorded CartPole; the largest errors.

    It starts from the first observation, and is given the recorded actions.

    Returns
    -------
    dict
        By observation [rad/s, m/s, m, rad], over the steps of the whole episode.

    Raises
    ------
    UsageError
        If this is no source tree, which the recording is part of.
    """
    transitions = _first_episode()
    scene = make_scene("cartpole", 1, "cpu", precision, "backward_euler")
    turning, speed, place, angle = transitions[0]["obs"]
    scene.set_state(0, np.array([[place, angle]]), np.array([[speed, turning]]))
    names = ("angular_vel", "linear_vel", "position", "vertical_ang")
    worst = dict.fromkeys(names, 0.0)
    for transition in transitions:
        action = np.clip(
            np.float32(transition["action"][0]), -ACTION_LIMIT, ACTION_LIMIT
        )
        scene.set_dof_forces(0, np.array([[NEWTONS * float(action), 0.0]]))
        for _ in range(transition["substeps"]):
            scene.step(H_S)
        q = scene.to_host(scene.positions(0), "view")[0]
        v = scene.to_host(scene.velocities(0), "view")[0]
        seen = (v[1], v[0], q[0], q[1])
        for name, ours, theirs in zip(names, seen, transition["next_obs"], strict=True):
            worst[name] = max(worst[name], abs(float(ours) - float(theirs)))
    scene.close()
    return worst


def _first_episode() -> list[dict[str, Any]]:
    if not TRUTH.is_file():
        raise UsageError(
            "the recording to compare with is in the source tree, which this is not; "
            "run it from there"
        )
    try:
        told = json.loads(TRUTH.read_text("utf-8"))
        substeps = int(told["substeps"])
        return [
            {**transition, "substeps": substeps}
            for transition in told["transitions"]
            if transition["env"] == 0 and transition["episode"] == 1
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReadError("reading the truth", TRUTH, one_line(error)) from None
