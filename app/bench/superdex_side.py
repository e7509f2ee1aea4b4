"""The other side of ``ratio_superdex``: runs in an interpreter that has SuperDex.

Makes 64 CartPoles on shared scenes in 2 workers, and for every line that comes in steps
them so many times and says how many seconds that took. Only what is in that interpreter
may be imported. The scene is the one of the recordings: a cart of 16 kg on a rail and a
pole of 1.25 kg and 1 m, both with viscous friction of 0.05.
"""

# mypy: ignore-errors

from __future__ import annotations

import sys
import time

ENVS, PER_WORKER, SEED = 64, 32, 1
FORCE_SCALE_N = 10.0


def make_env():
    """Make a CartPole."""
    import numpy as np
    import superdex.physics as sdp
    from superdex.lab.gym.envs import ActionSpace, MochiEnv, ObservationSpace
    from superdex.lab.gym.envs.mochi_env import MochiEnvCfg

    def make_scene():
        scene = sdp.create_scene("CartPole")
        friction = sdp.ArticulatedJointFrictionParams(viscous=0.05)
        kinds = sdp.ArticulatedJointType
        params = sdp.ArticulatedActorParams(name="CartPole")
        params.world_from_root = sdp.TransformRT(translation=[0, 0, 0])
        params.joints = [
            sdp.ArticulatedJointParams(
                name=name, type=kind, axis=axis, friction=friction
            )
            for name, kind, axis in (
                ("Slide", kinds.PRISMATIC, [1, 0, 0]),
                ("Hinge", kinds.REVOLUTE, [0, 0, 1]),
            )
        ]
        params.links = [
            _link("Cart", -1, [0.0, 0.0, 0.0], [0.4, 0.2, 0.2], 1000.0),
            _link("Pole", 0, [0.0, 0.5, 0.0], [0.05, 1.0, 0.05], 500.0),
        ]
        actor = scene.create_articulated_actor(params)
        scene.enable_layer_contact_symmetric("CP", "CP", enable=False)
        return scene, actor

    class CartPole(MochiEnv):
        def __init__(self):
            super().__init__(
                MochiEnvCfg(
                    control_frequency=25,
                    simulation_frequency=50,
                    steps_per_episode=1000,
                    reset_noise_scale=0.05,
                )
            )
            self._load_scene("bench", make_scene)
            self._initial_pose = _read(self._agent, "pose")
            self._initial_velocity = _read(self._agent, "velocity")
            inf = np.inf
            self._setup_observation_space(
                **{
                    name: ObservationSpace(-inf, inf, (1,), dtype=np.float32)
                    for name in NAMES
                }
            )
            self._setup_action_space(
                control=ActionSpace(-3.0, 3.0, (1,), dtype=np.float32)
            )

        def _apply_action(self, action):
            force = float(action["control"].item()) * FORCE_SCALE_N
            self._agent.set_external_forces_on_dofs([0], [force])

        def _make_observation(self):
            q = _read(self._agent, "pose").astype(np.float32)
            v = _read(self._agent, "velocity").astype(np.float32)
            parts = dict(zip(NAMES, (q[:1], q[1:], v[:1], v[1:]), strict=True))
            return parts, {"upright": bool(abs(q[1]) <= 0.2)}

        def _compute_reward_terms(self, action, observation, info):
            return {"upright_reward": float(info["upright"])}

        def _check_stop_criteria(self, action, observation, reward, info):
            super()._check_stop_criteria(
                action=action, observation=observation, reward=reward, info=info
            )
            if not info["upright"]:
                self._terminated = True

    return CartPole()


NAMES = ("position", "vertical_ang", "linear_vel", "angular_vel")


def _link(name, parent, offset, extents, density):
    import numpy as np
    import superdex.physics as sdp

    real = np.float64 if sdp.uses_double_precision() else np.float32
    corners = np.array(
        [[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], real
    )
    vertices = corners * np.array(extents, real) / 2
    faces = [0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1]
    faces += [2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3]
    return sdp.ArticulatedLinkParams(
        name=name,
        parent_link=parent,
        parent_joint_from_link=sdp.TransformRT(translation=offset),
        shape=sdp.create_tri_mesh_shape(vertices.ravel(), np.array(faces, np.int32)),
        collider_type=sdp.ColliderType.BOX,
        layer="CP",
        density=density,
    )


def _read(actor, what):
    import numpy as np
    import superdex.physics as sdp

    out = sdp.DynamicArrayReal(actor.get_num_dofs())
    if what == "pose":
        actor.get_articulated_pose(out)
    else:
        actor.get_articulated_joint_velocities(out)
    return np.array(list(out))


def _say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main():
    """Serve."""
    import numpy as np
    from superdex.lab.gym.utils.vector import HybridVectorEnv

    envs = HybridVectorEnv([make_env] * ENVS, num_envs_per_worker=PER_WORKER)
    envs.reset(seed=SEED)
    rng = np.random.default_rng(SEED)
    _say("ready")
    for line in sys.stdin:
        steps = int(line)
        actions = rng.uniform(-3, 3, (steps, ENVS, 1)).astype(np.float32)
        begun = time.perf_counter()
        for action in actions:
            envs.step(action)
        _say(f"took {time.perf_counter() - begun!r}")
    envs.close()


if __name__ == "__main__":
    main()
